//! A template as checks of keys see it: what is certain of every text it gives. Invariant: reads
//! any text, also one that does not compile as a template. Next: `sections/prefix.rs`.

/// A stretch of what a template gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece {
    Letter(char),
    /// Any text without `/`.
    Value,
}

/// A text that is no template.
pub(crate) fn literal(text: &str) -> Vec<Piece> {
    text.chars().map(Piece::Letter).collect()
}

/// The pieces of a template, in order.
pub(crate) fn pieces(template: &str) -> Vec<Piece> {
    let mut out = Vec::new();
    let mut letters = template.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '{' | '}' if letters.peek() == Some(&letter) => {
                letters.next();
                out.push(Piece::Letter(letter));
            }
            '{' => {
                out.push(Piece::Value);
                for inside in letters.by_ref().take_while(|it| *it != '}') {
                    // A date format may hold slashes, which stay slashes.
                    if inside == '/' {
                        out.extend([Piece::Letter('/'), Piece::Value]);
                    }
                }
            }
            letter => out.push(Piece::Letter(letter)),
        }
    }
    out
}
