//! `[http]` and `[[http.access]]`. Invariant: a port that others can reach shows no text of a line
//! to anybody without a token, and a token that is easily guessed is no token. Next: `tests.rs`.

use std::net::SocketAddr;

use super::tls;
use crate::reader::Reader;
use crate::settings::{HttpAccess, HttpSettings};

/// Fewer characters can be guessed.
const TOKEN_CHARS_MIN: usize = 16;

pub(super) fn read(reader: &Reader<'_>) -> HttpSettings {
    let fallback = SocketAddr::from(([127, 0, 0, 1], 9600));
    let listen = reader.text("listen").and_then(|text| {
        let listen = text.value.parse().ok();
        if listen.is_none() {
            let message = format!("`http.listen` is \"{}\", no address with a port", text.shown());
            let help = "write an IP address and a port, such as `127.0.0.1:9600`";
            reader.context.error(&text.place, message, help);
        }
        listen
    });
    let listen: SocketAddr = listen.unwrap_or(fallback);
    let tls = tls::server(reader);
    let access: Vec<HttpAccess> =
        reader.sections("access").iter().filter_map(read_access).collect();
    if !access.is_empty() && tls.is_none() && !listen.ip().is_loopback() {
        let message = format!("tokens travel to `{listen}` as plain text");
        let help = "give `cert_file` and `key_file`, or listen on loopback behind a proxy with TLS";
        reader.context.warn(&reader.place, message, help);
    }
    reader.reject_unknown();
    HttpSettings { listen, tls, access }
}

fn read_access(reader: &Reader<'_>) -> Option<HttpAccess> {
    let token = reader.secret("token");
    if let Some((token, text)) = &token
        && token.reveal().chars().count() < TOKEN_CHARS_MIN
        && !text.unresolved
    {
        let message =
            format!("`{}` has fewer than {TOKEN_CHARS_MIN} characters", reader.name_of("token"));
        let help = "make a long one, such as by `openssl rand -hex 32`";
        reader.context.error(&text.place, message, help);
    }
    if let Some((token, text)) = &token
        && token.reveal().trim() != token.reveal().as_str()
    {
        let message = format!("`{}` begins or ends with a blank", reader.name_of("token"));
        reader.context.error(&text.place, message, "take it off: no request can carry it");
    }
    let is_given = reader.has("projects");
    let projects = reader.texts("projects");
    let reload = reader.flag("reload").unwrap_or_default();
    reader.reject_unknown();
    let projects = is_given.then(|| projects.into_iter().map(|text| text.value).collect());
    Some(HttpAccess { token: token?.0, projects, reload })
}
