//! Asks a compiled condition about the values of one event.
//!
//! Invariant: no allocation, no error; a name without a value fails every comparison, also the
//! negated ones, and only `not` turns that round.
use regex::Regex;
use riverhog_parsers::level::Level;

use crate::value::{Value, Values};

#[derive(Clone, Debug)]
pub(super) enum Node {
    Constant(bool),
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    /// The name has a value.
    Has(usize),
    /// One of the values passes one of the tests; negated: there is a value and none passes any.
    Compare {
        name: usize,
        negated: bool,
        tests: Vec<Test>,
    },
}

#[derive(Clone, Debug)]
pub(super) enum Test {
    Level(Order, Level),
    Time(Order, i64),
    Number(Order, f64),
    /// `number` is the text read as one, for values that are numbers.
    Text {
        order: Order,
        text: Box<str>,
        number: Option<f64>,
    },
    Regex(Box<Regex>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Node {
    /// Constants are folded away, so that "always" and "never" can be told at load.
    pub(super) fn and(self, other: Node) -> Node {
        match (self, other) {
            (Node::Constant(true), node) | (node, Node::Constant(true)) => node,
            (Node::Constant(false), _) | (_, Node::Constant(false)) => Node::Constant(false),
            (Node::All(mut nodes), node) => {
                nodes.push(node);
                Node::All(nodes)
            }
            (left, right) => Node::All(vec![left, right]),
        }
    }

    pub(super) fn or(self, other: Node) -> Node {
        match (self, other) {
            (Node::Constant(false), node) | (node, Node::Constant(false)) => node,
            (Node::Constant(true), _) | (_, Node::Constant(true)) => Node::Constant(true),
            (Node::Any(mut nodes), node) => {
                nodes.push(node);
                Node::Any(nodes)
            }
            (left, right) => Node::Any(vec![left, right]),
        }
    }

    pub(super) fn not(self) -> Node {
        match self {
            Node::Constant(value) => Node::Constant(!value),
            Node::Not(node) => *node,
            node => Node::Not(Box::new(node)),
        }
    }

    pub(super) fn holds(&self, values: &impl Values) -> bool {
        match self {
            Node::Constant(value) => *value,
            Node::All(nodes) => nodes.iter().all(|node| node.holds(values)),
            Node::Any(nodes) => nodes.iter().any(|node| node.holds(values)),
            Node::Not(node) => !node.holds(values),
            Node::Has(name) => values.value(*name, 0).is_some(),
            Node::Compare { name, negated, tests } => {
                let mut nth = 0;
                while let Some(value) = values.value(*name, nth) {
                    if tests.iter().any(|test| test.passes(value)) {
                        return !negated;
                    }
                    nth += 1;
                }
                *negated && nth > 0
            }
        }
    }
}

impl Test {
    fn passes(&self, value: Value<'_>) -> bool {
        match (self, value) {
            (Test::Level(order, level), Value::Level(value)) => order.holds(&value, level),
            (Test::Level(order, level), Value::Text(text)) => {
                Level::parse(text).is_some_and(|value| order.holds(&value, level))
            }
            (Test::Time(order, time), Value::Time(value)) => order.holds(&value, time),
            (Test::Number(order, number), value) => {
                number_of(value).is_some_and(|value| order.holds(&value, number))
            }
            (Test::Text { order, text, .. }, Value::Text(value)) => order.holds(value, text),
            (Test::Text { order, text, .. }, Value::Level(level)) => {
                order.holds(level.as_str(), text)
            }
            (Test::Text { order, number, .. }, value) => match (number, number_of(value)) {
                (Some(number), Some(value)) => order.holds(&value, number),
                _ => false,
            },
            (Test::Regex(regex), Value::Text(text)) => regex.is_match(text),
            (Test::Regex(regex), Value::Level(level)) => regex.is_match(level.as_str()),
            (Test::Level(..) | Test::Time(..) | Test::Regex(_), _) => false,
        }
    }
}

/// The value as a number. Whole numbers above 2^53 lose their last digits, which a comparison with
/// a written literal does not notice.
fn number_of(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Int(number) => Some(number as f64),
        Value::Float(number) => Some(number),
        Value::Text(text) => text.parse().ok(),
        Value::Level(_) | Value::Time(_) => None,
    }
}

impl Order {
    fn holds<T: PartialOrd + ?Sized>(self, left: &T, right: &T) -> bool {
        match self {
            Order::Equal => left == right,
            Order::Less => left < right,
            Order::LessOrEqual => left <= right,
            Order::Greater => left > right,
            Order::GreaterOrEqual => left >= right,
        }
    }
}
