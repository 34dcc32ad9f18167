//! Values that can be told by themselves: tokens with a prefix of their own, JSON web tokens, PEM
//! blocks, and passwords in addresses.
//!
//! Invariant: a prefix alone is never enough; alphabet, length and what stands around it must agree
//! with what its issuer documents. Next stop: `find`.
use std::ops::Range;

use memchr::{memchr2_iter, memmem};

use super::assignment::REDACTED;
use super::find::Finding;
use super::kind::Kind;
use super::text::{ALPHANUMERIC, AUTHORITY_END, Text, WORD, is};

/// A prefix and what must follow it.
struct Prefix {
    text: &'static [u8],
    kind: Kind,
    alphabet: Alphabet,
    /// Characters behind the prefix, least and most.
    length: (usize, usize),
    /// It may follow `-` or `_`.
    within: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Alphabet {
    /// `A` to `Z` and digits.
    Upper,
    /// Letters and digits.
    Alphanumeric,
    /// Letters, digits, `-` and `_`, with at least one digit.
    Word,
}

const fn prefix(
    text: &'static [u8],
    kind: Kind,
    alphabet: Alphabet,
    length: (usize, usize),
) -> Prefix {
    // A word that ends in `sk` is no key.
    let within = !matches!(text, [b's', b'k', ..]);
    Prefix { text, kind, alphabet, length, within }
}

/// In the order they are tried in: the longer of two that begin alike first. Lengths are those of
/// the issuers' pages, wider where they say that they may change.
static PREFIXES: [Prefix; 26] = [
    prefix(b"AKIA", Kind::AwsAccessKey, Alphabet::Upper, (16, 16)),
    prefix(b"ASIA", Kind::AwsAccessKey, Alphabet::Upper, (16, 16)),
    prefix(b"AKID", Kind::TencentKey, Alphabet::Alphanumeric, (28, 40)),
    prefix(b"AIza", Kind::GoogleKey, Alphabet::Word, (35, 35)),
    prefix(b"LTAI", Kind::AliyunKey, Alphabet::Alphanumeric, (12, 26)),
    prefix(b"github_pat_", Kind::GithubToken, Alphabet::Word, (22, 255)),
    prefix(b"ghp_", Kind::GithubToken, Alphabet::Alphanumeric, (36, 255)),
    prefix(b"gho_", Kind::GithubToken, Alphabet::Alphanumeric, (36, 255)),
    prefix(b"ghu_", Kind::GithubToken, Alphabet::Alphanumeric, (36, 255)),
    prefix(b"ghs_", Kind::GithubToken, Alphabet::Alphanumeric, (36, 255)),
    prefix(b"ghr_", Kind::GithubToken, Alphabet::Alphanumeric, (36, 255)),
    prefix(b"glpat-", Kind::GitlabToken, Alphabet::Word, (20, 255)),
    prefix(b"hf_", Kind::HfToken, Alphabet::Alphanumeric, (30, 64)),
    prefix(b"sk-ant-", Kind::AnthropicKey, Alphabet::Word, (20, 255)),
    prefix(b"sk-proj-", Kind::OpenaiKey, Alphabet::Word, (20, 255)),
    prefix(b"sk-svcacct-", Kind::OpenaiKey, Alphabet::Word, (20, 255)),
    prefix(b"sk-admin-", Kind::OpenaiKey, Alphabet::Word, (20, 255)),
    prefix(b"sk-or-v1-", Kind::OpenaiKey, Alphabet::Word, (20, 255)),
    prefix(b"sk-", Kind::OpenaiKey, Alphabet::Alphanumeric, (32, 255)),
    prefix(b"wandb_v1_", Kind::WandbKey, Alphabet::Word, (40, 255)),
    prefix(b"xapp-", Kind::SlackToken, Alphabet::Word, (20, 255)),
    prefix(b"xoxa-", Kind::SlackToken, Alphabet::Word, (10, 255)),
    prefix(b"xoxb-", Kind::SlackToken, Alphabet::Word, (10, 255)),
    prefix(b"xoxp-", Kind::SlackToken, Alphabet::Word, (10, 255)),
    prefix(b"xoxr-", Kind::SlackToken, Alphabet::Word, (10, 255)),
    prefix(b"xoxs-", Kind::SlackToken, Alphabet::Word, (10, 255)),
];

/// Looks at a run of letters, digits, `-` and `_`.
pub(super) fn of_run(text: &mut Text<'_>, start: usize, end: usize) -> Option<Finding> {
    let start = start + text.escape_at(start);
    let run = text.slice(start, end);
    text.steps += run.len() as u64;
    let found = prefixed(run).map(|(at, kind)| (start + at.start, start + at.end, kind));
    let found = found.or_else(|| jwt(text, start, end));
    let found = found.or_else(|| google_oauth(text, start, end));
    let found = found.or_else(|| wandb_login(text, start, end));
    found.map(|(start, end, kind)| Finding::plain(start, end, kind))
}

fn prefixed(run: &[u8]) -> Option<(Range<usize>, Kind)> {
    let later = memchr2_iter(b'-', b'_', run).map(|at| at + 1);
    [0].into_iter().chain(later).find_map(|at| {
        let here = run.get(at..)?;
        if !matches!(here.first()?, b'A' | b'L' | b'g' | b'h' | b's' | b'w' | b'x') {
            return None;
        }
        let mut known = PREFIXES.iter().filter(|known| at == 0 || known.within);
        known.find_map(|known| {
            let length = known.length_in(here.strip_prefix(known.text)?)?;
            Some((at..at + known.text.len() + length, known.kind))
        })
    })
}

impl Prefix {
    /// How much of what follows the prefix belongs to the token.
    fn length_in(&self, rest: &[u8]) -> Option<usize> {
        let other = rest.iter().position(|byte| !is(*byte, ALPHANUMERIC));
        let (length, fits) = match self.alphabet {
            Alphabet::Word => (rest.len(), rest.iter().any(u8::is_ascii_digit)),
            Alphabet::Alphanumeric => (other.unwrap_or(rest.len()), true),
            Alphabet::Upper => {
                let length = other.unwrap_or(rest.len());
                (length, rest[..length].iter().all(|byte| !byte.is_ascii_lowercase()))
            }
        };
        let (min, max) = self.length;
        // A name may begin like a token; it goes on with `_`.
        let goes_on = rest.get(length) == Some(&b'_');
        (fits && !goes_on && (min..=max).contains(&length)).then_some(length)
    }
}

/// Three to five parts in base64url, of which the first is an object: `{"` is `eyJ`.
fn jwt(text: &mut Text<'_>, start: usize, end: usize) -> Option<(usize, usize, Kind)> {
    if !text.slice(start, end).starts_with(b"eyJ") {
        return None;
    }
    let mut end = end;
    let mut parts = 1;
    while parts < 5 && text.get(end) == Some(b'.') {
        let part_end = text.run_end(end + 1, WORD, usize::MAX);
        if part_end - end < 8 {
            break;
        }
        (end, parts) = (part_end, parts + 1);
    }
    (parts >= 3).then_some((start, end, Kind::Jwt))
}

/// `ya29.` and a long run.
fn google_oauth(text: &Text<'_>, start: usize, end: usize) -> Option<(usize, usize, Kind)> {
    let from = start.checked_sub(5)?;
    (text.slice(from, start) == b"ya29.").then_some((from, end, Kind::GoogleKey))
}

/// A key of Weights & Biases looks like a commit, but for what stands in front of it.
fn wandb_login(text: &mut Text<'_>, start: usize, end: usize) -> Option<(usize, usize, Kind)> {
    let run = text.slice(start, end);
    let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if run.len() != 40 || !run.iter().all(is_hex) {
        return None;
    }
    let word_end = text.skip_blanks_back(start);
    let before = text.slice(word_end.saturating_sub(64), word_end);
    text.steps += before.len() as u64;
    let of_login = before.ends_with(b"login") || before.ends_with(b"--relogin");
    let of_wandb = of_login && memmem::find(before, b"wandb").is_some();
    of_wandb.then_some((start, end, Kind::WandbKey))
}

/// `scheme://user:password@host`; `at` is the colon behind the scheme.
pub(super) fn url_password(text: &mut Text<'_>, at: usize) -> Option<Finding> {
    let start = at + 3;
    let end = text.end_before(start, AUTHORITY_END, usize::MAX);
    let authority = text.slice(start, end);
    let host = authority.iter().rposition(|byte| *byte == b'@')?;
    let colon = authority[..host].iter().position(|byte| *byte == b':')?;
    let password = &authority[colon + 1..host];
    // A user that was redacted holds a colon.
    let placeholder = authority.starts_with(REDACTED)
        || matches!(password.first(), None | Some(b'$' | b'{'))
        || password.iter().all(|byte| *byte == b'*')
        || password.starts_with(REDACTED);
    let (from, to) = (start + colon + 1, start + host);
    (!placeholder).then(|| Finding::plain(from, to, Kind::UrlPassword))
}

/// Blocks of private keys, to the end of the text where they are not closed. Lines of them may be
/// joined, or their line ends escaped.
pub(super) fn private_keys(
    begin: &memmem::Finder<'_>,
    text: &mut Text<'_>,
    found: &mut Vec<Finding>,
) {
    let bytes = text.bytes;
    let mut from = 0;
    text.steps += bytes.len() as u64;
    while let Some(at) = begin.find(&bytes[from..]) {
        let start = from + at;
        let label_start = start + BEGIN.len();
        let label = text.slice(label_start, label_start + LABEL_MAX);
        text.steps += LABEL_MAX as u64;
        from = label_start;
        let Some(label_end) = memmem::find(label, b"-----") else { continue };
        if memmem::find(&label[..label_end], b"PRIVATE KEY").is_none() {
            continue;
        }
        from = label_start + label_end + 5;
        let closed = memmem::find(&bytes[from..], b"-----END ");
        let end = match closed {
            Some(at) => {
                let label_start = from + at + 9;
                let label = text.slice(label_start, label_start + LABEL_MAX);
                memmem::find(label, b"-----").map_or(label_start, |at| label_start + at + 5)
            }
            None => bytes.len(),
        };
        found.push(Finding::plain(start, end, Kind::PrivateKey));
        from = end;
    }
}

/// What a block begins with.
pub(super) const BEGIN: &[u8] = b"-----BEGIN ";
/// `OPENSSH PRIVATE KEY` and its like.
const LABEL_MAX: usize = 64;
