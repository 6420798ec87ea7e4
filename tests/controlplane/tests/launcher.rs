//! What tests may expect of a control plane: it is complete, it tells users apart, and it ends.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use kube::{Api, Client};
use windlass_controlplane::{ControlPlane, client, eventually};

const DEADLINE: Duration = Duration::from_secs(60);

static CONTROL_PLANE: LazyLock<ControlPlane> = LazyLock::new(|| ControlPlane::start().unwrap());

fn config_map(name: &str, owner: Option<&ConfigMap>) -> ConfigMap {
    let owner = owner.map(|owner| OwnerReference {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        name: owner.metadata.name.clone().unwrap(),
        uid: owner.metadata.uid.clone().unwrap(),
        ..OwnerReference::default()
    });
    let metadata = ObjectMeta {
        name: Some(name.to_owned()),
        owner_references: owner.map(|owner| vec![owner]),
        ..ObjectMeta::default()
    };
    ConfigMap {
        metadata,
        data: Some(BTreeMap::new()),
        ..ConfigMap::default()
    }
}

async fn status_of_secrets(client: Client, namespace: &str) -> Option<u16> {
    match Api::<Secret>::namespaced(client, namespace)
        .list(&Default::default())
        .await
    {
        Ok(_) => None,
        Err(kube::Error::Api(status)) => Some(status.code),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn what_an_object_owns_is_collected_after_it() {
    let namespace = CONTROL_PLANE.namespace("gc").await.unwrap();
    let maps = Api::<ConfigMap>::namespaced(CONTROL_PLANE.client().await.unwrap(), &namespace);
    let owner = maps
        .create(&PostParams::default(), &config_map("owner", None))
        .await
        .unwrap();
    let child = config_map("child", Some(&owner));
    maps.create(&PostParams::default(), &child).await.unwrap();
    maps.delete("owner", &DeleteParams::default())
        .await
        .unwrap();
    eventually(DEADLINE, "the child is collected", async || {
        Ok(maps.get_opt("child").await?.is_none().then_some(()))
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_deployment_gets_pods() {
    let namespace = CONTROL_PLANE.namespace("deployment").await.unwrap();
    let flag = format!("--namespace={namespace}");
    let create = ["create", "deployment", "web", "--image=web", &flag];
    assert!(
        CONTROL_PLANE
            .kubectl(&create)
            .await
            .unwrap()
            .status
            .success()
    );
    let pods = ["get", "pods", "--output=name", &flag];
    eventually(DEADLINE, "the deployment has a pod", async || {
        Ok((!CONTROL_PLANE.kubectl(&pods).await?.stdout.is_empty()).then_some(()))
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_user_may_do_what_rbac_grants_and_no_more() {
    let namespace = CONTROL_PLANE.namespace("rbac").await.unwrap();
    let plain = CONTROL_PLANE.kubeconfig_user("ann", &["readers"]).unwrap();
    let account = CONTROL_PLANE
        .kubeconfig_service_account(&namespace, "default")
        .await
        .unwrap();
    for kubeconfig in [&plain, &account] {
        let client = client(kubeconfig).await.unwrap();
        assert_eq!(
            status_of_secrets(client, &namespace).await,
            Some(403),
            "{kubeconfig:?}"
        );
    }
    let flag = format!("--namespace={namespace}");
    let grant = [
        "create",
        "rolebinding",
        "readers",
        "--clusterrole=admin",
        "--group=readers",
        &flag,
    ];
    assert!(
        CONTROL_PLANE
            .kubectl(&grant)
            .await
            .unwrap()
            .status
            .success()
    );
    eventually(DEADLINE, "the group may read secrets", async || {
        Ok(status_of_secrets(client(&plain).await?, &namespace)
            .await
            .is_none()
            .then_some(()))
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn an_expired_certificate_is_refused() {
    let expired = CONTROL_PLANE.kubeconfig_expired("bob").unwrap();
    let client = client(&expired).await.unwrap();
    assert_eq!(status_of_secrets(client, "default").await, Some(401));
}

#[tokio::test]
async fn the_audit_log_tells_who_wrote_what() {
    let namespace = CONTROL_PLANE.namespace("audit").await.unwrap();
    let maps = Api::<ConfigMap>::namespaced(CONTROL_PLANE.client().await.unwrap(), &namespace);
    maps.create(&PostParams::default(), &config_map("noted", None))
        .await
        .unwrap();
    let event = eventually(DEADLINE, "the write is in the audit log", async || {
        Ok(CONTROL_PLANE.audit()?.into_iter().find(|event| {
            event.object_ref.as_ref().is_some_and(|object| {
                object.namespace == namespace && object.name == "noted" && event.verb == "create"
            })
        }))
    })
    .await
    .unwrap();
    assert_eq!(event.user.username, "admin");
    assert_eq!(event.code(), Some(201));
    assert_eq!(event.request_object.unwrap()["metadata"]["name"], "noted");
}

#[test]
fn nothing_is_left_after_a_panic_that_drops_the_control_plane() {
    let (told, left) = std::sync::mpsc::channel();
    let test = std::thread::spawn(move || {
        let control_plane = ControlPlane::start().unwrap();
        told.send((
            control_plane.process_ids(),
            control_plane.folder().to_owned(),
        ))
        .unwrap();
        panic!("as a test does that fails");
    });
    let (processes, folder) = left.recv().unwrap();
    assert!(test.join().is_err());
    assert!(!folder.exists());
    assert_eq!(
        processes.into_iter().filter(|&id| is_running(id)).count(),
        0
    );
}

#[tokio::test]
async fn nothing_is_left_after_the_launcher_is_killed() {
    let cache = tempfile::tempdir().unwrap();
    let assets = windlass_controlplane::Assets::find().unwrap();
    let mut launcher = Command::new(env!("CARGO_BIN_EXE_controlplane"))
        .arg("serve")
        .env("XDG_CACHE_HOME", cache.path())
        .env("KUBEBUILDER_ASSETS", assets.etcd.parent().unwrap())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(launcher.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let folder = Path::new(line.trim()).parent().unwrap();
    assert!(folder.exists());
    launcher.kill().unwrap();
    launcher.wait().unwrap();
    let marker = folder.display().to_string();
    eventually(
        DEADLINE,
        "the servers and their folder are gone",
        async || {
            let processes = Command::new("ps").args(["-eo", "args"]).output()?;
            let running = String::from_utf8_lossy(&processes.stdout).contains(&marker);
            Ok((!running && !folder.exists()).then_some(()))
        },
    )
    .await
    .unwrap();
}

/// Whether there is such a process; one that has ended but was not waited for is none.
fn is_running(id: u32) -> bool {
    let output = Command::new("ps")
        .args(["-o", "stat=", "-p", &id.to_string()])
        .output()
        .unwrap();
    let state = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}
