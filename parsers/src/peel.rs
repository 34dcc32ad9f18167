//! Peeling: what transports put in front of a line comes off in layers, and what it says is kept.
//!
//! A line of a training job is a stack of prefixes: `(Worker pid=7) [default3]:[rank3]: text`. Each
//! layer is one form, recognised by itself, so any order of them is read. Invariant: the line as it
//! came stays beside what is left of it; without a prefix and without an escape sequence nothing is
//! copied. Next on the trip: `rules` joins the lines of a record, then parses them.
mod ansi;
mod parts;
mod prefix;

use std::borrow::Cow;

pub use parts::{PARTS_MAX, Parts};

/// No line has more layers than this; what would be more stays.
const LAYERS_MAX: usize = 8;

/// Which layers come off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layers {
    /// Escape sequences of terminals: colours, cursor movements, links. A byte order mark too.
    pub ansi: bool,
    /// Of a line that returns to its beginning, all frames but the last: progress bars. See
    /// [`Parts`].
    pub frames: bool,
    /// With `frames`: one frame in so many stays too; 0 for none.
    pub frames_every: u32,
    /// A record that another rank wrote right behind this one's last letter. See [`Parts`].
    pub glued: bool,
    /// `[rank3]: `, `[default3]:` (torchrun's role and local rank), `[1,3]<stdout>:` (mpirun).
    pub rank: bool,
    /// `(Worker pid=7, ip=10.0.0.7)`, of Ray and vLLM.
    pub worker: bool,
    /// `3: `, the number of a task, of `srun --label`.
    pub task: bool,
    /// `node-3: `, of pdsh and others: a name with a `-` and a digit.
    pub host: bool,
}

impl Layers {
    /// No layer.
    pub const NONE: Layers = Layers {
        ansi: false,
        frames: false,
        frames_every: 0,
        glued: false,
        rank: false,
        worker: false,
        task: false,
        host: false,
    };
    /// Those that nothing else looks like.
    pub const SURE: Layers =
        Layers { ansi: true, frames: true, rank: true, worker: true, ..Layers::NONE };
    /// Every layer.
    pub const ALL: Layers = Layers { glued: true, task: true, host: true, ..Layers::SURE };
}

/// What the layers of a line said.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Marks<'a> {
    /// The rank of the process.
    pub rank: Option<u32>,
    /// Its rank on its node.
    pub local_rank: Option<u32>,
    /// The role that torchrun gave it, where it is not `default`.
    pub role: Option<&'a str>,
    /// The name of Ray's or vLLM's worker.
    pub worker: Option<&'a str>,
    /// The process id of the worker.
    pub pid: Option<u32>,
    /// The node of the worker, an address, or the name in front of the line.
    pub node: Option<&'a str>,
    /// The number of Slurm's task.
    pub task: Option<u32>,
}

impl Marks<'_> {
    /// The same with other texts: role, worker and node. A role that is gone takes the rank in it
    /// along.
    pub fn with_texts<'b>(&self, texts: &'b [Option<Cow<'_, str>>; 3]) -> Marks<'b> {
        let [role, worker, node] = texts.each_ref().map(Option::as_deref);
        let is_role_gone = self.role.is_some() && role.is_none();
        let local_rank = self.local_rank.filter(|_| !is_role_gone);
        let Marks { rank, pid, task, .. } = *self;
        Marks { rank, local_rank, role, worker, pid, node, task }
    }

    /// True when no layer said anything.
    pub fn is_empty(&self) -> bool {
        *self == Marks::default()
    }
}

/// A line without its layers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peeled<'a> {
    /// What is left: an end of the line, or of it without escape sequences.
    pub text: &'a str,
    /// What came off.
    pub marks: Marks<'a>,
}

/// Takes the layers off a line. `scratch` holds the line without escape sequences, where it has
/// any; what it held is forgotten.
pub fn peel<'a>(line: &'a str, layers: Layers, scratch: &'a mut String) -> Peeled<'a> {
    scratch.clear();
    let mut text = line;
    if layers.ansi {
        text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if let Cow::Owned(stripped) = ansi::strip(text) {
            *scratch = stripped;
            text = scratch;
        }
    }
    let mut marks = Marks::default();
    text = prefixes(text, layers, &mut marks);
    Peeled { text, marks }
}

/// Takes the prefixes off.
fn prefixes<'a>(mut text: &'a str, layers: Layers, marks: &mut Marks<'a>) -> &'a str {
    for _ in 0..LAYERS_MAX {
        // Nearly all lines begin with something else.
        let rest = match text.as_bytes().first() {
            Some(b'[') if layers.rank => prefix::rank(text, marks),
            Some(b'(') if layers.worker => prefix::worker(text, marks),
            Some(b'0'..=b'9' | b' ') if layers.task && marks.task.is_none() => {
                prefix::task(text, marks)
            }
            Some(b'a'..=b'z' | b'A'..=b'Z') if layers.host && marks.node.is_none() => {
                prefix::host(text, marks)
            }
            _ => None,
        };
        match rest {
            Some(rest) => text = rest,
            None => break,
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `marks` as `Debug` writes those that are there.
    #[track_caller]
    fn check(line: &str, text: &str, marks: &str) {
        let mut scratch = String::new();
        let peeled = peel(line, Layers::ALL, &mut scratch);
        let Marks { rank, local_rank, role, worker, pid, node, task } = peeled.marks;
        let numbers = [("rank", rank), ("local_rank", local_rank), ("pid", pid), ("task", task)];
        let texts = [("role", role), ("worker", worker), ("node", node)];
        let numbers = numbers.iter().filter_map(|(name, it)| Some(format!("{name}={}", (*it)?)));
        let texts = texts.iter().filter_map(|(name, it)| Some(format!("{name}={}", (*it)?)));
        let found: Vec<String> = numbers.chain(texts).collect();
        assert_eq!((peeled.text, found.join(" ").as_str()), (text, marks), "{line:?}");
    }

    #[test]
    fn ranks() {
        check("[rank3]: Traceback", "Traceback", "rank=3");
        check("[rank3]:   File \"a.py\"", "  File \"a.py\"", "rank=3");
        check("[rank12]:[E515 10:23:45.1 a.cpp:6] x", "[E515 10:23:45.1 a.cpp:6] x", "rank=12");
        check("[default7]: iteration 1", " iteration 1", "local_rank=7");
        check("[default7]:iteration 1", "iteration 1", "local_rank=7");
        check("[trainer0]:x", "x", "local_rank=0 role=trainer");
        check("[default0]:[rank8]: x", "x", "rank=8 local_rank=0");
        check("[rank0]:[rank0]: x", "x", "rank=0");
        check("[1,3]<stdout>:x", "x", "rank=3");
        check("[1,3]<stderr>: x", "x", "rank=3");
        check("[rank3]:", "", "rank=3");
    }

    #[test]
    fn workers_tasks_and_nodes() {
        check("(APIServer pid=17) INFO x", "INFO x", "pid=17 worker=APIServer");
        check("(W.x pid=7, ip=10.0.0.7) x", "x", "pid=7 worker=W.x node=10.0.0.7");
        check("(EngineCore_0 pid=1)x", "x", "pid=1 worker=EngineCore_0");
        check("(VllmWorker rank=3 pid=9) x", "x", "rank=3 pid=9 worker=VllmWorker");
        check("(raylet) x", "x", "worker=raylet");
        check("(raylet, ip=10.0.0.7) x", "x", "worker=raylet node=10.0.0.7");
        check("13: [W init.cpp:767] x", "[W init.cpp:767] x", "task=13");
        check(" 0: x", "x", "task=0");
        check("slurm0-a3-8: [rank17]:[E a.cpp:5] x", "[E a.cpp:5] x", "rank=17 node=slurm0-a3-8");
        check("0:  2: x", " 2: x", "task=0");
    }

    #[test]
    fn what_only_looks_like_a_layer_stays() {
        for line in [
            "[INFO:swift] x",
            "[E socket.cpp:7] x",
            "[rank]: x",
            "[3]: x",
            "[rank99999999999]: x",
            "(not a worker) x",
            "(pid=7) x",
            "12:30:45 x",
            "3 x",
            "ValueError: x",
            "INFO: x",
            "",
            "a-b: x",
            "(Worker pid=x) y",
            "[1,3] x",
            "2024-01-02: x",
        ] {
            check(line, line, "");
        }
    }

    #[test]
    fn escape_sequences() {
        check("\u{1b}[36m(main pid=4)\u{1b}[0m x", "x", "pid=4 worker=main");
        check("\u{feff}[rank1]: x", "x", "rank=1");
        check("\u{1b}]8;;http://a\u{7}link\u{1b}]8;;\u{7} \u{1b}[Aup", "link up", "");
    }

    #[test]
    fn only_the_layers_asked_for() {
        let mut scratch = String::new();
        let line = "13: \u{1b}[1m[rank3]: x";
        assert_eq!(peel(line, Layers::NONE, &mut scratch).text, line);
        assert_eq!(peel(line, Layers::SURE, &mut scratch).text, "13: [rank3]: x");
    }

    proptest! {
        #[test]
        fn what_is_left_is_an_end_of_the_line(
            line in concat!(
                "(\\[rank[0-9]{1,3}\\]:|\\(W pid=1\\)|[0-9]: |a-1: | |\\PC|",
                "\u{1b}\\[[0-9;]{0,3}m?){0,12}",
            ),
        ) {
            let mut scratch = String::new();
            let peeled = peel(&line, Layers::ALL, &mut scratch);
            let (text, marks) = (peeled.text.to_owned(), peeled.marks.is_empty());
            let plain = ansi::strip(&line);
            prop_assert!(plain.ends_with(&text));
            let unmarked = plain.strip_prefix('\u{feff}').unwrap_or(&plain);
            prop_assert!(!marks || unmarked == text, "{} {}", unmarked, text);
        }
    }
}
