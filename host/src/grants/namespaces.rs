//! Where a grant holds.

use std::fmt;

use serde::Deserialize;

/// Where a grant holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Namespaces {
    /// In the namespace of the primary that a call is about.
    #[default]
    SameAsPrimary,
    /// In these.
    Only(Vec<String>),
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

impl Namespaces {
    pub(super) fn cover(&self, namespace: Option<&str>, home: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => {
                namespace.is_some_and(|wanted| names.iter().any(|name| name == wanted))
            }
            Self::SameAsPrimary => namespace.is_some() && namespace == home,
        }
    }
}
