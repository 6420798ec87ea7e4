//! CEL conditions about any objects, for those who judge a cluster: with the language, the functions and the limits of
//! admission policies.
//!
//! - Values have no schema here: a field has the name that it has in JSON.
//! - A list shares its items with everything else that has them.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube_cel::cel::Value as Cel;
use serde_json::Value;

use crate::policy::cel::{self, Program};
use crate::schema::rules::{self, Activation, CelType};

/// How a reference to what nobody has declared is reported.
const UNDECLARED: &str = "undeclared reference to '";

/// A condition that can be asked.
#[derive(Clone, Debug)]
pub struct Condition {
    program: Program,
    names: Vec<String>,
}

/// What is wrong with a condition before it is ever asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionFault {
    /// In the real server's words, with line and column in the condition.
    pub why: String,
    /// The first name that nobody has declared, if that is what is wrong.
    pub undeclared: Option<String>,
}

/// A value as conditions see it.
#[derive(Clone, Debug)]
pub struct ConditionValue(Cel);

/// What conditions see, by name.
#[derive(Clone, Debug, Default)]
pub struct ConditionNames(BTreeMap<String, ConditionValue>);

impl Condition {
    /// Compiles a condition that may say these names.
    ///
    /// # Errors
    /// It is not an expression on these names, or does not result in true or false.
    pub fn new<'a>(
        text: &str,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, ConditionFault> {
        let fault = |why: String| ConditionFault {
            undeclared: why
                .split_once(UNDECLARED)
                .and_then(|(_, rest)| Some(rest.split_once('\'')?.0.to_owned())),
            why,
        };
        let names: Vec<&str> = names.into_iter().collect();
        let known = names.iter().map(|name| ((*name).to_owned(), CelType::Dyn));
        let found = rules::typed(text, known.collect()).map_err(fault)?;
        rules::compile(text).map_err(fault)?;
        if let Some(other) = found.scalar().filter(|name| *name != "bool") {
            let why = format!("must evaluate to bool but got {other}");
            return Err(fault(why));
        }
        let parsed = rules::parse(text).map_err(fault)?;
        let said = rules::roomy(text, || {
            let references = parsed.references();
            let said = names.iter().filter(|name| references.has_variable(name));
            said.map(|name| (*name).to_owned()).collect()
        });
        Ok(Self {
            program: Program::new(text),
            names: said,
        })
    }

    /// The names that it says, of those that it may say.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether it holds.
    ///
    /// # Errors
    /// Why it cannot be said, in the real server's words.
    pub fn holds(&self, names: &ConditionNames) -> Result<bool, String> {
        match self.program.on(names)? {
            Cel::Bool(holds) => Ok(holds),
            other => Err(format!("must evaluate to bool but got {}", other.type_of())),
        }
    }
}

impl ConditionNames {
    /// Lets a name stand for a value from now on.
    pub fn set(&mut self, name: &str, value: ConditionValue) {
        self.0.insert(name.to_owned(), value);
    }
}

impl Activation for ConditionNames {
    fn named(&self, name: &str) -> Option<Cel> {
        self.0.get(name).map(|ConditionValue(value)| value.clone())
    }

    fn is_dynamic(&self, _name: &str) -> bool {
        true
    }
}

impl From<&Value> for ConditionValue {
    fn from(json: &Value) -> Self {
        Self(cel::value(json))
    }
}

impl FromIterator<ConditionValue> for ConditionValue {
    /// A list.
    fn from_iter<T: IntoIterator<Item = Self>>(items: T) -> Self {
        let items = items.into_iter().map(|Self(item)| item);
        Self(Cel::List(Arc::new(items.collect())))
    }
}

/// The functions and macros that a condition can call.
pub fn functions<'a>() -> impl Iterator<Item = &'a str> {
    let all: &'a str = rules::FUNCTIONS;
    all.split_whitespace()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NAMES: [&str; 2] = ["maps", "others"];

    #[test]
    fn a_condition_is_asked_about_the_names_that_it_says() {
        let map = |name: &str| {
            ConditionValue::from(&json!({ "metadata": { "name": name, "namespace": "default" } }))
        };
        let mut names = ConditionNames::default();
        names.set("maps", ["a", "b"].map(map).into_iter().collect());
        let cases = [
            ("maps.size() == 2", Ok(true)),
            (
                "maps.all(m, maps.exists_one(n, n.metadata.name == m.metadata.name))",
                Ok(true),
            ),
            ("maps.exists(m, m.metadata.name == 'c')", Ok(false)),
            ("maps.all(m, m.metadata.namespace == 'default')", Ok(true)),
            (
                "maps[0].metadata.labels.a == 'b'",
                Err("no such key: labels".to_owned()),
            ),
            ("maps[0].?metadata.?labels.orValue({}) == {}", Ok(true)),
            (
                "maps[0].metadata.name",
                Err("must evaluate to bool but got string".to_owned()),
            ),
        ];
        for (text, want) in cases {
            let condition = Condition::new(text, NAMES).unwrap();
            assert_eq!(condition.names(), ["maps"], "{text}");
            assert_eq!(condition.holds(&names), want, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_condition_is_said_with_its_place() {
        let cases = [
            ("maps.size( == 2", "<input>:1:12: Syntax error", None),
            (
                "true &&\n mapps.size() == 2",
                "<input>:2:2: undeclared reference to 'mapps'",
                Some("mapps"),
            ),
            (
                "maps.al(m, true)",
                "undeclared reference to 'al'",
                Some("al"),
            ),
            ("maps.size()", "must evaluate to bool but got int", None),
            ("'a'", "must evaluate to bool but got string", None),
        ];
        for (text, want, undeclared) in cases {
            let fault = Condition::new(text, NAMES).unwrap_err();
            assert!(fault.why.contains(want), "{}", fault.why);
            assert_eq!(fault.undeclared.as_deref(), undeclared, "{text}");
        }
        assert!(functions().any(|name| name == "exists_one"));
    }
}
