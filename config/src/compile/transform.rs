//! `[[transform]]` compiled. Invariant: every name in a step exists, or is reported at its place.
//! Next: `redact.rs`.

use super::tables::TableFiles;
use super::{Compiler, ESCAPE, Inside, parse};
use crate::diagnostic::{Diagnostic, Place};
use crate::document::Text;
use crate::quantity;
use crate::sections::{Drafts, LookupDraft, Pair, ReparseDraft, ShapeOfStep, StepDraft};
use crate::suggest;
use riverhog_rules::step::{
    Action, Conversion, Fingerprint, Gsub, Lookup, NamePattern, RateLimit, Removal, Reparse,
    Restyle, Sample, Share, Step, Target,
};
use riverhog_rules::{Selector, Stage, Table};
use std::num::{NonZeroI64, NonZeroU64};

pub(super) fn compile(compiler: &Compiler<'_>, drafts: &Drafts, tables: &TableFiles) -> Vec<Step> {
    let mut steps = Vec::new();
    for (index, draft) in drafts.steps.iter().enumerate() {
        check_name(compiler, drafts, index);
        let when = draft.when.as_ref().and_then(|text| {
            compiler.condition(&format!("{}.when", draft.path), text, Stage::Transform)
        });
        let action = Actions { compiler, drafts, tables, draft }.compile();
        let name = draft.name.as_ref().map_or_else(|| draft.path.clone(), |it| it.value.clone());
        steps.extend(action.map(|action| Step { name, when, action }));
    }
    steps
}

fn check_name(compiler: &Compiler<'_>, drafts: &Drafts, index: usize) {
    let Some(name) = &drafts.steps[index].name else { return };
    let mut before = drafts.steps[..index].iter().filter_map(|it| it.name.as_ref());
    if let Some(first) = before.find(|it| it.value == name.value) {
        let message = format!("two transform steps are named \"{}\"", name.shown());
        let problem = Diagnostic::error(&name.place, message, "give each a name of its own");
        compiler.context.report(problem.with_related(&first.place, "first here"));
    }
}

struct Actions<'a> {
    compiler: &'a Compiler<'a>,
    drafts: &'a Drafts,
    tables: &'a TableFiles,
    draft: &'a StepDraft,
}

/// The targets whose value is a text that steps can write otherwise.
const TEXTS: &str = "write `content`, `component` or `fields.NAME`";
const FIELDS: &str = "write `fields.NAME`";

impl Actions<'_> {
    fn compile(&self) -> Option<Action> {
        Some(match self.draft.shape.as_ref()? {
            ShapeOfStep::Pairs(key, pairs) => self.pairs(key, pairs),
            ShapeOfStep::Names(key, names) => self.names(key, names),
            ShapeOfStep::Gsub { field, regex, with } => {
                let field = field.as_ref().and_then(|it| self.text_target("gsub.field", it))?;
                self.gsub(field, regex.as_ref()?, with)?
            }
            ShapeOfStep::Lookup(lookup) => Action::Lookup(self.lookup(lookup)?),
            ShapeOfStep::Fingerprint { from, into } => Action::Fingerprint(Fingerprint {
                from: self.selectors("fingerprint.from", from),
                into: self.target_of("fingerprint.into", into.as_ref()?)?,
            }),
            ShapeOfStep::Parse(draft) => Action::Parse(Box::new(self.reparse(draft))),
            ShapeOfStep::Drop(share) => Action::Drop(self.share("drop", share)?),
            ShapeOfStep::Sample { keep, key } => Action::Sample(Sample {
                keep: self.share("sample.keep", keep.as_ref()?)?,
                key: self.selectors("sample.key", key),
            }),
            ShapeOfStep::RateLimit { lines, per_ms, key } => Action::RateLimit(RateLimit {
                lines: NonZeroU64::new(*lines)?,
                per_ns: NonZeroI64::new(i64::try_from(*per_ms).ok()?.saturating_mul(1_000_000))?,
                key: self.selectors("rate_limit.key", key),
            }),
        })
    }

    fn name(&self, key: &str) -> String {
        format!("{}.{key}", self.draft.path)
    }

    fn selectors(&self, key: &str, texts: &[Text]) -> Vec<Selector> {
        self.compiler.selectors(texts, &self.name(key), Stage::Transform)
    }

    fn pairs(&self, key: &str, pairs: &[Pair]) -> Action {
        let texts = || pairs.iter().filter_map(|pair| Some((self.key(key, pair, true)?, pair)));
        let fields = || pairs.iter().filter_map(|pair| Some((self.field(key, pair)?, pair)));
        let separator = |(target, pair): (Target, &Pair)| {
            self.separator(key, pair).map(|separator| (target, separator))
        };
        match key {
            "set" => {
                let given = pairs.iter().filter_map(|pair| {
                    let name = self.name(&format!("set.{}", pair.key));
                    let target = self.key(key, pair, false);
                    let template = self.compiler.template(&name, &pair.value, Stage::Transform);
                    Some((target?, template?))
                });
                Action::Set(given.collect())
            }
            "rename" => {
                let moved = pairs.iter().filter_map(|pair| {
                    let from = self.key(key, pair, false);
                    let to = self.target_of(&format!("rename.{}", pair.key), &pair.value);
                    if from == Some(Target::Content) {
                        let message = "`content` is never absent and cannot be moved".to_owned();
                        let help = "copy it with `set`";
                        self.compiler.context.error(&pair.key_place, message, help);
                        return None;
                    }
                    Some((from?, to?))
                });
                Action::Rename(moved.collect())
            }
            "convert" => {
                let wanted = fields().filter_map(|(target, pair)| {
                    let found = Conversion::parse(&pair.value.value);
                    if found.is_none() {
                        let message = format!(
                            "`{}.{}` cannot be \"{}\"",
                            self.name(key),
                            pair.key,
                            pair.value.shown()
                        );
                        let help = "write `int`, `float`, `boolean` or `text`";
                        self.compiler.context.error(&pair.value.place, message, help);
                    }
                    found.map(|conversion| (target, conversion))
                });
                Action::Convert(wanted.collect())
            }
            "split" => Action::Split(fields().filter_map(separator).collect()),
            "join" => Action::Join(
                fields().map(|(target, pair)| (target, pair.value.value.clone())).collect(),
            ),
            _ => {
                let limits =
                    texts().filter_map(|(target, pair)| match quantity::bytes(&pair.value.value) {
                        Ok(bytes) => Some((target, usize::try_from(bytes).unwrap_or(usize::MAX))),
                        Err(error) => {
                            let message = format!("`{}`: {}", self.name(key), error.message);
                            self.compiler.context.error(&pair.value.place, message, error.help);
                            None
                        }
                    });
                Action::Truncate(limits.collect())
            }
        }
    }

    /// A separator of `split`: an empty one would cut between all characters.
    fn separator(&self, key: &str, pair: &Pair) -> Option<String> {
        if pair.value.value.is_empty() && !pair.value.unresolved {
            let message = format!("`{}.{}` is empty", self.name(key), pair.key);
            self.compiler.context.error(&pair.value.place, message, "name the separator");
            return None;
        }
        Some(pair.value.value.clone())
    }

    fn names(&self, key: &str, names: &[Text]) -> Action {
        let values = || names.iter().map(|text| text.value.clone()).collect();
        let targets = || names.iter().filter_map(|it| self.text_target(key, it)).collect();
        match key {
            "remove" => {
                let removal = |text: &Text| match Target::parse(&text.value) {
                    Ok(part @ (Target::Level | Target::Component | Target::Rank)) => {
                        Some(Removal::Part(part))
                    }
                    _ => self.removal(key, text),
                };
                Action::Remove(names.iter().filter_map(removal).collect())
            }
            "keep" => Action::Keep(self.patterns(key, names)),
            "lowercase" => Action::Restyle(Restyle::Lowercase, targets()),
            "uppercase" => Action::Restyle(Restyle::Uppercase, targets()),
            "trim" => Action::Restyle(Restyle::Trim, targets()),
            "tag" => Action::Tag(values()),
            _ => Action::Untag(values()),
        }
    }

    /// Fields or metrics, with `*`.
    fn removal(&self, key: &str, text: &Text) -> Option<Removal> {
        match text.value.strip_prefix("metrics.").filter(|name| !name.is_empty()) {
            Some(name) => Some(Removal::Metrics(NamePattern::new(name))),
            None => self.pattern(key, text).map(Removal::Fields),
        }
    }

    /// Names of fields, with `*`.
    fn patterns(&self, key: &str, names: &[Text]) -> Vec<NamePattern> {
        names.iter().filter_map(|text| self.pattern(key, text)).collect()
    }

    fn pattern(&self, key: &str, text: &Text) -> Option<NamePattern> {
        let name = text.value.as_str();
        if let Some(field) = name.strip_prefix("fields.").filter(|field| !field.is_empty()) {
            return Some(NamePattern::new(field));
        }
        let (message, help) = match Target::parse(name) {
            Ok(_) => (format!("`{name}` cannot stand in `{key}`"), FIELDS.to_owned()),
            Err(error) => error,
        };
        self.report(key, text, message, help);
        None
    }

    /// The target that a key names.
    fn key(&self, key: &str, pair: &Pair, texts: bool) -> Option<Target> {
        let text = Text::fixed(&pair.key, &pair.key_place);
        if texts { self.text_target(key, &text) } else { self.target_of(key, &text) }
    }

    fn field(&self, key: &str, pair: &Pair) -> Option<Target> {
        let target = self.key(key, pair, false)?;
        if target.field().is_none() {
            let message = format!("`{key}` is for parsed fields, not for `{target}`");
            self.compiler.context.error(&pair.key_place, message, FIELDS);
            return None;
        }
        Some(target)
    }

    fn text_target(&self, key: &str, text: &Text) -> Option<Target> {
        let target = self.target_of(key, text)?;
        if matches!(target, Target::Level | Target::Rank | Target::Metric(_)) {
            let message = format!("`{key}` is for texts, and `{target}` is none");
            self.compiler.context.error(&text.place, message, TEXTS);
            return None;
        }
        Some(target)
    }

    fn target_of(&self, key: &str, text: &Text) -> Option<Target> {
        match Target::parse(&text.value) {
            Ok(target) => Some(target),
            Err((message, help)) => {
                self.report(key, text, message, help);
                None
            }
        }
    }

    fn report(&self, key: &str, text: &Text, message: String, help: String) {
        let inside = Inside { span: 0..text.value.len(), message, help: Some(help) };
        self.compiler.report(&self.name(key), text, inside, FIELDS);
    }

    fn share(&self, key: &str, text: &Text) -> Option<Share> {
        let share = Share::parse(&text.value);
        if share.is_none() && !text.unresolved {
            let message = format!("`{}` is \"{}\", no percentage", self.name(key), text.shown());
            let help = "write a share such as `\"10%\"` or `\"0.5%\"`";
            self.compiler.context.error(&text.place, message, help);
        }
        share
    }

    fn gsub(&self, field: Target, regex: &Text, with: &str) -> Option<Action> {
        match Gsub::compile(field, &regex.value, with) {
            Ok(gsub) => Some(Action::Gsub(gsub)),
            Err(error) => {
                let inside = Inside { span: error.span, message: error.message, help: error.help };
                self.compiler.report(&self.name("gsub.regex"), regex, inside, ESCAPE);
                None
            }
        }
    }

    fn lookup(&self, draft: &LookupDraft) -> Option<Lookup> {
        let key = draft.from.as_ref().and_then(|from| {
            self.compiler.selector(&self.name("lookup.from"), from, Stage::Transform)
        });
        let (path, text) = draft.table.as_ref()?;
        let number = self.tables.number(path)?;
        let table = self.tables.tables.lookups.get(number)?;
        let columns = match &draft.into {
            None => self.all_columns(table, &text.place)?,
            Some(pairs) => pairs.iter().filter_map(|pair| self.column(table, pair)).collect(),
        };
        Some(Lookup { key: key?, table: number, columns, default: draft.default.clone() })
    }

    fn all_columns(&self, table: &Table, place: &Place) -> Option<Vec<(usize, Target)>> {
        let columns = table.columns().iter().enumerate();
        let columns: Vec<(usize, Target)> =
            columns.map(|(index, name)| (index, Target::Field(name.clone()))).collect();
        if columns.is_empty() {
            let message = "the table has no column besides its key".to_owned();
            self.compiler.context.error(place, message, "add a column to the table");
            return None;
        }
        Some(columns)
    }

    fn column(&self, table: &Table, pair: &Pair) -> Option<(usize, Target)> {
        let target = self.target_of(&format!("lookup.into.{}", pair.key), &pair.value);
        let index = table.columns().iter().position(|column| *column == pair.key);
        if index.is_none() {
            let known: Vec<&str> = table.columns().iter().map(String::as_str).collect();
            let message = format!("the table has no column `{}`", pair.key);
            let help = suggest::help(&pair.key, &known, "column");
            self.compiler.context.error(&pair.key_place, message, help);
        }
        Some((index?, target?))
    }

    fn reparse(&self, draft: &ReparseDraft) -> Reparse {
        let rules = parse::compile_one(self.compiler, self.drafts, &draft.parse, Stage::Transform);
        Reparse {
            rules,
            overwrite: self.patterns("parse.overwrite", &draft.overwrite),
            prefix: draft.target.as_ref().map(|text| text.value.clone()),
        }
    }
}
