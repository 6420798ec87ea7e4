//! Projects as they are made, without building them.

use clap::{Args, FromArgMatches};

use super::*;
use crate::project::Project;
use windlass_apiserver::seams as server;
use windlass_apiserver::server::Server;

const CRD: &str = "kind: CustomResourceDefinition\nspec:\n  group: net.example.com\n  scope: Cluster\n  names: { kind: Gateway, plural: gateways }\n  versions:\n    - name: v1beta1\n      served: true\n      storage: true\n      schema: { openAPIV3Schema: { type: object, properties: { spec: { type: object, required: [port], properties: { port: { type: integer } } } } } }\n";

fn flags(arguments: &[&str]) -> NewFlags {
    let arguments = [&["new", "scaler"][..], arguments].concat();
    let flags = NewFlags::augment_args(clap::Command::new("new"));
    NewFlags::from_arg_matches(&flags.get_matches_from(arguments)).unwrap()
}

/// A project in a folder of its own, made by these flags.
fn made(home: &Path, arguments: &[&str]) -> Vec<(PathBuf, String)> {
    let flags = flags(arguments);
    let folder = home.join("scaler");
    let draft = Draft::of(&flags, &folder).unwrap();
    draft.make(&folder, &Rng::seeded(1)).unwrap();
    let project = Project::open(&folder).unwrap();
    assert_eq!(project.document.name, "scaler");
    assert!(project.how().is_some());
    let left: Vec<_> = fs::read_dir(home).unwrap().collect();
    assert!(left.len() <= 3, "{left:?}");
    draft.files().unwrap()
}

#[test]
fn a_project_is_small_and_carries_its_own_words() {
    let plain: &[&str] = &[];
    for language in ["rust", "js"] {
        for arguments in [
            plain,
            &[
                "--kind",
                "Database",
                "--group",
                "db.example.com",
                "--cluster-scoped",
            ],
            &["--kind", "Gateway"],
        ] {
            let home = tempfile::tempdir().unwrap();
            let files = made(
                home.path(),
                &[&["--lang", language][..], arguments].concat(),
            );
            assert!(files.len() <= 9, "{files:?}");
            for (path, text) in &files {
                let is_own = |word: &&str| text.contains(word);
                let own = ["greeter", "%fields%"].into_iter().find(is_own);
                assert_eq!(own, None, "{}", path.display());
                let renamed = !arguments.is_empty() && text.to_lowercase().contains("greeting");
                assert!(!renamed, "{}: {text}", path.display());
            }
            let text = |name: &str| {
                let file = files.iter().find(|(path, _)| path == Path::new(name));
                file.map(|(_, text)| &**text).unwrap_or_default()
            };
            if arguments.contains(&"--cluster-scoped") {
                let fixture = text("tests/ada.yaml");
                assert!(fixture.contains("reconcile: Database/ada }"), "{fixture}");
                assert!(text("database.crd.yaml").contains("scope: Cluster"));
                assert!(!text("example.yaml").contains("namespace"));
                assert!(text("plugin.yaml").contains("namespaces: [default]"));
            }
            let source = format!("{}{}", text("src/lib.rs"), text("src/plugin.js"));
            let has_plural = source.contains("\"gateways\"");
            assert_eq!(has_plural, arguments.contains(&"Gateway"), "{source}");
        }
    }
}

#[test]
fn a_kind_that_is_there_already_is_taken_as_it_is() {
    for language in ["rust", "js"] {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("crd.yaml");
        fs::write(&file, CRD).unwrap();
        let from = file.to_str().unwrap();
        let files = made(home.path(), &["--lang", language, "--from", from]);
        let text = |name: &str| {
            let file = files.iter().find(|(path, _)| path == Path::new(name));
            file.map(|(_, text)| &**text).unwrap()
        };
        assert_eq!(text("gateway.crd.yaml"), CRD);
        assert_eq!(
            text("example.yaml"),
            "apiVersion: net.example.com/v1beta1\nkind: Gateway\nmetadata:\n  name: ada\nspec:\n  port: 1\n"
        );
        assert!(!text("plugin.yaml").contains("gateways/status"));
        let fixture: serde_json::Value = serde_saphyr::from_str(text("tests/ada.yaml")).unwrap();
        assert_eq!(fixture["given"]["objects"][0]["spec"]["port"], 1);
        assert!(fixture["then"].get("status").is_none());
    }
}

/// The status code of a creation.
async fn post(server: &Server, path: &str, object: &serde_json::Value) -> u16 {
    let body = http_body_util::Full::new(bytes::Bytes::from(object.to_string()));
    let request = http::Request::post(path).header("content-type", "application/json");
    let answer = server.handle(request.body(body).unwrap()).await;
    answer.status().as_u16()
}

/// Kinds whose example needs more than `windlass new` knows: their author completes it.
const INCOMPLETE: [&str; 10] = [
    "apiregistration.k8s.io/v1/APIService",
    "events.k8s.io/v1/Event",
    "certificates.k8s.io/v1/CertificateSigningRequest",
    "networking.k8s.io/v1/IPAddress",
    "networking.k8s.io/v1/ServiceCIDR",
    "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy",
    "admissionregistration.k8s.io/v1/MutatingAdmissionPolicyBinding",
    "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy",
    "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding",
    "apiextensions.k8s.io/v1/CustomResourceDefinition",
];

#[tokio::test]
async fn a_kind_of_kubernetes_has_an_example_that_the_api_server_takes() {
    let server = Server::new(server::Seams {
        clock: server::Clock::new(|| jiff::Timestamp::UNIX_EPOCH),
        rng: server::Rng::seeded(1),
    });
    // As a controller makes it, for pods.
    let account = serde_json::json!({ "metadata": { "name": "default" } });
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    assert_eq!(post(&server, accounts, &account).await, 201);
    let (mut never, mut refused) = (Vec::new(), Vec::new());
    for resource in windlass_apiserver::builtin::resources() {
        if !resource.has_verb("watch") || !resource.has_verb("create") {
            continue;
        }
        let kind = format!("{}/{}", resource.api_version(), resource.kind);
        let flags = flags(&["--lang", "js", "--kind", &kind]);
        let draft = Draft::of(&flags, Path::new("/nowhere/scaler"));
        let Ok(files) = draft.and_then(|draft| draft.files()) else {
            never.push(kind);
            continue;
        };
        let text = |name: &str| {
            let file = files.iter().find(|(path, _)| path == Path::new(name));
            file.map(|(_, text)| text.clone()).unwrap()
        };
        assert!(files.iter().all(|(path, _)| !path.ends_with(".crd.yaml")));
        let object: serde_json::Value = serde_saphyr::from_str(&text("example.yaml")).unwrap();
        assert_eq!(object["metadata"]["labels"]["example.dev/scaler"], "true");
        let root = if resource.group.is_empty() {
            "api"
        } else {
            "apis"
        };
        let within = if resource.namespaced {
            "/namespaces/default"
        } else {
            ""
        };
        let path = format!(
            "/{root}/{}{within}/{}?dryRun=All",
            resource.api_version(),
            resource.plural
        );
        if post(&server, &path, &object).await != 201 {
            refused.push(kind);
        }
    }
    assert_eq!(never, ["coordination.k8s.io/v1/Lease"]);
    assert_eq!(refused, INCOMPLETE);
}

#[test]
fn a_kind_of_kubernetes_is_granted_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    let files = made(home.path(), &["--kind", "v1/Secret"]);
    let text = |name: &str| {
        let file = files.iter().find(|(path, _)| path == Path::new(name));
        file.map(|(_, text)| &**text).unwrap()
    };
    let document = text("plugin.yaml");
    assert!(
        document.contains("apiGroups: [\"\"]\n      resources: [secrets]"),
        "{document}"
    );
    assert!(document.contains("acknowledge: ["), "{document}");
    let source = text("src/lib.rs");
    assert!(source.contains("(\"v1\", \"Secret\")"), "{source}");
    assert!(
        source.contains(".labelled(\"example.dev/scaler=true\")"),
        "{source}"
    );
    for (kind, meant) in [
        ("apps/v1/deployments", "apps/v1/Deployment"),
        ("apps/Deployment", "apps/v1/Deployment"),
        ("v1/service", "v1/Service"),
        ("batch/v2/Job", "batch/v1/Job"),
    ] {
        let error = builtin::kind(kind).unwrap_err();
        assert!(error.contains(&format!("did you mean {meant}?")), "{error}");
    }
}

#[test]
fn in_a_workspace_the_sdk_and_what_is_built_are_the_workspaces() {
    for (language, manifest, members) in [
        ("rust", "Cargo.toml", "[workspace]\nmembers = [\"*\"]\n"),
        ("js", "package.json", r#"{ "workspaces": ["*"] }"#),
    ] {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(manifest), members).unwrap();
        let files = made(home.path(), &["--lang", language]);
        let text = files.iter().find(|(path, _)| path == Path::new(manifest));
        let text = text.map(|(_, text)| &**text).unwrap();
        assert!(text.contains("../.windlass/sdk/"), "{text}");
        assert!(
            !text.contains("\".windlass") && !text.contains("[profile"),
            "{text}"
        );
        let folder = home.path().join("scaler");
        assert!(home.path().join(".windlass/wit/world.wit").exists());
        assert!(!folder.join(".windlass").exists());
        let (_, at) = Sdk::of(&folder).unwrap();
        assert_eq!(at, folder.join(".."));
    }
}

#[test]
fn every_edit_is_of_the_template() {
    let kind = Kind {
        cluster_scoped: true,
        ..Kind::own("Gateway", "x.dev", true)
    };
    // Of the core group, and one whose grant is powerful.
    let builtin = Kind {
        group: String::new(),
        ..Kind::own("Secret", "x.dev", true)
    };
    let origins = [
        (KindOrigin::Own, &kind),
        (KindOrigin::Given, &kind),
        (KindOrigin::BuiltIn, &builtin),
    ];
    for (language, (origin, kind)) in [Language::Rust, Language::Js]
        .into_iter()
        .flat_map(|it| origins.map(|origin| (it, origin)))
    {
        let mut files = template(language, origin != KindOrigin::Own);
        for edit in edits(kind, origin, Some("../"), "scaler") {
            let file = files
                .iter_mut()
                .find(|(path, _)| path == Path::new(edit.file));
            // JavaScript is built in its own folder, also in a workspace.
            let is_of_cargo = [
                "--target-dir .windlass/target",
                "output: .windlass/target/wasm32-wasip2/release/plugin.wasm",
            ]
            .into_iter()
            .any(|text| edit.is_of(text));
            if let (Some((_, text)), false) = (file, is_of_cargo && language == Language::Js) {
                assert!(edit.is_of(text), "{}: {text}", edit.file);
                *text = edit.of(text);
            }
        }
    }
}

#[test]
fn what_is_there_is_left_alone_and_a_failure_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("taken");
    fs::create_dir(&folder).unwrap();
    let make = |folder: &Path| {
        let draft = Draft {
            name: "taken",
            language: Language::Rust,
            kind: Kind::own("Greeting", "x.dev", false),
            origin: KindOrigin::Own,
            definition: None,
            workspace: None,
        };
        draft.make(folder, &Rng::seeded(1))
    };
    let error = make(&folder).unwrap_err().to_string();
    assert!(error.contains("exists already"), "{error}");
    // No folder can be made in a file, not even by root.
    fs::write(home.path().join("file"), "").unwrap();
    let error = format!("{:#}", make(&home.path().join("file/taken")).unwrap_err());
    assert!(error.starts_with("cannot make the folder"), "{error}");
    let left: Vec<_> = fs::read_dir(home.path()).unwrap().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}
