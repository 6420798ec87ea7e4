//! Write a Kubernetes controller as a Windlass plugin.
//!
//! ```
//! use windlass_sdk::{Action, Cluster, Failure, Needs, Object, Reconciler, export, manage};
//!
//! #[derive(serde::Deserialize)]
//! struct Spec {
//!     message: String,
//! }
//!
//! #[derive(Default)]
//! struct Echo;
//!
//! impl Reconciler for Echo {
//!     const WATCHES: (&'static str, &'static str) = ("examples.windlass.dev/v1", "Echo");
//!     type Object = Object<Spec>;
//!
//!     fn needs() -> Needs {
//!         manage("v1", "ConfigMap")
//!     }
//!
//!     fn reconcile(&self, echo: &Self::Object, cluster: &dyn Cluster) -> Result<Action, Failure> {
//!         let heard = echo.child("v1", "ConfigMap", echo.name()).data("heard", &echo.spec.message);
//!         cluster.apply(heard)?;
//!         Ok(Action::AwaitChange)
//!     }
//! }
//!
//! export!(Echo);
//! ```
//!
//! A [`Reconciler`] gets its object and the [`Cluster`], and answers with an [`Action`] or a
//! [`Failure`]. [`Adapter`] and [`export!`] make it a component. The host tracks what a call reads through the cluster:
//! when that changes, it calls `reconcile` again. Nothing else is kept between calls.
//!
//! - If the plugin reconciles several kinds, write a [`Reconciler`] for each, and name them all:
//!   `export!(Orders, Invoices)`.
//! - If the plugin writes the status of its object, set `const WRITES_STATUS: bool = true`.
//! - If the component carries the CustomResourceDefinition of its kind, name the text in `CRDS`.
//!
//! In a new project the stack has 128 KiB (`.cargo/config.toml`), since a call is cheaper if it uses few pages. Deep
//! recursion or a large array on the stack traps, and the host says that the stack may have overflowed. Use the heap,
//! or raise the number.
//!
//! With the feature `testing`, `testing::FakeCluster` plays the cluster in plain
//! `cargo test`.

mod adapter;
mod answer;
#[doc(hidden)]
pub mod bindings;
mod cluster;
mod condition;
mod failed;
mod fetch;
mod host;
mod manifest;
mod metadata;
mod needs;
mod object;
mod query;
mod read;
mod reconciler;
mod report;
mod selector;
#[cfg(feature = "testing")]
pub mod testing;

pub use adapter::{Adapter, GoingAdapter, Package};
#[doc(hidden)]
pub use adapter::{And, GoingReconcilers, Reconcilers};
pub use answer::{Action, Failure, Progress};
pub use cluster::Cluster;
pub use condition::Condition;
pub use failed::{Code, Error, SetError, SetFailure, Status};
pub use fetch::{FetchCode, FetchError, FetchOptions, FetchRequest, FetchResponse};
pub use http;
pub use manifest::Manifest;
pub use metadata::{Metadata, OwnerReference};
pub use needs::{Needs, Rule, manage, need, plural, read};
pub use object::Object;
pub use query::{
    Adoption, ChildrenQuery, Consistency, DeleteOptions, ListQuery, ObjectRef, Patch, Propagation,
    Served,
};
pub use reconciler::{Finalize, ReconcileGoing, Reconciler, Watch};
pub use report::{Event, Level, Measure, Metric, Severity};
pub use selector::{BadSelector, LabelSelector};

/// Exports a reconciler as this component's controller, under the package's name and version; or several, each for a
/// kind of its own: `export!(Orders, Invoices)`.
#[macro_export]
macro_rules! export {
    (@list) => { () };
    (@list $first:ty $(, $other:ty)*) => {
        $crate::And<$first, $crate::export!(@list $($other),*)>
    };
    ($($reconciler:ty),+ $(,)?) => {
        // Component export names are not valid symbols for a native linker, and
        // plugins must stay testable with plain `cargo test`.
        #[cfg(target_family = "wasm")]
        const _: () = {
            struct Package;
            impl $crate::Package for Package {
                const NAME: &'static str = env!("CARGO_PKG_NAME");
                const VERSION: &'static str = env!("CARGO_PKG_VERSION");
            }
            type Component = $crate::Adapter<$crate::export!(@list $($reconciler),+), Package>;
    $crate::bindings::export_component!(Component with_types_in $crate::bindings);
        };
    };
}

/// Exports reconcilers that are called for objects that are being deleted as well ([`Reconciler::RECONCILE_GOING`]), beside
/// [`export!`]: `export_going!(Orders)`.
#[macro_export]
macro_rules! export_going {
    ($($reconciler:ty),+ $(,)?) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            type Component = $crate::GoingAdapter<$crate::export!(@list $($reconciler),+)>;
    $crate::bindings::going::export_going_component!(Component with_types_in $crate::bindings::going);
        };
        $(const _: () = assert!(
            <$reconciler as $crate::Reconciler>::RECONCILE_GOING.is_some(),
            "a reconciler in export_going! has no RECONCILE_GOING"
        );)+
    };
}
