use super::*;
use windlass_controller::controller::Record;
use windlass_kube::object::Key;
use windlass_view::{Difference, ValueHash, WriteOutcome, Wrote};

fn wrote(name: &str, end: WriteOutcome) -> Wrote {
    Wrote {
        kind: "ConfigMap".into(),
        key: Key::new(Some("n"), name),
        end,
        followed: Vec::new(),
        unread: Vec::new(),
        version: None,
    }
}

fn field(path: &str, before: Option<&str>, after: Option<&str>) -> Difference {
    Difference {
        path: path.into(),
        before: before.map(str::to_owned),
        after: after.map(str::to_owned),
        value: ValueHash::default(),
    }
}

fn pass(record: &Record) -> News {
    News::Pass {
        plugin: "greeter".into(),
        object: ObjectRef::new("Greeting", &record.primary.key),
        next_ms: record.next.map(|_| 20),
        pass: Box::new(PassAnswer::of(record, Duration::ZERO)),
    }
}

#[test]
fn a_pass_is_told_by_what_it_did_to_fields() {
    let mut record = Record::settled();
    let made = field(".data.text", None, Some("\"Hello, Ada!\""));
    let more = field(".text", Some("\"a\""), Some("\"b\""));
    let default = field(".spec.type", None, Some("\"ClusterIP\""));
    let with_defaults = Wrote {
        followed: vec![default; 5],
        ..wrote("made", WriteOutcome::Created(vec![made]))
    };
    let not_read = Wrote {
        unread: vec![field(".status.phase", None, Some("\"Ready\""))],
        ..wrote("sent", WriteOutcome::Changed(Vec::new()))
    };
    record.journal.writes = vec![
        with_defaults,
        not_read,
        wrote("changed", WriteOutcome::Changed(vec![more])),
        wrote("same", WriteOutcome::Changed(Vec::new())),
        wrote("gone", WriteOutcome::Deleted),
    ];
    record.journal.sent = vec!["POST https://api.example.com/v1/items 201".into()];
    let (tone, verb, text) = pass(&record).message();
    assert_eq!((tone, verb), (Tone::Good, "Reconcile"));
    let want = "Greeting/n/ada    3 ms  4 writes
+ ConfigMap/n/made
    data.text: \"Hello, Ada!\"
    as a result:
      spec.type: \"ClusterIP\"
      spec.type: \"ClusterIP\"
      spec.type: \"ClusterIP\"
      and 2 more
~ ConfigMap/n/sent
    sent, not read:
      status.phase: \"Ready\"
~ ConfigMap/n/changed
    text: \"a\" -> \"b\"
- ConfigMap/n/gone
> POST https://api.example.com/v1/items 201";
    assert_eq!(text, want);
}

#[test]
fn a_failure_is_told_with_what_the_guest_said_and_when_it_is_tried_again() {
    let record = Record {
        error: Some("it trapped".into()),
        output: r"panicked at src/lib.rs:14\nnote".into(),
        attempt: 2,
        next: Some(Duration::from_millis(20)),
        ..Record::settled()
    };
    let (tone, verb, text) = pass(&record).message();
    assert_eq!((tone, verb), (Tone::Bad, "Failed"));
    let want = "error: it trapped\n  panicked at src/lib.rs:14\n  note\nattempt 3; it is tried again in 20 ms";
    assert!(text.ends_with(want), "{text}");
    let News::Pass { pass: before, .. } = pass(&record) else {
        unreachable!()
    };
    let (_, _, again) = pass(&record).message_after(Some(&before));
    assert_eq!(
        again,
        "Greeting/n/ada  the same again; attempt 3; it is tried again in 20 ms"
    );
    let terminal = Record {
        next: None,
        ..record
    };
    let (_, _, text) = pass(&terminal).message();
    assert!(
        text.ends_with("not tried again before something changes"),
        "{text}"
    );
}

#[test]
fn many_fields_are_counted() {
    let fields = (0..20).map(|n| field(&format!(".f{n}"), None, Some("1")));
    let mut record = Record::settled();
    record.journal.writes = vec![wrote("made", WriteOutcome::Created(fields.collect()))];
    let (_, _, text) = pass(&record).message();
    assert!(text.ends_with("    f7: 1\n    and 12 more"), "{text}");
}

#[test]
fn what_is_not_granted_in_the_document_is_said() {
    let words =
        |words: &[&str]| -> Vec<String> { words.iter().map(|&one| one.to_owned()).collect() };
    let granted = |missing: &[&str], add: &[&str], problems: &[&str]| News::Granted {
        plugin: "greeter".into(),
        needs: vec!["jobs: create".into()],
        powerful: vec!["jobs: they run".into()],
        missing: words(missing),
        add: words(add),
        command: "windlass grants --write x".into(),
        problems: words(problems),
    };
    let (tone, _, text) = granted(&[], &[], &[]).message();
    assert_eq!(
        (tone, &*text),
        (Tone::Good, "jobs: create\npowerful: jobs: they run")
    );
    let (tone, _, text) = granted(&["create jobs"], &["- { a: b }"], &[]).message();
    assert_eq!(tone, Tone::Warning);
    assert!(
        text.ends_with("plugin.yaml: plugin greeter needs access that is not granted: create jobs; `windlass run` would not start it\n`windlass grants --write x` adds this to spec.grants of plugin.yaml:\n- { a: b }"),
        "{text}"
    );
    let (tone, _, text) = granted(&[], &[], &["spec.grants[0]: no"]).message();
    assert_eq!(tone, Tone::Warning);
    assert!(
        text.ends_with("\nplugin.yaml: spec.grants[0]: no"),
        "{text}"
    );
}

#[test]
fn each_is_a_document_that_names_its_event() {
    let record = Record::settled();
    let json = serde_json::to_value(pass(&record)).unwrap();
    let head = (&json["event"], &json["object"]["name"], &json["tookMs"]);
    assert_eq!(head, (&"pass".into(), &"ada".into(), &3.into()));
    let swapped = News::Running {
        plugin: "p".into(),
        digest: "sha256:0123456789abcdef".into(),
        before: Some("sha256:fedcba9876543210".into()),
    };
    assert_eq!(
        swapped.message().2,
        "p  sha256:fedcba987654 -> sha256:0123456789ab"
    );
    assert_eq!(serde_json::to_value(swapped).unwrap()["event"], "running");
}

#[test]
fn a_child_that_changes_its_owner_is_told_apart() {
    let mut record = Record::settled();
    let owner = |part: &str, before: &str, after: &str| {
        let path = format!(".metadata.ownerReferences[0].{part}");
        field(&path, Some(before), Some(after))
    };
    let fields = vec![
        owner("kind", "\"Greeting\"", "\"Salute\""),
        owner("uid", "\"1\"", "\"2\""),
    ];
    record.journal.writes = vec![
        wrote("child", WriteOutcome::Changed(fields)),
        wrote(
            "other",
            WriteOutcome::Changed(vec![owner("blockOwnerDeletion", "true", "false")]),
        ),
    ];
    let (_, _, text) = pass(&record).message();
    let want = "~ ConfigMap/n/child
    it has another owner now: kind \"Greeting\" -> \"Salute\", uid \"1\" -> \"2\"
";
    assert!(text.contains(want), "{text}");
    assert_eq!(text.matches("another owner").count(), 1, "{text}");
}

#[test]
fn what_is_left_behind_is_told_with_what_deletes_it() {
    let named = |kind: &str, namespace: Option<&str>, name: &str| {
        let object = ObjectRef {
            kind: kind.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        };
        News::remains(object, "kubectl --context c").message().2
    };
    let left = |kind: &str, namespace: Option<&str>| named(kind, namespace, "a");
    // A name that RBAC allows, and a shell would read.
    let role = named("ClusterRole", None, "cost$(id) a");
    assert!(
        role.ends_with("`kubectl --context c delete clusterrole 'cost$(id) a'` deletes it"),
        "{role}"
    );
    let greeting = left("Greeting", Some("n"));
    assert!(
        greeting.ends_with("`kubectl --context c delete greeting a -n n` deletes it"),
        "{greeting}"
    );
    let kind = left("CustomResourceDefinition", None);
    assert!(kind.contains("all objects of that kind"), "{kind}");
}
