//! Records of several lines that are no tracebacks of Python: stacks of C++ and Java, warnings,
//! reports of the kernel, headers whose message stands on the next line, printed objects.
//!
//! Invariant: a form takes only lines that look like its own. Next stop: `open`.
use super::Step;
use super::kind::has_header;

/// A border of torchrun's table has as many characters at least.
const BORDER_BYTES_MIN: usize = 20;

/// Sentences with which the messages of CUDA, NCCL and c10 go on in a line of their own.
const SENTENCES: [&str; 12] = [
    "CUDA kernel errors might be asynchronously",
    "For debugging consider passing",
    "Compile with `TORCH_USE_CUDA_DSA`",
    "Device-side assertion",
    "Exception raised from ",
    "frame #",
    "Last error:",
    "ncclSystemError:",
    "ncclInternalError:",
    "ncclRemoteError:",
    "ncclUnhandledCudaError:",
    ">",
];

/// Where in a record of one of these forms a record stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stack {
    /// A message of c10, or what C++ says when it ends.
    Cpp,
    /// UCX's `==== backtrace (tid: 227) ====`.
    Backtrace,
    /// Java's stack trace.
    Java,
    /// The kernel's report of an out-of-memory kill.
    KernelOom,
    /// Behind the kill, where the reaper may still say something.
    KernelReaped,
    /// A warning of Python's `warnings`: the line of code that gave it comes last.
    Warning,
    /// A border that may be that of torchrun's table.
    Border,
    /// In the table.
    Table,
    /// A header whose message stands on the next line.
    Header,
    /// A message of NeMo's, whose further lines are indented.
    Indented,
    /// An object printed over several lines.
    Printed,
    /// A message of NVIDIA's fabric manager, whose payload stands on the next line.
    FabricManager,
    /// A message of rich's handler, which goes on in its own column.
    Rich,
}

/// The columns in front of rich's message are as wide at least.
const RICH_COLUMNS_MIN: usize = 18;

/// True for a line that goes on with the message of an exception.
pub(super) fn continues_message(text: &str) -> bool {
    text.starts_with([' ', '\t']) || SENTENCES.iter().any(|sentence| text.starts_with(sentence))
}

/// True for a line of nothing but `=`.
pub(super) fn is_border(text: &str) -> bool {
    let text = text.trim_end();
    text.len() >= BORDER_BYTES_MIN && text.bytes().all(|byte| byte == b'=')
}

/// `/path/file.py:12: UserWarning: …`
pub(super) fn warning(text: &str) -> Option<Stack> {
    let (place, rest) = text.split_once(": ")?;
    let (file, line) = place.rsplit_once(':')?;
    let is_place = !line.is_empty()
        && line.bytes().all(|byte| byte.is_ascii_digit())
        && (file.strip_suffix(".py").is_some() || file.ends_with('>'))
        && !file.contains(' ');
    let (category, _) = rest.split_once(':')?;
    let is_category = category.ends_with("Warning") && !category.contains(' ');
    (is_place && is_category).then_some(Stack::Warning)
}

/// What a line that begins with `=` opens.
pub(super) fn border(text: &str) -> Option<Stack> {
    if text.starts_with("==== backtrace (tid:") {
        return Some(Stack::Backtrace);
    }
    is_border(text).then_some(Stack::Border)
}

/// What a line that begins with a bracket opens.
pub(super) fn bracket(text: &str) -> Option<Stack> {
    let bytes = text.as_bytes();
    if bytes.get(4) == Some(&b' ') && text.contains("Message header details:") {
        return Some(Stack::FabricManager);
    }
    match bytes.get(1)? {
        b'E' | b'F' | b'W' => {
            let says = |words: &str| text.contains(words);
            (says("terminated with exception") || says("CUDA error:")).then_some(Stack::Cpp)
        }
        b'N' if text.starts_with("[NeMo ") => Some(Stack::Indented),
        b'0'..=b'9' if is_header(text.trim_end()) => Some(Stack::Header),
        b'0'..=b'9' => rich(text),
        _ => None,
    }
}

/// `[2025-01-02 15:47:32,711] [INFO] [file.py:392:function]`, and nothing behind it.
fn is_header(text: &str) -> bool {
    let Some((before, place)) = text.strip_suffix(']').and_then(|text| text.rsplit_once(" ["))
    else {
        return false;
    };
    before.ends_with(']') && place.contains(".py:") && !place.contains([' ', '[', ']'])
}

/// `[05/15/24 10:23:45] INFO     …`, `[10:23:45] INFO     …` and `05/15 [10:23:45] INFO     …`.
pub(super) fn rich(text: &str) -> Option<Stack> {
    let (before, after) = text.split_once("] ")?;
    let (date, clock) = before.split_once('[')?;
    let clock = clock.rsplit_once(' ').map_or(clock, |(_, clock)| clock);
    let is_clock = clock.len() == 8 && clock.bytes().all(|it| it.is_ascii_digit() || it == b':');
    (is_clock && date.len() <= 6 && begins_with_level(after)).then_some(Stack::Rich)
}

/// A level in a column of its own.
fn begins_with_level(text: &str) -> bool {
    let (word, after) = text.split_once(' ').unwrap_or((text, ""));
    let is_upper = word.bytes().all(|it| it.is_ascii_uppercase());
    is_upper && riverhog_parsers::level::Level::parse(word).is_some() && !after.is_empty()
}

fn is_code(text: &str) -> bool {
    text.strip_prefix("  ").is_some_and(|code| !code.starts_with([' ', '\t']) && !code.is_empty())
}

/// An object that is printed over several lines.
pub(super) fn printed(text: &str) -> Option<Stack> {
    let is_open = text.trim_end().ends_with([',', '{', '[', '(']);
    (text.starts_with("{'") && is_open).then_some(Stack::Printed)
}

/// What a line that begins with a letter opens.
pub(super) fn opened_by(text: &str) -> Option<Stack> {
    let begins = |words: &[&str]| words.iter().any(|words| text.starts_with(words));
    if begins(&["terminate called ", "Exception raised from ", "frame #0:", "*** Aborted at "]) {
        return Some(Stack::Cpp);
    }
    if text.starts_with("Exception in thread \"") {
        return Some(Stack::Java);
    }
    if !begins(&["com.", "java.", "javax.", "org.", "io."]) {
        return None;
    }
    let name = text.split(':').next().unwrap_or_default().trim_end();
    let is_class = name.ends_with("Exception") || name.ends_with("Error");
    (is_class && !name.contains(' ')).then_some(Stack::Java)
}

impl Stack {
    pub(super) fn next(&mut self, text: &str) -> Step {
        let begins = |words: &[&str]| words.iter().any(|words| text.starts_with(words));
        let take = |takes: bool| if takes { Step::Take } else { Step::No };
        let is_blank = text.trim().is_empty();
        match self {
            Stack::Cpp if is_blank => Step::Maybe,
            Stack::Cpp => take(continues_message(text) || text.starts_with("*** ")),
            Stack::Backtrace if text.starts_with("====") => Step::End,
            Stack::Backtrace => {
                take(begins(&[" "]) || text.starts_with(|letter: char| letter.is_ascii_digit()))
            }
            Stack::Java => take(begins(&["\tat ", "    at ", "Caused by: ", "\t... ", "\tSupp"])),
            Stack::KernelOom | Stack::KernelReaped => self.kernel(text),
            // The line of code: two blanks, whatever the message looks like.
            Stack::Warning if is_code(text) => Step::End,
            Stack::Warning if is_blank => Step::Maybe,
            Stack::Warning => take(!has_header(text)),
            Stack::Border if text.trim_end().ends_with(" FAILED") => {
                *self = Stack::Table;
                Step::Take
            }
            Stack::Border => Step::No,
            Stack::Table if is_border(text) => Step::End,
            Stack::Table => take(!text.starts_with("Traceback")),
            Stack::Header if is_blank || has_header(text) => Step::No,
            Stack::Header => Step::End,
            Stack::Indented => take(text.starts_with("    ")),
            Stack::Printed => take(text.starts_with([' ', '\'', '}', ']'])),
            Stack::FabricManager if text.starts_with("Message payload details:") => Step::End,
            Stack::FabricManager => Step::No,
            // A message of the same second has a level in its column.
            Stack::Rich => {
                let message = text.trim_start_matches(' ');
                let columns = text.len() - message.len();
                let goes_on = !message.is_empty() && !begins_with_level(message);
                take(columns >= RICH_COLUMNS_MIN && goes_on)
            }
        }
    }

    /// Lines of the kernel, until it names the process that it killed.
    fn kernel(&mut self, text: &str) -> Step {
        let is_dmesg = text.starts_with('[')
            && text[1..].trim_start().starts_with(|letter: char| letter.is_ascii_digit());
        if !is_dmesg && !text.contains("kernel:") {
            return Step::No;
        }
        let is_new = text.contains(" oom-killer:");
        let is_reaped = text.contains("oom_reaper:");
        match self {
            _ if is_new => Step::No,
            Stack::KernelReaped if is_reaped => Step::End,
            Stack::KernelReaped => Step::No,
            _ => {
                if text.contains("Killed process") {
                    *self = Stack::KernelReaped;
                }
                Step::Take
            }
        }
    }
}
