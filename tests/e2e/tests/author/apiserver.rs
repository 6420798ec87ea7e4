//! `windlass apiserver` as a person runs it: it says when it serves, is reached by its kubeconfig, and leaves
//! nothing behind.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use rustix::process::{Pid, Signal, kill_process};
use windlass_e2e::host_binary;

struct Server(Child);

impl Server {
    fn start(kubeconfig: &Path) -> Self {
        let mut command = Command::new(host_binary().unwrap());
        command.args(["apiserver", "--port", "0", "--kubeconfig-out"]);
        command.arg(kubeconfig).stdin(Stdio::null());
        let (out, said) = (Stdio::piped(), Stdio::piped());
        Self(command.stdout(out).stderr(said).spawn().unwrap())
    }

    /// The line that it says once it serves; empty if it ended before.
    fn line(&mut self) -> String {
        let mut line = String::new();
        let mut out = BufReader::new(self.0.stdout.as_mut().unwrap());
        out.read_line(&mut line).unwrap();
        line
    }

    /// Its exit code, and all that it said on standard error.
    fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        let stderr = self.0.stderr.as_mut().unwrap();
        stderr.read_to_string(&mut said).unwrap();
        (self.0.wait().unwrap().code(), said)
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn map_is_written(kubeconfig: &Path, name: &str) {
    let client = windlass_controlplane::client(kubeconfig).await.unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let metadata = ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    };
    let map = ConfigMap {
        metadata,
        ..ConfigMap::default()
    };
    maps.create(&PostParams::default(), &map).await.unwrap();
}

#[tokio::test]
async fn the_kubeconfig_is_there_while_its_server_serves() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dev.kubeconfig");
    let mut first = Server::start(&file);
    let line = first.line();
    assert!(line.starts_with("serving https://127.0.0.1:"), "{line}");
    assert!(line.contains("dev.kubeconfig"), "{line}");
    map_is_written(&file, "one").await;

    let mut second = Server::start(&file);
    assert_eq!(second.line(), "");
    let (code, said) = second.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("that still runs: stop it"), "{said}");
    map_is_written(&file, "two").await;

    // Killed, it leaves its file, which the next one may replace.
    first.signal(Signal::KILL);
    first.end();
    assert!(file.exists());
    let mut third = Server::start(&file);
    assert!(third.line().starts_with("serving "));
    map_is_written(&file, "one").await;
    third.signal(Signal::TERM);
    let (code, said) = third.end();
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_file_of_somebody_else_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config");
    std::fs::write(&file, "apiVersion: v1\n").unwrap();
    let (code, said) = Server::start(&file).end();
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("windlass apiserver did not write it"),
        "{said}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "apiVersion: v1\n");
}
