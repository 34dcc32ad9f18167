//! The stock sets: what is in them, what goes before what, and each deviation from Logstash.

use super::examples::found;
use super::*;

fn in_set(set: PatternSet, definitions: &[(&str, &str)], pattern: &str) -> Grok {
    let definitions =
        definitions.iter().map(|(name, regex)| ((*name).into(), (*regex).into())).collect();
    let options = GrokOptions { set, definitions, ..GrokOptions::default() };
    Grok::compile(pattern, &options).unwrap()
}

#[track_caller]
fn check_ecs(pattern: &str, text: &str, expect: &str) {
    let fields = found(&in_set(PatternSet::EcsV1, &[], pattern), text).unwrap().unwrap();
    let expect: serde_json::Value = serde_json::from_str(expect).unwrap();
    assert_eq!(fields, expect, "{pattern} on {text:?}");
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
fn a_definition_goes_before_the_stock_one_and_the_stock_one_before_ours() {
    for set in [PatternSet::Legacy, PatternSet::EcsV1] {
        let grok = in_set(set, &[("STEP", "s[0-9]")], "%{STEP:step}");
        assert_eq!(run(&grok, "step 4 s5").as_deref(), Ok("step=s5"));
        let grok = in_set(set, &[("DAY", "day[0-9]")], "%{DAY:day}");
        assert_eq!(run(&grok, "Monday day1").as_deref(), Ok("day=day1"));
        let grok = in_set(set, &[], "%{STEP}");
        assert_eq!(run(&grok, "step 4 s5").as_deref(), Ok("step=4"));
    }
}

/// The legacy set lacks these in Logstash.
#[test]
fn names_that_the_legacy_set_has_too() {
    check("%{SFW2_LOG_PREFIX}", "SFW2-INext-DROP", Some("suse.firewall.action=DROP"));
    check("%{IPTABLES_TCP_FLAGS:f}$", "ACK SYN ", Some("f=ACK SYN "));
}

/// Logstash's own loses a bracket, and a line with a user with it.
#[test]
fn the_user_of_a_cisco_connection() {
    check_ecs(
        "%{CISCOFW302013_302014_302015_302016}",
        "Built TCP connection 7 for outside:192.0.2.7/51234(jane) to inside:10.0.0.9/22",
        r#"{"cisco":{"asa":{"outcome":"Built","network":{"transport":"TCP"},"connection_id":"7"}},
            "observer":{"ingress":{"interface":{"name":"outside"}},
                        "egress":{"interface":{"name":"inside"}}},
            "source":{"ip":"192.0.2.7","port":51234,"user":{"name":"jane"}},
            "destination":{"ip":"10.0.0.9","port":22}}"#,
    );
}

/// Logstash's own stands for the letters `RT_FLOW_TAG`.
#[test]
fn the_event_of_a_juniper_flow() {
    check_ecs(
        "%{RT_FLOW_EVENT:event}",
        "RT_FLOW_SESSION_DENY",
        r#"{"event":"RT_FLOW_SESSION_DENY"}"#,
    );
}

/// `bing.log.category` in the version of Logstash's patterns that the set is compared with.
#[test]
fn the_category_of_a_query() {
    let line = "30-Nov-2026 10:12:27.123 queries: info: client 192.0.2.7#5321 (a.org): query: \
                a.org IN A + (192.0.2.53)";
    let fields = found(&in_set(PatternSet::EcsV1, &[], "%{BIND9}"), line).unwrap().unwrap();
    assert_eq!(fields["bind"]["log"]["category"], "queries");
    assert!(fields.get("bing").is_none());
}

/// `WORD` in the same version, which takes no hyphen.
#[test]
fn the_edge_location_of_cloudfront() {
    check_ecs("%{CLOUDFRONT_EDGE_LOCATION:at}", "\tLAX50-C1\t", r#"{"at":"LAX50-C1"}"#);
}

/// Logstash casts the first group of a name alone; the address families of iptables share names.
#[test]
fn every_group_of_a_name_is_cast() {
    let line = "IN= OUT=eth1 SRC=2001:db8::17 DST=2001:db8::18 LEN=80 TC=0 HOPLIMIT=64 FLOWLBL=7 \
                PROTO=UDP SPT=53 DPT=51234 ";
    let fields = found(&in_set(PatternSet::EcsV1, &[], "%{IPTABLES}"), line).unwrap().unwrap();
    assert_eq!(fields["iptables"]["length"], 80);
}

/// Lines that are all right, for which Logstash's text takes more steps than we allow.
#[test]
fn what_costs_logstash_much_costs_little() {
    let line = "a-host-name-of-some-length.cluster.example.org: s3://logs/x";
    check("%{URI:uri}", line, Some("uri=s3://logs/x"));
    let line = format!("1.5\tF1\t192.0.2.9\t192.0.2.7\tC1{}", "\ta".repeat(18));
    let fields = run(&compile("%{BRO_FILES}"), &line).unwrap();
    assert!(fields.ends_with("|sha256=a|extracted=a"), "{fields}");
    // Too many: the first of the columns that may be anything takes them.
    let fields = run(&compile("%{BRO_FILES}"), &format!("{line}\tb\tc")).unwrap();
    assert!(fields.contains("|source=a\ta\ta|depth=a|"), "{fields}");
    assert!(fields.ends_with("|sha256=b|extracted=c"), "{fields}");
}
