//! Tables of the formats together, and their properties.

use super::*;
use proptest::prelude::*;

/// 2026-11-30T00:00:00Z.
const REFERENCE: &str = "2026-11-30T00:00:00Z";

fn show(instant: Instant) -> String {
    let mut out = Vec::new();
    instant.write_rfc3339(&mut out);
    String::from_utf8(out).unwrap()
}

#[track_caller]
fn check_at(format: &str, zone: &str, reference: &str, text: &str, expect: Option<&str>) {
    let parser = TimeParser::compile(&[format], zone).unwrap();
    let reference_ns = parse_rfc3339(reference).unwrap();
    let found = parser.parse_instant(text, reference_ns).map(show);
    let expect = expect.map(|expect| match expect.strip_suffix('Z') {
        Some(plain) if plain.len() == 19 => format!("{plain}.000000000Z"),
        Some(plain) => format!("{plain:0<29}Z"),
        None => expect.to_owned(),
    });
    assert_eq!(found, expect, "{text:?} as {format:?} in {zone}");
}

#[track_caller]
fn check(format: &str, zone: &str, text: &str, expect: impl Into<Option<&'static str>>) {
    check_at(format, zone, REFERENCE, text, expect.into());
}

#[test]
fn the_usual_shape() {
    let format = "yyyy-MM-dd HH:mm:ss,SSS";
    check(format, "Asia/Shanghai", "2026-03-12 10:23:45,123", "2026-03-12T02:23:45.123Z");
    check(format, "UTC", "2026-03-12 10:23:45,1", "2026-03-12T10:23:45.1Z");
    check(format, "UTC", "2026-3-2 1:2:3,123", "2026-03-02T01:02:03.123Z");
    check(format, "UTC", "2026-03-12 10:23:45", None);
    check(format, "UTC", "2026-03-12 10:23:45,", None);
    check(format, "UTC", "2026-03-12 10:23:45,1234", None);
    check(format, "UTC", "2026-03-12 10:23:45.123", None);
    check(format, "UTC", "2026-02-29 10:23:45,123", None);
    check(format, "UTC", "2028-02-29 10:23:45,123", "2028-02-29T10:23:45.123Z");
    check(format, "UTC", "2026-03-12 24:00:00,000", None);
    check(format, "UTC", "2026-03-12 10:23:60,000", None);
    check(format, "UTC", "2026-00-12 10:23:45,000", None);
    check(format, "UTC", "2026-03-32 10:23:45,000", None);
    check(format, "UTC", "", None);
    check("yyyy/MM/dd'T'HH:mm:ss", "UTC", "2026/03/12T10:23:45", "2026-03-12T10:23:45Z");
    check("yyyy/MM/dd'T'HH:mm:ss", "UTC", "2026/03/12t10:23:45", "2026-03-12T10:23:45Z");
    check(
        "yyyy-MM-dd HH:mm:ss.SSSSSS",
        "UTC",
        "2026-03-12 10:23:45.999999",
        "2026-03-12T10:23:45.999999Z",
    );
}

#[test]
fn letters() {
    check("yyyyMMdd HHmmss", "Asia/Shanghai", "20260312 182345", "2026-03-12T10:23:45Z");
    check("yyyyMMdd-H:m:s:SSS", "UTC", "20171223-22:15:29:606", "2017-12-23T22:15:29.606Z");
    check("yy-MM-dd", "UTC", "76-01-01", "1976-01-01T00:00:00Z");
    check("yy-MM-dd", "UTC", "46-01-01", "1946-01-01T00:00:00Z");
    check("yy-MM-dd", "UTC", "45-01-01", "2045-01-01T00:00:00Z");
    check("yy-MM-dd", "UTC", "2026-01-01", "2026-01-01T00:00:00Z");
    check("yyMMdd", "UTC", "260312", "2026-03-12T00:00:00Z");
    check("CCyy-MM-dd", "UTC", "2026-03-12", "2026-03-12T00:00:00Z");
    check("EEEE, d MMMM yyyy", "UTC", "Monday, 30 November 2026", "2026-11-30T00:00:00Z");
    check("MMM dd yyyy HH:mm:ss", "UTC", "NOVEMBER 30 2026 10:12:27", "2026-11-30T10:12:27Z");
    check("MMM d, yyyy h:mm:ss a", "UTC", "Nov 3, 2026 12:02:03 AM", "2026-11-03T00:02:03Z");
    check("MMM d, yyyy h:mm:ss a", "UTC", "Nov 3, 2026 3:02:03 pm", "2026-11-03T15:02:03Z");
    check("MMM d, yyyy h:mm:ss a", "UTC", "Nov 3, 2026 0:02:03 AM", None);
    check("yyyy-MM-dd KK a", "UTC", "2026-01-02 11 PM", "2026-01-02T23:00:00Z");
    check("yyyy-MM-dd kk", "UTC", "2026-01-02 24", "2026-01-02T00:00:00Z");
    check("xxxx-'W'ww-e", "UTC", "2026-W10-3", "2026-03-04T00:00:00Z");
    check("yyyy DDD HH:mm:ss", "Asia/Shanghai", "2026 001 00:00:00", "2025-12-31T16:00:00Z");
    check("yyyy DDD", "UTC", "2026 366", None);
    check("yyyy年MM月dd日", "Asia/Shanghai", "2026年03月12日", "2026-03-11T16:00:00Z");
    check("yyyy 'o''clock' HH", "UTC", "2026 o'clock 07", "2026-01-01T07:00:00Z");
    check("yyyy G", "UTC", "2026 AD", "2026-01-01T00:00:00Z");
}

#[test]
fn zones() {
    let format = "yyyy-MM-dd HH:mm:ss Z";
    check(format, "America/New_York", "2026-03-12 18:23:45 Z", "2026-03-12T18:23:45Z");
    check(format, "UTC", "2026-03-12 18:23:45 -0330", "2026-03-12T21:53:45Z");
    check(format, "UTC", "2026-03-12 18:23:45 +8", None);
    check(
        "yyyy-MM-dd HH:mm:ss ZZZ",
        "UTC",
        "2026-03-12 18:23:45 Europe/Kiev",
        "2026-03-12T16:23:45Z",
    );
    check("yyyy-MM-dd HH:mm:ss ZZZ", "UTC", "2026-03-12 18:23:45 Asia/Nowhere", None);
    check("yyyy-MM-dd HH:mm:ss z", "UTC", "2026-07-12 18:23:45 PST", "2026-07-13T01:23:45Z");
    check("yyyy-MM-dd HH:mm:ss z", "UTC", "2026-07-12 18:23:45 CET", None);
    // Chicago's, whose clock has daylight saving; China's has to be named otherwise.
    check("yyyy-MM-dd HH:mm:ss z", "UTC", "2026-07-12 18:23:45 CST", "2026-07-12T23:23:45Z");
    let format = "EEE MMM d HH:mm:ss 'CST' yyyy";
    check(format, "Asia/Shanghai", "Thu Mar 12 18:23:45 CST 2026", "2026-03-12T10:23:45Z");
    check("yyyy-MM-dd HH:mm:ss", "Europe/London", "2026-03-29 01:30:00", None);
    check("yyyy-MM-dd HH:mm:ss", "America/New_York", "2026-11-01 01:00:00", "2026-11-01T05:00:00Z");
    check("yyyy-MM-dd HH:mm:ss", "Asia/Shanghai", "1940-06-03 00:30:00", "1940-06-02T15:30:00Z");
}

#[test]
fn years_from_the_reference() {
    let format = "MMM d HH:mm:ss";
    let case =
        |zone, reference, text, expect| check_at(format, zone, reference, text, Some(expect));
    case("UTC", "2027-01-01T00:00:00Z", "Dec 31 23:59:59", "2026-12-31T23:59:59Z");
    case("UTC", "2027-01-15T08:00:00Z", "Nov 30 10:12:27", "2027-11-30T10:12:27Z");
    case("UTC", "2026-06-01T00:00:00Z", "Dec 31 23:59:59", "2026-12-31T23:59:59Z");
    case("UTC", "2026-12-31T23:00:00Z", "Jan 1 00:00:01", "2027-01-01T00:00:01Z");
    case("UTC", "2028-06-01T00:00:00Z", "Feb 29 00:00:00", "2028-02-29T00:00:00Z");
    case("UTC", "2026-06-01T00:00:00Z", "Feb 29 00:00:00", "2024-02-29T00:00:00Z");
    case("UTC", "2027-06-01T00:00:00Z", "Feb 29 00:00:00", "2028-02-29T00:00:00Z");
    case("UTC", "2101-06-01T00:00:00Z", "Feb 29 00:00:00", "2104-02-29T00:00:00Z");
    case("America/New_York", "2027-01-01T01:00:00Z", "Dec 31 23:30:00", "2027-01-01T04:30:00Z");
    check_at(
        "MMM dd HH:mm:ss Z",
        "UTC",
        "2027-01-01T05:00:00Z",
        "Dec 31 23:30:00 -0500",
        Some("2027-01-01T04:30:00Z"),
    );
    check("Mdd HH:mm:ss", "UTC", "1012 10:23:45", "2026-10-12T10:23:45Z");
}

#[test]
fn a_clock_alone_is_of_the_day_next_to_the_reference() {
    let case = |zone, reference, text, expect| {
        check_at("HH:mm:ss", zone, reference, text, Some(expect));
    };
    case("UTC", "2026-11-30T00:01:00Z", "23:59:00", "2026-11-29T23:59:00Z");
    case("UTC", "2026-12-31T23:59:00Z", "00:01:00", "2027-01-01T00:01:00Z");
    case("UTC", "2026-11-30T10:00:00Z", "10:12:27", "2026-11-30T10:12:27Z");
    case("UTC", "2026-11-30T12:00:00Z", "00:00:00", "2026-11-30T00:00:00Z");
    case("Asia/Shanghai", "2026-11-30T23:00:00Z", "06:59:00", "2026-11-30T22:59:00Z");
    check_at("HH:mm Z", "UTC", "2026-11-30T23:00:00Z", "06:59 +0800", Some("2026-11-30T22:59:00Z"));
    check_at("h:mm a", "UTC", "2026-11-30T00:10:00Z", "11:58 PM", Some("2026-11-29T23:58:00Z"));
    // A time that the clock skips is none, and no other day's.
    check_at("HH:mm", "Europe/London", "2026-03-29T01:10:00Z", "01:30", None);
    // Letters inside quotes are no year.
    check_at("'day' HH", "UTC", "2026-11-30T09:00:00Z", "day 08", Some("2026-11-30T08:00:00Z"));
}

#[test]
fn parts_of_a_date_come_near_the_reference() {
    let case = |format, reference, text, expect| check_at(format, "UTC", reference, text, expect);
    // A day of the month, in this month or one beside it.
    case("dd HH:mm", "2026-12-01T00:10:00Z", "30 23:50", Some("2026-11-30T23:50:00Z"));
    case("dd HH:mm", "2027-02-14T00:00:00Z", "31 10:00", Some("2027-01-31T10:00:00Z"));
    // A weekday, 2026-11-30 being a Monday.
    case("EEE HH:mm", "2026-11-30T08:00:00Z", "Sun 23:50", Some("2026-11-29T23:50:00Z"));
    case("e HH:mm", "2026-11-30T08:00:00Z", "3 00:10", Some("2026-12-02T00:10:00Z"));
    case(
        "EEE MMM d HH:mm",
        "2026-11-30T11:00:00Z",
        "Mon Nov 30 10:12",
        Some("2026-11-30T10:12:00Z"),
    );
    case(
        "EEE MMM d HH:mm",
        "2027-01-01T00:01:00Z",
        "Thu Dec 31 23:59",
        Some("2026-12-31T23:59:00Z"),
    );
    // Week years and weeks.
    case("xxxx-'W'ww", "2026-11-30T00:00:00Z", "2024-W10", Some("2024-03-04T00:00:00Z"));
    case("'W'ww-e", "2026-11-30T00:00:00Z", "W48-7", Some("2026-11-29T00:00:00Z"));
    case("'W'ww-e", "2027-01-02T00:00:00Z", "W53-4", Some("2026-12-31T00:00:00Z"));
    case("'W'ww-e", "2025-12-31T00:00:00Z", "W01-3", Some("2025-12-31T00:00:00Z"));
    case("'W'ww", "2024-06-01T00:00:00Z", "W53", Some("2026-12-28T00:00:00Z"));
    // Days of the year.
    case("DDD", "2026-11-30T00:00:00Z", "071", Some("2026-03-12T00:00:00Z"));
    case("DDD", "2027-01-01T00:00:00Z", "365", Some("2026-12-31T00:00:00Z"));
    case("DDD", "2026-06-01T00:00:00Z", "366", Some("2024-12-31T00:00:00Z"));
    case("DDD", "2025-01-01T00:00:00Z", "366", Some("2024-12-31T00:00:00Z"));
    case("DDD", "2026-06-01T00:00:00Z", "367", None);
}

/// As Joda has it: the date moves within its week.
#[test]
fn a_weekday_that_contradicts_the_date_moves_it() {
    check("EEE MMM dd yyyy", "UTC", "Mon Dec 04 2005", "2005-11-28T00:00:00Z");
    check("EEE MMM dd", "UTC", "Tue Nov 30", "2026-12-01T00:00:00Z");
}

#[test]
fn iso() {
    check("ISO8601", "Asia/Shanghai", "2026-03-12 18:23:45.123", "2026-03-12T10:23:45.123Z");
    check("ISO8601", "Asia/Shanghai", "2026-03-12 18:23:45,1", "2026-03-12T10:23:45.1Z");
    check("ISO8601", "Asia/Shanghai", "2026-03-12 18:23:45,123+0900", "2026-03-12T09:23:45.123Z");
    check("ISO8601", "Asia/Shanghai", "2026-03-12 18:23:45", None);
    check("ISO8601", "Asia/Shanghai", "2026-03-12 18:23:45.1234", None);
    check("ISO8601", "Asia/Shanghai", "2026-03-12 18:23:45Z", None);
    check("ISO8601", "Asia/Shanghai", "2026-03-12T18:23:45", "2026-03-12T10:23:45Z");
    check("ISO8601", "UTC", "2026-03-12T18:23:45.123456789Z", "2026-03-12T18:23:45.123456789Z");
    check("ISO8601", "UTC", "2026-03-12T18:23:45.1234567890Z", None);
    check("ISO8601", "UTC", "2026-03-12T18:23:45+08", "2026-03-12T10:23:45Z");
    check("ISO8601", "UTC", "2026-3-2T1:2:3Z", "2026-03-02T01:02:03Z");
    check("ISO8601", "UTC", "2026-02-30T00:00:00Z", None);
    check("ISO8601", "UTC", "2026", "2026-01-01T00:00:00Z");
    check("ISO8601", "UTC", "2026-071", "2026-03-12T00:00:00Z");
    check("ISO8601", "Asia/Shanghai", "2026-W11", "2026-03-08T16:00:00Z");
    check("ISO8601", "UTC", "2026-W11-4T10", "2026-03-12T10:00:00Z");
    check("ISO8601", "UTC", "2026-03-12T18.5", "2026-03-12T18:30:00Z");
    check("ISO8601", "UTC", "2026-03-12T18:23,25", "2026-03-12T18:23:15Z");
    check("ISO8601", "UTC", "2026-03-12T", "2026-03-12T00:00:00Z");
    check("ISO8601", "UTC", "T10:20", "1970-01-01T10:20:00Z");
    check("ISO8601", "UTC", "2026-03-12T24:00:00Z", None);
    check("ISO8601", "UTC", "2026-03-12x", None);
    check("ISO8601", "Europe/London", "2026-03-29T01:30:00", None);
}

#[test]
fn epochs() {
    check("UNIX", "UTC", "0", "1970-01-01T00:00:00Z");
    check("UNIX", "UTC", "+5", "1970-01-01T00:00:05Z");
    check("UNIX", "UTC", "1773310000.25", "2026-03-12T10:06:40.25Z");
    check("UNIX", "UTC", "1773310000.123456789999", "2026-03-12T10:06:40.123456789Z");
    check("UNIX", "UTC", "-5.5", "1969-12-31T23:59:55.5Z");
    check("UNIX", "UTC", "1773310000.", None);
    check("UNIX", "UTC", "2147483648", None);
    check("UNIX", "UTC", ".5", None);
    check("UNIX", "UTC", "", None);
    check("UNIX", "UTC", "1e9", None);
    check("UNIX", "UTC", "1.训", None);
    check("UNIX_MS", "UTC", "99999999999999", "5138-11-16T09:46:39.999Z");
    check("UNIX_MS", "UTC", "-1", "1969-12-31T23:59:59.999Z");
    check("UNIX_MS", "UTC", "1.5", None);
    check("UNIX_MS", "UTC", "253402300799999", "9999-12-31T23:59:59.999Z");
    check("UNIX_MS", "UTC", "253402300800000", None);
    check("UNIX_MS", "UTC", "-62167219200001", None);
    check("UNIX_MS", "UTC", "9223372036854775807", None);
    check("yyyy", "UTC", "12026", None);
}

#[test]
fn tai64n() {
    check("TAI64N", "UTC", "@4000000069b29f1c00000000", "2026-03-12T11:10:10Z");
    check("TAI64N", "UTC", "4000000069b29f1c075bcd15", "2026-03-12T11:10:10.123456789Z");
    check("TAI64N", "UTC", "@4000000069b29f1c3b9aca00", None);
    check("TAI64N", "UTC", "@4000000069b29f1c0000000", None);
    check("TAI64N", "UTC", "@4000000069b29f1c000000000", None);
    check("TAI64N", "UTC", "@ffffffffffffffff00000000", None);
    check("TAI64N", "UTC", "@+000000069b29f1c00000000", None);
    check("TAI64N", "UTC", "训", None);
    check("TAI64N", "UTC", "", None);
}

#[test]
fn locales() {
    let case = |locale: &str, format: &str, text: &str, expect: Option<&str>| {
        let parser = TimeParser::compile_with_locale(&[format], "UTC", locale).unwrap();
        let reference_ns = parse_rfc3339(REFERENCE).unwrap();
        let found =
            parser.parse_instant(text, reference_ns).map(|found| show(found)[..19].to_owned());
        assert_eq!(found.as_deref(), expect, "{text:?} as {format:?} in {locale}");
    };
    case("zh-CN", "yyyy年MMMMd日 ah:mm", "2026年十一月30日 下午3:05", Some("2026-11-30T15:05:00"));
    case("de", "EEE, d. MMM yyyy", "Mo., 30. Nov. 2026", Some("2026-11-30T00:00:00"));
    case("de", "d. MMMM yyyy", "3. MÄRZ 2026", Some("2026-03-03T00:00:00"));
    case("fr-FR", "d MMMM yyyy", "1 Août 2026", Some("2026-08-01T00:00:00"));
    case("fr-FR", "d MMMM yyyy", "1 August 2026", None);
    case("en-GB", "d MMMM yyyy", "1 août 2026", None);
    let error = TimeParser::compile_with_locale(&["MMM"], "UTC", "tlh").unwrap_err();
    assert_eq!(error.format, usize::MAX);
    assert_eq!(error.help.as_deref(), Some("known are en, zh, ja, de, fr, es, it, pt, ru, ko, nl"));
}

#[test]
fn the_zone_of_a_field() {
    let parser = TimeParser::compile(&["yyyy-MM-dd HH:mm"], "UTC").unwrap();
    let hours = |zone: &str| {
        let zone = TimeZone::find(zone).unwrap();
        parser.parse_in("1970-01-02 00:00", &zone, 0).unwrap() / 3_600_000_000_000
    };
    assert_eq!((hours("UTC"), hours("Asia/Shanghai"), hours("-03:00")), (24, 16, 27));
    assert!(TimeZone::find("Mars").is_err());
}

#[test]
fn formats_are_tried_in_order() {
    let parser = TimeParser::compile(&["dd/MM/yyyy", "MM/dd/yyyy"], "UTC").unwrap();
    let day = |text| parser.parse_instant(text, 0).map(|instant| show(instant)[..10].to_owned());
    assert_eq!(day("03/12/2026").as_deref(), Some("2026-12-03"));
    assert_eq!(day("03/13/2026").as_deref(), Some("2026-03-13"));
    assert_eq!(day("13/13/2026"), None);
}

#[test]
fn nanoseconds_end_where_i64_does() {
    let parser = TimeParser::compile(&["UNIX_MS"], "UTC").unwrap();
    assert_eq!(parser.parse("1773282225123", 0), Some(1_773_282_225_123_000_000));
    assert_eq!(parser.parse("99999999999999", 0), None);
}

#[test]
fn bad_formats_say_where() {
    let error = TimeParser::compile(&["ISO8601", "yyyy-MM-ddTHH"], "UTC").unwrap_err();
    assert_eq!((error.format, error.position), (1, 10));
    assert_eq!(error.message, "unknown letter `T` in a time format");
    assert_eq!(error.help.as_deref(), Some("text stands in quotes: `'T'`"));
    assert_eq!(TimeParser::compile(&["yyyy", "UTC"], "Mars").unwrap_err().format, usize::MAX);
    assert!(TimeParser::compile(&[""], "UTC").is_err());
    assert!(TimeParser::compile(&[&"y".repeat(5000)], "UTC").is_err());
}

#[test]
fn rfc3339() {
    let check =
        |text: &str, expect: Option<i64>| assert_eq!(parse_rfc3339(text), expect, "{text:?}");
    check("1970-01-01T00:00:01Z", Some(1_000_000_000));
    check("1970-01-01T08:00:00.5+08:00", Some(500_000_000));
    check("1970-01-01T00:00:01", None);
    check("1970-01-01", None);
    check("2300-01-01T00:00:00Z", None);
}

/// Reads `date.jsonl` in the folder named by `RIVERHOG_EXAMPLES`, if one is, and requires
/// Logstash's own answers.
#[test]
fn logstash_answers() {
    let Ok(folder) = std::env::var("RIVERHOG_EXAMPLES") else {
        eprintln!("skipped: RIVERHOG_EXAMPLES is not set");
        return;
    };
    let cases = std::fs::read_to_string(std::path::Path::new(&folder).join("date.jsonl")).unwrap();
    let mut right = 0;
    for line in cases.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let formats: Vec<&str> = case["formats"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|format| format.as_str())
            .collect();
        let text = |name: &str| case[name].as_str().unwrap();
        let reference_ns = parse_rfc3339(text("reference")).unwrap();
        let locale = case["locale"].as_str().unwrap_or("en");
        let parser = TimeParser::compile_with_locale(&formats, text("timezone"), locale).unwrap();
        let found = parser.parse_instant(text("input"), reference_ns).map(show);
        // To the millisecond: finer digits may follow.
        let found = found.map(|found| format!("{}Z", &found[..23]));
        assert_eq!(found.as_deref(), case["expect"]["timestamp"].as_str(), "{line}");
        right += 1;
    }
    assert!(right > 50, "{right}");
}

#[test]
fn no_other_byte_stands_for_a_digit() {
    let text = "2026-03-12T10:23:45Z";
    assert!(parse_rfc3339(text).is_some());
    let places: Vec<usize> =
        text.match_indices(|c: char| c.is_ascii_digit()).map(|it| it.0).collect();
    assert_eq!(places.len(), 14);
    for place in places {
        for byte in (0..128_u8).filter(|byte| !byte.is_ascii_digit()) {
            let mut other = text.to_owned();
            other.replace_range(place..=place, &char::from(byte).to_string());
            assert_eq!(parse_rfc3339(&other), None, "{other:?}");
        }
        // Bytes of more than seven bits, two in the place of two.
        for letters in ["é", "\u{80}", "ߺ"] {
            let mut other = text.to_owned();
            other.replace_range(place..place + 2, letters);
            assert_eq!(parse_rfc3339(&other), None, "{other:?}");
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(epoch_ns in any::<i64>(), offset_minutes in -14 * 60..14 * 60i64) {
        let mut out = Vec::new();
        write_rfc3339(&mut out, epoch_ns);
        let text = String::from_utf8(out).unwrap();
        prop_assert_eq!(parse_rfc3339(&text), Some(epoch_ns));
        let iso = TimeParser::compile(&["ISO8601"], "Asia/Shanghai").unwrap();
        prop_assert_eq!(iso.parse(&text, 0), Some(epoch_ns));

        // The same in letters and in a zone of fixed offset, through the fixed positions.
        let sign = if offset_minutes < 0 { '-' } else { '+' };
        let minutes = offset_minutes.abs();
        let zone = format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60);
        let letters = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSS";
        let parser = TimeParser::compile(&[letters], &zone).unwrap();
        let local = text.strip_suffix('Z').unwrap();
        let expect = epoch_ns.checked_sub(offset_minutes * 60_000_000_000);
        prop_assert_eq!(parser.parse(local, 0), expect);
    }

    /// The items read what the fixed positions read: a text of another shape by one space more.
    #[test]
    fn fixed_positions_agree_with_the_items(
        text in "20[0-9]{2}-[0-3][0-9]-[0-3][0-9] [0-2][0-9]:[0-6][0-9]:[0-6][0-9](,[0-9]{1,4})?",
    ) {
        let zone = "America/New_York";
        for (fixed, slow) in [
            ("yyyy-MM-dd HH:mm:ss,SSS", " yyyy-MM-dd HH:mm:ss,SSS"),
            ("yyyy-MM-dd HH:mm:ss", " yyyy-MM-dd HH:mm:ss"),
        ] {
            let fixed = TimeParser::compile(&[fixed], zone).unwrap();
            let slow = TimeParser::compile(&[slow], zone).unwrap();
            prop_assert_eq!(fixed.parse(&text, 0), slow.parse(&format!(" {text}"), 0));
        }
    }

    /// A clock alone is read within half a day of the reference, whatever it says.
    #[test]
    fn a_clock_alone_is_near(
        second in 0..86_400u32,
        reference in -9_000_000_000i64..9_000_000_000,
    ) {
        let parser = TimeParser::compile(&["HH:mm:ss"], "+05:30").unwrap();
        let text = format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
        let found = parser.parse_instant(&text, reference * NANOS_PER_SECOND).unwrap();
        prop_assert!(found.seconds.abs_diff(reference) <= 43_200);
    }

    #[test]
    fn no_text_panics(
        format in "[yMdHhmsSaEZzCxwekKDG':,. T训-]{1,12}",
        text in "[0-9TZz:+,. A-Za-z训月@-]{0,30}",
        reference_ns in any::<i64>(),
    ) {
        for formats in [&[&*format][..], &["ISO8601", "UNIX", "UNIX_MS", "TAI64N"]] {
            let compiled = TimeParser::compile_with_locale(formats, "Europe/London", "zh");
            if let Ok(parser) = compiled {
                let _time = parser.parse_instant(&text, reference_ns);
                let _time = parser.parse(&text, reference_ns);
            }
        }
    }
}
