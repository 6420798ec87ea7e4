//! What operators get wrong: each mistake is one clear line that says what, where, and what to do;
//! and it costs nobody else anything.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windlass_e2e::{Account, Cluster, Host, Identity, Line, Plugins, control_plane};
use windlass_sandbox_tests::{forged, guest};

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

    /// Any other file that is no document.
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
        (export "windlass:plugin/controller@0.1.0" (instance $controller)))"#;
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
            &["does not export windlass:plugin/controller@0.1.0"],
        )
        .component(
            "hollow",
            component(no_functions),
            &["does not fit the contract windlass:plugin@0.1.0"],
        );
    // Each of them would end the process, and with it every plugin.
    let aborting = forged::aborting().unwrap();
    let bad = aborting.iter().fold(bad, |bad, (name, bytes)| {
        bad.component(name, bytes, &["uses the WebAssembly proposal gc"])
    });
    let http = r#"(component (import "wasi:http/outgoing-handler@0.2.0" (instance)))"#;
    let queue = r#"(component (import "acme:queue/send" (instance)))"#;
    let what_is = "plugins may import windlass:plugin@0.1 and WASI 0.2";
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
    let update = grants("resources: [pods], verbs: [update]");
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
            "  crds: Check",
            &[":6:3: unknown field `crds`", "`crds` is planned"],
        )
        .document("type", "  grants: all", &[":6:11: expected a list"])
        .document(
            "unit",
            "  limits: { memory: 64MB }",
            &[":6:21: ", "no quantity of bytes, such as 64Mi"],
        )
        .document(
            "much",
            "  limits: { memory: 2Gi }",
            &["spec.limits.memory must be from 1Mi to 512Mi"],
        )
        .document(
            "number",
            "  limits: { concurrency: many }",
            &[":6:26: expected a whole number"],
        )
        .document(
            "kind",
            &kind,
            &["spec.grants[0].resources: \"Pod\" is no resource: write the plural in lower case"],
        )
        .document(
            "Upper",
            "",
            &["plugin Upper: metadata.name must be a DNS label"],
        )
        .document(
            "secrets",
            &secrets,
            &["secrets is powerful: write `acknowledge: true` beside it if it is meant"],
        )
        .document(
            "never",
            &impersonate,
            &["the verb impersonate: a plugin is never given that"],
        )
        .document(
            "verb",
            &update,
            &["spec.grants[0].verbs: \"update\" is not one of get, list, watch"],
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
            "needs what is not granted",
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

/// A kubeconfig for a host that has no rights but its own.
async fn without_plugins(prefix: &str) -> PathBuf {
    let cluster = Cluster::bare(prefix).await.unwrap();
    let account = Account::without_plugins(&cluster.namespace).unwrap();
    account.kubeconfig().unwrap()
}

/// Runs the host until it gives up, and answers all that it said: one line of its log.
async fn last_words(config: &Path, kubeconfig: &Path, more: &[&str]) -> String {
    let host = Host::run(config, kubeconfig, "default", more).unwrap();
    assert_eq!(host.ended().await.unwrap().code(), Some(1));
    let is_error = |line: &Line| line.field("level") == "ERROR";
    host.logs("its last words", is_error).await.unwrap();
    let log = host.log();
    assert_eq!(log.len(), 1, "{log:#?}");
    log.into_iter().map(|line| line.message).collect()
}

#[tokio::test]
async fn a_cluster_that_cannot_be_reached_is_one_line_that_says_why() {
    let control_plane = control_plane().unwrap();
    let plugins = Plugins::new("default").unwrap().greeter().unwrap();
    let folder = plugins.folder();
    let admin = control_plane.kubeconfig_admin();
    let text = std::fs::read_to_string(&admin).unwrap();
    let elsewhere = |url: &str| text.replace(&control_plane.url(), url);
    let mut no_credentials: Value = serde_json::from_str(&text).unwrap();
    no_credentials.pointer_mut("/users/0/user").unwrap().take();
    let plugins_files = [
        ("nowhere", elsewhere("https://127.0.0.1:1")),
        ("nobody", elsewhere("https://no-such-host.invalid")),
        (
            "plain",
            elsewhere(&control_plane.url().replace("https", "http")),
        ),
        ("empty", String::new()),
        ("text", "not a kubeconfig".to_owned()),
    ];
    for (name, content) in plugins_files {
        std::fs::write(folder.join(name), content).unwrap();
    }
    let expired = control_plane.kubeconfig_expired("ada").unwrap();
    let stranger = control_plane
        .kubeconfig(&Identity::Token("no.such.token".to_owned()))
        .unwrap();
    let anonymous = control_plane.kubeconfig(&Identity::Anonymous).unwrap();
    let [absent, nowhere, nobody, plain, empty, text] =
        ["absent", "nowhere", "nobody", "plain", "empty", "text"].map(|name| folder.join(name));
    let cases: [(&Path, &[&str], &[&str]); 10] = [
        (
            &absent,
            &[],
            &["there is no such file", "name another with --kubeconfig"],
        ),
        (
            &empty,
            &[],
            &[
                "current context",
                "name another with --kubeconfig or --context",
            ],
        ),
        (
            &text,
            &[],
            &["cannot use kubeconfig", "failed to parse kubeconfig"],
        ),
        (
            &admin,
            &["--context", "prod"],
            &["prod", "name another with --kubeconfig or --context"],
        ),
        (
            &expired,
            &[],
            &[
                "does not accept the credentials",
                "have they expired?",
                "401 Unauthorized",
            ],
        ),
        (
            &stranger,
            &[],
            &[
                "does not accept the credentials",
                "have they expired?",
                "401 Unauthorized",
            ],
        ),
        (&anonymous, &[], &["forbids the user", "system:anonymous"]),
        (
            &nowhere,
            &[],
            &[
                "https://127.0.0.1:1 ",
                "does not answer: is it running",
                "Connection refused",
            ],
        ),
        (
            &nobody,
            &[],
            &[
                "https://no-such-host.invalid ",
                "are its address",
                "dns error",
            ],
        ),
        (
            &plain,
            &[],
            &[
                "is not a healthy API server",
                "HTTP request to an HTTPS server",
            ],
        ),
    ];
    for (kubeconfig, more, words) in cases {
        let said = last_words(folder, kubeconfig, more).await;
        let file = kubeconfig.display().to_string();
        for word in words.iter().copied().chain([file.as_str()]) {
            assert!(said.contains(word), "it lacks {word:?}: {said}");
        }
    }
}

#[tokio::test]
async fn a_config_folder_that_cannot_be_read_is_one_line_that_says_why() {
    let kubeconfig = control_plane().unwrap().kubeconfig_admin();
    let plugins = Plugins::new("default").unwrap();
    let plugins = plugins.file("notes.txt", "no folder").unwrap();
    let absent = plugins.folder().join("absent");
    let said = last_words(&absent, &kubeconfig, &[]).await;
    assert!(
        said.contains(&format!(
            "cannot read the config folder {}",
            absent.display()
        )),
        "{said}"
    );
    let said = last_words(&plugins.folder().join("notes.txt"), &kubeconfig, &[]).await;
    assert!(said.contains("Not a directory"), "{said}");
    assert!(said.contains("--config"), "{said}");
}

#[tokio::test]
async fn a_host_whose_plugins_are_all_bad_says_so_and_waits_for_better_ones() {
    let kubeconfig = control_plane().unwrap().kubeconfig_admin();
    let gone = Plugins::new("default").unwrap();
    let gone = gone
        .document("gone", &json!({ "source": { "file": "gone.wasm" } }))
        .unwrap();
    let gone = gone.file("broken.yaml", "kind: [").unwrap();
    let host = Host::run(gone.folder(), &kubeconfig, "default", &[]).unwrap();
    host.says("gone.wasm: there is no such file").await.unwrap();
    host.says("broken.yaml:1:7").await.unwrap();
    let gone = gone.file("gone.wasm", "neither is this").unwrap();
    host.says("the file is not WebAssembly").await.unwrap();
    assert!(gone.folder().exists() && host.is_running());
}

#[tokio::test]
async fn flags_that_do_not_fit_together_are_refused_by_name() {
    let kubeconfig = without_plugins("flags").await;
    let plugins = Plugins::new("default").unwrap().greeter().unwrap();
    let short = "--leader-elect-lease-duration=5s";
    let said = last_words(plugins.folder(), &kubeconfig, &[short]).await;
    let want = "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline";
    assert!(said.contains(want), "{said}");
    let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = held.local_addr().unwrap();
    for flag in ["--metrics-bind-address", "--health-probe-bind-address"] {
        let there = format!("{flag}={taken}");
        let said = last_words(plugins.folder(), &kubeconfig, &[&there]).await;
        let want = format!(
            "cannot listen on {taken}: name another address with {flag}, or 0 for none: Address already in use"
        );
        assert!(said.contains(&want), "{said}");
    }
    let long = "--leader-elect-retry-period=10s";
    let said = last_words(plugins.folder(), &kubeconfig, &[long]).await;
    assert!(
        said.contains(
            "--leader-elect-renew-deadline must be longer than --leader-elect-retry-period"
        ),
        "{said}"
    );
}
