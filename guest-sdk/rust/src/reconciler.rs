//! The trait that a plugin implements.

use serde::de::DeserializeOwned;

use crate::answer::{Action, Failure, Progress};
use crate::cluster::Cluster;
use crate::needs::{self, Needs};

/// A controller for one kind of object. Every call is made on a new value in a new sandbox.
pub trait Reconciler: Default {
    /// The API version and kind this controller reconciles. `("*", "*")` stands for every kind that the cluster serves and a
    /// grant lets the plugin watch, but for Events. It gets only the metadata of such objects. It writes no status, and can
    /// have a finalizer only with [`Watch::finalize_on_request`].
    const WATCHES: (&'static str, &'static str);

    /// Cleans up before the object is gone: `Some(Self::finalize)`. With it, the host adds the plugin's finalizer. By
    /// default there is nothing to do.
    const FINALIZE: Option<Finalize<Self>> = None;

    /// Also does something for objects that are being deleted and do not wait for the plugin's finalizer, as long as something
    /// else keeps them: `Some(Self::reconcile_going)`. Export it with [`export_going!`](crate::export_going) as well. By
    /// default, the host makes no call for them.
    const RECONCILE_GOING: Option<ReconcileGoing<Self>> = None;

    /// Whether the plugin writes the status of its primary. If it does, it asks for `patch` on the status, which an
    /// operator has to grant. By default it does not: many kinds, such as Secrets, have no status.
    const WRITES_STATUS: bool = false;

    /// The origins that the plugin sends HTTP requests to: `&["https://api.example.com"]`. An operator has to allow each
    /// in the document, under `http`.
    const ORIGINS: &'static [&'static str] = &[];

    /// The CustomResourceDefinitions that the component carries, each as JSON: `&[include_str!("../order.crd.json")]`.
    /// `windlass dev`, `render` and `test` of the component alone serve them; a host in a cluster installs none.
    const CRDS: &'static [&'static str] = &[];

    /// The object: usually an [`Object`](crate::Object), whose unknown fields survive a round
    /// trip.
    type Object: DeserializeOwned;

    /// Everything that the plugin touches beside its primary and the primary's status: the primary is always asked
    /// for, and its status with [`Reconciler::WRITES_STATUS`].
    fn needs() -> Needs {
        Needs::none()
    }

    /// Which objects of the kind, which parts of them, and which of their changes.
    fn watch() -> Watch {
        Watch::default()
    }

    /// Brings the cluster toward the state `object` asks for. Must be safe to repeat.
    ///
    /// # Errors
    /// A [`Failure`], if this is not possible now, or not at all.
    fn reconcile(&self, object: &Self::Object, cluster: &dyn Cluster) -> Result<Action, Failure>;
}

/// Undoes what `reconcile` made outside the object's ownership tree. The host calls it until it answers
/// [`Progress::Done`]; must tolerate that `reconcile` never ran, and that everything is gone.
pub type Finalize<R> =
    fn(&R, &<R as Reconciler>::Object, &dyn Cluster) -> Result<Progress, Failure>;

/// Brings the cluster toward the state that fits an object which is being deleted: keeps its status right, or lets go what
/// others wait for. It is not the place to clean up: the object may be gone before the first call. Must be safe to repeat.
pub type ReconcileGoing<R> =
    fn(&R, &<R as Reconciler>::Object, &dyn Cluster) -> Result<Action, Failure>;

/// Narrows the primary kind; the default is all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    pub(crate) plural: Option<String>,
    pub(crate) label_selector: Option<String>,
    pub(crate) field_selector: Option<String>,
    pub(crate) spec_changes_only: bool,
    pub(crate) finalizes_on_request: bool,
    pub(crate) finalizes_on_leave: bool,
    pub(crate) fields: Vec<String>,
}

impl Watch {
    /// The resource's plural, if it does not follow Kubernetes' rule: `gateways`.
    #[must_use]
    pub fn plural(mut self, resource: &str) -> Self {
        self.plural = Some(resource.to_owned());
        self
    }

    /// Only objects whose labels match.
    #[must_use]
    pub fn labelled(mut self, selector: &str) -> Self {
        self.label_selector = Some(selector.to_owned());
        self
    }

    /// Only objects whose fields match.
    #[must_use]
    pub fn with_fields(mut self, selector: &str) -> Self {
        self.field_selector = Some(selector.to_owned());
        self
    }

    /// Adds the plugin's finalizer only to objects for which `reconcile` calls [`Cluster::protect`], and not to all. For
    /// a reconciler with [`Reconciler::FINALIZE`].
    #[must_use]
    pub fn finalize_on_request(mut self) -> Self {
        self.finalizes_on_request = true;
        self
    }

    /// Finalizes an object at once that no longer matches the selectors. By default it is finalized when it is deleted.
    #[must_use]
    pub fn finalize_on_leave(mut self) -> Self {
        self.finalizes_on_leave = true;
        self
    }

    /// Does not run for changes of only the status, even if the plugin wrote it.
    #[must_use]
    pub fn spec_changes_only(mut self) -> Self {
        self.spec_changes_only = true;
        self
    }

    /// Reads only these parts: `.spec`, `.status.conditions`. This takes less memory, and changes of other parts do not
    /// run it, even of a status that the plugin wrote.
    #[must_use]
    pub fn fields<const N: usize>(mut self, paths: [&str; N]) -> Self {
        self.fields = paths.map(str::to_owned).to_vec();
        self
    }
}

/// All that `R` touches: its primary (`patch` if it finalizes), the primary's status if it writes that, and
/// [`Reconciler::needs`].
pub(crate) fn all_needs<R: Reconciler>() -> Needs {
    if R::WATCHES == needs::EVERY_KIND {
        // The grants say which kinds these are.
        return R::needs();
    }
    let (api_version, kind) = R::WATCHES;
    let watch = R::watch();
    let resource = watch.plural.clone().unwrap_or_else(|| needs::plural(kind));
    let verbs: &[&str] = match R::FINALIZE {
        Some(_) => &["get", "list", "watch", "patch"],
        None => &["get", "list", "watch"],
    };
    let mut primary = needs::need(api_version, kind, verbs).plural(&resource);
    primary.set_fields(&watch.fields);
    let status = if R::WRITES_STATUS {
        needs::need(api_version, kind, &["patch"]).plural(&format!("{resource}/status"))
    } else {
        Needs::none()
    };
    primary + status + R::needs()
}
