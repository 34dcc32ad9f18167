//! What a configuration may ask of its surroundings. Invariant: the only way from here to the
//! environment and to secret files, so that tests can stand in for both. Next: `document/`.

use std::io::{self, Read};
use std::path::Path;

/// A secret is a word or a key, not a log file.
const SECRET_MAX_BYTES: u64 = 1 << 20;

/// The surroundings of a process.
pub trait Env {
    /// An environment variable; none when it is unset or not UTF-8.
    fn var(&self, name: &str) -> Option<String>;

    /// The text of a secret file, for `${file:PATH}`; at most 1 MiB.
    fn read_secret(&self, path: &Path) -> io::Result<String> {
        let mut text = String::new();
        let file = std::fs::File::open(path)?;
        file.take(SECRET_MAX_BYTES + 1).read_to_string(&mut text)?;
        if text.len() as u64 > SECRET_MAX_BYTES {
            return Err(io::Error::other("larger than 1MiB"));
        }
        Ok(text)
    }

    /// True when everybody on this machine may read a file; false where that is not known.
    fn is_open_to_all(&self, _path: &Path) -> bool {
        false
    }

    /// The program's version, part of the fingerprint.
    // A test may hold a version of its own.
    #[allow(clippy::unnecessary_literal_bound)]
    fn program_version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }
}

/// The surroundings of this very process.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProcessEnv;

impl Env for ProcessEnv {
    fn var(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    #[cfg(unix)]
    fn is_open_to_all(&self, path: &Path) -> bool {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(path).is_ok_and(|it| it.permissions().mode() & 0o004 != 0)
    }
}
