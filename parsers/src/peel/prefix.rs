//! The prefixes, each a form of its own. Each function gives what stands behind the prefix, or
//! nothing where the text does not begin with it.
//!
//! Invariant: a prefix is taken whole or not at all, and only a number that is one is kept. Next:
//! the folder's own file.
use super::Marks;

/// Longer names are none: those of workers are those of classes.
const NAME_BYTES_MAX: usize = 128;

/// `[rank3]: `, `[default3]:`, `[1,3]<stdout>:`.
pub(super) fn rank<'a>(text: &'a str, marks: &mut Marks<'a>) -> Option<&'a str> {
    let (inside, after) = text.strip_prefix('[')?.split_once(']')?;
    if let Some((_, rank)) = inside.split_once(',') {
        let after = after.strip_prefix("<stdout>:").or_else(|| after.strip_prefix("<stderr>:"))?;
        marks.rank = Some(number(rank)?);
        return Some(after.strip_prefix(' ').unwrap_or(after));
    }
    let after = after.strip_prefix(':')?;
    let digits = inside.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (name, rank) = inside.split_at(inside.len() - digits);
    let is_name = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-');
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(is_name) {
        return None;
    }
    let rank = number(rank)?;
    match name {
        "rank" => {
            marks.rank = Some(rank);
            // One blank belongs to the prefix, those of a traceback do not.
            return Some(after.strip_prefix(' ').unwrap_or(after));
        }
        "default" => {}
        role => marks.role = Some(role),
    }
    marks.local_rank = Some(rank);
    Some(after)
}

/// Processes of Ray that are no workers, and have no process id in front of their lines.
const DAEMONS: [&str; 3] = ["raylet", "autoscaler", "gcs_server"];

/// `(Worker pid=7) `, `(Worker pid=7, ip=10.0.0.7) `, `(VllmWorker rank=3 pid=7) `, `(raylet) `.
pub(super) fn worker<'a>(text: &'a str, marks: &mut Marks<'a>) -> Option<&'a str> {
    let (inside, after) = text.strip_prefix('(')?.split_once(')')?;
    let (name, rest) = inside.split_once([' ', ',']).unwrap_or((inside, ""));
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains('=') {
        return None;
    }
    let mut found = Marks { worker: Some(name), ..*marks };
    let mut has_pid = DAEMONS.contains(&name);
    for word in rest.split([' ', ',']).filter(|word| !word.is_empty()) {
        match word.split_once('=')? {
            ("pid", pid) => {
                found.pid = Some(number(pid)?);
                has_pid = true;
            }
            ("ip", ip) => found.node = Some(ip),
            ("rank", rank) => found.rank = Some(number(rank)?),
            _ => {}
        }
    }
    if !has_pid {
        return None;
    }
    *marks = found;
    Some(after.strip_prefix(' ').unwrap_or(after))
}

/// `3: `, padded on the left.
pub(super) fn task<'a>(text: &'a str, marks: &mut Marks<'a>) -> Option<&'a str> {
    let digits = text.trim_start_matches(' ');
    let (task, after) = digits.split_once(':')?;
    if text.len() - digits.len() > 6 || task.len() > 6 {
        return None;
    }
    let rest = if after.is_empty() { after } else { after.strip_prefix(' ')? };
    marks.task = Some(number(task)?);
    Some(rest)
}

/// `node-3: `.
pub(super) fn host<'a>(text: &'a str, marks: &mut Marks<'a>) -> Option<&'a str> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    let length = text.bytes().take(NAME_BYTES_MAX).take_while(|byte| is_name(*byte)).count();
    let (name, after) = text.split_at(length);
    let after = after.strip_prefix(": ")?;
    let has_digit = name.bytes().any(|byte| byte.is_ascii_digit());
    if !has_digit || !name.contains('-') {
        return None;
    }
    marks.node = Some(name);
    Some(after)
}

/// A number of digits alone.
fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}
