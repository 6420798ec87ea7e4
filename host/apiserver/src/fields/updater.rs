//! Who owns what after a write: structured-merge-diff's `Updater`.

use serde_json::Value;

use super::OnConflict;
use super::compare::{Comparison, compare};
use super::managers::{Manager, Managers, Owned};
use super::merge::merge;
use super::path::{PathElement, equal};
use super::prune::prune;
use super::reconcile::reconcile;
use super::set::Set;
use super::types::Type;
use super::walk::field_set;
use crate::mutants::mutant;
use crate::schema::Schema;

/// A field that another manager owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    pub(super) manager: Manager,
    pub(super) path: Vec<PathElement>,
}

/// What is written, and by which rules.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObjectWrite<'a> {
    /// The live object; an empty one for a create.
    pub(super) live: &'a Value,
    pub(super) ty: Type<'a>,
    /// The schemas of other versions.
    pub(super) schemas: &'a [(String, Schema)],
    /// Fields that this endpoint does not write, whatever is sent.
    pub(super) reset: &'a Set,
    pub(super) managers: &'a Managers,
}

/// What an apply makes of the object.
#[derive(Clone, Debug)]
pub(super) struct Applied {
    /// The object; nothing where it stays as it is.
    pub(super) object: Option<Value>,
    pub(super) managers: Managers,
}

impl ObjectWrite<'_> {
    /// The live object becomes `new`: answers what others own then, and what the writer has written.
    pub(super) fn update(&self, new: &Value) -> (Managers, Set) {
        let mut managers = self.reconciled();
        let changes = compare(self.live, new, self.ty).without(self.reset);
        settle(&mut managers, &changes, None);
        (managers, changes.written())
    }

    /// `applier` applies `config` in `api_version`.
    ///
    /// # Errors
    /// The fields that others own and that would change, unless they are taken over.
    pub(super) fn apply(
        &self,
        config: &Value,
        applier: &Manager,
        api_version: &str,
        on_conflict: OnConflict,
    ) -> Result<Applied, Vec<Conflict>> {
        let mut managers = self.reconciled();
        let before = managers.0.remove(applier);
        let owned = Owned {
            set: field_set(config, self.ty).recursive_difference(self.reset),
            api_version: api_version.to_owned(),
            time: before.as_ref().and_then(|before| before.time),
        };
        let given_up = before.filter(|before| !before.set.difference(&owned.set).is_empty());
        let given_up = mutant!(AppliedFieldsAreNeverRemoved, given_up, None);
        managers.0.insert(applier.clone(), owned);
        let merged = merge(self.live, config, self.ty);
        let object = match given_up {
            Some(before) => {
                let owned = managers.by_version(&before.api_version);
                let owned = mutant!(
                    SharedFieldsAreRemoved,
                    owned,
                    vec![field_set(config, self.ty)]
                );
                prune(&merged, &before.set, &owned, self.ty)
            }
            None => merged,
        };
        let changes = compare(self.live, &object, self.ty).without(self.reset);
        if on_conflict == OnConflict::Refuse {
            let conflicts = conflicts(&managers, &changes, applier);
            if !conflicts.is_empty() {
                return Err(conflicts);
            }
        }
        mutant!(
            ForceLeavesTheOldOwner,
            settle(&mut managers, &changes, Some(applier)),
            ()
        );
        Ok(Applied {
            object: (!equal(self.live, &object)).then_some(object),
            managers,
        })
    }

    fn reconciled(&self) -> Managers {
        let mut managers = self.managers.clone();
        for owned in managers.0.values_mut() {
            let mut others = self.schemas.iter();
            let other = others.find(|(version, _)| *version == owned.api_version);
            let ty = other.map_or(self.ty, |(_, schema)| Type::root(schema.view()));
            owned.set = reconcile(&owned.set, ty);
        }
        managers
    }
}

/// What others than `applier` own of what was written.
fn conflicts(managers: &Managers, changes: &Comparison, applier: &Manager) -> Vec<Conflict> {
    let written = changes.written();
    let mut others: Vec<_> = managers.0.iter().filter(|(m, _)| *m != applier).collect();
    others.sort_by_key(|(manager, _)| manager.identifier());
    let conflicts = others.into_iter().flat_map(|(manager, owned)| {
        let paths = owned.set.intersection(&written).paths().into_iter();
        paths.map(|path| Conflict {
            manager: manager.clone(),
            path,
        })
    });
    conflicts.collect()
}

/// All but `writer` lose what was written, and what is gone.
fn settle(managers: &mut Managers, changes: &Comparison, writer: Option<&Manager>) {
    let written = changes.written();
    for (manager, owned) in &mut managers.0 {
        if Some(manager) != writer {
            let left = owned.set.difference(&written);
            owned.set = left.difference(&changes.removed);
        }
    }
    managers.drop_empty();
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::ApplyStory;

    #[test]
    fn values_that_agree_are_owned_together_and_last_as_long_as_one_owner_does() {
        let mut story = ApplyStory::new();
        story
            .apply("a", json!({ "count": 1, "text": "x" }))
            .unwrap();
        // Nothing changes, so that the new owner has no time.
        story.apply("b", json!({ "count": 1 })).unwrap();
        let both = json!({ "a Apply v1 1": { "f:count": {}, "f:text": {} }, "b Apply v1": { "f:count": {} } });
        assert_eq!(story.owners(), both);
        story.apply("a", json!({ "text": "x" })).unwrap();
        assert_eq!(story.fields(), json!({ "count": 1, "text": "x" }));
        story.apply("b", json!({})).unwrap();
        assert_eq!(story.fields(), json!({ "text": "x" }));
        assert_eq!(story.owners(), json!({ "a Apply v1 1": { "f:text": {} } }));
    }

    #[test]
    fn an_applier_and_an_updater_of_one_name_are_two() {
        let mut story = ApplyStory::new();
        story.apply("m", json!({ "count": 1 })).unwrap();
        story.update("m", json!({ "count": 2 }));
        assert_eq!(
            story.owners(),
            json!({ "m Update v1 2": { "f:count": {} } })
        );
        let no = story.apply("m", json!({ "count": 3 })).unwrap_err();
        assert_eq!(
            no.message,
            "Apply failed with 1 conflict: conflict with \"m\" using example.com/v1: .count"
        );
    }

    #[test]
    fn an_applier_takes_its_entry_along_to_another_version() {
        let mut story = ApplyStory::new();
        story.apply("m", json!({ "count": 1 })).unwrap();
        story.update("u", json!({ "count": 1, "text": "x" }));
        story.version = "example.com/v2";
        story.update("u", json!({ "count": 1, "text": "x", "yes": true }));
        story.apply("m", json!({ "count": 2 })).unwrap();
        assert_eq!(
            story.owners(),
            json!({ "m Apply v2 4": { "f:count": {} }, "u Update v1 2": { "f:text": {} },
                "u Update v2 3": { "f:yes": {} } })
        );
    }

    /// Taken from a real server, where `unowned` was a default.
    #[test]
    fn what_is_no_longer_applied_goes_away() {
        let mut story = ApplyStory::new();
        let all = json!({ "inner": { "count": 1 }, "maps": { "q": { "z": 1 } }, "set": ["a"],
            "items": [{ "name": "i", "count": 1 }] });
        story.apply("m", all).unwrap();
        let table = [
            (
                json!({ "inner": { "count": 1 }, "maps": { "q": { "z": 1 } } }),
                json!({ "inner": { "count": 1 }, "maps": { "q": { "z": 1 } } }),
            ),
            // What loses all that is in it is `null`; a validation may refuse that.
            (
                json!({ "inner": {}, "maps": { "q": {} } }),
                json!({ "inner": null, "maps": { "q": null } }),
            ),
            (
                json!({ "inner": { "text": "x" } }),
                json!({ "inner": { "text": "x" } }),
            ),
            (json!({ "inner": {} }), json!({ "inner": null })),
            (json!({}), json!({})),
        ];
        for (config, left) in table {
            story.apply("m", config.clone()).unwrap();
            assert_eq!(story.fields(), left, "{config}");
        }
        assert_eq!(story.owners(), json!({}));
    }

    #[test]
    fn null_is_a_value_that_is_owned() {
        let mut story = ApplyStory::new();
        story
            .apply("a", json!({ "count": 1, "inner": { "count": 1 } }))
            .unwrap();
        story.force("b", json!({ "count": null, "inner": null }));
        assert_eq!(
            story.fields(),
            json!({ "count": null, "inner": { "count": 1 } })
        );
        assert_eq!(
            story.owners(),
            json!({ "a Apply v1 1": { "f:inner": { "f:count": {} } },
                "b Apply v1 2": { "f:count": {}, "f:inner": {} } })
        );
    }
}
