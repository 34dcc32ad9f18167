//! What good configurations come to: values, defaults, order, fingerprint, guarantees.

use riverhog_config::{
    Auth, BatchSettings, Compression, Config, DeadLetter, Env, EnvelopeKind, Exclusive,
    HttpSettings, KafkaSource, ObjectSettings, Severity, SinkKind, Source, Start, Topics,
    guarantees, load,
};
use riverhog_parsers::fields::Fields;
use riverhog_parsers::grok::Outcome;
use riverhog_rules::{ActionForm, LineParser, Op, Template};
use std::fs;
use std::path::Path;

/// Name and value of the one variable that matters here, and the version.
struct With(&'static str, &'static str, &'static str);

impl Env for With {
    fn var(&self, name: &str) -> Option<String> {
        match name {
            _ if name == self.0 => Some(self.1.to_owned()),
            "BROKER" => Some("kafka-1".to_owned()),
            "PASSWORD" => Some("hunter2".to_owned()),
            _ => None,
        }
    }

    fn program_version(&self) -> &str {
        self.2
    }
}

fn load_with(path: &str, env: &With) -> Config {
    load(Path::new(path), env).unwrap_or_else(|report| panic!("{}", report.render(false)))
}

fn good(name: &str) -> Config {
    load_with(&format!("golden/good/{name}"), &With("", "", "1"))
}

fn kafka(source: &Source) -> &KafkaSource {
    source.kafka().expect("a kafka source")
}

/// Loads a text by itself, in a folder of its own.
fn text(text: &str) -> Config {
    let folder = tempfile::tempdir().expect("a folder of our own");
    fs::write(folder.path().join("a.toml"), text).expect("it can be written");
    load(&folder.path().join("a.toml"), &With("", "", "1"))
        .unwrap_or_else(|report| panic!("{}", report.render(false)))
}

const BASE: &str = "[sources.p]\ntype = 'stdin'\n[sinks.a]\ntype = 'local'\npath = 'a'\n\
                    [[route]]\nsinks = ['a']\n";

#[test]
fn every_word_of_envelope_is_its_kind() {
    for (word, kind) in [
        ("auto", EnvelopeKind::Auto),
        ("none", EnvelopeKind::None),
        ("filebeat", EnvelopeKind::Filebeat),
        ("fluent-bit", EnvelopeKind::FluentBit),
        ("vector", EnvelopeKind::Vector),
        ("cri", EnvelopeKind::Cri),
        ("docker", EnvelopeKind::Docker),
        ("otlp", EnvelopeKind::Otlp),
        ("loki", EnvelopeKind::Loki),
        ("journald", EnvelopeKind::Journald),
        ("pack", EnvelopeKind::Pack),
    ] {
        let config = text(&BASE.replace("'stdin'", &format!("'stdin'\nenvelope = '{word}'")));
        assert_eq!(config.sources[0].envelope, kind, "{word}");
    }
}

#[test]
fn the_example_of_the_documentation_loads_as_it_stands() {
    let config = good("design.toml");
    assert_eq!(config.warnings, []);
    assert_eq!(config.memory_bytes, 256 << 20);
    assert_eq!(config.http.listen.to_string(), "127.0.0.1:9600");
    let [source] = &config.sources[..] else { panic!("one source") };
    assert_eq!((source.name.as_str(), source.line_max_bytes), ("logs", 1 << 20));
    assert_eq!(source.envelope, EnvelopeKind::Auto);
    assert_eq!(kafka(source).topics, Topics::List(vec!["train-logs".to_owned()]));
    assert_eq!(
        (kafka(source).group.as_str(), &kafka(source).start),
        ("riverhog", &Start::Earliest)
    );
    let [search, archive] = &config.sinks[..] else { panic!("two sinks") };
    assert_eq!((search.name.as_str(), archive.name.as_str()), ("search", "archive"));
    let SinkKind::Elasticsearch(elasticsearch) = &search.kind else { panic!("elasticsearch") };
    assert_eq!(elasticsearch.auth, Auth::None);
    assert_eq!(elasticsearch.batch, BatchSettings::default());
    let SinkKind::S3(s3) = &archive.kind else { panic!("s3") };
    assert!(s3.path_style, "an endpoint of one's own is asked by path");
    assert_eq!(s3.object, ObjectSettings::default());
    assert_eq!(s3.buckets, ["train-logs"]);
    let Some(DeadLetter::Kafka(dead)) = &config.dead_letter else { panic!("a topic") };
    assert_eq!(dead.brokers, ["127.0.0.1:9092"]);
    let plan = &config.plan;
    assert_eq!((plan.parse.len(), plan.labels.len(), plan.routes.len()), (1, 3, 2));
    assert_eq!((plan.routes[0].sinks, plan.routes[1].sinks), (0b11, 0b10));
    assert_eq!(plan.targets[1].destinations.len(), 2);
    assert_eq!(plan.tables.hosts.as_ref().map(|table| table.len()), Some(2));
    assert_eq!(config.tests[0].sinks.as_deref(), Some(&["archive".to_owned()][..]));
    assert_eq!(config.tests[0].expect[0].name, "level");
}

#[test]
fn built_in_formats_read_lines_with_their_options() {
    let config = good("formats.toml");
    let shown = |name: &str, line: &str| {
        let mut rules = config.plan.parse.iter();
        let rule = rules.find(|rule| rule.name == name).expect("a rule of that name");
        let LineParser::Format(parser) = &rule.parser else { panic!("{name} is a format") };
        let mut fields = Fields::new();
        if parser.run(line, &mut fields) != Outcome::Matched {
            return None;
        }
        let shown: Vec<String> =
            fields.iter(line).map(|it| format!("{}={:?}", it.name, it.value())).collect();
        Some(shown.join(" "))
    };
    let check = |name: &str, line: &str, expect: Option<&str>| {
        assert_eq!(shown(name, line).as_deref(), expect, "{name} on {line:?}");
    };
    check("json", r#"{"ts":1}"#, Some("doc.ts=Number(\"1\")"));
    check(
        "metrics",
        "'step'='7', loss: (2.5 x=1 loss=3",
        Some("m.step=Text(\"7\") m.loss=Text(\"3\")"),
    );
    check("csv", "'1'\t\t3", Some("step=Text(\"1\")"));
    check(
        "dissect",
        "30 Mai x  y",
        Some("time=Text(\"30 Mai\") level=Text(\"x\") content=Text(\"y\")"),
    );
    check("logfmt", "a=1 b", None);
    let time = |name: &str| {
        let mut rules = config.plan.parse.iter();
        let rule = rules.find(|rule| rule.name == name).expect("a rule of that name");
        rule.time.as_ref().map(|time| time.field.clone())
    };
    assert_eq!(time("json").as_deref(), Some("doc.ts"));
    assert_eq!([time("metrics"), time("logfmt")], [None, None]);
    // These say themselves where their time stands, and the zone is that of `[time]`.
    for name in ["syslog", "cri", "klog"] {
        assert_eq!(time(name).as_deref(), Some("time"), "{name}");
    }
    assert_eq!([time("training"), time("nccl")], [(); 2].map(|()| Some("log_time".to_owned())));
    check("nccl", "[INFO:swift] x", None);
    check(
        "training",
        "[INFO:swift] x",
        Some(
            "level=Text(\"INFO\") component=Text(\"swift\") content=Text(\"x\") format=Text(\"swift\")",
        ),
    );
    let mut rules = config.plan.parse.iter();
    let syslog = rules.find(|rule| rule.name == "syslog").and_then(|rule| rule.time.as_ref());
    let noon = syslog.expect("it has a time").parser.parse("Jan  2 12:00:00", 0);
    assert_eq!(noon, Some((24 + 4) * 3_600_000_000_000));
}

#[test]
fn every_setting_can_be_set() {
    let config = good("full.toml");
    let source = &config.sources[0];
    let properties = &kafka(source).properties;
    assert_eq!(properties["security.protocol"].reveal(), "SASL_SSL");
    assert_eq!(properties["sasl.password"].reveal(), "hunter2");
    assert_eq!(properties["sasl.password"].shown(), "${PASSWORD}");
    assert_eq!(properties["enable.ssl.certificate.verification"].reveal(), "true");
    assert_eq!(kafka(source).brokers, ["kafka-1:9092", "kafka-2:9092"]);
    assert_eq!(kafka(source).start, Start::Timestamp(1_773_280_800_000));
    assert_eq!(config.stop_deadline_ms, 90_000);
    let SinkKind::Elasticsearch(search) = &config.sinks[0].kind else { panic!("elasticsearch") };
    let Auth::Basic { user, password } = &search.auth else { panic!("basic") };
    assert_eq!((user.reveal().as_str(), password.reveal().as_str()), ("riverhog", "s3cret"));
    assert_eq!(search.tls.ca.as_deref(), Some(Path::new("golden/good/ca.pem")));
    assert!(search.omit_message);
    // One rule for each grok expression, under one name.
    let names: Vec<&str> = config.plan.parse.iter().map(|rule| rule.name.as_str()).collect();
    assert_eq!(names, ["swift", "swift", "word"]);
    assert!(config.plan.parse[0].time.is_some() && config.plan.parse[1].time.is_none());
    let Some(DeadLetter::Kafka(dead)) = &config.dead_letter else { panic!("a topic") };
    assert_eq!(dead.brokers, kafka(source).brokers);
    let borrowed: Vec<&str> = dead.properties.keys().map(String::as_str).collect();
    assert_eq!(borrowed, ["sasl.password", "sasl.username", "security.protocol"]);
    let expected: Vec<&str> = config.tests[0].expect.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(expected, ["level", "fields.step", "host.rack"]);
}

#[test]
fn everything_that_a_store_can_be_told_is_read() {
    let config = good("stores.toml");
    let [search, stream, archive] = &config.sinks[..] else { panic!("three sinks") };
    let SinkKind::Elasticsearch(search) = &search.kind else { panic!("elasticsearch") };
    assert_eq!((search.op, search.data_stream, search.adaptive), (Op::Index, false, false));
    assert_eq!(search.compression, Compression::Zstd);
    let client = search.tls.client.as_ref().expect("a certificate");
    assert_eq!(client.key, Path::new("golden/good/key.pem"));
    let target = &config.plan.targets[0];
    let texts: Vec<&str> = target.destinations.iter().map(Template::text).collect();
    assert_eq!(texts, ["logs-{timestamp:%Y.%m.%d}", "{task}", "by-{task}"]);
    assert_eq!(target.action, ActionForm { op: Op::Index, routing: true, pipeline: true });
    let SinkKind::Elasticsearch(stream) = &stream.kind else { panic!("elasticsearch") };
    assert_eq!((stream.op, stream.data_stream, stream.adaptive), (Op::Create, true, true));
    assert_eq!(config.plan.targets[1].action, ActionForm::default());
    let SinkKind::S3(archive) = &archive.kind else { panic!("s3") };
    assert_eq!((archive.exclusive, archive.encryption), (Exclusive::Oss, Some("aws:kms")));
    assert_eq!(archive.kms_key.as_deref(), Some("alias/logs"));
    assert_eq!(archive.storage_class.as_deref(), Some("GLACIER_IR"));
    assert!(archive.tls.ca.is_some() && archive.tls.client.is_some());
    let told = guarantees(&config);
    let begins = ["effectively once", "at least once: a data stream", "effectively once"];
    for ((name, sentence), begin) in told.iter().zip(begins) {
        assert!(sentence.starts_with(begin), "{name}: {sentence}");
    }
    assert!(told[0].1.contains("replaces it"), "{}", told[0].1);
}

#[test]
fn a_folder_is_read_in_the_order_of_names() {
    let config = good("folder");
    let parsers: Vec<&str> = config.plan.parse.iter().map(|rule| rule.name.as_str()).collect();
    assert_eq!(parsers, ["first", "second"]);
    let sinks: Vec<&str> = config.sinks.iter().map(|sink| sink.name.as_str()).collect();
    assert_eq!(sinks, ["search", "archive"]);
    assert_eq!(config.plan.routes[0].sinks, 0b11);
}

#[test]
fn defaults_are_those_that_are_declared() {
    let config = text(BASE);
    let SinkKind::Local(local) = &config.sinks[0].kind else { panic!("local") };
    assert_eq!(local.object, ObjectSettings::default());
    assert_eq!(local.object.size_max_bytes, 16 << 20);
    assert_eq!((local.object.age_max_ms, local.object.level), (600_000, 1));
    assert_eq!(config.http, HttpSettings::default());
    assert_eq!((config.memory_bytes, config.stop_deadline_ms), (256 << 20, 25_000));
    let batch = BatchSettings::default();
    assert_eq!((batch.size_max_bytes, batch.count_max, batch.age_max_ms), (4 << 20, 10_000, 1_000));
}

/// Whether a change of full.toml leaves the fingerprint as it is.
#[track_caller]
fn check_fingerprint(from: &str, to: &str, same: bool) {
    let full = fs::read_to_string("golden/good/full.toml").expect("it is there");
    assert!(full.contains(from), "full.toml has no {from}");
    let folder = tempfile::tempdir().expect("a folder of our own");
    for name in ["hosts.csv", "secret.txt", "ca.pem"] {
        fs::copy(format!("golden/good/{name}"), folder.path().join(name)).expect("it is there");
    }
    let path = folder.path().join("full.toml");
    let of = |text: &str| {
        fs::write(&path, text).expect("it can be written");
        load(&path, &With("", "", "1")).unwrap_or_else(|it| panic!("{to}: {it}")).fingerprint
    };
    assert_eq!(of(&full) == of(&full.replacen(from, to, 1)), same, "{from} -> {to}");
}

#[test]
fn a_salt_counts_where_hashes_are_made_of_it() {
    let folder = tempfile::tempdir().expect("a folder of our own");
    let path = folder.path().join("riverhog.toml");
    let good = fs::read_to_string("golden/good/redact.toml").expect("it is there");
    let of = |text: &str, salt: &'static str| {
        fs::write(&path, text).expect("it can be written");
        load(&path, &With("SECRET", salt, "1")).unwrap_or_else(|it| panic!("{it}")).fingerprint
    };
    assert_ne!(of(&good, "hunter2"), of(&good, "hunter3"));
    assert_ne!(of(&good, "hunter2"), of(&good.replace("\"remove\"", "\"mask\""), "hunter2"));
    let masked = good.replace("\"hash\"", "\"mask\"");
    assert_eq!(of(&masked, "hunter2"), of(&masked, "hunter3"));
}

#[test]
fn what_bears_on_no_event_is_no_part_of_the_fingerprint() {
    let check = |from, to| check_fingerprint(from, to, true);
    check("memory = \"512MiB\"", "# a comment\nmemory = '1GiB'");
    check("stop_deadline = \"1m30s\"", "stop_deadline = '5s'");
    check("listen = \"[::1]:9601\"", "listen = '127.0.0.1:9700'");
    check("[http]\nlisten = \"[::1]:9601\"", "");
    check("batch = { size = \"8MiB\", count = 5000, age = \"500ms\" }", "batch = { count = 7 }");
    check("in_flight = 8", "in_flight = 2");
    check("timeout = \"10s\"", "timeout = '20s'");
    check("compression = \"gzip\"", "compression = 'none'");
    check("ca_file = \"ca.pem\"", "");
    check("user = \"riverhog\"", "user = 'another'");
    check("\"sasl.username\" = \"riverhog\"", "\"sasl.username\" = 'another'");
    check("\"sasl.password\" = \"${PASSWORD}\"", "\"sasl.password\" = 'plain'");
    check("\"fetch.min.bytes\" = 1000", "\"fetch.min.bytes\" = 1\n\"client.rack\" = 'a'");
    check("\"enable.ssl.certificate.verification\" = true", "\"group.instance.id\" = 'one'");
    check("[[tests]]\nname = \"a step\"", "[[tests]]");
}

#[test]
fn what_bears_on_an_event_is_part_of_the_fingerprint() {
    let check = |from, to| check_fingerprint(from, to, false);
    // What is read.
    check("topic_pattern = '^train-.*'", "topic_pattern = '^train'");
    check("group = \"riverhog\"", "group = 'other'");
    check("\"fetch.min.bytes\" = 1000", "\"isolation.level\" = 'read_uncommitted'");
    check("lineage = \"blue\"", "lineage = 'green'");
    check("line_max = \"2MiB\"", "line_max = '3MiB'");
    // Documents.
    check("memory = \"512MiB\"\nunparsed = \"dead_letter\"", "unparsed = 'keep'");
    check("zone = \"Asia/Shanghai\"\n", "zone = 'UTC'\n");
    check("zone = \"+08:00\" }", "zone = '+09:00' }");
    check("STEP = 'step [0-9]+'", "STEP = 'step [0-9]*'");
    check("%{LOGLEVEL:level} %{STEP:step}", "%{LOGLEVEL:level}  %{STEP:step}");
    check("rack = { from = [\"host.rack\"] }", "rack = { from = ['key'] }");
    check("omit = [\"message\"]\n", "");
    // Routes and destinations.
    check("level >= \"warn\" and", "level >= \"error\" and");
    check("sinks = [\"search\", \"vector\"]", "sinks = ['vector', 'search', 'copy']");
    check("index = \"logs-{task}-{timestamp:%Y.%m.%d}\"", "index = 'logs-{task}'");
    check("https://search-2:9200/path", "https://search-3:9200/path");
    check("exclusive = \"none\"", "exclusive = 'create'");
    check("level = 3", "level = 4");
}

#[test]
fn the_order_of_the_sinks_counts_as_own_watermarks_stand_in_it() {
    let [one, two] = ["one", "two"].map(|it| format!("[sinks.{it}]\ntype='local'\npath='{it}'\n"));
    let of = |sinks: [&str; 2]| {
        let route = "[[route]]\nsinks = ['one', 'two']\n";
        text(&format!("[sources.p]\ntype = 'stdin'\n{}{route}", sinks.concat())).fingerprint
    };
    assert_eq!(of([&one, &two]), of([&one, &two]));
    assert_ne!(of([&one, &two]), of([&two, &one]));
}

#[test]
fn secrets_and_spelling_do_not_count_for_the_fingerprint() {
    let of = |env: &With| load_with("golden/good/full.toml", env).fingerprint;
    let base = of(&With("", "", "1"));
    assert_eq!(of(&With("PASSWORD", "other", "1")), base);
    assert_ne!(of(&With("TASK", "other", "1")), base);
    assert_ne!(of(&With("", "", "2")), base);
    check_fingerprint("line_max = \"2MiB\"", "line_max = '2048KiB' # the same", true);
}

#[test]
fn the_host_table_counts_and_can_be_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let (path, table) = (folder.path().join("a.toml"), folder.path().join("hosts.csv"));
    fs::write(&path, format!("{BASE}[hosts]\ntable = 'hosts.csv'")).unwrap();
    fs::write(&table, "host,rack\na,1\n").unwrap();
    let config = load(&path, &With("", "", "1")).unwrap();
    fs::write(&table, "host,rack\na,1\nb,2\n").unwrap();
    let (hosts, fingerprint) = config.reload_tables().unwrap().expect("there is a table");
    assert_eq!(hosts.hosts.expect("of hosts").len(), 2);
    assert_ne!(fingerprint, config.fingerprint);
    assert_eq!(fingerprint, load(&path, &With("", "", "1")).unwrap().fingerprint);
    fs::write(&table, "host,row\na,1\n").unwrap();
    assert!(config.reload_tables().unwrap_err().to_string().contains("other columns"));
    fs::write(&table, "host,rack\na,1\na,2\n").unwrap();
    let report = config.reload_tables().unwrap_err();
    assert_eq!(report.diagnostics[0].place.as_ref().map(riverhog_config::Place::line), Some(3));
    assert!(text(BASE).reload_tables().unwrap().is_none());
}

#[test]
fn guarantees_are_what_each_sink_can_keep() {
    let config = good("full.toml");
    let found: Vec<(String, bool)> = guarantees(&config)
        .into_iter()
        .map(|(name, text)| (name, text.starts_with("effectively once")))
        .collect();
    let expect = [("search", true), ("vector", false), ("archive", false), ("copy", true)];
    assert_eq!(found, expect.map(|(name, once)| (name.to_owned(), once)));
}

#[test]
fn a_folder_from_the_environment_is_named_by_its_variable() {
    let path = |path: &str| {
        let config = text(&BASE.replace("path = 'a'", &format!("path = '{path}'")));
        let SinkKind::Local(local) = &config.sinks[0].kind else { panic!("local") };
        (local.path.ends_with("kafka-1/a"), local.path_shown.clone())
    };
    assert_eq!(path("${BROKER}/a"), (true, "${BROKER}/a".to_owned()));
    let (_, shown) = path("kafka-1/a");
    assert!(Path::new(&shown).is_absolute() && shown.ends_with("kafka-1/a"), "{shown}");
}

#[test]
fn what_is_hardly_meant_is_a_warning() {
    let config = text(&format!("{BASE}[sinks.spare]\ntype = 'local'\npath = 'b'"));
    assert_eq!(config.warnings.len(), 1);
    assert_eq!(config.warnings[0].severity, Severity::Warning);
    assert_eq!(config.warnings[0].message, "no route leads to the sink `spare`");
}

#[test]
fn files_of_patterns_are_read_below_inline_ones_and_count() {
    let config = good("pattern_files.toml");
    let LineParser::Grok(grok) = &config.plan.parse[0].parser else { panic!("a pattern") };
    let outcome = |line| grok.run(line, &mut grok.scratch(), &mut Vec::new());
    assert_eq!(outcome("step=7 of 9 x"), Outcome::Matched);
    assert!(matches!(outcome("step 7 of 9 x"), Outcome::Unmatched(_)));

    let folder = tempfile::tempdir().expect("a folder of our own");
    let path = folder.path().join("a.toml");
    let parse = "[[parse]]\nname = 'p'\ngrok = '%{STEP:step}'\npattern_files = ['own.grok']\n";
    fs::write(&path, format!("{BASE}{parse}")).unwrap();
    let fingerprint = |text: &str| {
        fs::write(folder.path().join("own.grok"), text).unwrap();
        load(&path, &With("", "", "1")).unwrap_or_else(|it| panic!("{it}")).fingerprint
    };
    assert_eq!(fingerprint("STEP x\n"), fingerprint("STEP x\n"));
    assert_ne!(fingerprint("STEP x\n"), fingerprint("STEP y\n"));
}

#[test]
fn all_expressions_are_run_on_demand_and_fields_stand_in_a_target() {
    let names = |options: &str| -> Vec<Vec<String>> {
        let parse = "[[parse]]\nname = 'p'\ngrok = ['%{INT:step:int}', '%{WORD:level}']\n";
        let config = text(&format!("{BASE}{parse}{options}"));
        let of = |parser: &LineParser| match parser {
            LineParser::Grok(grok) => grok.fields().iter().map(|it| it.name.clone()).collect(),
            LineParser::Format(_) => panic!("a pattern"),
        };
        config.plan.parse.iter().map(|rule| of(&rule.parser)).collect()
    };
    assert_eq!(names(""), [["step"], ["level"]]);
    assert_eq!(names("break_on_match = true"), [["step"], ["level"]]);
    assert_eq!(names("break_on_match = false"), [["step", "level"]]);
    assert_eq!(names("break_on_match = false\ntarget = '[a][b]'"), [["a.b.step", "a.b.level"]]);
    let time = "target = 'job'\ntime = { field = 'job.step', formats = ['UNIX'] }";
    assert_eq!(names(time), [["job.step"], ["job.level"]]);
}

#[cfg(unix)]
#[test]
fn a_secret_in_a_file_that_everybody_may_read_is_told() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.toml");
    let text = "[sources.p]\ntype = 'stdin'\n[sinks.a]\ntype = 'elasticsearch'\n\
                urls = ['http://127.0.0.1:9200']\nindex = 'a'\nuser = 'u'\npassword = 'hunter2'\n\
                [[route]]\nsinks = ['a']\n[dead_letter]\ntype = 'local'\npath = 'dead'\n";
    std::fs::write(&path, text).unwrap();
    let warnings = |mode: u32| {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let config = load(&path, &riverhog_config::ProcessEnv).unwrap();
        riverhog_config::render_all(&config.warnings, false)
    };
    let told = warnings(0o644);
    assert!(told.contains("everybody on this machine may read the secret"), "{told}");
    assert!(!told.contains("hunter2"), "{told}");
    assert_eq!(warnings(0o640), "");
}
