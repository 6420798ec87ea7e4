//! Which step an object needs next.

use windlass_base::bugs::bug;
use windlass_kube::object::Metadata;
use windlass_sandbox::Finalizes;

/// The next thing to do for an object, given its metadata alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Live and unprotected: add our finalizer before anything else.
    Protect,
    /// Live and protected, or live under a plugin that does not finalize.
    Reconcile,
    /// Going away, and we still owe cleanup.
    Finalize,
    /// The plugin does not finalize, but an earlier version of it did: take the finalizer off.
    Release,
    /// Going away, we owe nothing, and the plugin does something for it nevertheless.
    Going,
    /// Somebody has paused it: nothing is done, whatever it needs.
    Paused,
    /// Going away, and we owe nothing.
    Ignore,
}

impl Step {
    /// Names the step in logs and metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::Protect => "protect",
            Self::Reconcile => "reconcile",
            Self::Finalize => "finalize",
            Self::Release => "release",
            Self::Going => "going",
            Self::Paused => "paused",
            Self::Ignore => "ignore",
        }
    }
}

/// What is done in the place of `step` for a plugin that observes: no finalizer is put on or taken off. An object that
/// would be protected first is reconciled at once.
pub(super) fn observed(step: Step, object: &Metadata, goes: bool) -> Step {
    match step {
        Step::Release if object.deleting && goes => Step::Going,
        Step::Release if object.deleting => Step::Ignore,
        Step::Protect | Step::Release => Step::Reconcile,
        Step::Reconcile | Step::Finalize | Step::Going | Step::Paused | Step::Ignore => step,
    }
}

/// Chooses the step for an object under the finalizer called `name`. `leaves`: it has left the selectors, and that is
/// enough for it to be finalized. `paused`: users have paused it. `goes`: the plugin is called for what is going away.
pub(super) fn next_step(
    object: &Metadata,
    name: &str,
    (finalizes, goes): (Finalizes, bool),
    (leaves, paused): (bool, bool),
) -> Step {
    use Finalizes::{Always, Never, OnRequest};
    let is_held = object.has_finalizer(name);
    let step = match (finalizes, object.deleting || leaves, is_held) {
        (Always, false, false) => Step::Protect,
        (Always, false, true) | (OnRequest, false, _) | (Never, false, false) => Step::Reconcile,
        (Always | OnRequest, true, true) => Step::Finalize,
        (Always, true, false) => bug!(FinalizersComeBack, Step::Ignore, Step::Protect),
        (OnRequest | Never, true, false) => Step::Ignore,
        (Never, true | false, true) => Step::Release,
    };
    match step {
        Step::Ignore if goes && object.deleting && !paused => Step::Going,
        Step::Ignore => Step::Ignore,
        _ if paused => Step::Paused,
        step => step,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Finalizes::{Always, Never, OnRequest};
    use std::sync::Arc;

    const OURS: &str = "windlass.dev/greeter";

    fn object(finalizers: &[&str], deleting: bool) -> Metadata {
        Metadata {
            uid: "u1".into(),
            finalizers: Arc::new(finalizers.iter().map(|name| (*name).to_owned()).collect()),
            deleting,
            ..Metadata::default()
        }
    }

    #[test]
    fn step_depends_only_on_deletion_our_finalizer_and_whether_the_plugin_finalizes() {
        let cases = [
            (object(&[], false), Always, Step::Protect),
            (object(&["other"], false), Always, Step::Protect),
            (object(&[OURS], false), Always, Step::Reconcile),
            (object(&[OURS, "other"], true), Always, Step::Finalize),
            (object(&["other"], true), Always, Step::Ignore),
            (object(&[], true), Always, Step::Ignore),
            (object(&[], false), OnRequest, Step::Reconcile),
            (object(&[OURS], false), OnRequest, Step::Reconcile),
            (object(&[OURS], true), OnRequest, Step::Finalize),
            (object(&["other"], true), OnRequest, Step::Ignore),
            (object(&[], false), Never, Step::Reconcile),
            (object(&["other"], true), Never, Step::Ignore),
            (object(&[OURS], false), Never, Step::Release),
            (object(&["other", OURS], true), Never, Step::Release),
        ];
        for (object, finalizes, want) in cases {
            let step = next_step(&object, OURS, (finalizes, false), (false, object.paused));
            assert_eq!(step, want, "{object:?} {finalizes:?}");
        }
    }

    #[test]
    fn what_leaves_is_finalized_if_the_plugin_has_its_finalizer_on_it() {
        let cases = [
            (object(&[OURS], false), Always, Step::Finalize),
            (object(&[OURS], false), OnRequest, Step::Finalize),
            (object(&["other"], false), Always, Step::Ignore),
            (object(&["other"], false), OnRequest, Step::Ignore),
            (object(&[OURS], false), Never, Step::Release),
        ];
        for (object, finalizes, want) in cases {
            let step = next_step(&object, OURS, (finalizes, false), (true, object.paused));
            assert_eq!(step, want, "{object:?} {finalizes:?}");
        }
    }

    #[test]
    fn a_plugin_that_asks_for_it_is_called_for_what_goes_and_does_not_wait_for_it() {
        let cases = [
            (object(&["other"], true), Always, false, Step::Going),
            (object(&[], true), Always, false, Step::Going),
            (object(&["other"], true), OnRequest, false, Step::Going),
            (object(&["other"], true), Never, false, Step::Going),
            (object(&["other"], true), Always, true, Step::Going),
            // What waits for it is finalized or released first.
            (
                object(&[OURS, "other"], true),
                Always,
                false,
                Step::Finalize,
            ),
            (object(&[OURS], true), Never, false, Step::Release),
            // What stays and has left the selectors does not go.
            (object(&["other"], false), OnRequest, true, Step::Ignore),
            (object(&["other"], false), Never, false, Step::Reconcile),
            (object(&[], false), Always, false, Step::Protect),
        ];
        for (object, finalizes, leaves, want) in cases {
            let step = next_step(&object, OURS, (finalizes, true), (leaves, object.paused));
            assert_eq!(step, want, "{object:?} {finalizes:?} {leaves}");
        }
        let paused = Metadata {
            paused: true,
            ..object(&["other"], true)
        };
        assert_eq!(
            next_step(&paused, OURS, (Never, true), (false, paused.paused)),
            Step::Ignore
        );
    }

    #[test]
    fn who_observes_changes_no_finalizers() {
        let cases = [
            (object(&[], false), Always, false, Step::Reconcile),
            (object(&[OURS], false), Always, false, Step::Reconcile),
            (object(&[OURS], true), Always, false, Step::Finalize),
            (object(&["other"], true), Always, false, Step::Ignore),
            (object(&["other"], true), Always, true, Step::Going),
            (object(&[OURS], false), Never, false, Step::Reconcile),
            (object(&[OURS], true), Never, false, Step::Ignore),
            (object(&[OURS], true), Never, true, Step::Going),
        ];
        for (object, finalizes, goes, want) in cases {
            let step = next_step(&object, OURS, (finalizes, goes), (false, object.paused));
            let step = observed(step, &object, goes);
            assert_eq!(step, want, "{object:?} {finalizes:?} {goes}");
        }
    }

    #[test]
    fn nothing_is_done_for_a_paused_object() {
        let cases = [
            (object(&[], false), Always, Step::Paused),
            (object(&[OURS], false), Always, Step::Paused),
            (object(&[OURS], true), Always, Step::Paused),
            (object(&[], false), Never, Step::Paused),
            (object(&[OURS], false), Never, Step::Paused),
            (object(&[OURS], true), Never, Step::Paused),
            (object(&["other"], true), Always, Step::Ignore),
        ];
        for (object, finalizes, want) in cases {
            let paused = Metadata {
                paused: true,
                ..object
            };
            let step = next_step(&paused, OURS, (finalizes, false), (false, paused.paused));
            assert_eq!(step, want, "{paused:?} {finalizes:?}");
        }
    }
}
