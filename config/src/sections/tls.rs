//! `ca_file`, `cert_file` and `key_file` of a sink. Invariant: a file that is named can be read and
//! holds what it should; whether the parts fit together is seen when they are used. Next:
//! `prefix.rs`.

use super::sinks::report_lonely;
use crate::document::Text;
use crate::reader::Reader;
use crate::settings::{ClientFiles, TlsFiles};
use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

/// No more of a file is looked at; a system's whole bundle has a quarter of a mebibyte.
const FILE_MAX_BYTES: u64 = 16 << 20;

const BEGIN_CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----";
const ENCRYPTED_KEY: [&str; 2] =
    ["-----BEGIN ENCRYPTED PRIVATE KEY-----", "Proc-Type: 4,ENCRYPTED"];

pub(super) fn read(reader: &Reader<'_>) -> TlsFiles {
    let ca = file(reader, "ca_file", certificate);
    let client = pair(reader);
    TlsFiles { ca: ca.map(|(path, _)| path), client }
}

fn pair(reader: &Reader<'_>) -> Option<ClientFiles> {
    let (cert, key) = (file(reader, "cert_file", certificate), file(reader, "key_file", key));
    match (cert, key) {
        (Some((cert, _)), Some((key, _))) => Some(ClientFiles { cert, key }),
        (Some((_, text)), None) => {
            report_lonely(reader, "cert_file", "key_file", &text);
            None
        }
        (None, Some((_, text))) => {
            report_lonely(reader, "key_file", "cert_file", &text);
            None
        }
        (None, None) => None,
    }
}

/// `cert_file` and `key_file` of a server.
pub(super) fn server(reader: &Reader<'_>) -> Option<ClientFiles> {
    pair(reader)
}

/// What is wrong with a text, and the cure.
type Problem = (&'static str, String);

fn certificate(pem: &str) -> Option<Problem> {
    let help = format!("name a PEM file; each certificate begins with `{BEGIN_CERTIFICATE}`");
    (!pem.contains(BEGIN_CERTIFICATE)).then_some(("holds no certificate", help))
}

fn key(pem: &str) -> Option<Problem> {
    if ENCRYPTED_KEY.iter().any(|mark| pem.contains(mark)) {
        let help = "take the password off with `openssl pkey`, and let nobody else read the file";
        return Some(("holds a key with a password", help.to_owned()));
    }
    let help = "name a PEM file; a key begins with `-----BEGIN PRIVATE KEY-----`".to_owned();
    let is_there = pem.contains("-----BEGIN ") && pem.contains("PRIVATE KEY-----");
    (!is_there).then_some(("holds no key", help))
}

fn file(
    reader: &Reader<'_>,
    setting: &str,
    check: fn(&str) -> Option<Problem>,
) -> Option<(PathBuf, Text)> {
    let (path, text) = reader.path(setting)?;
    let name = reader.name_of(setting);
    let mut pem = Vec::new();
    let read = File::open(&path).and_then(|it| it.take(FILE_MAX_BYTES).read_to_end(&mut pem));
    if let Err(error) = read {
        let message = format!("`{name}`: the file `{}` cannot be read: {error}", text.shown());
        let help = "a relative path starts at the folder of this configuration file";
        reader.context.error(&text.place, message, help);
    } else if let Some((problem, help)) = check(&String::from_utf8_lossy(&pem)) {
        let message = format!("`{name}`: the file `{}` {problem}", text.shown());
        reader.context.error(&text.place, message, help);
    }
    Some((path, text))
}
