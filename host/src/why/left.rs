//! What a plugin has left behind on an object that it does not select any more.

use std::fmt;

use windlass_controller::controller::{Children, ObjectState};
use windlass_kube::object::Metadata;

/// What is left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// The plugin's finalizer, if it is on the object.
    pub finalizer: Option<String>,
    /// Whether the plugin finalizes the object now, and not when it is deleted.
    pub is_finalized_now: bool,
    /// What the object owns of what the plugin watches.
    pub children: Children,
}

impl Left {
    /// What is left on an object with this metadata.
    pub(super) fn on(object: &Metadata, state: &ObjectState) -> Self {
        let finalizer = &state.finalizer;
        let is_held = object.has_finalizer(finalizer);
        Self {
            finalizer: is_held.then(|| finalizer.clone()),
            is_finalized_now: is_held && state.finalizes_on_leave,
            children: state.children.clone(),
        }
    }

    /// That the plugin's `selector` does not select the object by `what`, and what is left of when it did.
    pub(super) fn sentence(&self, what: &str, selector: &str) -> String {
        if self == &Self::default() {
            format!("its {what} do not match the plugin's selector {selector}")
        } else {
            format!(
                "its {what} no longer match the plugin's selector {selector}, so the plugin does not reconcile it. {self}"
            )
        }
    }
}

impl fmt::Display for Left {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Children { first, count } = &self.children;
        if let Some(finalizer) = &self.finalizer {
            let when = if self.is_finalized_now {
                "now, and then takes it off"
            } else {
                "when it is deleted"
            };
            write!(
                out,
                "It still has the finalizer {finalizer}: the plugin finalizes it {when}"
            )?;
            write!(out, "{}", if *count > 0 { ". " } else { "" })?;
        }
        if *count > 0 {
            let more = count.saturating_sub(first.len());
            let names = first.join(", ");
            write!(out, "It still owns {names}")?;
            if more > 0 {
                write!(out, " and {more} more")?;
            }
            write!(out, ": they are deleted when it is deleted")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_named_and_what_becomes_of_it() {
        let children = |names: &[&str], count| Children {
            first: names.iter().map(|name| (*name).to_owned()).collect(),
            count,
        };
        let finalizer = || Some("windlass.dev/p".to_owned());
        let rows = [
            (
                None,
                children(&[], 0),
                "its labels do not match the plugin's selector a=b",
            ),
            (
                finalizer(),
                children(&[], 0),
                "its labels no longer match the plugin's selector a=b, so the plugin does not reconcile it. It still has the finalizer windlass.dev/p: the plugin finalizes it when it is deleted",
            ),
            (
                None,
                children(&["ConfigMap n/a"], 1),
                "its labels no longer match the plugin's selector a=b, so the plugin does not reconcile it. It still owns ConfigMap n/a: they are deleted when it is deleted",
            ),
            (
                finalizer(),
                children(&["ConfigMap n/a", "Job n/b"], 9),
                "its labels no longer match the plugin's selector a=b, so the plugin does not reconcile it. It still has the finalizer windlass.dev/p: the plugin finalizes it when it is deleted. It still owns ConfigMap n/a, Job n/b and 7 more: they are deleted when it is deleted",
            ),
        ];
        for (finalizer, children, want) in rows {
            let left = Left {
                finalizer,
                is_finalized_now: false,
                children,
            };
            assert_eq!(left.sentence("labels", "a=b"), want);
        }
        let now = Left {
            finalizer: finalizer(),
            is_finalized_now: true,
            children: children(&[], 0),
        };
        let said = now.sentence("labels", "a=b");
        let want = "windlass.dev/p: the plugin finalizes it now, and then takes it off";
        assert!(said.ends_with(want), "{said}");
    }
}
