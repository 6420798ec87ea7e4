//! The contract in `wit/`, as the host sees it: the one place that generates bindings.

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "plugin",
    imports: { default: async | trappable },
    exports: { default: async },
});

pub(super) use self::windlass::plugin::{
    clock, cluster, config, events, http, log, memory, metrics, rates, types,
};

/// The optional export of the world `plugin-going`, and its function.
pub(super) const GOING: (&str, &str) = ("windlass:plugin/going@0.2.0", "reconcile-going");
