//! Whether a version may give way to the one before it again: pure.
//!
//! - What somebody takes from a plugin, no failure of the plugin brings back: a grant, its service account, or that it
//!   writes.
//! - A version that may put its finalizer where the one before it does not look is not rolled back: nobody would remove
//!   the finalizer.

use super::version::Version;
use windlass_policy::manifest::{Mode, PluginDocument};
use windlass_sandbox::{Description, Finalizes};

/// A version, as far as this is about it.
#[derive(Clone, Copy)]
struct Rights<'a> {
    document: &'a PluginDocument,
    description: &'a Description,
}

impl<'a> Rights<'a> {
    fn of(version: &'a Version) -> Self {
        Self {
            document: &version.candidate.document,
            description: &version.plugin.description,
        }
    }

    /// Whether `before` may run again after this one.
    fn may_give_way_to(self, before: Self) -> bool {
        let (new, old) = (self.document, before.document);
        let silences = new.mode == Mode::Observe && old.mode != Mode::Observe;
        let mut kept = old.grants.iter();
        let keeps = kept.all(|grant| new.grants.iter().any(|held| held == grant))
            && new.service_account == old.service_account
            && (new.http == old.http || old.http == Default::default());
        !silences && keeps && new.finalizer() == old.finalizer() && self.is_watched_by(before)
    }

    /// Whether `before` looks at all kinds on which this one may put its finalizer.
    fn is_watched_by(self, before: Self) -> bool {
        let primaries = self.description.primaries.iter();
        let mut finalized = primaries.filter(|primary| primary.finalizes != Finalizes::Never);
        finalized.all(|primary| {
            let mut watched = before.description.primaries.iter();
            watched.any(|old| old.is_every_kind() || old.group_kind() == primary.group_kind())
        })
    }
}

impl Version {
    /// Whether `before`, which runs, may run again if this one fails.
    pub(super) fn is_reversible_to(&self, before: &Self) -> bool {
        // The same document with the same code: only what it names in the cluster is other than it was.
        let is_same =
            self.candidate.is_same_version(&before.candidate) && self.has_config_of(before);
        !is_same && Rights::of(self).may_give_way_to(Rights::of(before))
    }

    fn has_config_of(&self, other: &Self) -> bool {
        self.candidate.config() == other.candidate.config()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_policy::manifest::{Origin, parse};
    use windlass_sandbox::PrimaryWatch;

    fn document(spec: &str) -> PluginDocument {
        let text = format!(
            "apiVersion: windlass.dev/v1alpha1\nkind: Plugin\nmetadata: {{ name: p }}\nspec:\n  source: {{ oci: r.example/p:v1 }}\n{spec}"
        );
        parse(&Origin::Object("p".into()), &text).unwrap().remove(0)
    }

    fn grant(resource: &str, verbs: &str) -> String {
        format!(
            "  - {{ apiGroups: [x.dev], resources: [{resource}], verbs: [{verbs}], namespaces: [a] }}\n"
        )
    }

    fn kinds(all: &[(&str, Finalizes)]) -> Description {
        let primaries = all.iter().map(|(kind, finalizes)| PrimaryWatch {
            finalizes: *finalizes,
            ..PrimaryWatch::of("x.dev/v1", kind)
        });
        Description {
            primaries: primaries.collect(),
            ..Description::asking("", "x", &[])
        }
    }

    #[test]
    fn what_is_taken_from_a_plugin_no_rollback_brings_back() {
        let (things, all) = (grant("things", "get"), grant("things", "get, patch"));
        let plain = format!("  grants:\n{things}");
        let more = format!("  grants:\n{things}{}", grant("others", "get"));
        let wide = format!("  grants:\n{all}");
        let with = |line: &str| format!("  {line}\n{plain}");
        let observe = with("mode: Observe");
        let account = with("serviceAccount: { namespace: a, name: p }");
        // (before, after, whether the first may run again after the second)
        let rows = [
            (&plain, &plain, true),
            (&plain, &more, true),
            (&more, &plain, false),
            (&wide, &plain, false),
            (&plain, &observe, false),
            (&observe, &observe, true),
            (&observe, &plain, true),
            (&plain, &account, false),
            (&account, &account, true),
        ];
        let description = kinds(&[("X", Finalizes::Never)]);
        for (before, after, want) in rows {
            let (before, after) = (document(before), document(after));
            let rights = |document| Rights {
                document,
                description: &description,
            };
            let may = rights(&after).may_give_way_to(rights(&before));
            assert_eq!(may, want, "{before:?} {after:?}");
        }
    }

    #[test]
    fn a_finalizer_is_put_only_where_the_version_before_looks() {
        use Finalizes::{Always, Never};
        type Kinds = &'static [(&'static str, Finalizes)];
        let rows: [(Kinds, Kinds, bool); 4] = [
            (&[("X", Never)], &[("X", Always)], true),
            (&[("X", Always)], &[("X", Always), ("Y", Never)], true),
            (&[("X", Always)], &[("X", Always), ("Y", Always)], false),
            (&[("X", Always), ("Y", Never)], &[("Y", Always)], true),
        ];
        let document = document("");
        for (before, after, want) in rows {
            let (before, after) = (kinds(before), kinds(after));
            let rights = |description| Rights {
                document: &document,
                description,
            };
            let may = rights(&after).may_give_way_to(rights(&before));
            assert_eq!(may, want, "{before:?} {after:?}");
        }
    }
}
