//! What captures of a pattern become in an event: types, arrays, targets, several patterns as one.

use super::*;

#[track_caller]
fn check_grok(grok: Grok, line: &str, members: &str, expect: &str) {
    let change = |plan: &mut Plan, _: &mut Record<'_>| {
        let parser = LineParser::Grok(grok);
        let name = "test".to_owned();
        plan.parse =
            vec![ParseRule { name, when: None, field: None, parser, time: None, numbers: false }];
        plan.targets = vec![target(TargetKind::Path, &[""])];
        plan.routes = vec![route("", 1)];
    };
    check_with(change, line, members, expect);
}

#[test]
fn strict_types_are_values_or_texts() {
    let pattern = "^%{NOTSPACE:n:long} %{NOTSPACE:x:double} %{NOTSPACE:b:boolean}";
    let fields = |line, expect| check(pattern, line, "fields", expect);
    fields("12 6e-05 True", r#"fields={"n":12,"x":0.00006,"b":true}"#);
    fields("12abc nan yes", r#"fields={"n":"12abc","x":"nan","b":"yes"}"#);
    check("^%{NOTSPACE:rank:long}$", "7", "rank", "rank=7");
    check("^%{NOTSPACE:rank:long}$", "7x", "rank fields", r#"rank=null fields={"rank":"7x"}"#);
}

#[test]
fn a_field_that_comes_again_is_an_array_of_all_its_values() {
    check("%{INT:n:int} %{INT:n} %{INT:n:int}", "1 2 3", "fields", r#"fields={"n":[1,3,"2"]}"#);
}

#[test]
fn in_a_target_no_field_is_a_part_of_the_event() {
    let options = GrokOptions { target: "job".to_owned(), ..GrokOptions::default() };
    let grok = Grok::compile("^%{LOGLEVEL:level} %{GREEDYDATA:content}", &options).unwrap();
    let expect = r#"level=null content="WARN x" fields={"job.level":"WARN","job.content":"x"}"#;
    check_grok(grok, "WARN x", "level content fields", expect);
}

#[test]
fn several_patterns_as_one_give_the_fields_of_each() {
    let patterns = ["^%{LOGLEVEL:level}", "step=%{INT:step:int}", "loss=%{NUMBER:loss:float}"];
    let all = || Grok::all_of(patterns.map(grok).to_vec()).unwrap();
    let fields = |line, expect| check_grok(all(), line, "level fields tags", expect);
    fields("WARN step=7 loss=2.5", r#"level="warn" fields={"step":7,"loss":2.5} tags=null"#);
    fields("x loss=2.5", r#"level=null fields={"loss":2.5} tags=null"#);
    fields("x", r#"level=null fields=null tags=["_unparsed"]"#);
}
