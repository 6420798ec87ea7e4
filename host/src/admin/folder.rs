//! The host of a folder: `windlass dev` writes where it is and on which cluster it runs, and other commands of the
//! folder mean these.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::client::document;
use crate::connect::ClusterFlags;
use crate::screen::{Tone, print_status};
use crate::seams::Seams;
use crate::status::Status;
use crate::text::clean;

/// The folder of a project that holds what is nobody's to keep, and the file in it.
const FOLDER: &str = ".windlass";
const FILE: &str = "host.json";
/// Where a host is asked if nothing else is known.
const USUAL: &str = "http://127.0.0.1:8082";
/// How long the host of a folder may take to say who it is.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest text of a file that is shown.
const TEXT: usize = 200;

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HostOf {
    api_version: String,
    kind: String,
    /// The host's name, which its status repeats: so a file that was left behind is known.
    host: String,
    url: String,
    /// The cluster that it runs on; none in what an older version wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kubeconfig: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<String>,
}

/// A file that is there for as long as this is held.
#[derive(Debug)]
pub struct PortFile {
    path: PathBuf,
    text: String,
}

impl Drop for PortFile {
    fn drop(&mut self) {
        // Another host may have taken the folder over.
        if fs::read_to_string(&self.path).is_ok_and(|held| held == self.text) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Writes into `folder`, a project's `.windlass`, that `host` shows its status at `url`, and runs on `cluster`.
///
/// # Errors
/// The file cannot be written.
pub fn write(folder: &Path, host: &str, url: &str, cluster: &ClusterFlags) -> io::Result<PortFile> {
    // The reader of this may be in another folder.
    let kubeconfig = cluster.kubeconfig.as_deref().map(std::path::absolute);
    let kubeconfig = kubeconfig.transpose()?;
    let held = HostOf {
        api_version: "windlass.dev/v1alpha1".to_owned(),
        kind: "HostAddress".to_owned(),
        host: host.to_owned(),
        url: url.to_owned(),
        kubeconfig: kubeconfig.and_then(|file| file.to_str().map(str::to_owned)),
        context: cluster.context.clone(),
    };
    let written = PortFile {
        path: folder.join(FILE),
        text: serde_json::to_string(&held)? + "\n",
    };
    fs::write(&written.path, &written.text)?;
    Ok(written)
}

/// Which host a command asks: the one that is `named`, the one of `folder` while it runs, or the usual one. Says which
/// it is, unless it is named.
pub async fn find_host(named: Option<&str>, folder: &Path, seams: &Seams) -> String {
    let held = read(folder);
    let answers = match (named, &held) {
        (None, Some(held)) => answers_at(&held.url, seams).await,
        _ => None,
    };
    let (url, says) = choose(named, held.as_ref(), answers.as_deref());
    if let Some((tone, text)) = says {
        // Where nobody hears it, the answer is as good.
        let _ = print_status(tone, "Asking", &text);
    }
    url
}

/// In which cluster a command changes objects: the one that `flags` name, the one of the host of `folder` while that runs,
/// or the usual one. Says which it is, unless it is named.
pub async fn cluster(flags: ClusterFlags, folder: &Path, seams: &Seams) -> ClusterFlags {
    if flags.kubeconfig.is_some() || flags.context.is_some() {
        return flags;
    }
    let held = read(folder);
    let answers = match &held {
        Some(held) => answers_at(&held.url, seams).await,
        None => None,
    };
    let (cluster, (tone, text)) = choose_cluster(flags, held.as_ref(), answers.as_deref());
    // Where nobody hears it, it is done all the same.
    let _ = print_status(tone, "Cluster", &text);
    cluster
}

/// The host whose status is at `url`.
async fn answers_at(url: &str, seams: &Seams) -> Option<String> {
    let status = document::<Status>(url, "/?o=json", seams);
    let status = seams.clock.within(PATIENCE, status).await;
    status.and_then(Result::ok).map(|(status, _)| status.host)
}

fn read(folder: &Path) -> Option<HostOf> {
    let text = fs::read_to_string(folder.join(FOLDER).join(FILE)).ok()?;
    serde_json::from_str(&text).ok()
}

/// The URL that is asked, and what is said of it. `answers` is the host that answers at the URL of `held`.
fn choose(
    named: Option<&str>,
    held: Option<&HostOf>,
    answers: Option<&str>,
) -> (String, Option<(Tone, String)>) {
    if let Some(named) = named {
        return (named.to_owned(), None);
    }
    let Some(held) = held else {
        let text = format!("the host at {USUAL}; no `windlass dev` runs in this folder");
        return (USUAL.to_owned(), Some((Tone::Good, text)));
    };
    let url = clean(&held.url, TEXT);
    if answers == Some(&held.host) {
        let text = format!("the host of this folder at {url}");
        return (held.url.clone(), Some((Tone::Good, text)));
    }
    let text = format!(
        "the host at {USUAL}: that of this folder, which was at {url}, has ended; `windlass dev` starts it again"
    );
    (USUAL.to_owned(), Some((Tone::Warning, text)))
}

/// The cluster that is meant by `flags`, which name none, and what is said of it. `answers` is the host that answers at
/// the URL of `held`.
fn choose_cluster(
    flags: ClusterFlags,
    held: Option<&HostOf>,
    answers: Option<&str>,
) -> (ClusterFlags, (Tone, String)) {
    let usual = "that of the default kubeconfig or of the pod's service account";
    let Some(held) = held else {
        let text = format!("{usual}; no `windlass dev` runs in this folder");
        return (flags, (Tone::Good, text));
    };
    if answers != Some(&held.host) {
        let url = clean(&held.url, TEXT);
        let text = format!(
            "{usual}: the host of this folder, which was at {url}, has ended; `windlass dev` starts it again"
        );
        return (flags, (Tone::Warning, text));
    }
    let kubeconfig = held.kubeconfig.as_deref();
    let context = held.context.as_deref();
    let names = [("kubeconfig", kubeconfig), ("context", context)];
    let names: Vec<String> = names
        .into_iter()
        .filter_map(|(what, name)| Some(format!("{what} {}", clean(name?, TEXT))))
        .collect();
    if names.is_empty() {
        let text = format!("{usual}: the host of this folder does not say on which it runs");
        return (flags, (Tone::Warning, text));
    }
    let text = format!("that of the host of this folder, {}", names.join(", "));
    let cluster = ClusterFlags {
        kubeconfig: kubeconfig.map(PathBuf::from),
        context: context.map(str::to_owned),
        ..flags
    };
    (cluster, (Tone::Good, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held() -> HostOf {
        HostOf {
            api_version: "windlass.dev/v1alpha1".into(),
            kind: "HostAddress".into(),
            host: "laptop_abc".into(),
            url: "http://127.0.0.1:40000".into(),
            kubeconfig: Some("/x/.windlass/kubeconfig".into()),
            context: None,
        }
    }

    fn cluster_at(kubeconfig: Option<&str>, context: Option<&str>) -> ClusterFlags {
        ClusterFlags {
            kubeconfig: kubeconfig.map(PathBuf::from),
            context: context.map(str::to_owned),
            namespace: Some("n".to_owned()),
        }
    }

    #[test]
    fn the_cluster_of_the_folders_host_is_changed_while_that_runs() {
        let own = "/x/.windlass/kubeconfig";
        let on_another = HostOf {
            kubeconfig: None,
            context: Some("kind".into()),
            ..held()
        };
        let older = HostOf {
            kubeconfig: None,
            ..held()
        };
        let is = Some("laptop_abc");
        let cases = [
            (
                Some(held()),
                is,
                (Some(own), None),
                "folder, kubeconfig /x/.windlass/kubeconfig",
            ),
            (
                Some(on_another),
                is,
                (None, Some("kind")),
                "folder, context kind",
            ),
            (Some(older), is, (None, None), "does not say on which"),
            // Its port is somebody else's now, or nobody's.
            (Some(held()), Some("laptop_def"), (None, None), "has ended"),
            (Some(held()), None, (None, None), "has ended"),
            (None, None, (None, None), "no `windlass dev` runs"),
        ];
        for (held, answers, (kubeconfig, context), says) in cases {
            let flags = cluster_at(None, None);
            let (got, (_, said)) = choose_cluster(flags, held.as_ref(), answers);
            assert_eq!(got.kubeconfig.as_deref(), kubeconfig.map(Path::new));
            assert_eq!(got.context.as_deref(), context);
            assert_eq!(got.namespace.as_deref(), Some("n"));
            assert!(said.contains(says), "{said}");
        }
    }

    #[test]
    fn the_host_of_the_folder_is_asked_while_it_runs() {
        let cases = [
            (
                Some("http://x"),
                Some(held()),
                Some("laptop_abc"),
                "http://x",
                "",
            ),
            (
                None,
                Some(held()),
                Some("laptop_abc"),
                "http://127.0.0.1:40000",
                "of this folder at",
            ),
            // Its port is somebody else's now, or nobody's.
            (None, Some(held()), Some("laptop_def"), USUAL, "has ended"),
            (None, Some(held()), None, USUAL, "has ended"),
            (None, None, None, USUAL, "no `windlass dev` runs"),
        ];
        for (named, held, answers, url, says) in cases {
            let (got, said) = choose(named, held.as_ref(), answers);
            assert_eq!(got, url);
            let said = said.map_or(String::new(), |(_, text)| text);
            assert!(said.contains(says), "{said}");
            assert_eq!(said.is_empty(), says.is_empty(), "{said}");
        }
    }

    #[test]
    fn the_file_is_there_while_the_host_is_and_is_not_taken_from_another() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(FOLDER);
        fs::create_dir(&folder).unwrap();
        let cluster = cluster_at(Some("/x/.windlass/kubeconfig"), None);
        let at = |host: &str, url: &str| write(&folder, host, url, &cluster).unwrap();
        let first = at("laptop_abc", "http://127.0.0.1:40000");
        assert_eq!(read(home.path()), Some(held()));
        let second = at("laptop_def", "http://127.0.0.1:40001");
        drop(first);
        assert_eq!(read(home.path()).unwrap().host, "laptop_def");
        drop(second);
        assert_eq!(read(home.path()), None);
        fs::write(folder.join(FILE), "{").unwrap();
        assert_eq!(read(home.path()), None, "a damaged file is none");
    }
}
