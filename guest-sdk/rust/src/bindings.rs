//! What `wit-bindgen` makes of the contract; plugins use it through the rest of the crate.

wit_bindgen::generate!({
    path: "../../wit",
    world: "plugin",
    pub_export_macro: true,
    export_macro_name: "export_component",
    default_bindings_module: "windlass_sdk::bindings",
});
