//! `[sinks.NAME]` with `type = "s3"`. Invariant: what objects are stored as can be read at once.
//! Next: `tls.rs`.

use super::prefix::prefix;
use super::sinks::{check_url, object, records, report_lonely, template};
use super::tls;
use crate::document::Text;
use crate::reader::Reader;
use crate::settings::{Exclusive, ObjectSettings, Records, S3Credentials, S3Sink, Secret};

pub(super) fn read(
    reader: &Reader<'_>,
    templates: &mut Vec<Text>,
    listed: &mut Vec<Text>,
) -> S3Sink {
    let bucket = template(reader, "bucket");
    let prefix = prefix(reader);
    *listed = reader.texts("buckets");
    check_buckets(reader, &bucket, listed);
    let one = read_place(reader, &bucket, &prefix);
    let buckets = if listed.is_empty() {
        one.buckets
    } else {
        listed.iter().map(|text| text.value.clone()).collect()
    };
    let sink = S3Sink {
        buckets,
        object: object(reader),
        exclusive: match reader.choice("exclusive") {
            "oss" => Exclusive::Oss,
            "cos" => Exclusive::Cos,
            "none" => Exclusive::None,
            _ => Exclusive::Create,
        },
        records: records(reader),
        in_flight_max: reader.integer("in_flight") as usize,
        prefixes_max: reader.integer("prefixes_max") as usize,
        ..one
    };
    templates.extend([bucket, prefix]);
    sink
}

/// `[dead_letter]` with `type = "s3"`: the same server, but one bucket and one prefix.
pub(super) fn read_dead_letter(reader: &Reader<'_>) -> S3Sink {
    let bucket = template(reader, "bucket");
    let prefix = prefix(reader);
    for (key, text) in [("bucket", &bucket), ("prefix", &prefix)] {
        if text.value.contains(['{', '}']) {
            let name = reader.name_of(key);
            let message = format!("`{name}` is \"{}\": dead letters have one place", text.shown());
            reader.context.error(&text.place, message, "write it without placeholders");
        }
    }
    if !bucket.value.contains(['{', '}']) {
        check_buckets(reader, &bucket, &[]);
    }
    read_place(reader, &bucket, &prefix)
}

/// One bucket of a server and how it is reached; all that a sink says beyond it is at its least.
fn read_place(reader: &Reader<'_>, bucket: &Text, prefix: &Text) -> S3Sink {
    let endpoint = reader.text("endpoint");
    if let Some(endpoint) = &endpoint {
        check_url(reader, "endpoint", endpoint, false);
    }
    let (encryption, kms_key) = read_encryption(reader);
    S3Sink {
        region: reader.text("region").map(|text| text.value).unwrap_or_default(),
        bucket: bucket.value.clone(),
        buckets: vec![bucket.value.clone()],
        prefix: prefix.value.clone(),
        object: ObjectSettings::default(),
        path_style: reader.flag("path_style").unwrap_or(endpoint.is_some()),
        credentials: read_credentials(reader),
        tls: tls::read(reader),
        encryption,
        kms_key,
        storage_class: read_storage_class(reader),
        exclusive: Exclusive::None,
        records: Records::Events,
        in_flight_max: 1,
        prefixes_max: 1,
        timeout_ms: reader.duration_ms("timeout"),
        endpoint: endpoint.map(|it| Secret::with_shown(it.value.clone(), it.shown())),
    }
}

fn read_credentials(reader: &Reader<'_>) -> Option<S3Credentials> {
    match (reader.secret("access_key"), reader.secret("secret_key")) {
        (Some((access_key, _)), Some((secret_key, _))) => {
            Some(S3Credentials { access_key, secret_key })
        }
        (Some((_, text)), None) => {
            report_lonely(reader, "access_key", "secret_key", &text);
            None
        }
        (None, Some((_, text))) => {
            report_lonely(reader, "secret_key", "access_key", &text);
            None
        }
        (None, None) => None,
    }
}

fn read_encryption(reader: &Reader<'_>) -> (Option<&'static str>, Option<String>) {
    let encryption = reader.chosen("encryption");
    let key = reader.text("kms_key");
    if let Some(key) = key.as_ref().filter(|_| encryption != Some("aws:kms")) {
        let name = reader.name_of("kms_key");
        let message = format!("`{name}` does nothing without `encryption = \"aws:kms\"`");
        reader.context.error(&key.place, message, "add it, or take `kms_key` out");
    }
    (encryption, key.map(|text| text.value))
}

/// A class whose objects can be read at once: the end of a chain is read back.
fn read_storage_class(reader: &Reader<'_>) -> Option<String> {
    let text = reader.text("storage_class")?;
    let name = reader.name_of("storage_class");
    let is_word = |it: char| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '_';
    let class = text.value.to_ascii_uppercase();
    if class == "GLACIER" || class.contains("ARCHIVE") {
        let shown = text.shown();
        let message = format!("`{name}` is \"{shown}\": such objects cannot be read at once");
        let help = "use `STANDARD_IA` or `GLACIER_IR`, and move old objects by a lifecycle rule \
                    of the bucket";
        reader.context.error(&text.place, message, help);
    } else if !text.value.chars().all(is_word) {
        let message = format!("`{name}`: \"{}\" is no storage class", text.shown());
        let help = "write it in capitals, such as `STANDARD_IA`";
        reader.context.error(&text.place, message, help);
    }
    Some(text.value)
}

fn check_buckets(reader: &Reader<'_>, bucket: &Text, buckets: &[Text]) {
    let name = reader.name_of("bucket");
    let is_template = bucket.value.contains('{');
    if is_template && !reader.has("buckets") {
        let message = format!("`{name}` is a template without `buckets`");
        let help = "list every bucket it may give: `buckets = [\"…\"]`";
        reader.context.error(&bucket.place, message, help);
    }
    let alone = !is_template && !buckets.is_empty() && !bucket.value.is_empty();
    if alone && !buckets.iter().any(|it| it.value == bucket.value) {
        let message = format!("`{name}` is \"{}\", which `buckets` does not list", bucket.shown());
        let help = "add it to `buckets`, or take `buckets` out";
        reader.context.error(&bucket.place, message, help);
    }
    for bucket in std::iter::once(bucket).filter(|_| !is_template).chain(buckets) {
        let odd = |it: char| it.is_whitespace() || matches!(it, '/' | '{' | '}' | ':' | '?');
        if bucket.value.contains(odd) {
            let message = format!("\"{}\" cannot be a bucket", bucket.shown());
            let help = "write its name alone; what follows a `/` belongs to `prefix`";
            reader.context.error(&bucket.place, message, help);
        }
    }
}
