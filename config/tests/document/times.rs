//! `[time]`: times far from the record's, and those of lines that count from a machine's start.
//! Next: the settings themselves, `config/src/declare/rules.rs`.

use super::{Sent, document, documents};
use serde_json::{Value, json};

const XID: &str = "[864000.500000] NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.";

/// Time, its source and tags of a document.
fn shown(document: &Value) -> Value {
    let time = document["@timestamp"].as_str().map(|time| &time[..23]);
    json!([time, document["timestamp_source"], document.get("tags")])
}

#[track_caller]
fn check(config: &str, sent: Sent<'_>, expect: &Value) {
    assert_eq!(shown(&document(config, sent)), *expect, "{config}");
}

#[test]
fn a_far_time_is_kept_and_tagged() {
    let check = |config: &str, line: &str, expect: &Value| check(config, Sent::value(line), expect);
    let near = "2026-03-11 10:23:45,434 - trainer.loop - INFO - step 100 done";
    let far = "2026-03-11 01:23:45,434 - trainer.loop - INFO - step 100 done";
    check("", near, &json!(["2026-03-11T10:23:45.434", "line", null]));
    check("", far, &json!(["2026-03-11T01:23:45.434", "line", ["_timeskew"]]));
    check("[time]\nskew_tag = '30h'\n", far, &json!(["2026-03-11T01:23:45.434", "line", null]));
    let ahead = "2026-03-12 03:23:47,000 - trainer.loop - INFO - step 100 done";
    let expect = json!(["2026-03-12T03:23:47.000", "line", ["_timeskew"]]);
    check("[time]\nskew_tag = '1h'\n", ahead, &expect);
    check("[time]\nskew_tag = '61m'\n", ahead, &json!(["2026-03-12T03:23:47.000", "line", null]));
    // What has no time of its own is where its record is.
    let none = json!(["2026-03-12T02:23:46.004", "record", ["_unparsed"]]);
    check("[time]\nskew_tag = '1s'\n", "no time", &none);
    let envelope = "{\"@metadata\":{\"beat\":\"filebeat\"},\"message\":\"x\",\
                    \"@timestamp\":\"2026-03-01T00:00:00Z\"}";
    let expect = json!(["2026-03-01T00:00:00.000", "envelope", ["_unparsed", "_timeskew"]]);
    check("", envelope, &expect);
}

#[test]
fn conditions_and_steps_see_the_tag() {
    let far = "2026-03-01 01:23:45,434 - trainer.loop - INFO - step 100 done";
    let steps = "[[transform]]\nwhen = 'tags == \"_timeskew\"'\ntag = ['replayed']\n\
                 [[transform]]\nuntag = ['_timeskew']\n";
    check(steps, Sent::value(far), &json!(["2026-03-01T01:23:45.434", "line", ["replayed"]]));
}

#[test]
fn the_kernel_counts_from_a_start_that_is_known() {
    let hosts = "[hosts]\nfrom = ['header.host']\ntable = 'hosts.csv'\n\
                 [time]\nboot = ['host.boot_time', 'header.boot-time']\n";
    let of_host = |host: &'static str| [("host", host.as_bytes())];
    let ten_days_on = json!(["2026-03-11T00:00:00.500", "line", ["_timeskew"]]);
    let of_record = json!(["2026-03-12T02:23:46.004", "record", null]);
    let failed = json!(["2026-03-12T02:23:46.004", "record", ["_timefailure"]]);
    for (host, expect) in [
        ("gpu-07", &ten_days_on),
        ("gpu-08", &ten_days_on),
        ("gpu-99", &of_record),
        // The future, and no time at all.
        ("gpu-09", &failed),
        ("gpu-10", &failed),
    ] {
        check(hosts, Sent { headers: &of_host(host), ..Sent::value(XID) }, expect);
    }
    // The next candidate counts where one is no time.
    let headers: [(&str, &[u8]); 2] = [("host", b"gpu-10"), ("boot-time", b"1772409600000")];
    let expect = json!(["2026-03-12T00:00:00.500", "line", null]);
    check(hosts, Sent { headers: &headers, ..Sent::value(XID) }, &expect);
    // Without a hint as ever.
    check("", Sent { headers: &headers, ..Sent::value(XID) }, &of_record);
    // The host that the line itself names.
    let of_line = "[[parse]]\nname = 'own'\ngrok = '^%{NOTSPACE:node} up %{NUMBER:uptime} x'\n\
                   [hosts]\nfrom = ['fields.node']\ntable = 'hosts.csv'\n\
                   [time]\nboot = ['host.boot_time']\n";
    check(of_line, Sent::value("gpu-08 up 864000.5 x"), &ten_days_on);
    check(of_line, Sent::value("gpu-99 up 864000.5 x"), &of_record);
}

#[test]
fn a_shipper_may_know_the_start() {
    let value = json!({
        "@metadata": { "beat": "filebeat" }, "@timestamp": "2026-03-12T02:23:46.001Z",
        "message": XID, "fields": { "boot_time": "2026-03-02T02:00:00+00:00" },
    });
    let config = "[time]\nboot = ['fields.boot_time']\n";
    let expect = json!(["2026-03-12T02:00:00.500", "line", null]);
    check(config, Sent::value(&value.to_string()), &expect);
    // A line with a time of its own keeps it.
    let value = value.to_string().replace("[864000.500000]", "[Thu Mar 12 02:23:40 2026]");
    check(config, Sent::value(&value), &json!(["2026-03-12T02:23:40.000", "line", null]));
}

#[test]
fn an_uptime_that_a_pattern_finds_counts_too() {
    let config = "[[parse]]\nname = 'own'\ngrok = '^up %{NUMBER:uptime} %{GREEDYDATA:content}'\n\
                  [[parse]]\nname = 'json'\nas = 'json'\n[time]\nboot = ['header.boot']\n";
    let headers: [(&str, &[u8]); 1] = [("boot", b"2026-03-12T02:23:00Z")];
    let sent = |value: &'static str| Sent { headers: &headers, ..Sent::value(value) };
    check(config, sent("up 40.25 x"), &json!(["2026-03-12T02:23:40.250", "line", null]));
    // A process may count its own.
    check(config, sent("{\"uptime\":40}"), &json!(["2026-03-12T02:23:46.004", "record", null]));
}

/// Clocks of nodes differ; the order in which the broker received lines is the same for all.
#[test]
fn ranks_out_of_order_are_in_order_by_received() {
    let seconds = [50, 20, 51, 21, 55, 22];
    let lines: Vec<String> = (0..)
        .zip(seconds)
        .map(|(index, second)| {
            format!(
                "[rank{}]: 2026-03-12 02:23:{second},000 - a.b - INFO - step {index}",
                index % 2
            )
        })
        .collect();
    let sent: Vec<Sent<'_>> = lines.iter().map(|line| Sent::value(line)).collect();
    let documents = documents("", &sent);
    let contents = |member: &str| {
        let mut sorted: Vec<&Value> = documents.iter().collect();
        sorted.sort_by_key(|document| document[member].as_str());
        sorted.iter().map(|it| it["content"].as_str().unwrap_or_default()).collect::<Vec<_>>()
    };
    let written = ["step 0", "step 1", "step 2", "step 3", "step 4", "step 5"];
    assert_eq!(contents("received"), written);
    assert_eq!(
        contents("@timestamp"),
        ["step 1", "step 3", "step 5", "step 0", "step 2", "step 4"]
    );
    let offsets: Vec<i64> =
        documents.iter().filter_map(|it| it["origin"]["offset"].as_i64()).collect();
    assert_eq!(offsets, [0, 1, 2, 3, 4, 5]);
}
