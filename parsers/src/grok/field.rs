//! From a group's name to a field: `WORD:name:type`.
//!
//! Invariant: deliveries stand in Logstash's order: full names by their first appearance, and the
//! groups of one name by their place in the pattern. Next on the trip: [`super::engine`].

use super::regex::{Regex, SyntaxError};
use super::types::{FieldType, GrokError, GrokField};

/// One group's capture goes to one field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Delivery {
    pub(super) field: u16,
    /// Index into the expression's groups.
    pub(super) slot: usize,
}

/// The steps of the field that all fields stand in; none for an empty name.
pub(super) fn target(name: &str) -> Result<Vec<String>, GrokError> {
    if name.is_empty() {
        return Ok(Vec::new());
    }
    path(name).ok_or_else(|| GrokError {
        span: 0..0,
        message: format!("`{name}` is no field name"),
        help: Some("write a name, or `[outer][inner]`".to_owned()),
    })
}

/// The fields of an expression, in the field of those steps, and who delivers them.
pub(super) fn assign(
    regex: &Regex,
    target: &[String],
) -> Result<(Vec<GrokField>, Vec<Delivery>), SyntaxError> {
    let mut full_names: Vec<(&str, Vec<usize>)> = Vec::new();
    for (slot, group) in regex.groups.iter().enumerate() {
        let Some(name) = &group.name else { continue };
        match full_names.iter_mut().find(|(known, _)| known == name) {
            Some((_, slots)) => slots.push(slot),
            None => full_names.push((name, vec![slot])),
        }
    }
    let mut fields: Vec<GrokField> = Vec::new();
    let mut deliveries = Vec::new();
    for (full_name, slots) in full_names {
        let mut field = field(full_name).map_err(|message| SyntaxError {
            span: regex.groups[slots[0]].span.clone(),
            message,
            help: None,
        })?;
        field.put_into(target);
        let known = fields.iter().position(|known| *known == field);
        let index = known.unwrap_or(fields.len());
        if known.is_none() {
            fields.push(field);
        }
        let field = u16::try_from(index).expect("there are at most ten thousand groups");
        deliveries.extend(slots.into_iter().map(|slot| Delivery { field, slot }));
    }
    Ok((fields, deliveries))
}

impl GrokField {
    fn put_into(&mut self, target: &[String]) {
        if !target.is_empty() {
            self.path.splice(0..0, target.iter().cloned());
            self.name = self.path.join(".");
        }
    }
}

/// The second part of a group's name is the field, the third its type; of one part it is the field.
fn field(full_name: &str) -> Result<GrokField, String> {
    let mut parts = full_name.trim_end_matches(':').split(':');
    let first = parts.next().unwrap_or_default();
    let (name, kind) = match parts.next() {
        None => (first, None),
        Some(name) => (name, parts.next()),
    };
    let kind = kind.and_then(FieldType::parse).unwrap_or_default();
    let path = path(name).ok_or_else(|| format!("`{name}` is no field name"))?;
    Ok(GrokField { name: path.join("."), path, kind })
}

/// `name`, or `[outer][inner]`.
fn path(name: &str) -> Option<Vec<String>> {
    let Some(inner) = name.strip_prefix('[') else {
        let plain = !name.is_empty() && !name.contains(['[', ']']);
        return plain.then(|| vec![name.to_owned()]);
    };
    let steps = inner.strip_suffix(']')?.split("][");
    let steps: Vec<String> = steps.map(str::to_owned).collect();
    steps.iter().all(|step| !step.is_empty() && !step.contains(['[', ']'])).then_some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(full_name: &str, expect: Option<(&str, FieldType)>) {
        let found = field(full_name).ok();
        let found = found.as_ref().map(|field| (&*field.name, field.kind));
        assert_eq!(found, expect, "{full_name:?}");
    }

    #[test]
    fn names() {
        check("WORD:a", Some(("a", FieldType::Text)));
        check("WORD", Some(("WORD", FieldType::Text)));
        check("INT:a:int", Some(("a", FieldType::Int)));
        check("INT:a:float", Some(("a", FieldType::Float)));
        check("INT:a:long", Some(("a", FieldType::Long)));
        check("INT:a:double", Some(("a", FieldType::Double)));
        check("INT:a:boolean", Some(("a", FieldType::Boolean)));
        check("INT:a:integer", Some(("a", FieldType::Text)));
        check("INT:a:b:int", Some(("a", FieldType::Text)));
        check("a:int", Some(("int", FieldType::Text)));
        check("INT:[a][b]:int", Some(("a.b", FieldType::Int)));
        check("WORD:[a]", Some(("a", FieldType::Text)));
        check("WORD:a:", Some(("a", FieldType::Text)));
        check("WORD:[a][b", None);
        check("WORD:[]", None);
        check("WORD:a[b]", None);
        check("WORD::int", None);
    }
}
