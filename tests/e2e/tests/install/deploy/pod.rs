//! The pod of `deploy/base`, imitated: no kubelet, but its user, its files and its rights; and
//! everything else as docs/operations.md says.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use windlass_e2e::{
    Account, Cluster, DEADLINE, HOME, Identity, Plugins, Pod, Volume, eventually, workspace,
};

use crate::deploy::{install, kubectl, read};

#[tokio::test]
async fn the_pod_reconciles_with_no_rights_on_its_machine_and_few_in_the_cluster() -> Result<()> {
    install().await?;
    let cluster = Cluster::new("pod").await?;
    let document = workspace().join("plugins/greeter/plugin.yaml");
    let document = fs::read_to_string(document)?;
    let plugins = Plugins::new(HOME)?
        .component("greeter", "greeter.wasm")?
        .file("plugin.yaml", &document)?;
    let mut volume = Volume::new(&config_map(&plugins).await?)?;
    let account = Account::new(HOME, plugins.folder())?;
    let pod = pod(&account, &volume).await?;

    assert_can_do_little(&pod)?;
    let host = pod.run()?;
    host.says("all lists are in").await?;
    let status = fs::read_to_string(format!("/proc/{}/status", host.id()))?;
    for line in [
        "NoNewPrivs:\t1",
        "CapBnd:\t0000000000000000",
        "CapEff:\t0000000000000000",
    ] {
        assert!(status.contains(line), "it lacks {line:?}: {status}");
    }
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    let greeting = cluster.until_ready("ada").await?;
    assert_eq!(
        greeting["metadata"]["finalizers"],
        json!(["windlass.dev/greeter"])
    );
    for kind in ["ConfigMap", "Deployment"] {
        cluster
            .until(kind, "ada-greeting", "is there", |_| true)
            .await?;
    }
    // What the ConfigMap says next runs next, in the same pod.
    let other = document.replace("docker.io/library/busybox:1.37", "busybox:other");
    let plugins = plugins.file("plugin.yaml", other)?;
    volume.update(&config_map(&plugins).await?)?;
    let image = "/spec/template/spec/containers/0/image";
    let is_other = |child: &Value| child.pointer(image) == Some(&json!("busybox:other"));
    let what = "is as the new document says";
    cluster
        .until("Deployment", "ada-greeting", what, is_other)
        .await?;
    // A file that its user may not read costs nobody else anything.
    let unreadable = volume.folder().join("unreadable.yaml");
    fs::write(&unreadable, &document)?;
    fs::set_permissions(&unreadable, fs::Permissions::from_mode(0o000))?;
    let why = "/plugins/unreadable.yaml: cannot be read: Permission denied";
    host.says(why).await?;
    cluster.delete("Greeting", "ada").await?;
    cluster.until_gone("Greeting", "ada").await?;
    // Its Lease is where the service account is, without a flag that says so.
    let lease = read("lease", "windlass-greeter").await?;
    assert_ne!(lease["spec"]["holderIdentity"], "");
    host.terminate()?;
    assert_eq!(host.ended().await?.code(), Some(0), "{:#?}", host.log());
    let forbidden = host.count(|line| line.message.contains("lacks the right"));
    assert_eq!(forbidden, 0, "{:#?}", host.log());
    Ok(())
}

/// The plugins' ConfigMap, made or changed as docs/operations.md says, as the API server has it then.
async fn config_map(plugins: &Plugins) -> Result<Value> {
    let folder = format!("--from-file={}", plugins.folder().display());
    let create = ["create", "configmap", "windlass-plugins", "-n", HOME];
    let print = ["--dry-run=client", "-o", "yaml"];
    let words = [&create[..], &[&folder], &print].concat();
    let (text, _) = kubectl(&words, "").await?;
    kubectl(&["apply", "--server-side", "-f", "-"], &text).await?;
    read("configmap", "windlass-plugins").await
}

async fn pod(account: &Account, volume: &Volume) -> Result<Pod> {
    let deployment = read("deployment", "windlass").await?;
    let spec = &deployment["spec"]["template"]["spec"];
    let Identity::Token(token) = account.identity() else {
        bail!("a service account has a token");
    };
    // Where a kubelet has it from.
    let authority = eventually(DEADLINE, "the authority is published", async || {
        Ok(Some(read("configmap", "kube-root-ca.crt").await?))
    })
    .await?;
    let authority = authority["data"]["ca.crt"].as_str();
    Pod::new(
        spec,
        volume,
        HOME,
        token,
        authority.context("a certificate")?,
    )
}

/// What the imitation is worth: a shell in the place of the host.
fn assert_can_do_little(pod: &Pod) -> Result<()> {
    let shell = |script: &str| -> Result<Output> {
        let output = pod.command(&["sh", "-c", script]).output()?;
        ensure!(output.status.code().is_some(), "{script}: {output:?}");
        Ok(output)
    };
    let who = shell("id -u; id -g; id -G; ls -A /plugins")?;
    let who = String::from_utf8(who.stdout)?;
    assert_eq!(
        who.split_whitespace().collect::<Vec<_>>(),
        [
            "65532",
            "65532",
            "65532",
            "..1",
            "..data",
            "greeter.wasm",
            "plugin.yaml"
        ]
    );
    let cases = [
        ("echo > /state/file && echo > /cache/file", true),
        (
            "cat /var/run/secrets/kubernetes.io/serviceaccount/token",
            true,
        ),
        ("echo > /file", false),
        ("mkdir /var/folder", false),
        ("echo > /plugins/file", false),
        ("echo > /usr/file", false),
        ("mount -t tmpfs none /cache", false),
        ("chown 0 /cache", false),
    ];
    for (script, works) in cases {
        let output = shell(script)?;
        assert_eq!(output.status.success(), works, "{script}: {output:?}");
    }
    let tried = shell("echo > /file")?;
    let error = String::from_utf8(tried.stderr)?;
    assert!(error.contains("Read-only file system"), "{error}");
    Ok(())
}
