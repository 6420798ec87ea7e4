//! Files that are no plugin are refused, each with one clear sentence.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use windlass_base::error::Chain;
use windlass_code_cache::CodeCache;
use windlass_sandbox::Plugin;
use windlass_sandbox_tests::{House, handmade};

use crate::common::{AMPLE, GOOD, api_server, wasm};

fn house() -> House {
    House::on_threads(api_server(&[GOOD]), 1).unwrap()
}

/// What is said about `bytes`: one line, and no more than a person reads.
async fn refusal(house: &House, bytes: Vec<u8>) -> String {
    let loaded = house.load("x", bytes, &json!({}), AMPLE).await;
    let error = loaded.map(drop).unwrap_err();
    let text = Chain(&error).to_string();
    assert!(text.len() < 600 && !text.contains('\n'), "{text}");
    text
}

/// The contract, with one text in place of another.
fn contract(from: &str, to: &str) -> String {
    let contract = handmade::contract().unwrap();
    assert!(contract.contains(from), "{from}");
    contract.replace(from, to)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_component_is_told_apart() {
    let house = house();
    let cases = [
        (
            Vec::new(),
            "the file is empty: was the build or the copy cut off?",
        ),
        (
            b"apiVersion: v1\nkind: ConfigMap\n".to_vec(),
            "the file is not WebAssembly",
        ),
        (
            wat::parse_str("(module)").unwrap(),
            "build for wasm32-wasip2, or wrap it with",
        ),
        (
            wat::parse_str("(component)").unwrap(),
            "(it exports nothing)",
        ),
    ];
    for (bytes, words) in cases {
        let text = refusal(&house, bytes).await;
        assert!(text.contains(words), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_cut_off_anywhere_is_damaged() {
    let (house, whole) = (house(), wasm("greeter"));
    for part in [
        5,
        8,
        9,
        100,
        whole.len() / 2,
        whole.len() * 9 / 10,
        whole.len() - 1,
    ] {
        let text = refusal(&house, whole[..part].to_vec()).await;
        // After its header alone it is a whole component, with nothing in it.
        let words = if part == 8 {
            "exports nothing"
        } else {
            "the component is damaged or cut off"
        };
        assert!(text.contains(words), "{part}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_is_not_offered_is_named() {
    let house = house();
    let import = "import clock;";
    let ours = contract(import, "import clock; import telepathy;")
        + "interface telepathy { listen: func() -> string; }";
    let http = contract(
        import,
        "import clock; import wasi:http/outgoing-handler@0.2.0;",
    ) + "package wasi:http@0.2.0 { interface outgoing-handler { handle: func(); } }";
    for (wit, name) in [
        (ours, "windlass:plugin/telepathy@0.2.0"),
        (http, "wasi:http/outgoing-handler@0.2.0"),
    ] {
        let text = refusal(&house, handmade::empty(&wit).unwrap()).await;
        let words = format!("the component imports {name}, which this host does not offer");
        assert!(text.contains(&words), "{text}");
        assert!(
            text.contains("plugins may import windlass:plugin@0.2 and WASI 0.2"),
            "{text}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_contract_under_the_same_names_does_not_fit() {
    let house = house();
    for (from, to, name) in [
        (
            "describe: func() -> description",
            "describe: func() -> u32",
            "describe",
        ),
        (
            "finalize: func(request: request) -> result<progress, failure>;",
            "",
            "finalize",
        ),
        ("now: func() -> string", "now: func() -> u32", "now"),
    ] {
        let text = refusal(&house, handmade::empty(&contract(from, to)).unwrap()).await;
        assert!(
            text.contains("does not fit the contract windlass:plugin@0.2.0"),
            "{text}"
        );
        assert!(text.contains(name), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_version_of_the_contract_is_not_ours() {
    let house = house();
    for (version, told) in [("0.1.0", "0.1"), ("0.3.0", "0.3"), ("1.0.0", "1.0")] {
        let package = format!("package windlass:plugin@{version};");
        let other = contract("package windlass:plugin@0.2.0;", &package);
        let other = other.replace("@since(version = 0.2.0)", "");
        let text = refusal(&house, handmade::empty(&other).unwrap()).await;
        let words = format!(
            "built for contract {told}, and this host has contract 0.2: rebuild it with SDK 0.2"
        );
        assert!(text.contains(&words), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_is_compiled_once_and_then_taken_from_the_cache() {
    let (house, folder) = (house(), tempfile::tempdir().unwrap());
    let folder = folder.path().join("code");
    let bytes = wasm("greeter");
    load(&house, &bytes, &folder).await;
    let first = files(&folder);
    assert_eq!(first.len(), 1, "{first:?}");
    load(&house, &bytes, &folder).await;
    assert_eq!(files(&folder), first, "it was written again");
    // What is there is what is used: another component's code under this name shows itself.
    let (kept, _) = &first[0];
    let other = wasm("hostile");
    let folder = folder.with_file_name("other");
    load(&house, &other, &folder).await;
    let (code, _) = &files(&folder)[0];
    std::fs::rename(code, folder.join(kept.file_name().unwrap())).unwrap();
    assert_eq!(
        load(&house, &bytes, &folder).await.description.name,
        "hostile"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_was_damaged_in_the_cache_is_compiled_again() {
    let (house, folder) = (house(), tempfile::tempdir().unwrap());
    let folder = folder.path().join("code");
    let bytes = wasm("greeter");
    load(&house, &bytes, &folder).await;
    let (code, _) = files(&folder).remove(0);
    std::fs::remove_file(&code).unwrap();
    std::fs::write(&code, b"cut off").unwrap();
    assert_eq!(
        load(&house, &bytes, &folder).await.description.name,
        "greeter"
    );
    assert_ne!(std::fs::read(&code).unwrap(), b"cut off");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_plugins_of_one_component_can_be_loaded_at_once() {
    let (house, folder) = (house(), tempfile::tempdir().unwrap());
    let bytes = wasm("greeter");
    for round in 0..5 {
        let folder = folder.path().join(round.to_string());
        let load = || load(&house, &bytes, &folder);
        let (one, other, third) = tokio::join!(load(), load(), load());
        for plugin in [one, other, third] {
            assert_eq!(plugin.description.name, "greeter");
        }
        assert_eq!(files(&folder).len(), 1, "a draft was left behind");
    }
}

/// Loads `bytes` with a cache of its own.
async fn load(house: &House, bytes: &[u8], folder: &Path) -> Plugin {
    let cache = Arc::new(CodeCache::open(folder).unwrap());
    let loaded = house.sandboxes.load("x", bytes, "{}", AMPLE, &cache).await;
    loaded.map_err(|error| Chain(&error).to_string()).unwrap()
}

/// The files in a folder, and when they were written.
fn files(folder: &Path) -> Vec<(std::path::PathBuf, std::time::SystemTime)> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.path(), entry.metadata().unwrap().modified().unwrap())
        })
        .collect()
}
