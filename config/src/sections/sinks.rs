//! `[sinks.NAME]`. Next: `prefix.rs`, for what stands before the names of objects.

use super::prefix::prefix;
use super::{TopLevel, paths, s3, tls};
use crate::declare;
use crate::diagnostic::Place;
use crate::document::{Entry, Text};
use crate::reader::Reader;
use crate::settings::{
    Auth, BatchSettings, Compression, ElasticsearchSink, LocalSink, ObjectSettings, Records,
    Secret, Sink, SinkKind,
};
use riverhog_rules::Op;
use riverhog_rules::step::Share;

/// A sink and the places others must agree with.
pub(crate) struct SinkDraft {
    pub(crate) sink: Sink,
    pub(crate) place: Place,
    /// What is compiled into `Target::destinations`, in that order: index, with routing and
    /// pipeline where there are any; or bucket and prefix.
    pub(crate) templates: Vec<Text>,
    /// `buckets`, with their places.
    pub(crate) buckets: Vec<Text>,
}

/// One bit each in `Route::sinks`.
const SINKS_MAX: usize = 64;

pub(super) fn read(top: &TopLevel<'_>) -> Vec<SinkDraft> {
    let entries = top.named("sinks");
    if entries.is_empty() && !top.context.broken {
        let help = "add a section `[sinks.NAME]` with `type = \"elasticsearch\"`, `s3` or `local`";
        top.context.error(top.top, "there is no sink", help);
    }
    if let Some(first_too_many) = entries.get(SINKS_MAX) {
        let message = format!("{} sinks, of which {SINKS_MAX} are possible", entries.len());
        let help = "use templates in `index`, `bucket` and `prefix` in place of more sinks";
        top.context.error(&first_too_many.key_place, message, help);
    }
    let read = |entry| {
        let reader = top.variant_of("sinks", entry, &declare::SINKS)?;
        Some(read_one(&reader, entry))
    };
    entries.iter().take(SINKS_MAX).filter_map(read).collect()
}

fn read_one(reader: &Reader<'_>, entry: &Entry) -> SinkDraft {
    let (mut templates, mut buckets) = (Vec::new(), Vec::new());
    let kind = match reader.word() {
        "elasticsearch" => SinkKind::Elasticsearch(read_elasticsearch(reader, &mut templates)),
        "s3" => SinkKind::S3(s3::read(reader, &mut templates, &mut buckets)),
        _ => SinkKind::Local(read_local(reader, &mut templates)),
    };
    let halt_after_ms = reader.quantity("halt_after");
    let sink = Sink { name: entry.key.clone(), kind, halt_after_ms };
    reader.reject_unknown();
    SinkDraft { sink, place: entry.key_place.clone(), templates, buckets }
}

fn read_elasticsearch(reader: &Reader<'_>, templates: &mut Vec<Text>) -> ElasticsearchSink {
    let urls = reader.texts("urls");
    for url in &urls {
        check_url(reader, "urls", url, true);
    }
    let index = template(reader, "index");
    let (routing, pipeline) = (reader.text("routing"), reader.text("pipeline"));
    let data_stream = reader.flag("data_stream").unwrap_or_default();
    let op = match reader.choice("op") {
        "index" => Op::Index,
        _ => Op::Create,
    };
    if data_stream {
        check_data_stream(reader, op, &index);
    }
    let omit = reader.choices("omit");
    let sink = ElasticsearchSink {
        urls: urls.into_iter().map(|it| Secret::with_shown(it.value.clone(), it.shown())).collect(),
        index: index.value.clone(),
        data_stream,
        op,
        routing: routing.as_ref().map(|text| text.value.clone()),
        pipeline: pipeline.as_ref().map(|text| text.value.clone()),
        auth: read_auth(reader),
        tls: tls::read(reader),
        compression: match reader.choice("compression") {
            "gzip" => Compression::Gzip,
            "zstd" => Compression::Zstd,
            _ => Compression::None,
        },
        batch: reader.section("batch").map(|it| read_batch(&it)).unwrap_or_default(),
        in_flight_max: reader.integer("in_flight") as usize,
        adaptive: reader.flag("adaptive").unwrap_or_default(),
        omit_message: omit.contains(&"message"),
        timeout_ms: reader.duration_ms("timeout"),
        halt_above: reader.text("halt_above").map_or(Share::ALL, |it| halt_above(reader, &it)),
    };
    templates.extend(std::iter::once(index).chain(routing).chain(pipeline));
    sink
}

fn halt_above(reader: &Reader<'_>, text: &Text) -> Share {
    let share = Share::parse(&text.value);
    if share.is_none() && !text.unresolved {
        let name = reader.name_of("halt_above");
        let message = format!("`{name}` is \"{}\", no percentage", text.shown());
        let help = "write a share such as `\"10%\"` or `\"0.5%\"`";
        reader.context.error(&text.place, message, help);
    }
    share.unwrap_or(Share::ALL)
}

/// What a data stream refuses, or what makes no sense of one.
fn check_data_stream(reader: &Reader<'_>, op: Op, index: &Text) {
    let report = |key: &str, why: &str, help: &str| {
        let message = format!("`{key}` cannot stand with `data_stream = true`: {why}");
        reader.context.error(&reader.place_of(key), message, help);
    };
    if op == Op::Index {
        report("op", "data streams only create", "leave `op` out, or take `data_stream` out");
    }
    if reader.has("routing") {
        report("routing", "data streams route by themselves", "leave `routing` out");
    }
    if index.value.contains("{timestamp:") || index.value.contains("{received:") {
        let message = format!("`{}` makes a data stream for each day", reader.name_of("index"));
        let help = "leave the date out: a data stream rolls over by itself";
        reader.context.warn(&index.place, message, help);
    }
}

/// A template that may be missing; what stands in for it is never used.
pub(super) fn template(reader: &Reader<'_>, key: &str) -> Text {
    reader.text(key).unwrap_or_else(|| Text::fixed("", &reader.place))
}

fn read_auth(reader: &Reader<'_>) -> Auth {
    let [user, password] = declare::BASIC_AUTH.map(|key| reader.secret(key));
    let (api_key, bearer) = (reader.secret("api_key"), reader.secret("bearer"));
    let basic = user.is_some() || password.is_some();
    let ways = [("user", basic), ("api_key", api_key.is_some()), ("bearer", bearer.is_some())];
    let given: Vec<&str> = ways.iter().filter(|it| it.1).map(|it| it.0).collect();
    if let [first, second, ..] = given[..] {
        let message = format!("`{}` has both `{first}` and `{second}`", reader.path);
        let help = "keep one: `user` with `password`, `api_key`, or `bearer`";
        reader.context.error(&reader.place_of(second), message, help);
    }
    match (user, password, api_key, bearer) {
        (Some((user, _)), Some((password, _)), ..) => Auth::Basic { user, password },
        (Some((_, text)), None, ..) => lonely(reader, "user", "password", &text),
        (None, Some((_, text)), ..) => lonely(reader, "password", "user", &text),
        (.., Some((key, _)), _) => Auth::ApiKey(key),
        (.., None, Some((token, _))) => Auth::Bearer(token),
        (None, None, None, None) => Auth::None,
    }
}

fn lonely(reader: &Reader<'_>, given: &str, missing: &str, text: &Text) -> Auth {
    report_lonely(reader, given, missing, text);
    Auth::None
}

/// One of two settings that belong together.
pub(super) fn report_lonely(reader: &Reader<'_>, given: &str, missing: &str, text: &Text) {
    let message = format!("`{}` has no `{missing}`", reader.name_of(given));
    reader.context.error(&text.place, message, format!("add `{missing} = \"…\"`"));
}

pub(super) fn read_batch(reader: &Reader<'_>) -> BatchSettings {
    let batch = BatchSettings {
        size_max_bytes: reader.bytes("size") as usize,
        count_max: reader.integer("count") as usize,
        age_max_ms: reader.duration_ms("age"),
    };
    reader.reject_unknown();
    batch
}

pub(super) fn read_object(reader: &Reader<'_>) -> ObjectSettings {
    let object = ObjectSettings {
        size_max_bytes: reader.bytes("size") as usize,
        age_max_ms: reader.duration_ms("age"),
        level: reader.integer("level") as i32,
    };
    reader.reject_unknown();
    object
}

pub(super) fn object(reader: &Reader<'_>) -> ObjectSettings {
    reader.section("object").map(|it| read_object(&it)).unwrap_or_default()
}

pub(super) fn records(reader: &Reader<'_>) -> Records {
    // `events` is the only word that is not refused yet.
    let _events = reader.choice("records");
    Records::Events
}

fn read_local(reader: &Reader<'_>, templates: &mut Vec<Text>) -> LocalSink {
    let path = reader.path("path");
    if let Some((path, text)) = &path {
        paths::warn_of_folder(reader, path, text);
    }
    let (path, path_shown) = match path {
        Some((path, text)) if text.is_secret() => (path, text.shown().to_owned()),
        Some((path, _)) => (path.clone(), path.display().to_string()),
        None => Default::default(),
    };
    let prefix = prefix(reader);
    let sink = LocalSink {
        path,
        path_shown,
        prefix: prefix.value.clone(),
        object: object(reader),
        records: records(reader),
        prefixes_max: reader.integer("prefixes_max") as usize,
    };
    templates.extend([Text::fixed("", &prefix.place), prefix]);
    sink
}

/// `http://` or `https://`, a host, no credentials; a path only where that means something.
pub(super) fn check_url(reader: &Reader<'_>, key: &str, url: &Text, path_allowed: bool) {
    let name = reader.name_of(key);
    let report = |problem: &str, help: &str| {
        let message = format!("`{name}`: \"{}\" {problem}", url.shown());
        reader.context.error(&url.place, message, help);
    };
    let value = &url.value;
    let Some(rest) = value.strip_prefix("http://").or_else(|| value.strip_prefix("https://"))
    else {
        return report("has no scheme", "begin it with `http://` or `https://`");
    };
    let (authority, path) = match rest.find(['/', '?', '#']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let port = authority.rsplit_once(':').map(|it| it.1).filter(|it| !it.ends_with(']'));
    if authority.contains('@') {
        // A message that shows the text would show a password.
        reader.context.hide(&url.place);
        let message = format!("`{name}` holds a user or password");
        let help = if path_allowed {
            "use the settings `user` and `password`"
        } else {
            "use the settings `access_key` and `secret_key`"
        };
        reader.context.error(&url.place, message, help);
    } else if authority.is_empty() || authority.starts_with(':') {
        report("names no host", "write `http://host:port`");
    } else if port.is_some_and(|port| port.parse::<u16>().is_err()) {
        report("has no valid port", "write `http://host:port`");
    } else if value.contains(char::is_whitespace) || value.contains('#') {
        report("is no address", "take out white space and `#`");
    } else if !path_allowed && !matches!(path, "" | "/") {
        report("has a path", "write scheme, host and port alone");
    }
}
