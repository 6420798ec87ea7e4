//! Components and documents that cannot be used, beside a good one.

use serde_json::json;
use windlass_e2e::{Account, Cluster, Host, Line, Plugins};
use windlass_harness::guest;
use windlass_sandbox_tests::forged;

/// A config folder with a good plugin and many bad ones, and what is to be said of each.
struct Bad {
    plugins: Plugins,
    /// What tells a line from all others, and what else is in it.
    lines: Vec<(String, Vec<String>)>,
}

impl Bad {
    fn new(namespace: &str) -> Self {
        Self {
            plugins: Plugins::new(namespace).unwrap().greeter().unwrap(),
            lines: Vec::new(),
        }
    }

    /// A line that names `place` and contains `words`.
    fn says(&mut self, place: &str, words: &[&str]) {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        self.lines.push((place.to_owned(), words));
    }

    /// A document that is good, for a component that is not.
    fn component(mut self, name: &str, bytes: impl AsRef<[u8]>, words: &[&str]) -> Self {
        let file = format!("{name}.wasm");
        self.plugins = self.plugins.file(&file, bytes).unwrap();
        self.plugins = self
            .plugins
            .document(name, &json!({ "source": { "file": file } }))
            .unwrap();
        let component = format!("component {}", self.plugins.folder().join(&file).display());
        let words: Vec<&str> = [component.as_str()]
            .into_iter()
            .chain(words.iter().copied())
            .collect();
        self.says(&format!("{name}.yaml: "), &words);
        self
    }

    /// A document for the greeter's component with more in its spec, indented by two spaces.
    fn document(mut self, name: &str, spec: &str, words: &[&str]) -> Self {
        let text = format!(
            "apiVersion: windlass.dev/v1alpha1\nkind: Plugin\nmetadata: {{ name: {name} }}\nspec:\n  \
             source: {{ file: greeter.wasm }}\n{spec}\n"
        );
        self.plugins = self.plugins.file(&format!("{name}.yaml"), text).unwrap();
        self.says(&format!("{name}.yaml"), words);
        self
    }

    /// Any other file that is not a document.
    fn file(mut self, name: &str, text: &str, words: &[&str]) -> Self {
        self.plugins = self.plugins.file(name, text).unwrap();
        self.says(name, words);
        self
    }
}

/// Every way in which a component can be wrong.
fn bad_components(bad: Bad) -> Bad {
    let greeter = std::fs::read(guest("greeter").unwrap()).unwrap();
    let half = greeter.get(..greeter.len() / 2).unwrap();
    let component = |text: &str| wat::parse_str(text).unwrap();
    let no_functions = r#"(component
        (instance $controller)
        (export "windlass:plugin/controller@0.2.0" (instance $controller)))"#;
    let bad = bad
        .component(
            "empty",
            "",
            &["the file is empty: was the build or the copy cut off?"],
        )
        .component("page", "<html>404</html>", &["the file is not WebAssembly"])
        .component(
            "module",
            component("(module)"),
            &["core module, not a component: build for wasm32-wasip2"],
        )
        .component("half", half, &["the component is damaged or cut off"])
        .component(
            "idle",
            component("(component)"),
            &["does not export windlass:plugin/controller@0.2.0"],
        )
        .component(
            "old",
            component(&no_functions.replace("0.2.0", "0.1.0")),
            &["built for contract 0.1", "rebuild it with SDK 0.2"],
        )
        .component(
            "hollow",
            component(no_functions),
            &["does not fit the contract windlass:plugin@0.2.0"],
        );
    // Each of them would end the process, and with it every plugin.
    let aborting = forged::aborting().unwrap();
    let bad = aborting.iter().fold(bad, |bad, (name, bytes)| {
        bad.component(name, bytes, &["uses the WebAssembly proposal gc"])
    });
    let http = r#"(component (import "wasi:http/outgoing-handler@0.2.0" (instance)))"#;
    let queue = r#"(component (import "acme:queue/send" (instance)))"#;
    let what_is = "plugins may import windlass:plugin@0.2 and WASI 0.2";
    bad.component(
        "caller",
        component(http),
        &["imports wasi:http/outgoing-handler@0.2.0", what_is],
    )
    .component(
        "sender",
        component(queue),
        &["imports acme:queue/send", what_is],
    )
}

/// Every way in which a document can be wrong.
fn bad_documents(bad: Bad) -> Bad {
    let grants = |grant: &str| format!("  grants:\n    - {{ apiGroups: [\"\"], {grant} }}");
    let secrets = grants("resources: [secrets], verbs: [get]");
    let impersonate = grants("resources: [pods], verbs: [impersonate]");
    let unknown = grants("resources: [pods], verbs: [modify]");
    let kind = grants("resources: [Pod], verbs: [get]");
    let elsewhere = grants("resources: [pods], verbs: [get], namespaces: everywhere");
    let mut bad = bad
        .document(
            "field",
            "  limts: {}",
            &[":6:3: unknown field `limts`", "did you mean `limits`?"],
        )
        .document(
            "later",
            "  verify: {}",
            &[":6:3: unknown field `verify`", "`verify` is planned"],
        )
        .document(
            "crds",
            "  crds: Instal",
            &[":6:9: ", "unknown variant `Instal`", "did you mean `Install`?"],
        )
        .document(
            "foreign",
            "  finalizer: kubernetes.io/pvc-protection",
            &[":6:14: plugin foreign: spec.finalizer: ", "belongs to Kubernetes"],
        )
        .document(
            "itself",
            "  replaces: [windlass/itself]",
            &[":6:14: plugin itself: spec.replaces[0]: ", "the plugin's own field manager"],
        )
        .document("type", "  grants: all", &[":6:11: expected a list"])
        .document(
            "unit",
            "  limits: { memory: 64MB }",
            &[":6:21: ", "not a quantity of bytes, such as 64Mi"],
        )
        .document(
            "much",
            "  limits: { memory: 2Gi }",
            &[":6:21: plugin much: spec.limits.memory: must be from 1Mi to 512Mi"],
        )
        .document(
            "number",
            "  limits: { concurrency: many }",
            &[":6:26: expected a whole number"],
        )
        .document(
            "kind",
            &kind,
            &["spec.grants[0].resources[0]: \"Pod\" is not a resource: write the plural in lower case"],
        )
        .document(
            "Upper",
            "",
            &["plugin Upper: metadata.name: must be a DNS label"],
        )
        .document(
            "secrets",
            &secrets,
            &[
                "spec.grants[0]: secrets is powerful: it holds passwords, keys and tokens: if you want that, write `acknowledge: [",],
        )
        .document(
            "never",
            &impersonate,
            &["the verb impersonate: a plugin is never given that"],
        )
        .document(
            "verb",
            &unknown,
            &["spec.grants[0].verbs[0]: \"modify\" is not one of get, list, watch"],
        )
        .document(
            "where",
            &elsewhere,
            &[
                ":7:",
                "\"everywhere\"",
                "`all`, `same-as-primary`, or a list of names",
            ],
        )
        .file("broken.yaml", "kind: [", &[":1:7: expected a string"])
        .file(
            "other.yaml",
            "apiVersion: v1\nkind: ConfigMap\ndata: {}\n",
            &["holds a ConfigMap of v1; this host reads Plugin of windlass.dev/v1alpha1"],
        );
    let missing = json!({ "source": { "file": "nowhere.wasm" } });
    let twice = json!({ "source": { "file": "greeter.wasm" } });
    let twice = json!({
        "apiVersion": "windlass.dev/v1alpha1", "kind": "Plugin", "metadata": { "name": "twice" }, "spec": twice,
    });
    bad.plugins = bad.plugins.document("missing", &missing).unwrap();
    for file in ["one.yaml", "two.yml"] {
        bad.plugins = bad.plugins.file(file, twice.to_string()).unwrap();
    }
    bad.says(
        "missing.yaml",
        &["nowhere.wasm: there is no such file: build the component, or correct the name"],
    );
    bad.says(
        "plugin twice",
        &[
            "declared more than once",
            "one.yaml",
            "two.yml",
            "rename or remove all but one",
        ],
    );
    bad.document(
        "bare",
        "",
        &[
            "plugin bare is not started",
            "needs access that is not granted",
            "add it to grants",
        ],
    )
}

#[tokio::test]
async fn whatever_is_wrong_with_plugins_is_said_once_each_and_the_others_run() {
    let cluster = Cluster::new("bad").await.unwrap();
    let bad = Bad::new(&cluster.namespace);
    // With the bad ones among them no roles would be printed.
    let account = Account::new(&cluster.namespace, bad.plugins.folder()).unwrap();
    let bad = bad_documents(bad_components(bad));
    let kubeconfig = account.kubeconfig().unwrap();
    let host = Host::run(bad.plugins.folder(), &kubeconfig, &cluster.namespace, &[]).unwrap();
    let is_error = |line: &Line| line.field("level") == "ERROR";
    for (place, words) in &bad.lines {
        let about = |line: &Line| is_error(line) && line.message.contains(place.as_str());
        let line = host
            .logs(&format!("an error names {place}"), about)
            .await
            .unwrap();
        for word in words {
            assert!(
                line.message.contains(word),
                "{place} lacks {word:?}: {}",
                line.message
            );
        }
    }
    cluster
        .greet("ada", json!({ "name": "Ada" }))
        .await
        .unwrap();
    cluster.until_ready("ada").await.unwrap();
    assert!(host.is_running());
    let errors: Vec<String> = host
        .log()
        .into_iter()
        .filter(is_error)
        .map(|line| line.message)
        .collect();
    assert_eq!(errors.len(), bad.lines.len(), "{errors:#?}");
}
