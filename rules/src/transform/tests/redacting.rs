//! No part of a document, no destination and no label holds a secret value of its line or record.
use proptest::prelude::*;

use riverhog_parsers::formats::{Format, FormatParser};

use super::*;
use crate::redact::{Action, Redact};

const PATTERN: &str = "%{TIMESTAMP_ISO8601:log_time} %{LOGLEVEL:level} %{NOTSPACE:component}: \
    %{GREEDYDATA:content}";

/// One action for all there is.
fn all(action: Action) -> Arc<Redact> {
    Arc::new(Redact::new(crate::redact::tests::all(action)))
}

#[test]
fn a_value_leaves_content_component_fields_and_message() {
    let members = "content component fields message";
    let line = "2026-03-12 10:23:45,123 INFO hub.token=4f9d2c7b1a3e5f60: \"x\" password=hunter2 ok";
    check(
        PATTERN,
        line,
        members,
        r#"content="\"x\" password=[redacted:password] ok" component="hub.token=[redacted:token]" fields=null message="2026-03-12 10:23:45,123 INFO hub.token=[redacted:token]: \"x\" password=[redacted:password] ok""#,
    );
    // A field that is the value itself, without the name in front of it; parts of one; numbers.
    check(
        "user=%{WORD:user} password=%{NOTSPACE:secret} %{GREEDYDATA:content}",
        "user=alice password=hun-ter2 rest",
        members,
        r#"content="rest" component=null fields={"user":"alice","secret":"[redacted:password]"} message="user=alice password=[redacted:password] rest""#,
    );
    check(
        "password=%{WORD:first}-%{WORD:last} n=%{INT:n:int}",
        "password=hun-ter2 n=7",
        "fields content",
        r#"fields={"first":"[redacted:password]","last":"[redacted:password]","n":7} content="password=[redacted:password] n=7""#,
    );
    check(
        "password=%{INT:n:int} x=%{NUMBER:x:float}",
        "password=123456 x=1.5",
        "fields",
        r#"fields={"n":null,"x":1.5}"#,
    );
    // What no parser accepts is redacted as well, over several lines too.
    check(
        PATTERN,
        "key:\n-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\nend",
        "content message tags",
        r#"content="key:\n[redacted:private_key]\nend" message=null tags=["_unparsed"]"#,
    );
}

/// A line whose prefixes and colours come off.
#[track_caller]
fn check_peeled(line: &str, expect: &str) {
    let plan = Plan {
        peel: Layers::SURE,
        parse: vec![rule("test", "%{LOGLEVEL:level} %{GREEDYDATA:content}")],
        redact: Some(Arc::new(Redact::default())),
        targets: vec![target(TargetKind::Path, &[""])],
        routes: vec![route("", 1)],
        ..plan()
    };
    let (out, _) = run(plan, &[(record(), line.as_bytes())]);
    let shown = shown(&out, &out.events[0], &["content", "fields", "message"]);
    assert_eq!(shown, expect, "{line:?}");
}

#[test]
fn neither_prefixes_nor_colours_show_a_value() {
    check_peeled(
        "(AKIAIOSFODNN7EXAMPLE pid=7, ip=AKIAIOSFODNN7EXAMPLE) INFO ok",
        r#"content="ok" fields={"worker":"[redacted:aws_access_key]","pid":7,"node":"[redacted:aws_access_key]"} message="([redacted:aws_access_key] pid=7, ip=[redacted:aws_access_key]) INFO ok""#,
    );
    // The digits of a rank are the end of a token here.
    check_peeled(
        "[ghp_abcdefghijklmnopqrstuvwxyzabcd12345678]:INFO ok",
        r#"content="ok" fields=null message="[[redacted:github_token]]:INFO ok""#,
    );
    check_peeled(
        "INFO \u{1b}[36mpassword\u{1b}[0m=\u{1b}[35mhunter2secret\u{1b}[0m x",
        r#"content="password=[redacted:password] x" fields=null message="INFO password=[redacted:password] x""#,
    );
    check_peeled(
        "[rank3]: INFO password=hunter2secret",
        r#"content="password=[redacted:password]" fields=null message="[rank3]: INFO password=[redacted:password]""#,
    );
}

#[test]
fn labels_hosts_and_destinations_hold_what_is_left() {
    let change = |plan: &mut Plan, record: &mut Record<'_>| {
        plan.parse = vec![rule("test", "run %{NOTSPACE:run} password=%{NOTSPACE:pw}")];
        plan.redact = Some(all(Action::Mask));
        plan.labels[0].from = selectors(Stage::Labels, &["fields.pw"]);
        plan.targets = vec![target(TargetKind::Path, &["{task}/{role}/{host}/{key}/"])];
        plan.routes = vec![route("key =~ \"redacted\" and not (message =~ \"hunter2\")", 1)];
        record.key = Some(b"https://a:hunter2@b");
        record.headers =
            &[("role", b"hf_AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh"), ("host", b"10.0.0.7")];
    };
    check_with(
        change,
        "run r1 password=hunter2",
        "labels/task labels/role host",
        "[redacted:password]/[redacted:hf_token]/[redacted:ip]/\
         https:__a:[redacted:url_password]@b/ labels/task=\"[redacted:password]\" \
         labels/role=\"[redacted:hf_token]\" host={\"name\":\"[redacted:ip]\"}",
    );
}

#[test]
fn a_host_of_the_table_keeps_its_name() {
    let change = |plan: &mut Plan, record: &mut Record<'_>| {
        let table = HostTable::from_csv("host,node\n10.0.0.7,n7\n").unwrap();
        plan.tables.hosts = Some(Arc::new(table));
        plan.redact = Some(all(Action::Mask));
        record.headers = &[("host", b"10.0.0.7")];
    };
    check_with(change, LINE, "host/name host/node", {
        "ms-swift-train-logs-2026.03.12 train-logs|unassigned/2026-03-12/worker/ \
         host/name=\"10.0.0.7\" host/node=\"n7\""
    });
}

#[test]
fn what_is_parsed_from_an_envelope_is_redacted() {
    let envelope = Envelope {
        fields: [("log.message", "token=4f9d2c7b1a3e5f60 user=alice")].into_iter().collect(),
        message: Vec::new(),
        host: None,
        time_ns: None,
        kind: "filebeat",
        ..Envelope::default()
    };
    let (mut plan, mut record) = (plan(), record());
    let field = selectors(Stage::Parse, &["envelope.log.message"]).pop();
    plan.parse =
        vec![ParseRule { field, ..rule("test", "token=%{NOTSPACE:t} user=%{WORD:component}") }];
    plan.targets = vec![target(TargetKind::Path, &[""])];
    plan.routes = vec![route("", 1)];
    record.envelope = Some(&envelope);
    let (out, counters) = run(plan, &[(record, b"a plain line")]);
    let members = ["fields", "component", "content"];
    let expect = r#"fields={"t":"[redacted:token]"} component="alice" content="a plain line""#;
    assert_eq!(shown(&out, &out.events[0], &members), expect);
    assert_eq!(counters.redacted.iter().sum::<u64>(), 1);
}

#[test]
fn values_are_counted_by_kind_and_ids_stay() {
    let line = b"password=hunter2 Authorization: Bearer abcDEF123456.ghi-789_JKL password: hunter3";
    let (out, counters) = run(plan(), &[(record(), line)]);
    let redact = Redact::default();
    let counted: Vec<(&str, u64)> =
        redact.kinds().zip(counters.redacted).filter(|(_, values)| *values > 0).collect();
    assert_eq!(counted, [("authorization", 1), ("password", 2)]);
    let (whole, _) = run(Plan { redact: None, ..plan() }, &[(record(), line)]);
    assert_eq!(out.id(&out.events[0]), whole.id(&whole.events[0]));
    assert!(String::from_utf8_lossy(&whole.bytes).contains("hunter2"));
}

#[test]
fn fields_of_built_in_formats_are_those_of_the_redacted_line() {
    let formats = [
        (
            formats::json(),
            r#"{"a":"x","password":"hunter2","msg":"é \"token=4f9d2c7b1a3e5f60\" b"}"#,
        ),
        (formats::kv(), "a=x password=hunter2 msg=b token=4f9d2c7b1a3e5f60 level=warn"),
        (Format::Logfmt, r#"a=x password=hunter2 msg="b token=4f9d2c7b1a3e5f60" level=warn"#),
    ];
    for (format, line) in formats {
        for action in [Action::Mask, Action::Hash, Action::Remove] {
            let parser = LineParser::Format(Box::new(FormatParser::new(format.clone(), [])));
            let rule = ParseRule { parser, time: None, ..rule("format", "x") };
            let plan = Plan { parse: vec![rule], redact: Some(all(action)), ..plan() };
            let (out, _) = run(plan, &[(record(), line.as_bytes())]);
            let text = String::from_utf8_lossy(&out.bytes);
            assert!(!text.contains("hunter2") && !text.contains("4f9d2c7b1a3e5f60"), "{text}");
            let document: Json = serde_json::from_slice(out.document(&out.events[0])).unwrap();
            assert!(document["fields"]["a"] == "x" || action == Action::Remove, "{text}");
        }
    }
}

proptest! {
    #[test]
    fn no_document_holds_the_value(
        before in "\\PC{0,20}",
        value in "[a-zA-Z0-9!%+_]{6,20}",
        after in "\\PC{0,20}",
        pattern in prop::sample::select(&[
            PATTERN,
            "%{GREEDYDATA:content}",
            "(?<a>.*)password=(?<b>.)(?<c>..)(?<content>.*)",
            "%{DATA:component}=%{GREEDYDATA:rank}",
        ][..]),
        action in prop::sample::select(&[Action::Mask, Action::Hash, Action::Remove][..]),
    ) {
        // What begins like a placeholder is none of ours.
        prop_assume!(!value.starts_with(['%', '-', '.']) && !before.contains(&value));
        prop_assume!(!after.contains(&value) && value.bytes().any(|b| b != value.as_bytes()[0]));
        let line = format!("{before} password={value} {after}");
        let mut plan = plan();
        plan.redact = Some(all(action));
        plan.parse = vec![rule("test", pattern)];
        plan.labels[0].from = selectors(Stage::Labels, &["fields.a", "fields.b"]);
        let (out, _) = run(plan, &[(record(), line.as_bytes())]);
        let text = std::str::from_utf8(&out.bytes).unwrap();
        prop_assert!(!text.contains(&value), "{}", text);
        let document = out.document(&out.events[0]);
        prop_assert!(serde_json::from_slice::<Json>(document).is_ok());
    }
}
