//! What a config folder holds, whole and in part.

use super::super::candidate::read_component;
use super::super::component::packed;
use super::*;

fn document(name: &str) -> String {
    format!(
        "apiVersion: windlass.dev/v1alpha1\nkind: Plugin\nmetadata: {{ name: {name} }}\nspec: {{ source: {{ file: {name}.wasm }} }}\n"
    )
}

#[test]
fn what_is_wrong_costs_that_plugin_alone() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("good.yaml", &document("good"));
    write(
        "twice.yml",
        &format!("{}---\n{}", document("twice"), document("other")),
    );
    write("again.yaml", &document("twice"));
    write("broken.yaml", "kind: [");
    write("notes.txt", "not a document");
    write(".hidden.yaml", "kind: [");
    std::os::unix::fs::symlink("nowhere", folder.path().join("link.yaml")).unwrap();
    let read = read_folder(folder.path(), Instant::now()).unwrap();
    let names: Vec<_> = read
        .plugins
        .iter()
        .map(|candidate| candidate.document.name.as_str())
        .collect();
    assert_eq!(names, ["good", "other"]);
    assert_eq!(read.problems.len(), 3, "{:?}", read.problems);
    assert!(
        read.problems
            .iter()
            .any(|problem| problem.to_string().contains("broken.yaml:1"))
    );
    let places =
        ["again.yaml", "twice.yml"].map(|file| folder.path().join(file).display().to_string());
    let twice = format!(
        "plugin twice is declared more than once ({})",
        places.join(", ")
    );
    assert!(
        read.problems
            .iter()
            .any(|problem| problem.to_string().contains(&twice)),
        "{:?}",
        read.problems
    );
}

#[test]
fn a_finalizer_belongs_to_one_plugin() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, finalizer: &str| {
        let named = format!("{}  finalizer: example.com/{finalizer}\n", document(name))
            .replace("spec: { source: { file: ", "spec:\n  source: { file: ")
            .replace(".wasm } }", ".wasm }");
        fs::write(folder.path().join(format!("{name}.yaml")), named).unwrap();
    };
    write("a", "x");
    write("b", "x");
    write("c", "y");
    let read = read_folder(folder.path(), Instant::now()).unwrap();
    let taken = read.plugins.iter().map(|it| it.document.name.as_str());
    assert_eq!(taken.collect::<Vec<_>>(), ["c"]);
    let problems = read.problems.iter().map(ToString::to_string);
    let problems: Vec<_> = problems.collect();
    assert_eq!(problems.len(), 2, "{problems:?}");
    let wrong = "the plugins a and b name example.com/x: none of them is taken";
    assert!(problems.iter().all(|it| it.contains(wrong)), "{problems:?}");
}

#[test]
fn a_packed_component_is_the_one_that_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    for (name, bytes) in [
        ("plain", b"\0asm and so on".to_vec()),
        ("packed", packed(b"\0asm and so on").unwrap()),
        ("bomb", packed(&vec![0; 33 << 20]).unwrap()),
    ] {
        let file = format!("{name}.wasm.gz");
        put(&file, &bytes);
        let document = document(name).replace(&format!("{name}.wasm"), &file);
        put(&format!("{name}.yaml"), document.as_bytes());
    }
    let read = read_folder(folder.path(), Instant::now()).unwrap();
    let [bomb, packed, plain] = read.plugins.as_slice() else {
        panic!("{:?}", read.plugins);
    };
    assert_eq!(
        plain.component,
        Component::Known(digest(b"\0asm and so on"))
    );
    assert_eq!(packed.component, plain.component);
    assert_eq!(&*packed.read_component().unwrap(), b"\0asm and so on");
    let Component::Unreadable(why) = &bomb.component else {
        panic!("{bomb:?}");
    };
    assert!(
        why.contains("bomb.wasm.gz: unpacks to more than 32 MiB"),
        "{why}"
    );
}

#[test]
fn a_missing_component_is_named_with_its_document() {
    let plugin = manifest::parse(&Origin::File("x/good.yaml".into()), &document("good"))
        .unwrap()
        .remove(0);
    let error = read_component(&plugin).unwrap_err();
    assert_eq!(
        error,
        "x/good.yaml: spec.source.file: x/good.wasm: there is no such file: build the component, or correct the name"
    );
}
