//! Costs, next to those that the real server's libraries count.

use serde_json::{Value, json};

use super::*;
use crate::schema::rules::{compile, functions};

/// What cel-go and Kubernetes' libraries count: a cost and an expression in each line.
const UNTYPED: &str = include_str!("../../../../testdata/cel-costs-untyped.tsv");
/// The same, of variables that have types.
const TYPED: &str = include_str!("../../../../testdata/cel-costs-typed.tsv");
/// What is true on the real server, with each function of its libraries.
const TRUE: &str = include_str!("../../../../testdata/cel-functions.txt");
/// Those of the authorizer, which only policies have, and of JSON patches.
const OF_POLICIES: &str = " allowed check error errored escapeKey fieldSelector group labelSelector name namespace path \
    reason resource serviceAccount subresource ";

/// Those whose costs count, and that come to nothing on the real server.
const FAIL: [&str; 1] = ["self.absent == 1"];

struct TestVariables {
    all: Value,
    typed: bool,
}

impl Activation for TestVariables {
    fn named(&self, name: &str) -> Option<Cel> {
        self.all.get(name).map(value)
    }

    fn is_dynamic(&self, _name: &str) -> bool {
        !self.typed
    }
}

fn value(json: &Value) -> Cel {
    match json {
        Value::Number(number) => Cel::Int(number.as_i64().unwrap()),
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Array(items) => Cel::List(Arc::new(items.iter().map(value).collect())),
        Value::Object(fields) => {
            let fields = fields.iter();
            let map = fields.map(|(name, held)| (Key::from(name.as_str()), value(held)));
            let map = Arc::new(map.collect());
            Cel::Map(Map { map })
        }
        Value::Bool(_) | Value::Null => Cel::Null,
    }
}

/// The lines whose cost is another one here.
fn wrong(lines: &str, variables: &TestVariables) -> Vec<String> {
    let functions = functions::functions();
    let lines = lines.lines().filter_map(|line| {
        let (cost, text) = line.split_once('\t')?;
        let expression = compile(text).unwrap();
        let outcome = run(&expression, &functions, variables);
        let said = match &outcome.answer {
            Ok(_) => String::new(),
            Err(why) => format!(": {why}"),
        };
        let counted = outcome.cost.to_string();
        let fails = FAIL.contains(&text);
        (counted != cost || fails != outcome.answer.is_err())
            .then(|| format!("{text} costs {cost} and not {counted}{said}"))
    });
    lines.collect()
}

#[test]
fn expressions_cost_what_they_cost_on_the_real_server() {
    let own = json!({
        "a": { "b": 5 },
        "list": [1, 2, 3, 4],
        "names": ["abc", "def", "a long text of thirty letters"],
        "text": "hello world, this is text",
        "map": { "x": 1, "y": 2 },
        "n": 7,
        "url": "https://example.com:80/path?x=y",
        "items": [{ "name": "a", "v": [1, 2] }, { "name": "b", "v": [3] }],
    });
    let variables = TestVariables {
        all: json!({ "self": own }),
        typed: false,
    };
    assert_eq!(wrong(UNTYPED, &variables), [""; 0]);
}

#[test]
fn texts_and_lists_cost_more_where_their_types_are_known() {
    let all = json!({
        "n": 7,
        "items": [1, 2, 3, 4],
        "names": ["abc", "def", "a long text of thirty letters"],
        "text": "hello world, this is text",
        "labels": { "x": 1, "y": 2 },
    });
    let variables = TestVariables { all, typed: true };
    assert_eq!(wrong(TYPED, &variables), [""; 0]);
}

#[test]
fn a_spent_limit_ends_an_expression_whatever_its_other_parts_say() {
    let items: Vec<Value> = (0..400).map(Value::from).collect();
    let variables = TestVariables {
        all: json!({ "self": items }),
        typed: true,
    };
    let functions = functions::functions();
    let cases = [
        ("self.all(x, self.all(y, x + y >= 0))", false),
        ("self.all(x, self.all(y, x + y >= 0)) || true", false),
        ("true || self.all(x, self.all(y, x + y >= 0))", true),
        ("self.all(x, x >= 0)", true),
    ];
    for (text, fine) in cases {
        let outcome = run(&compile(text).unwrap(), &functions, &variables);
        match outcome.answer {
            Ok(answer) => assert!(fine && answer == Cel::Bool(true), "{text}: {answer:?}"),
            Err(why) => assert!(!fine && is_spent(&why), "{text}: {why}"),
        }
    }
}

#[test]
fn every_function_that_is_known_runs_as_on_the_real_server() {
    let own = json!({ "x": 1, "l": [3, 1] });
    let variables = TestVariables {
        all: json!({ "self": own }),
        typed: false,
    };
    let functions = functions::functions();
    for text in TRUE.lines() {
        let outcome = run(&compile(text).unwrap(), &functions, &variables);
        assert_eq!(outcome.answer, Ok(Cel::Bool(true)), "{text}");
    }
    let known = crate::schema::rules::FUNCTIONS.split_whitespace();
    let called = |name: &&str| TRUE.contains(&format!("{name}("));
    let other = |name: &&str| OF_POLICIES.split_whitespace().any(|of| of == *name);
    let untried: Vec<&str> = known.filter(|name| !called(name) && !other(name)).collect();
    assert_eq!(untried, [""; 0]);
}

#[test]
fn a_list_that_costs_too_much_is_not_made() {
    let variables = TestVariables {
        all: Value::Null,
        typed: true,
    };
    let functions = functions::functions();
    let expression = compile("lists.range(1000000000000).size() == 0").unwrap();
    let outcome = run(&expression, &functions, &variables);
    assert!(outcome.answer.is_err_and(|why| is_spent(&why)));
}

#[test]
fn a_loop_that_ends_goes_no_further() {
    let items = Cel::List(Arc::new(vec![Cel::Bool(true); 10_000]));
    let held = |value: &Cel| match value {
        Cel::List(items) => Arc::strong_count(items),
        _ => 0,
    };
    let before = held(&items);
    let scope = fold::entries(&items).unwrap().take(1).count();
    assert_eq!((scope, held(&items)), (1, before));
    let same = apply::apply("dyn", std::slice::from_ref(&items)).unwrap();
    assert!(
        matches!((same, &items), (Ok(Cel::List(same)), Cel::List(items)) if Arc::ptr_eq(&same, items))
    );
}
