//! What is different in a project whose kind is cluster-scoped, has its own plural or is there already, or which lies in
//! a workspace: edits of the template's files.

use windlass_policy::grants::{Grant, acknowledge_field};

use super::words::Kind;

/// A change of a file: what stands there once, and what is to stand there.
pub(super) struct Edit {
    /// The file in the template.
    pub(super) file: &'static str,
    from: &'static str,
    to: String,
}

impl Edit {
    fn new(file: &'static str, from: &'static str, to: impl Into<String>) -> Self {
        let to = to.into();
        Self { file, from, to }
    }

    /// The file's text after it.
    pub(super) fn of(&self, text: &str) -> String {
        text.replacen(self.from, &self.to, 1)
    }

    #[cfg(test)]
    pub(super) fn is_of(&self, text: &str) -> bool {
        text.contains(self.from)
    }
}

/// Where the definition of a project's kind comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KindOrigin {
    /// The project defines it.
    Own,
    /// From a file with its definition.
    Given,
    /// It is a kind of Kubernetes.
    BuiltIn,
}

/// All edits for a kind: `up` leads to the folder of the workspace.
pub(super) fn edits(kind: &Kind, origin: KindOrigin, up: Option<&str>, krate: &str) -> Vec<Edit> {
    let mut edits = Vec::new();
    if origin != KindOrigin::Own {
        edits.extend(for_given());
    }
    if origin == KindOrigin::BuiltIn {
        edits.extend(for_builtin(kind));
    }
    if kind.cluster_scoped {
        edits.extend(for_cluster_scoped());
    }
    edits.extend(for_watch(
        kind.has_own_plural(),
        origin == KindOrigin::BuiltIn,
    ));
    if let Some(up) = up {
        edits.extend(for_workspace(up, krate));
    }
    edits
}

/// A cluster has objects of such a kind that are nobody's example: the plugin reconciles those with a label.
fn for_builtin(kind: &Kind) -> Vec<Edit> {
    let about = "README.md";
    let mut edits = vec![
        Edit::new(
            "example.yaml",
            "metadata:\n",
            "metadata:\n  labels:\n    example.dev/greeter: \"true\"\n",
        ),
        Edit::new(
            "tests/ada.yaml",
            "00000000ada0 }",
            "00000000ada0, labels: { example.dev/greeter: \"true\" } }",
        ),
        Edit::new(
            "plugin.yaml",
            "The primary kind, wherever its objects are made.",
            "The primary kind, in all namespaces.",
        ),
        Edit::new(
            about,
            "`greeting.crd.yaml` is the kind, and `example.yaml` is one object of it",
            "and `example.yaml` is one object with the label that it asks for",
        ),
    ];
    if kind.group.is_empty() {
        edits.push(Edit::new(
            "plugin.yaml",
            "apiGroups: [greeter.example.dev]",
            "apiGroups: [\"\"]",
        ));
        edits.push(Edit::new(
            about,
            "kind `Greeting` of `greeter.example.dev`",
            "kind `Greeting` of Kubernetes",
        ));
    }
    let grant = serde_json::json!({
        "apiGroups": [kind.group], "resources": [kind.plural], "verbs": ["get", "list", "watch"], "namespaces": "all",
    });
    let field = serde_json::from_value::<Grant>(grant).ok();
    if let Some(field) = field.as_ref().and_then(acknowledge_field) {
        let all = "      namespaces: all\n";
        edits.push(Edit::new(
            "plugin.yaml",
            all,
            format!("{all}      {field}\n"),
        ));
    }
    edits
}

/// The controller of a kind that is there already reads no field of it, and writes no status.
fn for_given() -> [Edit; 6] {
    [
        Edit::new("example.yaml", "spec:\n  name: Ada\n", "%fields%"),
        Edit::new("tests/ada.yaml", "      spec: { name: Ada }\n", "%fields%"),
        Edit::new("tests/ada.yaml", "a ConfigMap and a status", "a ConfigMap"),
        Edit::new("tests/ada.yaml", "Hello, Ada!", "Hello, ada!"),
        Edit::new(
            "tests/ada.yaml",
            "  status: { text: \"Hello, Ada!\" }\n",
            "",
        ),
        Edit::new(
            "plugin.yaml",
            "resources: [greetings, greetings/status]\n      verbs: [get, list, watch, patch]",
            "resources: [greetings]\n      verbs: [get, list, watch]",
        ),
    ]
}

fn for_cluster_scoped() -> [Edit; 9] {
    let verbs = "      verbs: [get, list, watch, create, patch, delete]\n";
    [
        Edit::new("greeting.crd.yaml", "scope: Namespaced", "scope: Cluster"),
        Edit::new("example.yaml", "  namespace: default\n", ""),
        Edit::new(
            "tests/ada.yaml",
            "name: ada, namespace: default, uid",
            "name: ada, uid",
        ),
        Edit::new("tests/ada.yaml", "Greeting/default/ada", "Greeting/ada"),
        Edit::new("plugin.yaml", "beside their Greeting", "in one namespace"),
        Edit::new(
            "plugin.yaml",
            verbs,
            format!("{verbs}      namespaces: [default]\n"),
        ),
        Edit::new(
            "src/lib.rs",
            "cluster.apply_set([greeting.child(\"v1\", \"ConfigMap\", name).data(\"text\", &text)])?;",
            "let map = greeting.child(\"v1\", \"ConfigMap\", name).in_namespace(\"default\");\n        cluster.apply_set([map.data(\"text\", &text)])?;",
        ),
        Edit::new(
            "src/plugin.js",
            "cluster.applySet([child(greeting, \"v1\", \"ConfigMap\", name, { data: { text } })]);",
            "const map = child(greeting, \"v1\", \"ConfigMap\", name, { data: { text } });\n    cluster.applySet([inNamespace(map, \"default\")]);",
        ),
        Edit::new(
            "src/plugin.js",
            "controller, manage }",
            "controller, inNamespace, manage }",
        ),
    ]
}

/// The edits for the watch of a controller: a plural of its own, and the label that objects of a kind of Kubernetes have.
fn for_watch(has_own_plural: bool, is_labelled: bool) -> Vec<Edit> {
    let (mut about, mut rust, mut js) = (Vec::new(), String::new(), String::new());
    if has_own_plural {
        about.push("The plural, which does not follow from the kind.");
        rust.push_str(".plural(\"greetings\")");
        js.push_str(
            "  // The plural, which does not follow from the kind.\n  plural: \"greetings\",\n",
        );
    }
    if is_labelled {
        about.push("Only objects with this label.");
        rust.push_str(".labelled(\"example.dev/greeter=true\")");
        js.push_str(
            "  // Only objects with this label.\n  labelSelector: \"example.dev/greeter=true\",\n",
        );
    }
    if about.is_empty() {
        return Vec::new();
    }
    let needs = "    /// What else it touches; plugin.yaml grants it.\n";
    let about = about.join(" ");
    let watch = format!(
        "    /// {about}\n    fn watch() -> Watch {{\n        Watch::default(){rust}\n    }}\n\n{needs}"
    );
    vec![
        Edit::new(
            "src/lib.rs",
            "Reconciler, export",
            "Reconciler, Watch, export",
        ),
        Edit::new("src/lib.rs", needs, watch),
        Edit::new(
            "src/plugin.js",
            "\"Greeting\"],\n",
            format!("\"Greeting\"],\n{js}"),
        ),
    ]
}

/// The workspace has the SDK, what is built and the profile of all its plugins.
fn for_workspace(up: &str, krate: &str) -> [Edit; 7] {
    [
        Edit::new(
            "Cargo.toml",
            "# The library has the same name in every plugin, so the path of the component does not change.\nname = \"plugin\"\n",
            "",
        ),
        Edit::new(
            "Cargo.toml",
            "windlass-sdk = { path = \".windlass/sdk/rust\" }",
            format!("windlass-sdk = {{ path = \"{up}.windlass/sdk/rust\" }}"),
        ),
        Edit::new(
            "Cargo.toml",
            "windlass-sdk = { path = \".windlass/sdk/rust\", features",
            format!("windlass-sdk = {{ path = \"{up}.windlass/sdk/rust\", features"),
        ),
        Edit::new("Cargo.toml", PROFILE, ""),
        Edit::new(
            "plugin.yaml",
            "--target-dir .windlass/target",
            format!("--target-dir {up}.windlass/target"),
        ),
        Edit::new(
            "plugin.yaml",
            "output: .windlass/target/wasm32-wasip2/release/plugin.wasm",
            format!("output: {up}.windlass/target/wasm32-wasip2/release/{krate}.wasm"),
        ),
        Edit::new(
            "package.json",
            "file:.windlass/sdk/js",
            format!("file:{up}.windlass/sdk/js"),
        ),
    ]
}

/// The end of the template's Cargo.toml, which is the workspace's to say.
const PROFILE: &str = "
# Small code and short builds, with function names for backtraces. If a plugin computes much, set opt-level = 3.
[profile.release]
opt-level = \"s\"
lto = true
codegen-units = 1
panic = \"abort\"
strip = \"debuginfo\"

[workspace]
exclude = [\".windlass\"]
";
