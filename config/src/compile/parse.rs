//! `[[parse]]` compiled. A built-in format that says itself where its time stands needs no `time`.
//! Invariant: an array of grok expressions becomes one rule each, next to each other and under one
//! name, so "the first that matches" stays the plan's own order; where all are to be run they
//! become one. Next: `checks.rs`.

use super::{Compiler, Inside, patterns};
use crate::diagnostic::Diagnostic;
use crate::document::Text;
use crate::sections::{Drafts, ParseDraft, ShapeDraft, TimeDraft};
use crate::suggest;
use riverhog_parsers::formats::{Dissect, Format, FormatParser};
use riverhog_parsers::grok::{Grok, GrokOptions};
use riverhog_parsers::time::{TimeFormatError, TimeParser};
use riverhog_rules::{LineParser, ParseRule, Stage, TimeRule};

pub(super) fn compile(compiler: &Compiler<'_>, drafts: &Drafts) -> Vec<ParseRule> {
    let mut rules = Vec::new();
    for (index, draft) in drafts.parse.iter().enumerate() {
        check_name(compiler, drafts, index);
        rules.append(&mut compile_one(compiler, drafts, draft, Stage::Parse));
    }
    rules
}

fn check_name(compiler: &Compiler<'_>, drafts: &Drafts, index: usize) {
    let Some(name) = &drafts.parse[index].name else { return };
    let mut before = drafts.parse[..index].iter().filter_map(|it| it.name.as_ref());
    if let Some(first) = before.find(|it| it.value == name.value) {
        let message = format!("two parsers are named \"{}\"", name.shown());
        let problem = Diagnostic::error(&name.place, message, "give each a name of its own");
        compiler.context.report(problem.with_related(&first.place, "first here"));
    }
}

/// The rules of one parser, whose names are read at a stage.
pub(super) fn compile_one(
    compiler: &Compiler<'_>,
    drafts: &Drafts,
    draft: &ParseDraft,
    stage: Stage,
) -> Vec<ParseRule> {
    let path = &draft.path;
    let name = draft.name.as_ref().map(|text| text.value.clone()).unwrap_or_default();
    let when = draft.when.as_ref();
    let when = when.and_then(|it| compiler.condition(&format!("{path}.when"), it, Stage::Parse));
    let field = draft.field.as_ref();
    let field = field.and_then(|it| compiler.selector(&format!("{path}.field"), it, stage));
    let time = draft.time.as_ref();
    let parsers_ok = time.is_none_or(|it| time_parser(compiler, drafts, path, it).is_some());
    let rule = |parser: LineParser| ParseRule {
        name: name.clone(),
        when: when.clone(),
        field: field.clone(),
        time: match time {
            Some(time) if parsers_ok => time_rule(compiler, drafts, path, time, &parser),
            Some(_) => None,
            None => own_time(drafts, &parser),
        },
        numbers: draft.numbers.as_ref().map_or_else(|| is_of_training(&parser), |it| it.0),
        parser,
    };
    parsers(compiler, draft).into_iter().map(rule).collect()
}

/// Lines of training are made of numbers.
fn is_of_training(parser: &LineParser) -> bool {
    matches!(parser, LineParser::Format(it) if matches!(it.format(), Format::Training(_)))
}

/// What reads the lines of a rule: one parser, or one for each of its grok expressions. Empty
/// where something does not compile.
fn parsers(compiler: &Compiler<'_>, draft: &ParseDraft) -> Vec<LineParser> {
    let (path, time) = (&draft.path, draft.time.as_ref());
    let with_types = |format| {
        let parser = FormatParser::new(format, draft.types.iter().cloned());
        LineParser::Format(Box::new(parser))
    };
    let (key, parsers) = match &draft.shape {
        ShapeDraft::Groks(texts) => ("grok", groks(compiler, draft, texts)),
        ShapeDraft::Format(format) => ("as", vec![with_types(format.clone())]),
        ShapeDraft::Dissect(text) => {
            let dissect = compile_dissect(compiler, path, text);
            let parser = dissect.map(|dissect| with_types(Format::Dissect(dissect)));
            ("dissect", parser.into_iter().collect())
        }
    };
    let fields = time.iter().flat_map(|time| [&time.field, &time.zone_field]).flatten();
    for field in fields {
        check_field(compiler, &format!("{path}.{key}"), field, &parsers);
    }
    parsers
}

fn compile_dissect(compiler: &Compiler<'_>, path: &str, text: &Text) -> Option<Dissect> {
    match Dissect::compile(&text.value) {
        Ok(dissect) => {
            warn_of_slips(compiler, path, text, &dissect);
            for span in dissect.unresolved() {
                let message = "this field refers to no other".to_owned();
                let help = Some("take the name with `%{?name}` in the same mapping".to_owned());
                let inside = Inside { span: span.clone(), message, help };
                compiler.report(&format!("{path}.dissect"), text, inside, "");
            }
            Some(dissect)
        }
        Err(error) => {
            let inside = Inside { span: error.span, message: error.message, help: error.help };
            let fallback = "mappings look like `%{level->} %{component}: %{content}`";
            compiler.report(&format!("{path}.dissect"), text, inside, fallback);
            None
        }
    }
}

/// What no line can match is an error, what only looks wrong a warning.
fn warn_of_slips(compiler: &Compiler<'_>, path: &str, text: &Text, dissect: &Dissect) {
    for slip in dissect.slips() {
        let (place, name) = (text.place_of(slip.span.clone()), format!("`{path}.dissect`"));
        let message = format!("{name}: {}", slip.message);
        if slip.is_hopeless {
            compiler.context.error(&place, message, slip.help);
        } else {
            compiler.context.warn(&place, message, slip.help);
        }
    }
}

fn groks(compiler: &Compiler<'_>, draft: &ParseDraft, texts: &[Text]) -> Vec<LineParser> {
    let Some(options) = patterns::options(compiler, draft) else { return Vec::new() };
    if !check_target(compiler, draft, &options) {
        return Vec::new();
    }
    let compile = |text| compile_grok(compiler, &draft.path, text, &options);
    // All of them are compiled, so that every problem is reported.
    let compiled: Vec<Option<Grok>> = texts.iter().map(compile).collect();
    let compiled: Option<Vec<Grok>> = compiled.into_iter().collect();
    let mut compiled = compiled.unwrap_or_default();
    if !draft.break_on_match && !compiled.is_empty() {
        let Some(all) = Grok::all_of(compiled) else {
            let message = format!("`{}.grok` has more than 65535 fields", draft.path);
            compiler.context.error(&texts[0].place, message, "make several `[[parse]]` of it");
            return Vec::new();
        };
        compiled = vec![all];
    }
    compiled.into_iter().map(LineParser::Grok).collect()
}

fn check_target(compiler: &Compiler<'_>, draft: &ParseDraft, options: &GrokOptions) -> bool {
    let Some(target) = &draft.target else { return true };
    // A pattern without a fault of its own has only the target to fail by.
    let Err(error) = Grok::compile("", options) else { return true };
    let inside = Inside { span: 0..target.value.len(), message: error.message, help: error.help };
    let name = format!("{}.target", draft.path);
    compiler.report(&name, target, inside, "write a name, or `[outer][inner]`");
    false
}

fn compile_grok(
    compiler: &Compiler<'_>,
    path: &str,
    text: &Text,
    options: &GrokOptions,
) -> Option<Grok> {
    match Grok::compile(&text.value, options) {
        Ok(grok) => {
            patterns::warn(compiler, &format!("{path}.grok"), text);
            Some(grok)
        }
        Err(error) => {
            let inside = Inside { span: error.span, message: error.message, help: error.help };
            let fallback = "a field is `%{PATTERN:name}`; escape what is meant literally with `\\`";
            compiler.report(&format!("{path}.grok"), text, inside, fallback);
            None
        }
    }
}

fn check_field(compiler: &Compiler<'_>, name: &str, field: &Text, parsers: &[LineParser]) {
    if parsers.is_empty() || parsers.iter().any(|parser| parser.may_give(&field.value)) {
        return;
    }
    let known: Vec<&str> = parsers.iter().flat_map(names).collect();
    let message = format!("`{name}` has no field \"{}\"", field.shown());
    let help = if field.is_secret() {
        format!("its fields are {}", suggest::list(&known))
    } else {
        suggest::help(&field.value, &known, "field")
    };
    compiler.context.error(&field.place, message, help);
}

fn names(parser: &LineParser) -> Vec<&str> {
    match parser {
        LineParser::Grok(grok) => grok.fields().iter().map(|field| field.name.as_str()).collect(),
        LineParser::Format(parser) => parser.format().names().unwrap_or_default(),
    }
}

/// The time rule of one parser; none where it has no such field.
fn time_rule(
    compiler: &Compiler<'_>,
    drafts: &Drafts,
    path: &str,
    time: &TimeDraft,
    parser: &LineParser,
) -> Option<TimeRule> {
    let field = time.field.as_ref()?.value.clone();
    if !parser.may_give(&field) {
        return None;
    }
    let zone_field = time.zone_field.as_ref().map(|text| text.value.clone());
    let parser = time_parser(compiler, drafts, path, time)?;
    Some(TimeRule { field, parser, zone_field, is_own: false })
}

/// The time of a format that says itself where it stands. A wrong zone of `[time]` has been
/// reported there.
fn own_time(drafts: &Drafts, parser: &LineParser) -> Option<TimeRule> {
    let LineParser::Format(parser) = parser else { return None };
    let (field, formats) = parser.format().time()?;
    let zone = drafts.time.zone.as_ref().map_or("UTC", |text| text.value.as_str());
    let parser = TimeParser::compile(formats, zone).ok()?;
    Some(TimeRule { field: field.to_owned(), parser, zone_field: None, is_own: true })
}

fn time_parser(
    compiler: &Compiler<'_>,
    drafts: &Drafts,
    path: &str,
    time: &TimeDraft,
) -> Option<TimeParser> {
    let formats: Vec<&str> = time.formats.iter().map(|text| text.value.as_str()).collect();
    let zone = time.zone.as_ref().or(drafts.time.zone.as_ref());
    let zone_text = zone.map_or("UTC", |text| text.value.as_str());
    let locale = time.locale.as_ref().map_or("en", |text| text.value.as_str());
    match TimeParser::compile_with_locale(&formats, zone_text, locale) {
        Ok(parser) => Some(parser),
        Err(error) => {
            report_time(compiler, path, time, error);
            None
        }
    }
}

fn report_time(compiler: &Compiler<'_>, path: &str, time: &TimeDraft, error: TimeFormatError) {
    let (name, text, span, fallback) = if let Some(text) = time.formats.get(error.format) {
        let start = text.value.floor_char_boundary(error.position);
        let width = text.value[start..].chars().next().map_or(0, char::len_utf8);
        let fallback = "formats look like `ISO8601`, `UNIX_MS` or `yyyy-MM-dd HH:mm:ss,SSS`";
        (format!("{path}.time.formats"), text, start..start + width, fallback)
    } else if let (true, Some(text)) = (error.is_locale, &time.locale) {
        let fallback = "write a language such as `en` or `zh-CN`";
        (format!("{path}.time.locale"), text, 0..text.value.len(), fallback)
    } else {
        // A wrong zone of `[time]` has been reported there.
        let Some(text) = &time.zone else { return };
        let fallback = "write an IANA name such as `Asia/Shanghai`, or `+08:00`";
        (format!("{path}.time.zone"), text, 0..text.value.len(), fallback)
    };
    let inside = Inside { span, message: error.message, help: error.help };
    compiler.report(&name, text, inside, fallback);
}
