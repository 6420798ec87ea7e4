//! What a check decides, which questions are refused, and what one costs.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::options::Authorization;
use crate::policy::cel::{Failure, Frame, Program};
use crate::schema::rules::Budget;
use crate::store::{GroupResource, NamespacedName, Write};

fn write(store: &Store, group: &str, plural: &str, namespace: &str, object: serde_json::Value) {
    let place = GroupResource {
        group: group.to_owned(),
        plural: plural.to_owned(),
    };
    let name = object["metadata"]["name"].as_str().unwrap();
    let key = NamespacedName::new(namespace, name);
    store.write(&place, key, None, Write::Put(object)).unwrap();
}

/// A server on which ann may impersonate the ServiceAccount `one` in `team`, and read `/logs`; and on which that
/// account may get pods.
fn rights() -> Store {
    const GROUP: &str = "rbac.authorization.k8s.io";
    let store = Store::default();
    let ann = json!({ "apiGroup": GROUP, "kind": "User", "name": "ann" });
    let one = json!({ "kind": "ServiceAccount", "namespace": "team", "name": "one" });
    let roles = [
        (
            "ClusterRole",
            "",
            "logs",
            &ann,
            json!({ "nonResourceURLs": ["/logs"], "verbs": ["get"] }),
        ),
        (
            "Role",
            "team",
            "account",
            &ann,
            json!({ "apiGroups": [""], "resources": ["serviceaccounts"], "resourceNames": ["one"], "verbs": ["impersonate"] }),
        ),
        (
            "Role",
            "team",
            "pods",
            &one,
            json!({ "apiGroups": [""], "resources": ["pods", "pods/log"], "verbs": ["get"] }),
        ),
    ];
    for (kind, namespace, name, subject, rule) in roles {
        let metadata = json!({ "name": name, "namespace": namespace });
        let version = format!("{GROUP}/v1");
        let plural = kind.to_lowercase();
        let role =
            json!({ "apiVersion": version, "kind": kind, "metadata": metadata, "rules": [rule] });
        write(&store, GROUP, &format!("{plural}s"), namespace, role);
        let binding = json!({
            "apiVersion": version, "kind": format!("{kind}Binding"), "metadata": metadata,
            "roleRef": { "apiGroup": GROUP, "kind": kind, "name": name }, "subjects": [subject],
        });
        write(
            &store,
            GROUP,
            &format!("{plural}bindings"),
            namespace,
            binding,
        );
    }
    store
}

/// What an expression comes to for ann, who creates the Plugin `mine`.
fn ask(mode: Authorization, expression: &str) -> Result<Cel, String> {
    ask_within(&mut Budget::of_rules(), mode, expression)
}

fn ask_within(budget: &mut Budget, mode: Authorization, expression: &str) -> Result<Cel, String> {
    let user = User {
        name: "ann".to_owned(),
        ..User::default()
    };
    let objects = Objects {
        group: "windlass.dev".to_owned(),
        plural: "plugins".to_owned(),
        name: "mine".to_owned(),
        ..Objects::default()
    };
    let authorizer = Arc::new(Authorizer::new(mode));
    let names = values(&authorizer, &rights(), &user, objects);
    let frame = Frame::new(names.to_vec(), &Arc::new(BTreeMap::new()));
    let answer = Program::new(expression).run(&frame, budget);
    answer.map_err(Failure::message)
}

#[test]
fn roles_say_what_a_check_decides() {
    let accounts = "authorizer.group('').resource('serviceaccounts')";
    let cases = [
        (format!("{accounts}.namespace('team').name('one').check('impersonate').allowed()"), true),
        (format!("{accounts}.namespace('team').name('two').check('impersonate').allowed()"), false),
        (format!("{accounts}.namespace('team').name('').check('impersonate').allowed()"), false),
        (format!("{accounts}.namespace('team').check('impersonate').allowed()"), false),
        (format!("{accounts}.namespace('other').name('one').check('impersonate').allowed()"), false),
        (format!("{accounts}.namespace('team').name('one').subresource('token').check('impersonate').allowed()"), false),
        (format!("{accounts}.namespace('team').name('one').check('get').allowed()"), false),
        (format!("{accounts}.check('impersonate').errored()"), false),
        (format!("{accounts}.check('impersonate').error() == ''"), true),
        ("authorizer.requestResource.check('escalate').allowed()".to_owned(), false),
        ("authorizer.path('/logs').check('get').allowed()".to_owned(), true),
        ("authorizer.path('/logs').check('post').allowed()".to_owned(), false),
        ("authorizer.path('/healthz').check('get').allowed()".to_owned(), false),
        ("authorizer.serviceAccount('team', 'one').group('').resource('pods').subresource('log').namespace('team').check('get').allowed()".to_owned(), true),
        ("authorizer.serviceAccount('team', 'two').group('').resource('pods').namespace('team').check('get').allowed()".to_owned(), false),
        ("authorizer.group('').resource('pods').namespace('team').check('get').allowed()".to_owned(), false),
        ("authorizer.group('').resource('pods').fieldSelector('a=b').labelSelector('a=b').check('list').allowed()".to_owned(), false),
    ];
    for (expression, wanted) in cases {
        let answer = ask(Authorization::Rbac, &expression);
        assert_eq!(answer, Ok(Cel::Bool(wanted)), "{expression}");
    }
    let reason = "authorizer.path('/logs').check('get').reason().contains('\"logs\"')";
    assert_eq!(ask(Authorization::Rbac, reason), Ok(Cel::Bool(true)));
    let anything = "authorizer.requestResource.check('escalate').allowed()";
    assert_eq!(
        ask(Authorization::AlwaysAllow, anything),
        Ok(Cel::Bool(true))
    );
}

#[test]
fn what_cannot_be_asked_says_why() {
    let cases = [
        (
            "authorizer.path(' ').check('get').allowed()",
            "path must not be empty",
        ),
        (
            "authorizer.group('').resource(' ').check('get').allowed()",
            "resource must not be empty",
        ),
        (
            "authorizer.serviceAccount('team', 'Not').group('').resource('pods').check('get').allowed()",
            "Invalid service account name",
        ),
        (
            "authorizer.serviceAccount('a.b', 'one').group('').resource('pods').check('get').allowed()",
            "Invalid service account namespace",
        ),
        (
            "authorizer.group('').check('get').allowed()",
            "no such overload",
        ),
        ("authorizer.check('get').allowed()", "no such overload"),
        (
            "authorizer.path('/logs').name('a').check('get').allowed()",
            "no such overload",
        ),
        (
            "authorizer.group('').resource('pods').check(dyn(1)).allowed()",
            "no such overload",
        ),
    ];
    for (expression, why) in cases {
        let answer = ask(Authorization::Rbac, expression);
        let wanted = format!("expression '{expression}' resulted in error: {why}");
        assert_eq!(answer, Err(wanted));
    }
}

#[test]
fn two_checks_fit_into_an_expression_and_three_do_not() {
    let check = "authorizer.path('/none').check('get').allowed()";
    let of = |count: usize| vec![check; count].join(" || ");
    assert_eq!(ask(Authorization::Rbac, &of(2)), Ok(Cel::Bool(false)));
    let answer = ask(Authorization::Rbac, &of(3));
    let why = answer.unwrap_err();
    assert!(why.ends_with("actual cost limit exceeded"), "{why}");
    // All expressions together may cost 10,000,000, and a check costs 350,000.
    let mut budget = Budget::of_rules();
    let asked = (0..30).take_while(|_| ask_within(&mut budget, Authorization::Rbac, check).is_ok());
    assert_eq!(asked.count(), 28);
}

#[test]
fn a_question_does_not_show_the_objects_of_the_server() {
    let store = Store::default();
    let object = json!({ "kind": "ConfigMap", "metadata": { "name": "stored-object" } });
    write(&store, "", "configmaps", "default", object);
    assert!(format!("{store:?}").contains("stored-object"));
    let authorizer = Arc::new(Authorizer::new(Authorization::AlwaysAllow));
    for (name, value) in values(&authorizer, &store, &User::admin(), Objects::default()) {
        let shown = format!("{value:?}");
        assert!(shown.contains("Question"), "{name}: {shown}");
        assert!(!shown.contains("stored-object"), "{name}: {shown}");
    }
}
