//! Every name of the stock file `grok-patterns`: one text that it takes from, and what; one that it
//! does not take.

use super::*;

/// Name, text, what it takes, a text in which it finds nothing (`None` where it finds something in
/// any text).
type Row = (&'static str, &'static str, &'static str, Option<&'static str>);

const ROWS: [Row; 70] = [
    ("USERNAME", "@a.b_c-1@", "a.b_c-1", Some("@ !")),
    ("USER", "@a.b_c-1@", "a.b_c-1", Some("@ !")),
    ("EMAILLOCALPART", "1bob+x=2@", "bob+x=2", Some("b @")),
    ("EMAILADDRESS", "to bob@ex.org, you", "bob@ex.org", Some("bob@ ex.org")),
    ("INT", "x-42.5", "-42", Some("x")),
    ("BASE10NUM", "x=-1.5e3", "-1.5", Some("x.")),
    ("NUMBER", "v.5", ".5", Some("abc")),
    ("BASE16NUM", "= 0xFFg", "0xFF", Some("xyz")),
    ("BASE16FLOAT", "= 1F.8 ", "1F.8", Some("xyz")),
    ("POSINT", "0 10", "10", Some("0 01")),
    ("NONNEGINT", "x 007", "007", Some("x1")),
    ("WORD", "-ab_1-", "ab_1", Some("- .")),
    ("NOTSPACE", " a:b ", "a:b", Some(" \t")),
    ("SPACE", " \t x", " \t ", None),
    ("DATA", "abc", "", None),
    ("GREEDYDATA", "a\nb", "a\nb", None),
    ("QUOTEDSTRING", r#"x "a\"b" y"#, r#""a\"b""#, Some("\"a")),
    (
        "UUID",
        "<6F1C1b1e-0d5c-4d0e-9f58-2f1f9f4a1b2c>",
        "6F1C1b1e-0d5c-4d0e-9f58-2f1f9f4a1b2c",
        Some("6F1C1b1e-0d5c-4d0e-9f58"),
    ),
    ("URN", "<urn:isbn:0451450523>", "urn:isbn:0451450523", Some("urn:isbn")),
    ("MAC", "x 00:1B:44:11:3A:B7", "00:1B:44:11:3A:B7", Some("00:1B:44:11:3A")),
    ("CISCOMAC", "001b.4411.3ab7", "001b.4411.3ab7", Some("001b.4411")),
    ("WINDOWSMAC", "00-1B-44-11-3A-B7", "00-1B-44-11-3A-B7", Some("00:1B:44:11:3A:B7")),
    ("COMMONMAC", "00:1B:44:11:3A:B7", "00:1B:44:11:3A:B7", Some("00-1B-44-11-3A-B7")),
    ("IPV6", "on fe80::1%eth0", "fe80::1%eth0", Some("fe80")),
    ("IPV4", "10.0.0.300 10.0.0.3!", "10.0.0.3", Some("256.1.1.1")),
    ("IP", "at 10.0.0.3:80", "10.0.0.3", Some("10.0.0")),
    ("HOSTNAME", "-gpu-12.ex.org!", "gpu-12.ex.org", Some("-_")),
    ("IPORHOST", "999.1.1.1", "999.1.1.1", Some("-")),
    ("HOSTPORT", "to gpu-12:9092,", "gpu-12:9092", Some("gpu-12:x")),
    ("PATH", "in /data/a.log x", "/data/a.log", Some("data")),
    ("UNIXPATH", "in /data/训练/a.log x", "/data/训练/a.log", Some("data")),
    ("TTY", "on /dev/pts/4", "/dev/pts/4", Some("/dev/null")),
    ("WINPATH", r"in C:\a\b.log", r"C:\a\b.log", Some("/a/b")),
    ("URIPROTO", "1 s3+x:", "s3+x", Some("1 a:")),
    ("URIHOST", "-ex.org:80/", "ex.org:80", Some("//")),
    ("URIPATH", "x/a/b?c", "/a/b", Some("x")),
    ("URIPARAM", "/a?b=1&c=[2]", "?b=1&c=[2]", Some("/a")),
    ("URIPATHPARAM", "x/a?b=1 ", "/a?b=1", Some("a?b")),
    (
        "URI",
        "see https://u:p@s3.ex:9000/b?x=1 end",
        "https://u:p@s3.ex:9000/b?x=1",
        Some("s3.ex/b"),
    ),
    ("MONTH", "in Juli 2026", "Juli", Some("Januaries")),
    ("MONTHNUM", "x12", "1", Some("0")),
    ("MONTHNUM2", "x12", "12", Some("1 3")),
    ("MONTHDAY", "31", "31", Some("0")),
    ("DAY", "on Monday", "Monday", Some("monday")),
    ("YEAR", "in 2026", "2026", Some("1")),
    ("HOUR", "24", "2", Some("x")),
    ("MINUTE", "at 59", "59", Some("60")),
    ("SECOND", "60.5", "6", Some("x")),
    ("TIME", "24:00:00", "4:00:00", Some("10:12")),
    ("DATE_US", "on 11/30/26", "11/30/26", Some("30.11.26")),
    ("DATE_EU", "on 30.11.2026", "30.11.2026", Some("2026")),
    ("ISO8601_TIMEZONE", "at +0530", "+0530", Some("0530")),
    ("ISO8601_SECOND", "45,123", "45,123", Some("x")),
    (
        "TIMESTAMP_ISO8601",
        "at 2026-11-30 10:12:27,123+0800!",
        "2026-11-30 10:12:27,123+0800",
        Some("2026/11/30 10:12"),
    ),
    ("DATE", "on 30.11.2026", "30.11.2026", Some("2026")),
    ("DATESTAMP", "11/30/26 10:12:27.5 x", "11/30/26 10:12:27.5", Some("11/30/26")),
    ("TZ", "in PST", "PST", Some("CET")),
    (
        "DATESTAMP_RFC822",
        "Mon Nov 30 2026 10:12:27 UTC",
        "Mon Nov 30 2026 10:12:27 UTC",
        Some("Mon Nov 30 10:12:27"),
    ),
    (
        "DATESTAMP_RFC2822",
        "Mon, 30 Nov 2026 10:12:27 +0800",
        "Mon, 30 Nov 2026 10:12:27 +0800",
        Some("Mon 30 Nov 2026 10:12:27 +0800"),
    ),
    (
        "DATESTAMP_OTHER",
        "Mon Nov 30 10:12:27 UTC 2026",
        "Mon Nov 30 10:12:27 UTC 2026",
        Some("Mon Nov 30 10:12:27 2026"),
    ),
    ("DATESTAMP_EVENTLOG", "20261130101227", "20261130101227", Some("2026-11-30")),
    ("SYSLOGTIMESTAMP", "Nov  3 01:02:03 gpu", "Nov  3 01:02:03", Some("Nov 3 01:02")),
    ("PROG", " kernel[1]", "kernel", Some(" [ ]")),
    ("SYSLOGPROG", "sshd[123]: x", "sshd[123]", Some(" []")),
    ("SYSLOGHOST", "-gpu-12 ", "gpu-12", Some("-")),
    ("SYSLOGFACILITY", "<3.6>", "<3.6>", Some("<3>")),
    (
        "HTTPDATE",
        "[30/Nov/2026:10:12:27 +0800]",
        "30/Nov/2026:10:12:27 +0800",
        Some("30/11/2026:10:12:27 +0800"),
    ),
    ("QS", "say 'x'", "'x'", Some("say")),
    (
        "SYSLOGBASE",
        "Nov  3 01:02:03 <3.6> gpu-12 kernel: x",
        "Nov  3 01:02:03 <3.6> gpu-12 kernel:",
        Some("Nov 3 gpu kernel:"),
    ),
    ("LOGLEVEL", "eMerg Warnings", "er", Some("dbg")),
];

#[test]
fn every_core_name() {
    for (name, text, expect, refused) in ROWS {
        let grok = compile(&format!("%{{{name}:whole}}"));
        let found = run(&grok, text).map(|fields| {
            let mut fields = fields.split('|');
            fields.find_map(|field| field.strip_prefix("whole=").map(str::to_owned))
        });
        let expect = if expect.is_empty() { None } else { Some(expect.to_owned()) };
        assert_eq!(found, Ok(expect), "{name} on {text:?}");
        if let Some(refused) = refused {
            assert_eq!(run(&grok, refused), Err(Reason::NoMatch), "{name} on {refused:?}");
        }
    }
    let mut names: Vec<&str> = ROWS.iter().map(|row| row.0).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), ROWS.len());
}

/// Every other stock name at least compiles.
#[test]
fn every_stock_name_compiles() {
    for name in stock_names(PatternSet::Legacy) {
        compile(&format!("%{{{name}}}"));
        compile(&format!("%{{{name}:whole}} %{{IP:other}}"));
    }
}

/// The one stock pattern that is too large to be written out: its addresses are written once.
#[test]
fn a_pattern_that_shares_its_parts() {
    let line = "Nov  3 01:02:03 fw 10.0.0.1: NetScreen device_id=fw [Root]system-notification: \
                start_time=\"2026-11-03 01:02:03\" duration=0 policy_id=4 service=http proto=6 \
                src zone=Trust dst zone=Untrust action=Permit sent=0 rcvd=0 src=10.0.0.2 \
                dst=fe80::1 src_port=1 dst_port=80 src-xlated ip=10.0.0.3 port=2 \
                dst-xlated ip=10.0.0.4 port=80 session_id=7 reason=Creation";
    let fields = run(&compile("%{NETSCREENSESSIONLOG}"), line).unwrap();
    assert!(fields.contains("|src_ip=10.0.0.2|dst_ip=fe80::1|src_port=1|"), "{fields}");
}

#[test]
fn fields_inside_core_names() {
    check(
        "%{SYSLOGBASE}",
        "Nov  3 01:02:03 gpu-12 sshd[123]: x",
        Some("timestamp=Nov  3 01:02:03|logsource=gpu-12|program=sshd|pid=123"),
    );
    check("%{URI:u}", "s3://u:p@s3.ex:9000/b", Some("u=s3://u:p@s3.ex:9000/b|port=9000"));
    check("%{SYSLOGFACILITY}", "<3.6>", Some("facility=3|priority=6"));
}
