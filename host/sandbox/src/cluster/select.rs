//! `select`: a list of which the plugin wants some fields only. No object is shown to it as a whole.
//!
//! - What the plugin did not declare is absent, as it is in a list.
//! - A row of a Secret does not say that it is of one. So nothing could hide its values in logs and recordings, and they
//!   are not selected.

use super::check::invalid;
use super::read::{BYTES_AT_ONCE, Listed, too_much};
use super::{Call, Target};
use crate::bindings::cluster::{Error, ListQuery};
use crate::bounds::COPY;
use windlass_kube::api::Resource;
use windlass_kube::object::{Fields, Selection};

/// Paths of a row at most, steps of each, and bytes of all together.
const PATHS: usize = 64;
const STEPS: usize = 32;
const BYTES: usize = 4 << 10;

/// What may be selected of a Secret: nothing that holds a value of it, or a copy of one.
const OF_SECRETS: [&str; 12] = [
    ".apiVersion",
    ".kind",
    ".type",
    ".immutable",
    ".metadata.name",
    ".metadata.namespace",
    ".metadata.uid",
    ".metadata.resourceVersion",
    ".metadata.creationTimestamp",
    ".metadata.deletionTimestamp",
    ".metadata.labels",
    ".metadata.ownerReferences",
];

impl Call {
    pub(crate) async fn select(
        &mut self,
        query: ListQuery,
        paths: Vec<String>,
    ) -> Result<String, Error> {
        let paths = parse(&paths)?;
        let allowed = |resource: &Resource| check_secret(resource, &paths);
        let listed = self.listed(&query, allowed).await?;
        self.rows(&listed, &paths).await
    }

    /// The rows of the objects, as many bytes as a call may copy.
    async fn rows(&mut self, listed: &Listed, paths: &Fields) -> Result<String, Error> {
        let Listed {
            resource,
            objects,
            stored,
        } = listed;
        let view = self.cluster.view.clone();
        let selection = Selection::of(paths);
        let is_cut = !view.reads_of(resource).hides_nothing_of(paths);
        let mut held = self.hold(0)?;
        let mut rows = String::from("[");
        for object in objects {
            self.remember_one()?;
            let target = Target {
                resource: resource.clone(),
                key: object.metadata.key.clone(),
            };
            self.meet(&target, object, *stored);
            let room = COPY.saturating_sub(rows.len() + 2);
            let Ok(row) = (if is_cut {
                selection.row(&view.show(resource, object), room)
            } else {
                selection.row(&object.json.text(), room)
            }) else {
                return too_much();
            };
            self.hold_more(&mut held, row.len() + 1)?;
            self.work(1 + object.json.size() / BYTES_AT_ONCE).await?;
            if rows.len() > 1 {
                rows.push(',');
            }
            rows.push_str(&row);
        }
        rows.push(']');
        Ok(rows)
    }
}

/// Reads the paths.
fn parse(paths: &[String]) -> Result<Fields, Error> {
    if paths.len() > PATHS || paths.iter().map(String::len).sum::<usize>() > BYTES {
        return invalid(format!(
            "these are too many paths: {PATHS} paths and {BYTES} bytes are the most"
        ));
    }
    let fields = Fields::parse(paths.iter().map(String::as_str));
    let fields = fields.map_err(|error| Error::invalid(error.to_string()))?;
    if fields.is_all() {
        return invalid("name at least one path".into());
    }
    if fields.depth() > STEPS {
        return invalid(format!("a path has at most {STEPS} steps"));
    }
    Ok(fields)
}

/// Whether `paths` lead to no value, if they are of Secrets.
fn check_secret(resource: &Resource, paths: &Fields) -> Result<(), Error> {
    if !resource.group.is_empty() || resource.kind != "Secret" {
        return Ok(());
    }
    let harmless = Fields::parse(OF_SECRETS).unwrap_or_default();
    if !harmless.is_all() && harmless.covers(paths) {
        return Ok(());
    }
    invalid(format!(
        "of Secrets only these fields can be selected: {}; use list",
        OF_SECRETS.join(", ")
    ))
}
