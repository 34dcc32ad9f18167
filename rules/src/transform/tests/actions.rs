//! What action lines say: the operation, routing and pipeline, whatever a line makes of them.

use super::*;
use crate::plan::Op;
use serde_json::json;

/// The action line of one event whose task is this; `None` for one without it.
fn action(form: ActionForm, texts: &[&str], task: Option<&str>) -> Option<Json> {
    let mut plan = plan();
    plan.targets = vec![Target { action: form, ..target(TargetKind::Index, texts) }];
    plan.routes = vec![route("", 1)];
    let header = task.map(|task| ("task", task.as_bytes()));
    let headers: Vec<(&str, &[u8])> = header.into_iter().collect();
    let record = Record { headers: &headers, ..record() };
    let (out, _) = run(plan, &[(record, b"x")]);
    let event = &out.events[0];
    let said = &out.bytes[event.action_at as usize..event.doc.0 as usize];
    let line = said.strip_suffix(b"\n")?;
    assert!(!line.contains(&b'\n'), "one line");
    let said: Json = serde_json::from_slice(line).unwrap();
    let (_, members) = said.as_object().unwrap().iter().next().unwrap();
    assert_eq!(members["_id"], out.id(event));
    Some(said)
}

#[test]
fn routing_and_pipeline_are_said_where_they_are_wanted() {
    let form = |op, routing, pipeline| ActionForm { op, routing, pipeline };
    let said = action(form(Op::Index, true, true), &["logs", "{task}", "by-{task}"], Some("sft"));
    let said = &said.unwrap()["index"];
    assert_eq!((&said["_index"], &said["routing"]), (&json!("logs"), &json!("sft")));
    assert_eq!(said["pipeline"], "by-sft");
    let said = action(form(Op::Create, false, true), &["logs", "{task}"], Some("sft")).unwrap();
    assert_eq!(
        (&said["create"]["pipeline"], &said["create"]["routing"]),
        (&json!("sft"), &Json::Null)
    );
    let said = action(form(Op::Create, true, false), &["logs", "{task}"], Some("sft")).unwrap();
    assert_eq!(
        (&said["create"]["pipeline"], &said["create"]["routing"]),
        (&Json::Null, &json!("sft"))
    );
}

#[test]
fn a_value_is_kept_as_it_is_and_cannot_leave_its_place() {
    let form = ActionForm { routing: true, ..ActionForm::default() };
    let routing = |task: &str| {
        let said = action(form, &["logs", "{task}"], Some(task)).unwrap();
        said["create"]["routing"].as_str().map(str::to_owned)
    };
    // As an index it would be another.
    for task in ["SFT/Qwen 7B", "a\"},{\"b\\", "a\nb\u{1}", "é😀"] {
        assert_eq!(routing(task).as_deref(), Some(task));
    }
    let long = "é".repeat(400);
    assert_eq!(routing(&long).as_deref(), Some(&long[..512]));
}

#[test]
fn an_event_without_the_value_goes_to_the_dead_letters() {
    let form = ActionForm { routing: true, ..ActionForm::default() };
    assert_eq!(action(form, &["logs", "{fields.user}"], None), None);
    // The label has a default.
    assert!(action(form, &["logs", "{task}"], None).is_some());
}
