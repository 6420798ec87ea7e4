//! What the guests `attacker` and `hostile` share: what they reconcile, and how an attack is chosen by its name.

use serde_json::Value;

use windlass_sdk::bindings::windlass::plugin::config;
use windlass_sdk::bindings::windlass::plugin::types::{
    Action, Description, Failure, Finalizes, ObjectRef, OnLeave, Rule, Trigger, Watch,
};

pub(crate) const API_VERSION: &str = "examples.windlass.dev/v1";
pub(crate) const KIND: &str = "Greeting";

/// How an attack ends, if it does.
pub(crate) type Outcome = Result<Action, Failure>;

/// Attacks on a primary, by their names in the configuration.
pub(crate) type Attacks<T> = [(&'static str, fn(&T) -> Outcome)];

/// A guest that reconciles Greetings.
pub(crate) fn description(name: &str, trigger: Trigger, needs: Vec<Rule>) -> Description {
    Description {
        name: name.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        primaries: vec![Watch {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            label_selector: None,
            field_selector: None,
            trigger,
            finalizes: Finalizes::Never,
            on_leave: OnLeave::Forget,
            fields: Vec::new(),
        }],
        needs,
        origins: Vec::new(),
        crds: Vec::new(),
    }
}

/// A need of one resource.
pub(crate) fn rule(group: &str, resource: &str, names: &[&str], verbs: &[&str]) -> Rule {
    let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
    Rule {
        api_groups: texts(&[group]),
        resources: texts(&[resource]),
        resource_names: texts(names),
        verbs: texts(verbs),
        fields: Vec::new(),
    }
}

/// The plugin's configuration.
pub(crate) fn configuration() -> Value {
    serde_json::from_str(&config::get()).unwrap_or_default()
}

/// Makes the attack that the configuration names. Any other name, or none, is a healthy guest that does nothing.
pub(crate) fn choose<T>(attacks: &Attacks<T>, config: &Value, primary: &T) -> Outcome {
    let wanted = config.get("attack").and_then(Value::as_str);
    match attacks.iter().find(|(name, _)| Some(*name) == wanted) {
        Some((_, attack)) => attack(primary),
        None => Ok(Action::AwaitChange),
    }
}

/// What tells an object from others.
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) uid: String,
}

impl Identity {
    /// That of an object, as JSON.
    pub(crate) fn of(object: &str) -> Self {
        let object: Value = serde_json::from_str(object).unwrap_or_default();
        let text = |pointer| {
            let text = object.pointer(pointer).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        Self {
            name: text("/metadata/name"),
            namespace: text("/metadata/namespace"),
            uid: text("/metadata/uid"),
        }
    }

    /// An object of the core group in the same namespace.
    pub(crate) fn core(&self, kind: &str, name: &str) -> ObjectRef {
        self.beside("v1", kind, name)
    }

    /// The object itself, which is a Greeting.
    pub(crate) fn reference(&self) -> ObjectRef {
        self.beside(API_VERSION, KIND, &self.name)
    }

    fn beside(&self, api_version: &str, kind: &str, name: &str) -> ObjectRef {
        ObjectRef {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: Some(self.namespace.clone()),
            name: name.to_owned(),
        }
    }
}
