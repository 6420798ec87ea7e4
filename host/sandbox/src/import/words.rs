//! What imports take, as recordings hold it: the contract's words as JSON.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::bindings::{cluster, events, types};
use windlass_base::memory;

/// Of what would take more bytes as a tree, the text is noted.
const LARGEST: usize = 8 << 20;

/// The JSON of a text that a guest or a host gives; the text itself if it is none.
pub(crate) fn object(text: &str) -> Value {
    if memory::tree(text) > LARGEST {
        return text.into();
    }
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// A text that is JSON. It is noted as JSON, not as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonText(pub(crate) String);

impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        object(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match Value::deserialize(deserializer)? {
            Value::String(text) => text,
            value => value.to_string(),
        }))
    }
}

/// Names an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Reference {
    api_version: String,
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    name: String,
}

impl Reference {
    /// About how many bytes it has.
    pub(super) fn bytes(&self) -> usize {
        self.api_version.len() + self.kind.len() + self.name.len() + length(&self.namespace)
    }

    /// The kind that it names.
    pub(crate) fn kind(&self) -> &str {
        &self.kind
    }
}

impl From<types::ObjectRef> for Reference {
    fn from(reference: types::ObjectRef) -> Self {
        let types::ObjectRef {
            api_version,
            kind,
            namespace,
            name,
        } = reference;
        Self {
            api_version,
            kind,
            namespace,
            name,
        }
    }
}

impl From<Reference> for types::ObjectRef {
    fn from(reference: Reference) -> Self {
        let Reference {
            api_version,
            kind,
            namespace,
            name,
        } = reference;
        Self {
            api_version,
            kind,
            namespace,
            name,
        }
    }
}

/// A kind that is served.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ServedWords {
    api_version: String,
    kind: String,
    plural: String,
    namespaced: bool,
    verbs: Vec<String>,
}

/// The JSON of a kind that is served.
pub(super) fn served(served: &cluster::Served) -> Value {
    let words = ServedWords {
        api_version: served.api_version.clone(),
        kind: served.kind.clone(),
        plural: served.plural.clone(),
        namespaced: served.namespaced,
        verbs: served.verbs.clone(),
    };
    // It cannot fail: all keys are texts.
    serde_json::to_value(words).unwrap_or_default()
}

/// A kind that is served, from its JSON.
pub(super) fn served_from(value: Value) -> Option<cluster::Served> {
    let words: ServedWords = serde_json::from_value(value).ok()?;
    Some(cluster::Served {
        api_version: words.api_version,
        kind: words.kind,
        plural: words.plural,
        namespaced: words.namespaced,
        verbs: words.verbs,
    })
}

/// The words of an enum of the contract, in both directions.
macro_rules! words {
    ($(#[$about:meta])* $name:ident, $contract:ty, $($word:ident)+) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub(crate) enum $name {
            $($word,)+
        }

        impl From<$contract> for $name {
            fn from(word: $contract) -> Self {
                type Contract = $contract;
                match word {
                    $(Contract::$word => Self::$word,)+
                }
            }
        }

        impl From<$name> for $contract {
            fn from(word: $name) -> Self {
                type Contract = $contract;
                match word {
                    $($name::$word => Contract::$word,)+
                }
            }
        }
    };
}

words!(
    /// Where a read is answered.
    Consistency, cluster::Consistency, Stored Latest
);
words!(
    /// How the text of a patch is meant.
    PatchType, cluster::PatchType, Json Merge
);
words!(
    /// What happens to the objects that the deleted one owns.
    Propagation, cluster::Propagation, Background Foreground Orphan
);
words!(
    /// How an Event is shown.
    Severity, events::Severity, Normal Warning
);

/// How long a text is that may not be given.
pub(super) fn length(text: &Option<String>) -> usize {
    text.as_ref().map_or(0, String::len)
}
