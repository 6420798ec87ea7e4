//! What operators get wrong: each mistake is one clear line that says what, where, and what to do;
//! and it costs nobody else anything.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod plugins;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windlass_e2e::{Account, Cluster, Host, Identity, Line, Plugins, control_plane};

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

/// What an operator writes into a kubeconfig, and what the host says of it.
#[tokio::test]
async fn a_part_of_a_kubeconfig_that_cannot_be_used_is_named() {
    let control_plane = control_plane().unwrap();
    let plugins = Plugins::new("default").unwrap().greeter().unwrap();
    let folder = plugins.folder();
    let text = std::fs::read_to_string(control_plane.kubeconfig_admin()).unwrap();
    let config: Value = serde_json::from_str(&text).unwrap();
    let (user, cluster) = ("/users/0/user", "/clusters/0/cluster");
    let exec = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never",
        "command": "nope-cmd", "installHint": "install nope",
    });
    let empty = folder.join("empty-token");
    std::fs::write(&empty, "\n").unwrap();
    let cases: [(&str, &str, Value, &[&str]); 7] = [
        (
            user,
            "token",
            json!("abc\n"),
            &["has a character that no HTTP header may have"],
        ),
        (
            user,
            "tokenFile",
            json!(empty),
            &["its token file", "is empty"],
        ),
        (
            user,
            "exec",
            exec,
            &[
                "its credential plugin nope-cmd cannot be run",
                "install nope",
            ],
        ),
        (
            cluster,
            "server",
            json!("127.0.0.1:1"),
            &["https://127.0.0.1:1 ", "does not answer"],
        ),
        (
            cluster,
            "server",
            json!("/api"),
            &["must be a URL, such as https://host:6443"],
        ),
        (
            cluster,
            "proxy-url",
            json!("http://127.0.0.1:1"),
            &["does not answer", "tunnel error"],
        ),
        (
            cluster,
            "proxy-url",
            json!("ftp://127.0.0.1:1"),
            &["its proxy must begin with http://, https:// or socks5://"],
        ),
    ];
    for (number, (part, field, value, words)) in cases.into_iter().enumerate() {
        let mut config = config.clone();
        let part = config.pointer_mut(part).unwrap().as_object_mut().unwrap();
        if field == "exec" || field.starts_with("token") {
            // A client certificate does not replace a token.
            part.clear();
        }
        part.insert(field.to_owned(), value);
        let file = folder.join(format!("kubeconfig-{number}"));
        std::fs::write(&file, config.to_string()).unwrap();
        let said = last_words(folder, &file, &[]).await;
        for word in words {
            assert!(said.contains(word), "{field} lacks {word:?}: {said}");
        }
    }
}

#[tokio::test]
async fn what_no_header_can_have_is_an_error_of_the_kubeconfig() {
    let control_plane = control_plane().unwrap();
    let plugins = Plugins::new("default").unwrap().greeter().unwrap();
    let folder = plugins.folder();
    let text = std::fs::read_to_string(control_plane.kubeconfig_admin()).unwrap();
    let config: Value = serde_json::from_str(&text).unwrap();
    let token = json!({ "status": { "token": "a\nb" } }).to_string();
    let exec = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never",
        "command": "printf", "args": ["%s", token],
    });
    let oidc = json!({ "name": "oidc", "config": { "id-token": "abc\n" } });
    let unsendable = "has a character that no HTTP header may have";
    let cases = [
        (
            json!({ "exec": exec }),
            "its credential plugin printf gave no credentials",
        ),
        (json!({ "auth-provider": oidc }), unsendable),
        (json!({ "as": "a\nb" }), unsendable),
        (json!({ "as": "a", "as-groups": ["b\nc"] }), unsendable),
    ];
    for (number, (user, words)) in cases.into_iter().enumerate() {
        let mut config = config.clone();
        *config.pointer_mut("/users/0/user").unwrap() = user;
        let file = folder.join(format!("kubeconfig-user-{number}"));
        std::fs::write(&file, config.to_string()).unwrap();
        let said = last_words(folder, &file, &[]).await;
        assert!(said.contains("cannot use kubeconfig"), "{said}");
        assert!(said.contains(words), "it lacks {words:?}: {said}");
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
