//! `[peel]` and `[join]`. Texts are only read here; `compile/join.rs` compiles them. Next:
//! `rules.rs`.

use super::TopLevel;
use crate::declare;
use crate::document::Text;
use crate::reader::Reader;
use riverhog_parsers::peel::Layers;

/// `[join]`
pub(crate) struct JoinDraft {
    pub(crate) builtin: bool,
    pub(crate) stream: Vec<Text>,
    pub(crate) lines_max: u64,
    pub(crate) bytes_max: u64,
    pub(crate) gap_ms: u64,
    pub(crate) rules: Vec<JoinRuleDraft>,
}

/// `[[join.rules]]`
pub(crate) struct JoinRuleDraft {
    pub(crate) path: String,
    pub(crate) start: Option<Text>,
    pub(crate) goes_on: Option<Text>,
    pub(crate) end: Option<Text>,
}

pub(super) fn read_peel(top: &TopLevel<'_>) -> Layers {
    if !top.has("peel") {
        return Layers::NONE;
    }
    let reader = top.one("peel", &declare::PEEL);
    let words = reader.choices("layers");
    let frames_every = reader.integer("frames_every") as u32;
    let is_set = reader.has("layers");
    reader.reject_unknown();
    if !is_set {
        return Layers { frames_every, ..Layers::SURE };
    }
    let has = |word: &str| words.contains(&word);
    Layers {
        ansi: has("ansi"),
        frames: has("frames"),
        frames_every,
        glued: has("glued"),
        rank: has("rank"),
        worker: has("worker"),
        task: has("task"),
        host: has("host"),
    }
}

/// Absent where there is no such section: nothing is joined then.
pub(super) fn read_join(top: &TopLevel<'_>) -> Option<JoinDraft> {
    if !top.has("join") {
        return None;
    }
    let reader = top.one("join", &declare::JOIN);
    let draft = JoinDraft {
        builtin: reader.flag("builtin").unwrap_or(true),
        stream: reader.texts("stream"),
        lines_max: reader.integer("lines_max"),
        bytes_max: reader.bytes("bytes_max"),
        gap_ms: reader.duration_ms("gap"),
        rules: reader.sections("rules").iter().map(read_rule).collect(),
    };
    reader.reject_unknown();
    if !draft.builtin && draft.rules.is_empty() {
        let message = "`[join]` joins nothing: `builtin` is false and there are no rules";
        top.context.warn(&reader.place, message, "leave the section out, or add `[[join.rules]]`");
    }
    Some(draft)
}

fn read_rule(reader: &Reader<'_>) -> JoinRuleDraft {
    let _name = reader.text("name");
    let (start, goes_on, end) = (reader.text("start"), reader.text("continue"), reader.text("end"));
    reader.reject_unknown();
    JoinRuleDraft { path: reader.path.clone(), start, goes_on, end }
}
