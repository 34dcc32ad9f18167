//! A value that must not be printed. Invariant: `Debug` and `Display` never show what came from the
//! environment or a secret file, so a settings struct can be logged as it is. Next: `source.rs`.

use std::fmt;

/// A value with a form that may be shown. The shown form is the text as the file has it (with
/// `${NAME}` unexpanded) or `***` where the setting itself is a secret, such as a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<T = String> {
    value: T,
    shown: Box<str>,
}

impl<T> Secret<T> {
    /// A value whose shown form is `***`.
    pub fn new(value: T) -> Self {
        Self::with_shown(value, "***")
    }

    /// A value with the form that may be shown in its place.
    pub fn with_shown(value: T, shown: &str) -> Self {
        Self { value, shown: shown.into() }
    }

    /// The value itself, to be handed to a client and nowhere else.
    pub fn reveal(&self) -> &T {
        &self.value
    }

    /// The form that may be shown, as `Display` prints it.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.shown, formatter)
    }
}

impl<T> fmt::Display for Secret<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_form_of_printing_shows_the_value() {
        let secret = Secret::with_shown("hunter2".to_owned(), "${PASSWORD}");
        assert_eq!(format!("{secret} {secret:?}"), "${PASSWORD} \"${PASSWORD}\"");
        assert_eq!(secret.reveal(), "hunter2");
        assert_eq!(Secret::new(1).shown(), "***");
    }
}
