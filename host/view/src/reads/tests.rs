use std::sync::Arc;

use super::*;
use serde_json::{Value, json};
use windlass_base::memory::Account;
use windlass_kube::object::{Object, Owner};

fn key(name: &str) -> Key {
    Key::new(Some("a"), name)
}

fn config_map() -> GroupKind {
    GroupKind {
        group: String::new(),
        kind: "ConfigMap".into(),
    }
}

fn object(namespace: &str, name: &str, app: &str) -> Metadata {
    let labels = json!({ "app": app, "tier": "web" });
    let metadata = json!({ "namespace": namespace, "name": name, "uid": "u", "labels": labels });
    let object = Object::new(&json!({ "metadata": metadata })).unwrap();
    object.metadata.as_ref().clone()
}

fn list(namespace: Option<&str>, selector: &str) -> Read {
    let selector = LabelSelector::parse(selector).unwrap();
    Read::List(namespace.map(str::to_owned), selector)
}

/// Names of the readers that a change of this object wakes.
fn woken(reads: &Reads, object: &Metadata) -> Vec<String> {
    let keys = reads.woken(&config_map(), None, Some(object));
    keys.into_iter().map(|key| key.name.to_string()).collect()
}

/// One run of `reader` that ends well.
fn run(reads: &mut Reads, reader: &str, of: &[Read]) {
    let reader = key(reader);
    reads.begin(&reader);
    for read in of {
        reads.read(&reader, &config_map(), read.clone()).unwrap();
    }
    reads.settle(&reader);
}

#[test]
fn a_read_of_children_is_found_by_their_owner_or_by_that_they_have_none() {
    let object = |owners: &[(&str, bool)]| {
        let owners = owners.iter().map(|(uid, controller)| {
            json!({ "apiVersion": "v1", "kind": "X", "name": "x", "uid": uid, "controller": controller })
        });
        let owners: Value = owners.collect();
        let metadata =
            json!({ "namespace": "a", "name": "x", "uid": "u", "ownerReferences": owners });
        let object = Object::new(&json!({ "metadata": metadata })).unwrap();
        object.metadata.as_ref().clone()
    };
    let (owned, shared, orphan) = (
        object(&[("o", true)]),
        object(&[("p", true), ("o", false)]),
        object(&[("q", false)]),
    );
    let children = |namespace: Option<&str>, owner: Option<&str>| {
        Read::Children(namespace.map(str::to_owned), owner.map(str::to_owned))
    };
    // (the read; whether a change of each wakes its reader)
    let rows = [
        (children(None, Some("o")), [true, true, false]),
        (children(Some("a"), Some("o")), [true, true, false]),
        (children(Some("b"), Some("o")), [false; 3]),
        (children(Some("a"), None), [false, false, true]),
        (children(None, Some("q")), [false, false, true]),
    ];
    for (read, want) in rows {
        let mut reads = Reads::on(&Account::unlimited());
        run(&mut reads, "reader", std::slice::from_ref(&read));
        let found = [&owned, &shared, &orphan].map(|it| !woken(&reads, it).is_empty());
        assert_eq!(found, want, "{read:?}");
        // Also when it is lost.
        let lost = reads.woken(&config_map(), Some(&owned), Some(&object(&[("r", true)])));
        assert_eq!(!lost.is_empty(), want[0], "{read:?}");
        run(&mut reads, "reader", &[]);
        assert!(woken(&reads, &owned).is_empty() && reads.kinds.is_empty());
    }
}

#[test]
fn a_read_is_found_by_name_namespace_and_selector() {
    let cases = [
        (Read::Object(key("x")), true),
        (Read::Object(key("y")), false),
        (list(None, ""), true),
        (list(Some("a"), ""), true),
        (list(Some("b"), ""), false),
        (list(None, "app=web"), true),
        (list(None, "app in (web)"), true),
        (list(None, "app in (web,db)"), true),
        (list(None, "app=db"), false),
        (list(None, "tier=web,app=db"), false),
        (list(None, "tier=web,app!=db"), true),
        (list(Some("a"), "app=web"), true),
        (list(Some("b"), "app=web"), false),
        (list(None, "!app"), false),
    ];
    for (read, want) in cases {
        let mut reads = Reads::on(&Account::unlimited());
        run(&mut reads, "reader", std::slice::from_ref(&read));
        let found = woken(&reads, &object("a", "x", "web"));
        assert_eq!(!found.is_empty(), want, "{read:?}");
    }
}

#[test]
fn an_object_that_leaves_a_list_wakes_who_listed_it() {
    let mut reads = Reads::on(&Account::unlimited());
    run(&mut reads, "web", &[list(None, "app=web")]);
    run(&mut reads, "db", &[list(None, "app=db")]);
    run(&mut reads, "other", &[list(None, "app=other")]);
    let (old, new) = (object("a", "x", "web"), object("a", "x", "db"));
    let keys = reads.woken(&config_map(), Some(&old), Some(&new));
    assert_eq!(keys, [key("db"), key("web")]);
}

#[test]
fn only_what_the_last_run_read_counts() {
    let mut reads = Reads::on(&Account::unlimited());
    run(
        &mut reads,
        "reader",
        &[Read::Object(key("x")), Read::Object(key("y"))],
    );
    run(
        &mut reads,
        "reader",
        &[Read::Object(key("y")), list(None, "app=db")],
    );
    assert!(woken(&reads, &object("a", "x", "web")).is_empty());
    assert_eq!(woken(&reads, &object("a", "y", "web")), ["reader"]);
    assert_eq!(woken(&reads, &object("b", "z", "db")), ["reader"]);
    reads.forget(&key("reader"));
    assert!(reads.kinds.is_empty() && reads.readers.is_empty());
}

#[test]
fn a_change_that_lands_while_the_key_runs_is_not_lost() {
    let mut reads = Reads::on(&Account::unlimited());
    run(&mut reads, "reader", &[Read::Object(key("x"))]);
    reads.begin(&key("reader"));
    reads
        .read(&key("reader"), &config_map(), Read::Object(key("y")))
        .unwrap();
    for name in ["x", "y"] {
        let found = woken(&reads, &object("a", name, "web"));
        assert_eq!(found, ["reader"], "{name}: before the run has ended");
    }
}

#[test]
fn a_run_that_fails_adds_to_what_the_last_good_one_read() {
    let mut reads = Reads::on(&Account::unlimited());
    run(&mut reads, "reader", &[Read::Object(key("good"))]);
    for failed in ["one", "two"] {
        reads.begin(&key("reader"));
        reads
            .read(&key("reader"), &config_map(), Read::Object(key(failed)))
            .unwrap();
    }
    let counts = |name| woken(&reads, &object("a", name, "web")).len();
    assert_eq!((counts("good"), counts("one"), counts("two")), (1, 0, 1));
}

#[test]
fn who_reads_too_much_is_woken_by_everything_and_costs_no_more() {
    let mut reads = Reads::on(&Account::unlimited());
    let many: Vec<Read> = (0..5_000)
        .map(|n| Read::Object(key(&n.to_string())))
        .collect();
    run(&mut reads, "greedy", &many);
    assert_eq!(woken(&reads, &object("b", "unread", "web")), ["greedy"]);
    let held = &reads.readers[&key("greedy")];
    assert_eq!(held.settled.len(), MOST);
}

#[test]
fn an_unrelated_change_costs_the_same_with_ten_keys_and_ten_thousand() {
    let probes = |keys: usize| {
        let mut reads = Reads::on(&Account::unlimited());
        for number in 0..keys {
            let name = format!("reader-{number}");
            let own = list(Some("a"), &format!("app={name}"));
            run(&mut reads, &name, &[own, Read::Object(key(&name))]);
        }
        let unrelated = object("a", "unrelated", "unrelated");
        let (found, probes) = reads.look_up(&config_map(), [None, Some(&unrelated)]);
        assert!(found.is_empty());
        let related = object("a", "x", "reader-7");
        let (found, _) = reads.look_up(&config_map(), [None, Some(&related)]);
        assert_eq!(found, [key("reader-7")]);
        probes
    };
    assert_eq!(probes(10), probes(10_000));
}

/// Random runs against a model that keeps, for each reader, all reads of its runs.
#[test]
fn the_indexes_find_what_a_scan_of_all_reads_finds() {
    let mut rng = fastrand::Rng::with_seed(5);
    let (names, apps) = (["x", "y", "z"], ["web", "db", "none"]);
    let selectors = [
        "",
        "app=web",
        "app=db",
        "app!=web",
        "tier=web,app=db",
        "app in (web,db)",
    ];
    for _ in 0..300 {
        let mut reads = Reads::on(&Account::unlimited());
        let mut model: HashMap<String, [Vec<Read>; 2]> = HashMap::new();
        for _ in 0..60 {
            let reader = format!("reader-{}", rng.u8(0..4));
            let [settled, running] = model.entry(reader.clone()).or_default();
            match rng.u8(0..8) {
                0 | 1 => {
                    reads.begin(&key(&reader));
                    running.clear();
                }
                2 => {
                    reads.settle(&key(&reader));
                    *settled = std::mem::take(running);
                }
                3 => {
                    reads.forget(&key(&reader));
                    model.remove(&reader);
                }
                _ if reads.readers.contains_key(&key(&reader)) => {
                    let namespace = *rng.choice(&[None, Some("a"), Some("b")]).unwrap();
                    let read = match rng.u8(..3) {
                        0 => Read::Object(key(rng.choice(names).unwrap())),
                        1 => list(namespace, rng.choice(selectors).unwrap()),
                        _ => {
                            let owner = *rng.choice(&[None, Some("o"), Some("p")]).unwrap();
                            Read::Children(namespace.map(str::to_owned), owner.map(str::to_owned))
                        }
                    };
                    reads
                        .read(&key(&reader), &config_map(), read.clone())
                        .unwrap();
                    running.push(read);
                }
                _ => {}
            }
            let namespace = if rng.bool() { "a" } else { "b" };
            let (name, app) = (rng.choice(names).unwrap(), rng.choice(apps).unwrap());
            let mut changed = object(namespace, name, app);
            let owners = rng
                .choice(&[None, Some("o"), Some("p")])
                .unwrap()
                .map(|uid| Owner {
                    uid: uid.to_owned(),
                    controller: rng.bool(),
                    ..Owner::default()
                });
            changed.owners = Arc::new(owners.into_iter().collect());
            let is_inside = |namespace: &Option<String>| {
                namespace.is_none() || namespace.as_deref() == changed.key.namespace.as_deref()
            };
            let covers = |read: &Read| match read {
                Read::Object(object) => *object == changed.key,
                Read::List(namespace, selector) => {
                    is_inside(namespace) && selector.selects(&changed.labels)
                }
                Read::Children(namespace, owner) => {
                    let mut owners = changed.owners.iter();
                    is_inside(namespace)
                        && match owner {
                            Some(uid) => owners.any(|held| held.uid == *uid),
                            None => !owners.any(|held| held.controller),
                        }
                }
            };
            let mut want: Vec<String> = model
                .iter()
                .filter(|(_, runs)| runs.iter().flatten().any(covers))
                .map(|(reader, _)| reader.clone())
                .collect();
            want.sort();
            assert_eq!(woken(&reads, &changed), want);
        }
    }
}
