//! Conditions: `project == "nlp" and level >= "warn" and not has(rank)`, compiled at load.
//!
//! Invariant: an absent value compares false and `not` inverts; evaluation allocates nothing, has
//! no error and no effect. Routes, parse rules and the query line share this one evaluator; where
//! the values come from is behind `Values`. Reading: `lex`, `parse`; asking: `eval`.
mod eval;
mod lex;
mod parse;

use std::ops::Range;

use crate::names::{Name, Names};
use crate::value::Values;
use eval::Node;

/// A compiled condition.
#[derive(Clone, Debug)]
pub struct Condition {
    text: String,
    names: Vec<Name>,
    root: Node,
}

/// Why a condition does not compile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConditionError {
    /// Bytes of the condition's own text.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to write in its place.
    pub help: Option<String>,
}

impl Condition {
    /// Compiles a condition whose names must all exist in `names`.
    pub fn compile(text: &str, names: &Names) -> Result<Condition, ConditionError> {
        let (root, used) = parse::parse(text, names)?;
        Ok(Condition { text: text.to_owned(), names: used, root })
    }

    /// The text it was compiled from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The distinct names it reads; `Values` is asked by the index in this list.
    pub fn names_used(&self) -> &[Name] {
        &self.names
    }

    /// True when it holds for every event, whatever its values.
    pub fn is_always(&self) -> bool {
        matches!(self.root, Node::Constant(true))
    }

    /// Whether it holds.
    pub fn holds(&self, values: &impl Values) -> bool {
        self.root.holds(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Fixed, Value};
    use proptest::prelude::*;
    use riverhog_parsers::level::Level;

    fn names() -> Names {
        Names::new().labels(["task", "role", "project"])
    }

    /// The values of the event all conditions below are asked about.
    fn value(name: &Name) -> Vec<Value<'static>> {
        match name.to_string().as_str() {
            "project" => vec![Value::Text("nlp")],
            "level" => vec![Value::Level(Level::Error)],
            "content" => vec![Value::Text("CUDA out of memory. 显存不足")],
            "tags" => vec![Value::Text("_cut"), Value::Text("_unparsed")],
            "partition" => vec![Value::Int(3)],
            "fields.loss" => vec![Value::Float(2.5)],
            "fields.step" => vec![Value::Text("120")],
            "fields.name" => vec![Value::Text("beta")],
            "timestamp" => vec![Value::Time(1_773_282_225_000_000_000)],
            _ => Vec::new(),
        }
    }

    fn check(text: &str, expect: bool) {
        let condition =
            Condition::compile(text, &names()).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        let values = Fixed(condition.names_used().iter().map(value).collect());
        assert_eq!(condition.holds(&values), expect, "{text}");
    }

    fn check_error(text: &str, at: &str, message: &str, help: Option<&str>) {
        let error = Condition::compile(text, &names()).expect_err(text);
        assert_eq!(&text[error.span.clone()], at, "{text}: {error:?}");
        assert_eq!((error.message.as_str(), error.help.as_deref()), (message, help), "{text}");
    }

    #[test]
    fn comparisons() {
        check(r#"project == "nlp""#, true);
        check("project == 'nlp'", true);
        check(r#"project != "nlp""#, false);
        check(r#"project in ["cv", "nlp"]"#, true);
        check(r#"project not in ["cv", "nlp"]"#, false);
        check(r#"project not in ["cv"]"#, true);
        check(r#"project > "abc" and project < "zzz""#, true);
        check(r#"level >= "warn""#, true);
        check(r#"level > "ERROR""#, false);
        check(r#"level in ["warning", "fatal"]"#, false);
        check(r#"level =~ "^err""#, true);
        check("partition == 3 and partition <= 3 and partition != 4", true);
        check("fields.loss > 2.4 and fields.loss < 1e1", true);
        check("fields.step >= 100", true);
        check(r#"fields.step == "120""#, true);
        check("fields.name > 1", false);
        check(r#"timestamp >= "2026-03-12T02:23:45Z""#, true);
        check(r#"timestamp < "2026-03-12T10:23:45+08:00""#, false);
    }

    #[test]
    fn regular_expressions() {
        check(r#"content =~ "(?i)cuda out of memory""#, true);
        check(r#"content =~ "\bmemory\.""#, true);
        check(r#"content =~ "显存""#, true);
        check(r#"content !~ "NCCL""#, true);
        check(r#"task !~ "NCCL""#, false);
    }

    #[test]
    fn absent_values_compare_false() {
        check(r#"task == "a""#, false);
        check(r#"task != "a""#, false);
        check(r#"not (task == "a")"#, true);
        check("has(task)", false);
        check("not has(task) and has(project)", true);
        check(r#"task not in ["a"]"#, false);
        check("rank >= 0", false);
    }

    #[test]
    fn several_values() {
        check(r#"tags == "_unparsed""#, true);
        check(r#"tags != "_unparsed""#, false);
        check(r#"tags != "_timefailure""#, true);
        check(r#"tags in ["_x", "_cut"]"#, true);
    }

    #[test]
    fn logic_binds_as_usual() {
        check(r#"project == "x" and has(task) or level == "error""#, true);
        check(r#"project == "x" and (has(task) or level == "error")"#, false);
        check("not true or true", true);
        check("not not true", true);
        check("true", true);
        check("false or has(level)", true);
    }

    #[test]
    fn errors_name_place_and_cure() {
        let help = Some("did you mean `project`?");
        check_error(r#"porject == "nlp""#, "porject", "unknown name `porject`", help);
        let help = Some("write `==` to compare");
        check_error(r#"project = "nlp""#, "=", "unexpected `=`", help);
        check_error("has(task) && has(role)", "&&", "unexpected `&&`", Some("write `and`"));
        let message = "expected a value in quotes or a number, found `nlp`";
        check_error("project == nlp", "nlp", message, Some("write `\"nlp\"`"));
        check_error("project == \"nlp", "\"nlp", "the text is not closed", Some("add a `\"`"));
        let help = Some("levels are trace, debug, info, warn, error, fatal");
        check_error(r#"level >= "loud""#, "\"loud\"", "unknown level `loud`", help);
        let help = Some("did you mean `error`?");
        check_error(r#"level >= "eror""#, "\"eror\"", "unknown level `eror`", help);
    }

    #[test]
    fn errors_name_the_missing_part() {
        let help = Some("compare it, or ask for its presence with `has(task)`");
        check_error("task and has(role)", "and", "expected a comparison after `task`", help);
        check_error("(has(task)", "", "expected `)`, found the end", None);
        check_error("", "", "the condition is empty", Some("leave `when` out to take every event"));
        check_error("has(task) has(role)", "has", "expected `and` or `or`, found `has`", None);
        let message = "`rank` is a number, `\"a\"` is none";
        check_error(r#"rank == "a""#, "\"a\"", message, None);
        let message = "invalid regular expression: unclosed group";
        check_error(r#"content =~ "(a""#, "\"(a\"", message, None);
        let message = "`timestamp` is a time, `\"yesterday\"` is none";
        let help = Some("write it as \"2026-03-12T10:23:45+08:00\"");
        check_error(r#"timestamp > "yesterday""#, "\"yesterday\"", message, help);
        check_error("a ; b", ";", "unexpected `;`", None);
        check_error(
            "project in []",
            "]",
            "expected a value in quotes or a number, found `]`",
            None,
        );
    }

    #[test]
    fn deep_nesting_is_refused() {
        for part in ["(", "not "] {
            let error = Condition::compile(&part.repeat(100_000), &names()).expect_err(part);
            assert_eq!(error.message, "nested more than 64 deep");
        }
    }

    #[test]
    fn constants_are_known() {
        assert!(Condition::compile("true", &names()).unwrap().is_always());
        assert!(Condition::compile("has(task) or true", &names()).unwrap().is_always());
        assert!(!Condition::compile("has(task) and true", &names()).unwrap().is_always());
    }

    proptest! {
        #[test]
        fn any_text_compiles_or_says_why(
            text in concat!(
                "\\PC{0,40}|",
                "((has|\\(|\\)|task|level|==|=~|<|and|or|not|in|\\[|,|\\]|\"a\"|3) ?){0,12}",
            ),
        ) {
            match Condition::compile(&text, &names()) {
                Ok(condition) => {
                    let values = Fixed(condition.names_used().iter().map(value).collect());
                    condition.holds(&values);
                }
                Err(error) => prop_assert!(text.get(error.span).is_some()),
            }
        }
    }
}
