//! The objects of a project's files: which of them are applied when files change, and which are left behind.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::apply::Applier;
use super::inputs::Held;
use super::news::News;
use super::tell::Teller;
use crate::project::DOCUMENT;
use crate::project::objects::{Wanted, in_order, objects};
use windlass_base::digest::Digest;
use windlass_kube::object::ObjectRef;
use windlass_policy::source::text_of;

/// Files by their content.
type FileDigests = BTreeMap<PathBuf, Digest>;

/// The objects that were applied, by the file that holds them.
#[derive(Debug, Default)]
pub(super) struct Objects(BTreeMap<PathBuf, BTreeSet<ObjectRef>>);

impl Objects {
    /// Applies the objects of the files that are not as they were `before`. If a kind changes, it also says which objects
    /// of the other files do not conform any more. Answers whether something was refused.
    pub(super) async fn follow(
        &mut self,
        applier: &Applier<'_>,
        teller: &Teller,
        (before, now): (&FileDigests, &FileDigests),
    ) -> bool {
        let mut is_refused = false;
        let mut refuse = |news: News| {
            is_refused |= matches!(news, News::NotApplied { .. });
            teller.print(&news);
        };
        let changed = Held::changed(before, now);
        let (wanted, earlier) = self.take(&changed, &mut refuse);
        let (mut definitions, mut accepted) = (Vec::new(), Vec::new());
        for (path, wanted) in wanted {
            let news = applier.apply(&wanted).await;
            let of_file = self.0.entry(path.clone()).or_default();
            match &news {
                News::Applied { object, .. } => {
                    of_file.insert(object.clone());
                    accepted.push(wanted);
                }
                // It is in its file still, and in the cluster as it was.
                _ => of_file.extend(earlier.iter().filter(|one| wanted.names(one)).cloned()),
            }
            refuse(news);
        }
        if !before.is_empty() {
            definitions.extend(accepted.iter().filter(|it| it.is_definition()).cloned());
            let others = now
                .keys()
                .filter(|path| !changed.contains(path))
                .filter(|path| !path.ends_with(DOCUMENT));
            accepted.extend(others.flat_map(|path| read(path).unwrap_or_default()));
        }
        for wanted in accepted.iter().filter(|it| it.is_of_any(&definitions)) {
            if let Some(news) = applier.check(wanted).await {
                refuse(news);
            }
        }
        for object in self.remaining(earlier) {
            teller.print(&News::remains(object, teller.kubectl()));
        }
        is_refused
    }

    /// Reads the files that have changed: the objects that they hold now, in the order to apply them, and those that they
    /// held earlier, which are taken out.
    fn take<'a>(
        &mut self,
        changed: &'a [PathBuf],
        refuse: &mut impl FnMut(News),
    ) -> (Vec<(&'a PathBuf, Wanted)>, BTreeSet<ObjectRef>) {
        let (mut wanted, mut earlier) = (Vec::new(), BTreeSet::new());
        for path in changed.iter().filter(|path| !path.ends_with(DOCUMENT)) {
            match read(path) {
                Ok(objects) => {
                    earlier.extend(self.0.remove(path).into_iter().flatten());
                    wanted.extend(objects.into_iter().map(|object| (path, object)));
                }
                Err(message) => refuse(News::NotApplied {
                    file: path.display().to_string(),
                    message,
                }),
            }
        }
        in_order(&mut wanted, |(_, wanted)| wanted);
        (wanted, earlier)
    }

    /// Those of `earlier` objects that no file holds any more.
    fn remaining(&self, earlier: BTreeSet<ObjectRef>) -> Vec<ObjectRef> {
        let is_held = |object: &ObjectRef| self.0.values().any(|held| held.contains(object));
        earlier
            .into_iter()
            .filter(|object| !is_held(object))
            .collect()
    }
}

/// The objects of a file; none if it is gone.
fn read(path: &Path) -> Result<Vec<Wanted>, String> {
    match text_of(path) {
        Ok(text) => objects(path, &text),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(format!("cannot be read: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(kind: &str, name: &str) -> ObjectRef {
        ObjectRef {
            kind: kind.to_owned(),
            namespace: None,
            name: name.to_owned(),
        }
    }

    #[test]
    fn an_object_is_left_behind_if_no_file_holds_it_any_more() {
        let (old, moved) = (node("CustomResourceDefinition", "a"), node("Team", "b"));
        let held = BTreeMap::from([(PathBuf::from("b.yaml"), [moved.clone()].into())]);
        let objects = Objects(held);
        assert_eq!(objects.remaining([old.clone(), moved].into()), [old]);
        assert_eq!(objects.remaining(BTreeSet::new()), []);
    }

    #[test]
    fn a_file_that_is_gone_holds_nothing() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(read(&home.path().join("gone.yaml")), Ok(Vec::new()));
        let error = read(home.path()).unwrap_err();
        assert_eq!(error, "cannot be read: it is not a file");
    }
}
