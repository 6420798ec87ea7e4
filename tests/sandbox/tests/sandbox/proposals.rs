//! Components that use what the host refuses: proposals of WebAssembly, other strings, and too much of something.
//!
//! Nothing of them runs here: some of them would abort the process. `tests/e2e/tests/author/command_line.rs` and
//! `bad_input.rs` have those.

use serde_json::json;
use windlass_base::error::Chain;
use windlass_sandbox_tests::handmade::Handmade;
use windlass_sandbox_tests::{House, forged};

use crate::common::{AMPLE, GOOD, api_server};

/// What is said of a component; nothing if it is loaded.
async fn said(house: &House, bytes: Vec<u8>) -> String {
    let loaded = house.load("forged", bytes, &json!({}), AMPLE).await;
    let said = loaded.map_or_else(|error| Chain(&error).to_string(), |_| String::new());
    assert!(said.len() < 600 && !said.contains('\n'), "{said}");
    said
}

fn house() -> House {
    House::on_threads(api_server(&[GOOD]), 1).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proposal_that_plugins_may_not_use_is_named() {
    let house = house();
    let mut wrong = Vec::new();
    for (name, items) in forged::PROPOSALS {
        let said = said(&house, forged::with_items(items).unwrap()).await;
        if !said.contains(&format!("uses the WebAssembly proposal {name} (at byte ")) {
            wrong.push(format!("{name}: {items}: {said}"));
        }
    }
    for (name, items) in forged::COMPONENT_PROPOSALS {
        let component = wat::parse_str(format!("(component {items})")).unwrap();
        let said = said(&house, component).await;
        if !said.contains(&format!("uses the WebAssembly proposal {name} (at byte ")) {
            wrong.push(format!("{name}: {items}: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_measured_languages_use_is_allowed() {
    let house = house();
    for items in [
        "(global (export \"g\") (mut i32) (i32.const 0))",
        "(func (param f32) (result i32) (i32.trunc_sat_f32_s (local.get 0)))",
        "(func (param i32) (result i32) (i32.extend8_s (local.get 0)))",
        "(func (memory.fill (i32.const 0) (i32.const 0) (i32.const 0)))",
        "(table $t 1 funcref) (func (result i32) (table.size $t))",
        "(global i32 (i32.add (i32.const 1) (i32.const 2)))",
        "(func (result i32 i32) (i32.const 0) (i32.const 0))",
    ] {
        assert_eq!(
            said(&house, forged::with_items(items).unwrap()).await,
            "",
            "{items}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn strings_are_utf_8_also_in_components_inside() {
    let house = house();
    for (encoding, component) in forged::other_strings().unwrap() {
        let said = said(&house, component).await;
        let words = format!("passes strings as {encoding}, and this host takes UTF-8 only");
        assert!(said.contains(&words), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn too_much_of_something_is_named() {
    let house = house();
    for (words, component) in forged::excessive().unwrap() {
        let said = said(&house, component).await;
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn as_much_as_is_allowed_is_compiled() {
    let house = house();
    for inside in [
        "(core module)".repeat(64),
        "(component)".repeat(32),
        "(component ".repeat(5) + &")".repeat(5),
        "(type u8)".repeat(20_000),
        "(core module (table 20000 funcref))".to_owned(),
    ] {
        let component = wat::parse_str(format!("(component {inside})")).unwrap();
        let said = said(&house, component).await;
        assert!(said.contains("it exports nothing"), "{inside:.60}: {said}");
    }
    let functions = Handmade::default().items(&"(func)".repeat(20_000));
    assert_eq!(said(&house, functions.build().unwrap()).await, "");
}
