//! Names whose values are secrets: `password`, `api_key`, `HF_TOKEN`, `clientSecret`.
//!
//! Invariant: a name is judged by how it ends, without regard to case and to `_`, `-` and `.`, and
//! the words of training (`pad_token`, `max_tokens`, `key`) are no such names. Next stop:
//! `assignment`, which judges the value.
use super::kind::Kind;

/// What a name says about its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Keyword {
    /// Whatever the value is, it is secret.
    Password,
    /// The value is a path in a shell's environment, else a password.
    Pwd,
    /// A key or a secret.
    Key(Kind),
    /// A token that is qualified: `access_token`.
    NamedToken(Kind),
    /// `token`, which means so much else in training.
    Token,
    /// `Authorization`.
    Authorization,
    /// `sig` in the query of an address.
    Signature,
}

/// The longest end of a name that is looked at.
pub(super) const NAME_MAX: usize = 64;

/// What stands in front of `token` where the token is a credential.
const QUALIFIERS: [&[u8]; 34] = [
    b"access",
    b"api",
    b"auth",
    b"bearer",
    b"bot",
    b"comet",
    b"csrf",
    b"deploy",
    b"github",
    b"gitlab",
    b"hf",
    b"hub",
    b"huggingface",
    b"join",
    b"jwt",
    b"login",
    b"modelscope",
    b"npm",
    b"oauth",
    b"personal",
    b"private",
    b"pypi",
    b"refresh",
    b"registration",
    b"sas",
    b"secret",
    b"security",
    b"service",
    b"session",
    b"slack",
    b"swanlab",
    b"vault",
    b"wandb",
    b"xsrf",
];

/// What a name says; `None` for a name like any other.
pub(super) fn keyword(name: &[u8]) -> Option<Keyword> {
    if !ends_like_one(name) {
        return None;
    }
    let mut letters = [0; NAME_MAX];
    let mut length = 0;
    for byte in &name[name.len().saturating_sub(NAME_MAX)..] {
        if !matches!(byte, b'_' | b'-' | b'.') {
            letters[length] = byte.to_ascii_lowercase();
            length += 1;
        }
    }
    let plain = &letters[..length];
    let ends = |word: &[u8]| plain.ends_with(word);
    let of_wandb = plain.windows(5).any(|part| part == b"wandb");
    if ends(b"password") || ends(b"passwd") || ends(b"passphrase") {
        return Some(Keyword::Password);
    }
    if ends(b"pwd") {
        return Some(Keyword::Pwd);
    }
    if ends(b"authorization") {
        return Some(Keyword::Authorization);
    }
    if let Some(before) = plain.strip_suffix(b"token") {
        let kind = if of_wandb { Kind::WandbKey } else { Kind::Token };
        let qualified = QUALIFIERS.iter().any(|word| before.ends_with(word));
        return match before {
            b"" => Some(Keyword::Token),
            _ => qualified.then_some(Keyword::NamedToken(kind)),
        };
    }
    let kind = if ends(b"secretaccesskey") || ends(b"amzsignature") {
        Kind::AwsSecretKey
    } else if ends(b"accountkey") || ends(b"sharedaccesskey") {
        Kind::AzureKey
    } else if ends(b"accesskeysecret") {
        Kind::AliyunKey
    } else if ends(b"secret") {
        Kind::Secret
    } else if of_wandb && ends(b"key") {
        Kind::WandbKey
    } else if KEYS.iter().any(|word| ends(word)) {
        Kind::ApiKey
    } else {
        return (plain == b"sig").then_some(Keyword::Signature);
    };
    Some(Keyword::Key(kind))
}

const KEYS: [&[u8]; 7] = [
    b"apikey",
    b"accesskey",
    b"secretkey",
    b"privatekey",
    b"subscriptionkey",
    b"authkey",
    b"encryptionkey",
];

/// Most names end otherwise, and this is all they cost.
pub(super) fn ends_like_one(name: &[u8]) -> bool {
    let Some(end) = name.last_chunk::<3>() else { return false };
    let end = end.map(|byte| byte.to_ascii_lowercase());
    matches!(
        &end,
        b"ord" | b"swd" | b"pwd" | b"ase" | b"ion" | b"ken" | b"key" | b"ret" | b"ure" | b"sig"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expect: Option<Keyword>) {
        assert_eq!(keyword(name.as_bytes()), expect, "{name}");
    }

    #[test]
    fn names_are_judged_by_their_end() {
        check("DB_PASSWORD", Some(Keyword::Password));
        check("spring.datasource.password", Some(Keyword::Password));
        check("Proxy-Authorization", Some(Keyword::Authorization));
        check("aws_secret_access_key", Some(Keyword::Key(Kind::AwsSecretKey)));
        check("accessKeySecret", Some(Keyword::Key(Kind::AliyunKey)));
        check("x-api-key", Some(Keyword::Key(Kind::ApiKey)));
        check("WANDB_API_KEY", Some(Keyword::Key(Kind::WandbKey)));
        check("HF_TOKEN", Some(Keyword::NamedToken(Kind::Token)));
        check("token", Some(Keyword::Token));
    }

    #[test]
    fn words_of_training_are_no_keywords() {
        for name in [
            "pad_token",
            "use_cls_token",
            "image_token",
            "tokens",
            "key",
            "cache_key",
            "version",
            "num_key_value_heads",
            "password_required",
            "temperature",
            "config",
            "phase",
            "word",
        ] {
            check(name, None);
        }
    }
}
