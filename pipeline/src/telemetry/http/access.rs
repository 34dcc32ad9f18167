//! Who may ask `/api/…`, and what of it each may see. Pure.
//!
//! Invariant: text of lines goes to this machine alone, or to whoever has a token; a page of
//! another site that runs in a browser of this machine is neither; nothing is changed without a
//! token that says so. Next stop: [`super::Server`], which answers.

use http::HeaderMap;
use http::header::{AUTHORIZATION, HOST};

/// A token and what it opens.
#[derive(Clone)]
pub struct Access {
    /// What stands behind `Bearer`.
    pub token: String,
    /// Lines of these projects; `None`: of all.
    pub projects: Option<Vec<String>>,
    /// It may ask for a reload.
    pub reload: bool,
}

/// Without the token.
impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access")
            .field("projects", &self.projects)
            .field("reload", &self.reload)
            .finish_non_exhaustive()
    }
}

/// What somebody may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grant<'a> {
    /// Lines of these projects; `None`: of all.
    pub(super) projects: Option<&'a [String]>,
    pub(super) reload: bool,
}

/// Why somebody may do nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// No token, or one that is none: 401.
    Unauthorised,
    /// Not from this machine, and there are no tokens: 403.
    NotNear,
    /// From this machine, for a name that is not its own, as a page of another site asks: 403.
    ForeignHost,
}

impl Grant<'_> {
    /// Whether lines of a project may be seen; a line without one only by those who see all.
    pub(super) fn sees(&self, project: Option<&str>) -> bool {
        match self.projects {
            None => true,
            Some(projects) => project.is_some_and(|it| projects.iter().any(|known| known == it)),
        }
    }
}

/// What the sender of these headers may do; `is_near`: it is on this machine.
pub(super) fn grant<'a>(
    access: &'a [Access],
    headers: &HeaderMap,
    is_near: bool,
) -> Result<Grant<'a>, Refusal> {
    if access.is_empty() {
        return match headers.get(HOST).and_then(|host| host.to_str().ok()) {
            _ if !is_near => Err(Refusal::NotNear),
            Some(host) if !is_own_name(host) => Err(Refusal::ForeignHost),
            _ => Ok(Grant { projects: None, reload: false }),
        };
    }
    let given = headers.get(AUTHORIZATION).map(http::HeaderValue::as_bytes);
    let token = given.and_then(bearer).ok_or(Refusal::Unauthorised)?;
    // All are looked at, so that the time tells nothing of which it is.
    let mut found = None;
    for entry in access {
        if is_same(entry.token.as_bytes(), token) {
            found = Some(entry);
        }
    }
    let entry = found.ok_or(Refusal::Unauthorised)?;
    Ok(Grant { projects: entry.projects.as_deref(), reload: entry.reload })
}

/// The token of `Bearer …`; the scheme in any case.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

/// An address or `localhost`, with any port: no name that somebody's own name server gives.
fn is_own_name(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<std::net::IpAddr>().is_ok()
}

/// Compares in a time that depends on the lengths alone.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b));
    one.len() == other.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Access> {
        let nlp = Some(vec!["nlp".to_owned()]);
        vec![
            Access { token: "of-the-team-of-nlp".to_owned(), projects: nlp, reload: false },
            Access { token: "of-an-administrator".to_owned(), projects: None, reload: true },
        ]
    }

    #[track_caller]
    fn check(
        access: &[Access],
        (name, value): (&'static str, &str),
        is_near: bool,
        expect: Result<(Option<&[String]>, bool), Refusal>,
    ) {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().expect("a value"));
        let found = grant(access, &headers, is_near).map(|it| (it.projects, it.reload));
        assert_eq!(found, expect, "{name}: {value}");
    }

    #[test]
    fn without_tokens_this_machine_may_look() {
        let near = Ok((None, false));
        for host in ["127.0.0.1:9600", "localhost", "LocalHost:1", "[::1]:9600", "10.1.2.3"] {
            check(&[], ("host", host), true, near);
        }
        check(&[], ("x", "y"), true, near);
        check(&[], ("host", "127.0.0.1"), false, Err(Refusal::NotNear));
        // A page whose name was pointed at this machine.
        for host in ["evil.example", "evil.example:9600", "localhost.evil.example", ""] {
            check(&[], ("host", host), true, Err(Refusal::ForeignHost));
        }
    }

    #[test]
    fn a_token_opens_what_it_says_from_anywhere() {
        let all = entries();
        let nlp = ["nlp".to_owned()];
        let header = |token: &str| format!("Bearer {token}");
        let team = Ok((Some(&nlp[..]), false));
        check(&all, ("authorization", &header("of-the-team-of-nlp")), false, team);
        check(&all, ("authorization", "bearer  of-the-team-of-nlp "), true, team);
        let admin = Ok((None, true));
        check(&all, ("authorization", &header("of-an-administrator")), false, admin);
        for wrong in ["of-the-team-of-nlq", "of-the-team-of-nl", "of-the-team-of-nlpp", ""] {
            let expect = Err(Refusal::Unauthorised);
            check(&all, ("authorization", &header(wrong)), true, expect);
        }
        check(&all, ("authorization", "Basic x"), true, Err(Refusal::Unauthorised));
        check(&all, ("host", "127.0.0.1"), true, Err(Refusal::Unauthorised));
    }

    #[test]
    fn a_project_is_seen_by_its_own_and_by_all() {
        let nlp = ["nlp".to_owned()];
        let team = Grant { projects: Some(&nlp), reload: false };
        let seen = [Some("nlp"), Some("vision"), None].map(|project| team.sees(project));
        assert_eq!(seen, [true, false, false]);
        let all = Grant { projects: None, reload: false };
        assert!(all.sees(None) && all.sees(Some("vision")));
    }

    #[test]
    fn a_token_is_not_printed() {
        let shown = format!("{:?}", entries());
        assert!(shown.contains("nlp") && !shown.contains("team"), "{shown}");
    }
}
