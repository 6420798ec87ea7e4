//! What is done about each plugin when the config folder changes, when the host starts, and when a plugin has ended:
//! pure.
//!
//! - A plugin stops only when its document is surely gone. What cannot be read says nothing of the plugins that it held:
//!   they run on.

use windlass_policy::manifest::Origin;
use windlass_policy::source::{Candidate, Wanted};

/// What the config folder says of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// Its document is there.
    Asked,
    /// What held its document cannot be read, is there twice, or is being written.
    Unclear,
    /// Its document is gone, but a file of unknown plugins cannot be read: it may hold it, under a name of its own.
    PerhapsMoved,
    /// Its document is gone.
    Gone,
}

impl Presence {
    /// What is wanted of the plugin `name`, whose document was in `origin` last.
    pub(super) fn of(name: &str, origin: &Origin, wanted: &Wanted) -> Self {
        let is_object = origin.file().is_none();
        let is_unclear = is_object && wanted.objects_unknown
            || wanted.coming.iter().any(|coming| coming == name)
            || wanted.problems.iter().any(|problem| {
                // What is wrong with an object says nothing of a file, and the other way round.
                let is_alike = |it: &Origin| it.file().is_none() == is_object;
                let is_named =
                    problem.plugin.as_deref() == Some(name) && problem.origins.iter().any(is_alike);
                is_named || problem.origins.contains(origin)
            });
        if candidate(name, wanted).is_some() {
            Self::Asked
        } else if is_unclear {
            Self::Unclear
        } else if wanted.problems.iter().any(|it| it.plugin.is_none()) {
            Self::PerhapsMoved
        } else {
            Self::Gone
        }
    }
}

/// The version of the plugin `name` that is asked for.
pub(super) fn candidate<'a>(name: &str, wanted: &'a Wanted) -> Option<&'a Candidate> {
    let mut plugins = wanted.plugins.iter();
    plugins.find(|candidate| candidate.document.name == name)
}

/// What a plugin does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lifecycle {
    /// Nothing: the host does not know it.
    Absent,
    /// It runs, or tries to.
    Running,
    /// It was told to stop, and has not ended yet.
    Stopping,
}

/// What is done about a plugin after a change of the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FolderStep {
    /// It starts.
    Start,
    /// It is asked to be what its document says now.
    Update,
    /// It is told to stop.
    Stop,
    /// Nothing.
    Leave,
}

/// Chooses what is done after a change of the folder.
pub(super) fn after_change(lifecycle: Lifecycle, presence: Presence) -> FolderStep {
    match (lifecycle, presence) {
        (Lifecycle::Absent, Presence::Asked) => FolderStep::Start,
        (Lifecycle::Running, Presence::Asked) => FolderStep::Update,
        (Lifecycle::Running, Presence::Gone | Presence::PerhapsMoved) => FolderStep::Stop,
        // Asked for again before it has stopped: it starts again when it has.
        (Lifecycle::Stopping, _)
        | (Lifecycle::Running, Presence::Unclear)
        | (Lifecycle::Absent, Presence::Unclear | Presence::PerhapsMoved | Presence::Gone) => {
            FolderStep::Leave
        }
    }
}

/// What is done about a plugin that ran before the host was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StartStep {
    /// Its last good version runs.
    Resume,
    /// What is known of it is forgotten.
    Forget,
    /// Nothing: the folder says what becomes of it.
    Leave,
}

/// Chooses what is done when the host starts.
pub(super) fn at_start(presence: Presence) -> StartStep {
    match presence {
        Presence::Asked | Presence::PerhapsMoved => StartStep::Leave,
        Presence::Unclear => StartStep::Resume,
        Presence::Gone => StartStep::Forget,
    }
}

/// What is done about a plugin that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndStep {
    /// It starts again: its document came back while it stopped.
    StartAgain,
    /// What is known of it is forgotten.
    Forget,
    /// Nothing.
    Leave,
}

/// Chooses what is done after a plugin has ended that did this before.
pub(super) fn after_end(lifecycle: Lifecycle, presence: Presence) -> EndStep {
    match (lifecycle, presence) {
        (Lifecycle::Stopping, Presence::Asked) => EndStep::StartAgain,
        (Lifecycle::Stopping, Presence::Gone | Presence::PerhapsMoved) => EndStep::Forget,
        // The host stops, and not the plugin alone.
        (Lifecycle::Absent | Lifecycle::Running, _) | (Lifecycle::Stopping, Presence::Unclear) => {
            EndStep::Leave
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test hands in its own time")]
mod tests {
    use std::fs;

    use tokio::time::Instant;

    use super::*;
    use windlass_policy::source::read_folder;

    #[test]
    fn a_plugin_starts_changes_and_stops_with_its_document() {
        use FolderStep::{Leave, Start, Stop, Update};
        use Lifecycle::{Absent, Running, Stopping};
        // (what the folder says; what is done about a plugin that is absent, that runs, that stops)
        let rows = [
            (Presence::Asked, [Start, Update, Leave]),
            (Presence::Unclear, [Leave, Leave, Leave]),
            (Presence::PerhapsMoved, [Leave, Stop, Leave]),
            (Presence::Gone, [Leave, Stop, Leave]),
        ];
        for (presence, wants) in rows {
            for (lifecycle, want) in [Absent, Running, Stopping].into_iter().zip(wants) {
                let step = after_change(lifecycle, presence);
                assert_eq!(step, want, "{lifecycle:?} {presence:?}");
            }
        }
    }

    #[test]
    fn a_plugin_that_ran_before_is_resumed_or_forgotten() {
        let rows = [
            (Presence::Asked, StartStep::Leave),
            (Presence::Unclear, StartStep::Resume),
            (Presence::PerhapsMoved, StartStep::Leave),
            (Presence::Gone, StartStep::Forget),
        ];
        for (presence, want) in rows {
            assert_eq!(at_start(presence), want, "{presence:?}");
        }
    }

    #[test]
    fn a_plugin_that_has_stopped_starts_again_if_its_document_came_back() {
        let rows = [
            (Presence::Asked, EndStep::StartAgain),
            (Presence::Unclear, EndStep::Leave),
            (Presence::PerhapsMoved, EndStep::Forget),
            (Presence::Gone, EndStep::Forget),
        ];
        for (presence, want) in rows {
            assert_eq!(
                after_end(Lifecycle::Stopping, presence),
                want,
                "{presence:?}"
            );
            let host_stops = after_end(Lifecycle::Running, presence);
            assert_eq!(host_stops, EndStep::Leave, "{presence:?}");
        }
    }

    fn document(name: &str) -> String {
        format!(
            "apiVersion: windlass.dev/v1alpha1\nkind: Plugin\nmetadata: {{ name: {name} }}\nspec: {{ source: {{ file: {name}.wasm }} }}\n"
        )
    }

    #[test]
    fn a_document_is_gone_only_if_nothing_that_cannot_be_read_held_it() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            fs::write(folder.path().join(format!("{name}.yaml")), text).unwrap();
        };
        write("a", &document("a"));
        write("d1", &document("d"));
        write("d2", &document("d"));
        write("f", &document("another"));
        let says = |name: &str| {
            let mut held = read_folder(folder.path(), Instant::now()).unwrap();
            held.coming.push("e".to_owned());
            let file = folder.path().join(format!("{name}.yaml"));
            Presence::of(name, &Origin::File(file), &held)
        };
        let rows = [
            ("a", Presence::Asked, "is as it was"),
            ("another", Presence::Asked, "came"),
            ("b", Presence::Gone, "has no file any more"),
            ("c", Presence::Gone, "has no file any more"),
            ("d", Presence::Unclear, "is there twice"),
            (
                "e",
                Presence::Unclear,
                "has a component that is being written",
            ),
            ("f", Presence::Gone, "has a file that holds another plugin"),
        ];
        for (name, want, why) in rows {
            assert_eq!(says(name), want, "{name} {why}");
        }
        write("b", "kind: [");
        let rows = [
            ("a", Presence::Asked, "is as it was"),
            ("b", Presence::Unclear, "has a file that cannot be read"),
            ("c", Presence::PerhapsMoved, "may be in the file of b"),
            ("d", Presence::Unclear, "is there twice"),
        ];
        for (name, want, why) in rows {
            assert_eq!(says(name), want, "{name} {why}");
        }
    }
}
