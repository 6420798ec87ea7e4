//! What a plugin that runs natively says about itself, as JSON: the records of the contract.

use serde::Deserialize;

use super::Description;
use crate::bindings::types;

/// The contract's `description`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DescriptionDocument {
    name: String,
    version: String,
    primaries: Vec<Watch>,
    needs: Vec<Rule>,
    origins: Vec<String>,
    crds: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Watch {
    api_version: String,
    kind: String,
    label_selector: Option<String>,
    field_selector: Option<String>,
    trigger: Trigger,
    finalizes: Finalizes,
    on_leave: OnLeave,
    fields: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Rule {
    api_groups: Vec<String>,
    resources: Vec<String>,
    resource_names: Vec<String>,
    verbs: Vec<String>,
    fields: Vec<String>,
}

/// The words of an enum of the contract.
macro_rules! words {
    ($($name:ident: $($word:ident)+;)+) => {
        $(#[derive(Clone, Copy, Debug, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        enum $name {
            $($word,)+
        }

        impl From<$name> for types::$name {
            fn from(word: $name) -> Self {
                match word {
                    $($name::$word => Self::$word,)+
                }
            }
        })+
    };
}

words! {
    Trigger: AnyChange SpecChange;
    Finalizes: Never Always OnRequest;
    OnLeave: Forget Finalize;
}

impl From<Watch> for types::Watch {
    fn from(watch: Watch) -> Self {
        Self {
            api_version: watch.api_version,
            kind: watch.kind,
            label_selector: watch.label_selector,
            field_selector: watch.field_selector,
            trigger: watch.trigger.into(),
            finalizes: watch.finalizes.into(),
            on_leave: watch.on_leave.into(),
            fields: watch.fields,
        }
    }
}

impl From<Rule> for types::Rule {
    fn from(rule: Rule) -> Self {
        Self {
            api_groups: rule.api_groups,
            resources: rule.resources,
            resource_names: rule.resource_names,
            verbs: rule.verbs,
            fields: rule.fields,
        }
    }
}

impl DescriptionDocument {
    /// What it says, checked as that of a component.
    ///
    /// # Errors
    /// What in it cannot be used.
    pub fn read(self) -> Result<Description, String> {
        Description::read(types::Description {
            name: self.name,
            version: self.version,
            primaries: self.primaries.into_iter().map(Into::into).collect(),
            needs: self.needs.into_iter().map(Into::into).collect(),
            origins: self.origins,
            crds: self.crds,
        })
    }
}
