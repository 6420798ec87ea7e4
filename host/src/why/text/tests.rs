use serde_json::json;

use super::*;
use crate::why::dot;

fn answer() -> Explanation {
    let node = |kind: &str, name: &str| json!({ "kind": kind, "namespace": "n", "name": name });
    let with = |mut node: serde_json::Value, more: serde_json::Value| {
        for (field, value) in more.as_object().unwrap() {
            node[field] = value.clone();
        }
        node
    };
    let change = json!({ "path": ".data.text", "before": "\"x\"", "after": "\"Ahoy\"" });
    let added = json!({ "path": ".data.more", "before": null, "after": "1" });
    let sent = json!({ "path": ".status.phase", "before": null, "after": "\"Ready\"" });
    let answer = json!({
        "apiVersion": "windlass.dev/v1alpha1",
        "kind": "Why",
        "object": node("Greeting", "ada"),
        "plugins": [{
            "plugin": "greeter", "version": "0.1.0", "digest": "sha256:77a0e31b9c55",
            "reason": "Backoff", "message": "it has failed 2 times in a row", "nextInMs": 20,
            "generation": 2, "resourceVersion": "7",
            "passes": [{
                "began": "2026-11-22T10:00:00Z", "tookMs": 3, "agoMs": 12_000,
                "wokenBy": ["ConfigMap n/ada-greeting has changed"], "reasons": 3,
                "step": "reconcile", "attempt": 1, "resourceVersion": "7",
                "read": [
                    with(node("Greeting", "ada"), json!({ "resourceVersion": "7" })),
                    with(node("Secret", "key"), json!({ "resourceVersion": null })),
                    with(node("Pod", "app=web"), json!({ "count": 3 })),
                ],
                "wrote": [
                    with(node("ConfigMap", "ada-greeting"), json!({ "end": "changed", "fields": [change, added] })),
                    with(node("Deployment", "ada"), json!({ "end": "created", "fields": [], "followed": [added], "unread": [sent] })),
                ],
                "leftOut": 0, "returned": "transient", "error": "no luck",
                "failed": ["API server answered 500: it is full"],
                "cpuUs": 300, "memory": 1_258_291, "requests": 2, "output": "",
            }],
        }],
    });
    let mut answer: Explanation = serde_json::from_value(answer).unwrap();
    let plugin = &mut answer.plugins[0];
    let mut before = plugin.passes[0].clone();
    before.ago_ms = 60_000;
    before.error = None;
    before.returned = "rest".into();
    plugin.passes.push(before.clone());
    // One that did nothing is not worth a line.
    before.wrote.clear();
    plugin.passes.push(before);
    answer
}

#[test]
fn an_answer_is_told_line_by_line() {
    let told = "\
Greeting/n/ada   generation 2, by greeter 0.1.0 (sha256:77a0e31b9c55)
STATE      it has failed 2 times in a row
LAST PASS  reconcile, 12 s ago, attempt 2
WOKEN BY   ConfigMap n/ada-greeting has changed
           and 2 more
READ       Greeting/n/ada
           Secret/n/key (absent)
           Pod/n/app=web (3 objects)
WROTE      ConfigMap/n/ada-greeting   .data.text: \"x\" -> \"Ahoy\"
           ConfigMap/n/ada-greeting   .data.more: <none> -> 1
           Deployment/n/ada   created
             because of it   .data.more: <none> -> 1
             sent, not read   .status.phase: \"Ready\"
FAILED     API server answered 500: it is full
RETURNED   transient   3 ms, 2 API calls, 1.2 MiB peak
ERROR      no luck
BEFORE     reconcile 60 s ago, since ConfigMap n/ada-greeting has changed: rest
             ConfigMap/n/ada-greeting   .data.text: \"x\" -> \"Ahoy\"
             ConfigMap/n/ada-greeting   .data.more: <none> -> 1
             Deployment/n/ada   created
               because of it   .data.more: <none> -> 1
               sent, not read   .status.phase: \"Ready\"
";
    assert_eq!(text(&answer()), told);
}

#[test]
fn of_a_plugin_that_observes_it_is_told_what_it_would_write() {
    let mut answer = answer();
    let plugin = &mut answer.plugins[0];
    plugin.observes = true;
    plugin.passes.truncate(2);
    for pass in &mut plugin.passes {
        pass.observes = true;
    }
    let last = &mut plugin.passes[0];
    let mut deleted = last.wrote[0].clone();
    (deleted.end, deleted.fields) = ("deleted".into(), Vec::new());
    last.wrote.push(deleted);
    let told = text(&answer);
    assert!(
        told.contains("by greeter 0.1.0 (sha256:77a0e31b9c55), which observes\n"),
        "{told}"
    );
    let observed = "\
OBSERVED   would write ConfigMap/n/ada-greeting   .data.text: \"x\" -> \"Ahoy\"
           would write ConfigMap/n/ada-greeting   .data.more: <none> -> 1
           would send Deployment/n/ada   .status.phase: \"Ready\", which it does not read
           would delete ConfigMap/n/ada-greeting
FAILED";
    assert!(told.contains(observed), "{told}");
    assert!(
        told.contains("             would write ConfigMap/n/ada-greeting   .data.text"),
        "{told}"
    );
    for wrote in &mut answer.plugins[0].passes[0].wrote {
        wrote.end = "same".into();
    }
    let told = text(&answer);
    assert!(
        told.contains("OBSERVED   no difference: it would write nothing\n"),
        "{told}"
    );
}

#[test]
fn an_answer_of_nobody_says_whom_to_ask() {
    let object = |kind: &str| ObjectRef {
        kind: kind.into(),
        namespace: Some("n".into()),
        name: "ada".into(),
    };
    let mut answer = Explanation::about(object("configmap"));
    answer.kinds = vec!["Greeting".into()];
    let nobody = "configmap/n/ada   no plugin of this host reconciles configmap\n";
    assert_eq!(
        text(&answer),
        format!("{nobody}NEXT       ask for one of Greeting\n")
    );
    answer.owners = vec![object("Greeting")];
    let owned =
        "OWNED BY   Greeting/n/ada\nNEXT       ask for the owner: windlass why greeting/ada -n n\n";
    assert_eq!(text(&answer), format!("{nobody}{owned}"));
}

#[test]
fn of_a_plugin_that_is_being_built_it_says_that() {
    let waiting = PluginAnswer {
        plugin: "reaper".into(),
        message: "the plugin does not run: `windlass dev` builds its first version".into(),
        ..answer().plugins.remove(0)
    };
    let mut nobody = Explanation::about(ObjectRef {
        kind: "job".into(),
        namespace: None,
        name: "ada".into(),
    });
    nobody.unclear = vec![waiting];
    let want = "job/ada   no plugin that runs on this host reconciles job
UNCLEAR    reaper: the plugin does not run: `windlass dev` builds its first version
";
    assert_eq!(text(&nobody), want);
}

#[test]
fn a_graph_cannot_be_broken_out_of() {
    let mut answer = answer();
    answer.object.name = "a\"]; evil [label=\"\\".into();
    let graph = dot(&answer);
    assert!(
        graph.contains(r#""Greeting/n/a\"]; evil [label=\"\\" -> "#),
        "{graph}"
    );
    assert!(graph.contains(r#""Secret/n/key" -> "greeter: Backoff" [label="read: absent"];"#));
    assert!(graph.contains(r#""greeter: Backoff" -> "Deployment/n/ada" [label="created"];"#));
}

#[test]
fn of_objects_of_one_name_it_says_where_the_others_are() {
    let mut answer = answer();
    answer.elsewhere = vec!["team-b".into(), "team-c".into()];
    let told = text(&answer);
    let note = "NOTE       there is one in team-b, team-c as well: name a namespace with -n\n";
    assert!(told.starts_with(note), "{told}");
    answer.elsewhere = (0..10).map(|number| format!("n{number}")).collect();
    let told = text(&answer);
    assert!(
        told.contains("n6, n7 and 2 namespaces more as well:"),
        "{told}"
    );
}
