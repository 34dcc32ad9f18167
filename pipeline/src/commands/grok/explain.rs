//! `riverhog grok --explain`: what became of a pattern, for people.
//!
//! Invariant: it says what [`riverhog_parsers::grok::Explanation`] says, and reads no line. Next
//! stop: the room `parsers`, which explains.

use std::io::{self, Write};

use riverhog_parsers::grok::{Grok, Part};

pub(super) fn explain(grok: &Grok, out: &mut impl Write) -> io::Result<()> {
    let explanation = grok.explain();
    writeln!(out, "tier    {}: {}", explanation.tier.as_str(), explanation.reason)?;
    match explanation.limit_reason {
        Some(reason) => writeln!(out, "steps   limited, for {reason}")?,
        None => writeln!(out, "steps   every line has an answer")?,
    }
    for field in grok.fields() {
        writeln!(out, "field   {} ({})", field.name, field.kind.as_str())?;
    }
    for literal in &explanation.literals {
        writeln!(out, "needs   {literal:?}")?;
    }
    for part in &explanation.parts {
        write_part(grok.pattern(), part, out)?;
    }
    for finding in &explanation.findings {
        let place = grok.pattern().get(finding.span.clone()).unwrap_or_default();
        writeln!(out, "remark  `{place}`: {}", finding.message)?;
        writeln!(out, "        {}", finding.help)?;
    }
    writeln!(out, "regex   {}", explanation.expansion)
}

fn write_part(pattern: &str, part: &Part, out: &mut impl Write) -> io::Result<()> {
    let text = pattern.get(part.span.clone()).unwrap_or_default();
    writeln!(out, "part    `{text}`  {}: {}", part.tier.as_str(), part.reason)
}
