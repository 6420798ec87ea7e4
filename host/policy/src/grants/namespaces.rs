//! Where a grant holds.

use std::fmt;

use serde::Deserialize;

use windlass_kube::selector::SelectorMapping;

/// Where a grant holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Namespaces {
    /// In the namespace of the primary that a call is about.
    #[default]
    SameAsPrimary,
    /// In these.
    Only(Vec<String>),
    /// In those whose labels a selector selects. The document names none of them.
    Selected {
        /// Which.
        selector: SelectorMapping,
        /// Those that it selects now, sorted; none until a host has asked: then the grant holds nowhere.
        names: Vec<String>,
    },
    /// In all of them, and for what has no namespace.
    All,
}

impl<'de> Deserialize<'de> for Namespaces {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Namespaces;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("namespaces: `all`, `same-as-primary`, or a list of names")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Namespaces, E> {
                match text {
                    "all" => Ok(Namespaces::All),
                    "same-as-primary" => Ok(Namespaces::SameAsPrimary),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> Result<Namespaces, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = list.next_element()? {
                    names.push(name);
                }
                Ok(Namespaces::Only(names))
            }
        }
        from.deserialize_any(Visitor)
    }
}

#[cfg(test)]
impl schemars::JsonSchema for Namespaces {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Namespaces".into()
    }

    /// A word or a list: no type covers both.
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "x-kubernetes-preserve-unknown-fields": true })
    }
}

impl Namespaces {
    pub(super) fn cover(&self, namespace: Option<&str>, home: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) | Self::Selected { names, .. } => {
                namespace.is_some_and(|wanted| names.iter().any(|name| name == wanted))
            }
            Self::SameAsPrimary => namespace.is_some() && namespace == home,
        }
    }
}
