//! Separators: one or several texts, any of which parts what stands around it.
//!
//! Invariant: at one place the longest separator counts, and a search looks at a byte once. Next on
//! the trip: [`super::key_value`].

use super::FormatError;

/// The most separators, and the most bytes of one.
const SEPARATORS_MAX: usize = 64;

/// Separators, ready to be looked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Splitter {
    /// Longest first; none is empty.
    texts: Vec<String>,
    /// Bytes that a separator begins with.
    first: Box<[bool; 256]>,
}

impl Splitter {
    /// `option` names the setting in errors.
    pub(super) fn compile(texts: &[String], option: &'static str) -> Result<Splitter, FormatError> {
        let error = |message: &str| FormatError {
            option,
            span: 0..0,
            message: message.to_owned(),
            help: Some("for example `\" \"` or `[\", \", \";\"]`".to_owned()),
        };
        if texts.is_empty() || texts.iter().any(String::is_empty) {
            return Err(error("an empty separator"));
        }
        if texts.len() > SEPARATORS_MAX || texts.iter().any(|text| text.len() > SEPARATORS_MAX) {
            return Err(error("more than 64 separators, or one of more than 64 bytes"));
        }
        let mut texts = texts.to_vec();
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        let mut first = Box::new([false; 256]);
        for text in &texts {
            first[usize::from(text.as_bytes()[0])] = true;
        }
        Ok(Splitter { texts, first })
    }

    /// The length of the separator that stands here.
    pub(super) fn at(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let rest = bytes.get(at..)?;
        if !self.first[usize::from(*rest.first()?)] {
            return None;
        }
        self.texts.iter().find(|text| rest.starts_with(text.as_bytes())).map(String::len)
    }

    /// The first separator before `end`: its place, or `end`.
    pub(super) fn find(&self, bytes: &[u8], from: usize, end: usize) -> usize {
        let found = (from..end).find(|at| self.at(&bytes[..end], *at).is_some()).unwrap_or(end);
        super::looked_at(found - from);
        found
    }
}
