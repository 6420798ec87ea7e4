//! Every function of `cluster` denies what no grant covers, before anything leaves the host.

use serde_json::json;
use tracing::Level;
use windlass_sandbox::Action;
use windlass_sandbox::import::IMPORTS;
use windlass_sandbox_tests::handmade::{self, ANSWER, Handmade, word};
use windlass_sandbox_tests::{House, Tenant, logs};

use crate::common::{AMPLE, api_server, grants};

/// A function of `cluster`, a guest that calls it for a Secret and goes on only if it is denied,
/// and what the log says then.
type Denial = (&'static str, fn() -> Handmade, &'static str);

const DENIALS: &[Denial] = &[
    ("get", get, "get secrets in namespace default"),
    ("list", list, "list secrets in all namespaces"),
    ("select", select, "list secrets in all namespaces"),
    (
        "list-children",
        list_children,
        "list secrets in all namespaces",
    ),
    (
        "unchanged-for",
        unchanged_for,
        "watch secrets in namespace default",
    ),
    ("apply", apply, "create secrets in namespace default"),
    (
        "apply-status",
        apply_status,
        "patch secrets/status in namespace default",
    ),
    (
        "apply-set",
        apply_set,
        "create secrets in namespace default",
    ),
    ("adopt", adopt, "patch secrets in namespace default"),
    ("disown", disown, "patch secrets in namespace default"),
    ("hold", hold, "patch secrets in namespace default"),
    ("release", release, "patch secrets in namespace default"),
    (
        "release-many",
        release_many,
        "patch secrets in namespace default",
    ),
    (
        "protect",
        protect,
        "patch greetings.examples.windlass.dev in namespace default",
    ),
    ("create", create, "create secrets in namespace default"),
    (
        "create-many",
        create_many,
        "create secrets in namespace default",
    ),
    (
        "create-subresource",
        create_subresource,
        "create secrets/token in namespace default",
    ),
    (
        "update-subresource",
        update_subresource,
        "update secrets/status in namespace default",
    ),
    ("patch", patch, "patch secrets in namespace default"),
    ("delete", delete, "delete secrets in namespace default"),
    (
        "delete-many",
        delete_many,
        "delete secrets in namespace default",
    ),
    (
        "delete-all",
        delete_all,
        "deletecollection secrets in namespace default",
    ),
];

/// It answers what the grants name, so there is nothing to deny.
const UNDENIED: &[&str] = &["kinds"];

const SECRET: &str =
    r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"default"}}"#;

#[test]
fn every_function_of_the_cluster_has_a_denial() {
    let denials: Vec<_> = DENIALS.iter().map(|(function, ..)| *function).collect();
    let mut functions = handmade::functions("cluster").unwrap();
    let all = functions.clone();
    functions.retain(|function| !UNDENIED.contains(&&**function));
    assert_eq!(functions, denials);
    // Each is declared, with its effect and its recorded form.
    let declared = |interface: &str| -> Vec<&str> {
        let all = IMPORTS.iter().filter(|about| about.interface == interface);
        all.map(|about| about.name).collect()
    };
    assert_eq!(declared("cluster"), all);
    assert_eq!(declared("events"), handmade::functions("events").unwrap());
    // The host's own memory needs no grant; what a call keeps is not recorded.
    assert_eq!(declared("memory"), ["recall"]);
    assert_eq!(handmade::functions("memory").unwrap(), ["recall", "keep"]);
    assert_eq!(declared("rates"), handmade::functions("rates").unwrap());
    // What no rule allows is denied in tests/e2e/tests/http.rs.
    assert_eq!(declared("http"), handmade::functions("http").unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_grant_covers_is_denied_by_every_function() {
    for (function, guest, words) in DENIALS {
        let name = format!("denied-{function}");
        let (house, tenant) = tenant(&name, guest()).await;
        let secret = serde_json::from_str(SECRET).unwrap();
        house.api.give(&secret).unwrap();
        let called = tenant.reconcile("default", &name).await.unwrap();
        assert!(
            matches!(called.answer, Ok(Action::AwaitChange)),
            "{function}: {called:?}"
        );
        assert_eq!(called.traffic.requests, 0, "{function}");
        assert_eq!(house.api.take_writes(), [], "{function}");
        assert_eq!(requests(&house, "secrets"), [""; 0], "{function}");
        let lines = logs::about(&format!("Greeting/default/{name}"));
        let want = format!("plugin handmade may not {words}: add it to grants");
        let said = |line: &logs::Line| line.level == Level::WARN && line.message == want;
        assert!(
            lines.len() == 1 && lines.iter().all(said),
            "{function}: {lines:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_of_groups_that_were_not_granted_are_not_even_looked_up() {
    let (house, tenant) = tenant("unknown-group", probe("g000.x/v1", 1)).await;
    let called = tenant.reconcile("default", "unknown-group").await.unwrap();
    assert!(called.answer.is_ok(), "{called:?}");
    assert_eq!(requests(&house, "/apis/g"), [""; 0]);
    let lines = logs::about("Greeting/default/unknown-group").len();
    assert!((1..100).contains(&lines), "{lines} lines for 1,000 denials");
}

#[tokio::test(flavor = "multi_thread")]
async fn looking_up_what_is_not_served_counts_as_requests() {
    let (house, tenant) = tenant("unknown-version", probe("examples.windlass.dev/v000", 23)).await;
    let called = tenant
        .reconcile("default", "unknown-version")
        .await
        .unwrap();
    assert!(called.answer.is_ok(), "{called:?}");
    assert_eq!(called.traffic.requests, AMPLE.api_calls);
    assert_eq!(requests(&house, "dev/v0").len(), 100);
}

/// The requests of the host whose first line contains `text`.
fn requests(house: &House, text: &str) -> Vec<String> {
    let lines = house.api.requests().into_iter().map(|sent| sent.line);
    lines.filter(|line| line.contains(text)).collect()
}

/// A plugin with the hostile guest's grants and a primary called `name`.
async fn tenant(name: &str, guest: Handmade) -> (House, Tenant) {
    logs::keep();
    let house = House::on_threads(api_server(&[name]), 1).unwrap();
    let component = guest.build().unwrap();
    let plugin = house.load("handmade", component, &json!({}), AMPLE).await;
    let tenant = house.admit(plugin.unwrap(), grants()).await.unwrap();
    (house, tenant)
}

/// Calls `$function` with `arguments`, and traps unless the answer is the error `denied`: case 1
/// of the result, and case 1 of the error. `payload` is where the error lies within the answer.
fn denied(guest: Handmade, function: &str, arguments: &str, payload: usize) -> Handmade {
    guest.reconcile(&format!(
        "(call ${function} {arguments} (i32.const {ANSWER}))
         (if (i32.ne (i32.load8_u (i32.const {ANSWER})) (i32.const 1)) (then unreachable))
         (if (i32.ne (i32.load8_u (i32.const {})) (i32.const 1)) (then unreachable))",
        ANSWER + payload
    ))
}

const NONE: &str = "(i32.const 0) (i32.const 0) (i32.const 0)";

fn get() -> Handmade {
    let mut guest = Handmade::default().import("cluster", "get", 14);
    let secret = secret(&mut guest);
    denied(guest, "get", &format!("{secret} {NONE} (i32.const 1)"), 4)
}

/// An object-ref: version, kind, namespace, name.
fn secret(guest: &mut Handmade) -> String {
    let [version, kind, namespace, name] =
        ["v1", "Secret", "default", "s"].map(|text| guest.text(text));
    format!("{version} {kind} (i32.const 1) {namespace} {name}")
}

fn list() -> Handmade {
    let mut guest = Handmade::default().import("cluster", "list", 17);
    let (version, kind) = (guest.text("v1"), guest.text("Secret"));
    let limit = "(i32.const 0) (i32.const 0)";
    let query = format!("{version} {kind} {NONE} {NONE} {NONE} {limit} (i32.const 1)");
    denied(guest, "list", &query, 4)
}

/// Its parameters are more than 16, so they lie in memory.
fn select() -> Handmade {
    let mut guest = Handmade::default().import("cluster", "select", 2);
    let mut parameters = Vec::new();
    for text in ["v1", "Secret"] {
        let (at, length) = guest.place(text.as_bytes());
        parameters.extend([at, length].into_iter().flat_map(word));
    }
    // No namespace, no selectors, no limit, and `latest`.
    parameters.extend_from_slice(&[0; 12 + 12 + 12 + 8]);
    parameters.extend_from_slice(&word(1));
    let (at, length) = guest.place(b".metadata.name");
    let (paths, _) = guest.place(&[word(at), word(length)].concat());
    parameters.extend([paths, 1].into_iter().flat_map(word));
    let (at, _) = guest.place(&parameters);
    denied(guest, "select", &format!("(i32.const {at})"), 4)
}

fn list_children() -> Handmade {
    let mut guest = Handmade::default().import("cluster", "list-children", 13);
    let (version, kind) = (guest.text("v1"), guest.text("Secret"));
    let query = format!("{version} {kind} {NONE} {NONE} (i32.const 1) (i32.const 0)");
    denied(guest, "list-children", &query, 4)
}

fn unchanged_for() -> Handmade {
    let mut guest = Handmade::default().import("cluster", "unchanged-for", 10);
    let secret = secret(&mut guest);
    denied(guest, "unchanged-for", &secret, 4)
}

/// Its parameters are more than 16, so they lie in memory.
fn adopt() -> Handmade {
    let mut guest = Handmade::default().import("cluster", "adopt", 2);
    let mut parameters = in_memory(&mut guest);
    let (at, length) = guest.place(b"u");
    parameters.extend([at, length].into_iter().flat_map(word));
    // No owner, an optional object-ref of 36 bytes, and no finalizer.
    parameters.extend_from_slice(&[0; 40 + 12]);
    let (at, _) = guest.place(&parameters);
    denied(guest, "adopt", &format!("(i32.const {at})"), 4)
}

fn disown() -> Handmade {
    let mut guest = Handmade::default().import("cluster", "disown", 17);
    let secret = secret(&mut guest);
    let uid = guest.text("u");
    let owners = "(i32.const 0) (i32.const 0)";
    denied(
        guest,
        "disown",
        &format!("{secret} {uid} {owners} {NONE}"),
        4,
    )
}

fn hold() -> Handmade {
    let mut guest = Handmade::default().import("cluster", "hold", 14);
    let secret = secret(&mut guest);
    let (uid, finalizer) = (guest.text("u"), guest.text("example.com/a"));
    denied(guest, "hold", &format!("{secret} {uid} {finalizer}"), 4)
}

fn release() -> Handmade {
    let mut guest = Handmade::default().import("cluster", "release", 14);
    let secret = secret(&mut guest);
    let (uid, finalizer) = (guest.text("u"), guest.text("example.com/a"));
    denied(guest, "release", &format!("{secret} {uid} {finalizer}"), 4)
}

fn release_many() -> Handmade {
    let mut guest = Handmade::default().import("cluster", "release-many", 5);
    let mut target = in_memory(&mut guest);
    let (at, length) = guest.place(b"u");
    target.extend([at, length].into_iter().flat_map(word));
    let (at, _) = guest.place(&target);
    let finalizer = guest.text("example.com/a");
    first_denied(
        guest,
        "release-many",
        &format!("(i32.const {at}) (i32.const 1) {finalizer}"),
    )
}

fn protect() -> Handmade {
    let guest = Handmade::default().import("cluster", "protect", 1);
    denied(guest, "protect", "", 4)
}

fn apply() -> Handmade {
    let mut guest = Handmade::default().import("cluster", "apply", 3);
    let object = guest.text(SECRET);
    denied(guest, "apply", &object, 4)
}

fn apply_status() -> Handmade {
    let mut guest = Handmade::default().import("cluster", "apply-status", 3);
    let object = guest.text(SECRET);
    denied(guest, "apply-status", &object, 4)
}

/// A set of one child, whose error lies in the first of the list of errors.
fn apply_set() -> Handmade {
    let mut guest = Handmade::default().import("cluster", "apply-set", 3);
    let (at, length) = guest.place(SECRET.as_bytes());
    let (children, _) = guest.place(&[word(at), word(length)].concat());
    guest.reconcile(&format!(
        "(call $apply-set (i32.const {children}) (i32.const 1) (i32.const {ANSWER}))
         (if (i32.ne (i32.load8_u (i32.const {ANSWER})) (i32.const 1)) (then unreachable))
         (if (i32.ne (i32.load8_u (i32.add (i32.load (i32.const {})) (i32.const 8))) (i32.const 1))
           (then unreachable))",
        ANSWER + 4
    ))
}

fn create() -> Handmade {
    let mut guest = Handmade::default().import("cluster", "create", 3);
    let object = guest.text(SECRET);
    denied(guest, "create", &object, 4)
}

fn create_many() -> Handmade {
    let mut guest = Handmade::default().import("cluster", "create-many", 3);
    let (at, length) = guest.place(SECRET.as_bytes());
    let (objects, _) = guest.place(&[word(at), word(length)].concat());
    let arguments = format!("(i32.const {objects}) (i32.const 1)");
    first_denied(guest, "create-many", &arguments)
}

/// As [`denied`], for a function that answers with a list of results: the first one counts.
fn first_denied(guest: Handmade, function: &str, arguments: &str) -> Handmade {
    guest.reconcile(&format!(
        "(call ${function} {arguments} (i32.const {ANSWER}))
         (if (i32.ne (i32.load (i32.const {})) (i32.const 1)) (then unreachable))
         (if (i32.ne (i32.load8_u (i32.load (i32.const {ANSWER}))) (i32.const 1)) (then unreachable))
         (if (i32.ne (i32.load8_u (i32.add (i32.load (i32.const {ANSWER})) (i32.const 4))) (i32.const 1))
           (then unreachable))",
        ANSWER + 4
    ))
}

fn create_subresource() -> Handmade {
    let mut guest = Handmade::default().import("cluster", "create-subresource", 14);
    let secret = secret(&mut guest);
    let (token, object) = (guest.text("token"), guest.text("{}"));
    let arguments = format!("{secret} {token} {object}");
    denied(guest, "create-subresource", &arguments, 4)
}

fn update_subresource() -> Handmade {
    let mut guest = Handmade::default().import("cluster", "update-subresource", 14);
    let secret = secret(&mut guest);
    let (status, object) = (guest.text("status"), guest.text(SECRET));
    let arguments = format!("{secret} {status} {object}");
    denied(guest, "update-subresource", &arguments, 4)
}

fn patch() -> Handmade {
    let mut guest = Handmade::default().import("cluster", "patch", 16);
    let secret = secret(&mut guest);
    let patch = guest.text("[]");
    let arguments = format!("{secret} {NONE} (i32.const 0) {patch}");
    denied(guest, "patch", &arguments, 4)
}

/// Its parameters are more than 16, so they lie in memory.
fn delete() -> Handmade {
    let mut guest = Handmade::default().import("cluster", "delete", 2);
    let mut parameters = in_memory(&mut guest);
    // All options none: two texts, a small enum (2 bytes), a number.
    parameters.extend_from_slice(&[0; 12 + 12 + 4 + 8]);
    let (at, _) = guest.place(&parameters);
    denied(guest, "delete", &format!("(i32.const {at})"), 4)
}

fn delete_many() -> Handmade {
    let mut guest = Handmade::default().import("cluster", "delete-many", 3);
    let mut target = in_memory(&mut guest);
    target.extend_from_slice(&[0; 12 + 12 + 4 + 8]);
    let (at, _) = guest.place(&target);
    let arguments = format!("(i32.const {at}) (i32.const 1)");
    first_denied(guest, "delete-many", &arguments)
}

/// Its parameters are more than 16, so they lie in memory.
fn delete_all() -> Handmade {
    let mut guest = Handmade::default().import("cluster", "delete-all", 2);
    let mut parameters = Vec::new();
    for text in ["v1", "Secret"] {
        let (at, length) = guest.place(text.as_bytes());
        parameters.extend([at, length].into_iter().flat_map(word));
    }
    let (at, length) = guest.place(b"default");
    parameters.extend([1, at, length].into_iter().flat_map(word));
    // No selectors, no limit, `stored`, and all options none.
    parameters.extend_from_slice(&[0; 12 + 12 + 8 + 4]);
    parameters.extend_from_slice(&[0; 12 + 12 + 4 + 8]);
    let (at, _) = guest.place(&parameters);
    denied(guest, "delete-all", &format!("(i32.const {at})"), 4)
}

/// As [`secret`], as it lies in memory.
fn in_memory(guest: &mut Handmade) -> Vec<u8> {
    let mut reference = Vec::new();
    for text in ["v1", "Secret", "default", "s"] {
        if text == "default" {
            reference.extend_from_slice(&word(1));
        }
        let (at, length) = guest.place(text.as_bytes());
        reference.extend([at, length].into_iter().flat_map(word));
    }
    reference
}

/// Reads objects of 1,000 versions that nobody serves: counts in the three digits from `first` on.
fn probe(api_version: &str, first: usize) -> Handmade {
    let mut guest = Handmade::default().import("cluster", "get", 14);
    let (at, length) = guest.place(api_version.as_bytes());
    let [kind, name] = ["Thing", "s"].map(|text| guest.text(text));
    let digit = |place: usize, divisor: usize| {
        format!(
            "(i32.store8 (i32.const {}) (i32.add (i32.const 48) (i32.rem_u (i32.div_u (local.get $n) (i32.const {divisor})) (i32.const 10))))",
            at + first + place
        )
    };
    let digits = [digit(0, 100), digit(1, 10), digit(2, 1)].concat();
    guest.reconcile(&format!(
        "(loop $on
           {digits}
           (call $get (i32.const {at}) (i32.const {length}) {kind} {NONE} {name} {NONE} (i32.const 1) (i32.const {ANSWER}))
           (local.set $n (i32.add (local.get $n) (i32.const 1)))
           (br_if $on (i32.lt_u (local.get $n) (i32.const 1000))))"
    ))
}
