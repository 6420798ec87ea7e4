//! Names one primary object of a plugin: what the queue holds.
//!
//! - Cheap to clone: everybody who names an object holds the same text.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use windlass_base::text::clean_name;

/// Namespace and name of a primary. The kind is the plugin's.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<Names>);

/// What a key names.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Names {
    /// None for a cluster-scoped kind.
    pub namespace: Option<Arc<str>>,
    /// The object's name.
    pub name: Box<str>,
}

impl Key {
    /// The key of the object called `name`, in a namespace unless it is cluster-scoped.
    pub fn new(namespace: Option<&str>, name: &str) -> Self {
        Self(Arc::new(Names {
            namespace: namespace.map(Arc::from),
            name: name.into(),
        }))
    }

    /// The same in the namespace that others share; `namespace` is alike.
    pub(crate) fn share(&mut self, namespace: &Arc<str>) {
        Arc::make_mut(&mut self.0).namespace = Some(namespace.clone());
    }
}

impl Deref for Key {
    type Target = Names;

    fn deref(&self) -> &Names {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// For people: a name may contain any character, and none of them moves a cursor or begins a line.
impl fmt::Display for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = clean_name(&self.name);
        match &self.namespace {
            Some(namespace) => write!(out, "{namespace}/{name}"),
            None => write!(out, "{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_shown_in_one_line() {
        let cases = [
            ("team:reader", "team:reader"),
            ("cost $é", "cost $é"),
            ("a\nb\u{1b}[31m", "a\\nb\u{fffd}[31m"),
        ];
        for (name, shown) in cases {
            assert_eq!(Key::new(None, name).to_string(), shown);
        }
        assert_eq!(Key::new(Some("n"), "a").to_string(), "n/a");
    }
}
