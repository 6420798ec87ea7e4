//! The host of a folder: `windlass dev` writes where it is and on which cluster it runs, and other commands that run in the
//! folder mean these.
//!
//! - The file is in the user's state folder, and so is the kubeconfig of an API server that `windlass dev` brings: a file in
//!   the folder itself could be anybody's who shares the folder, and a kubeconfig can name a command to run.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::client::document;
use crate::status::Status;
use windlass_base::digest::digest;
use windlass_base::screen::{Tone, print_status};
use windlass_base::seams::Seams;
use windlass_base::seams::environment::user_state;
use windlass_base::text::clean;
use windlass_kube::connect::{ClusterFlags, usual};

/// The folder in the user's state folder that holds a file for each folder with a host.
const HOSTS: &str = "hosts";
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

/// A host that runs.
#[derive(Clone, Copy, Debug)]
pub struct RunningHost<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where it shows its status.
    pub url: &'a str,
    /// The cluster that it runs on.
    pub cluster: &'a ClusterFlags,
    /// Whether the cluster is one that its process serves: then `cluster` names a kubeconfig, which is copied.
    pub serves_cluster: bool,
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
            let _ = fs::remove_file(kubeconfig_beside(&self.path));
        }
    }
}

/// Writes into the user's state folder that `host` is the host of `folder`.
///
/// # Errors
/// The user has no state folder, or the file cannot be written.
pub fn write(folder: &Path, host: RunningHost<'_>) -> io::Result<PortFile> {
    let state = user_state().ok_or(io::ErrorKind::NotFound)?;
    write_in(&state, folder, host)
}

fn write_in(state: &Path, folder: &Path, host: RunningHost<'_>) -> io::Result<PortFile> {
    let path = file_of(state, folder)?;
    let mut made = DirBuilder::new();
    made.recursive(true).mode(0o700);
    made.create(path.parent().unwrap_or(state))?;
    // The reader of this may be in another folder.
    let named = host.cluster.kubeconfig.as_deref().map(std::path::absolute);
    let kubeconfig = match named.transpose()? {
        Some(named) if host.serves_cluster => {
            let copy = kubeconfig_beside(&path);
            write_private(&copy, &fs::read_to_string(named)?)?;
            Some(copy)
        }
        named => named,
    };
    let held = HostOf {
        api_version: "windlass.dev/v1alpha1".to_owned(),
        kind: "HostAddress".to_owned(),
        host: host.name.to_owned(),
        url: host.url.to_owned(),
        kubeconfig: kubeconfig.and_then(|file| file.to_str().map(str::to_owned)),
        context: host.cluster.context.clone(),
    };
    let text = serde_json::to_string(&held)? + "\n";
    write_private(&path, &text)?;
    Ok(PortFile { path, text })
}

/// The file of the host of `folder`, in the user's folder for `state`.
///
/// # Errors
/// There is no such folder.
fn file_of(state: &Path, folder: &Path) -> io::Result<PathBuf> {
    let whole = fs::canonicalize(folder)?;
    let name = digest(whole.as_os_str().as_encoded_bytes()).to_string();
    let name = name.rsplit(':').next().unwrap_or_default();
    Ok(state.join(HOSTS).join(format!("{name}.json")))
}

/// The copy of a kubeconfig that belongs to such a file.
fn kubeconfig_beside(file: &Path) -> PathBuf {
    file.with_extension("kubeconfig")
}

/// Writes a file that only its user reads.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)?.write_all(text.as_bytes())
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
    read_in(&user_state()?, folder)
}

fn read_in(state: &Path, folder: &Path) -> Option<HostOf> {
    let text = fs::read_to_string(file_of(state, folder).ok()?).ok()?;
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
    let usual = format!("that of {}", usual());
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
    fn a_folders_host_is_known_by_what_the_user_has_written_and_not_by_what_is_in_the_folder() {
        let home = tempfile::tempdir().unwrap();
        let (state, project) = (home.path().join("state"), home.path().join("project"));
        fs::create_dir_all(project.join(".windlass")).unwrap();
        let forged = serde_json::to_string(&held()).unwrap();
        fs::write(project.join(".windlass/host.json"), forged).unwrap();
        assert_eq!(read_in(&state, &project), None);

        let kubeconfig = project.join(".windlass/kubeconfig");
        fs::write(&kubeconfig, "users: []").unwrap();
        let cluster = ClusterFlags {
            kubeconfig: Some(kubeconfig.clone()),
            context: None,
            namespace: None,
        };
        let host = RunningHost {
            name: "laptop_abc",
            url: "http://127.0.0.1:40000",
            cluster: &cluster,
            serves_cluster: true,
        };
        let written = write_in(&state, &project, host).unwrap();
        fs::write(&kubeconfig, "users: [{ name: mallory }]").unwrap();
        let read = read_in(&state, &project).unwrap();
        let copy = PathBuf::from(read.kubeconfig.unwrap());
        assert!(copy.starts_with(&state), "{copy:?}");
        assert_eq!(fs::read_to_string(&copy).unwrap(), "users: []");
        assert_eq!(read_in(&state, home.path()), None);
        drop(written);
        assert_eq!(read_in(&state, &project), None);
        assert!(!copy.exists());

        let host = RunningHost {
            serves_cluster: false,
            ..host
        };
        let _written = write_in(&state, &project, host).unwrap();
        let read = read_in(&state, &project).unwrap();
        assert_eq!(read.kubeconfig.as_deref(), kubeconfig.to_str());
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
        let (state, folder) = (home.path().join("state"), home.path());
        let cluster = cluster_at(Some("/x/.windlass/kubeconfig"), None);
        let at = |name: &str, url: &str| {
            let host = RunningHost {
                name,
                url,
                cluster: &cluster,
                serves_cluster: false,
            };
            write_in(&state, folder, host).unwrap()
        };
        let first = at("laptop_abc", "http://127.0.0.1:40000");
        assert_eq!(read_in(&state, folder), Some(held()));
        let second = at("laptop_def", "http://127.0.0.1:40001");
        drop(first);
        assert_eq!(read_in(&state, folder).unwrap().host, "laptop_def");
        drop(second);
        assert_eq!(read_in(&state, folder), None);
        fs::write(file_of(&state, folder).unwrap(), "{").unwrap();
        assert_eq!(read_in(&state, folder), None, "a damaged file is none");
    }
}
