//! What `wit-bindgen` makes of the contract; plugins use it through the rest of the crate.

wit_bindgen::generate!({
    path: "../../wit",
    world: "plugin",
    pub_export_macro: true,
    export_macro_name: "export_component",
    default_bindings_module: "windlass_sdk::bindings",
});

/// The optional export of the world `plugin-going`. Its types are those of the contract's other interfaces.
pub mod going {
    wit_bindgen::generate!({
        path: "../../wit",
        inline: "
            package windlass:optional;
            world going {
                export windlass:plugin/going@0.2.0;
            }
        ",
        world: "windlass:optional/going",
        with: { "windlass:plugin/types@0.2.0": super::windlass::plugin::types },
        pub_export_macro: true,
        export_macro_name: "export_going_component",
        default_bindings_module: "windlass_sdk::bindings::going",
    });
}
