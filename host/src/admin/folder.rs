//! The host of a folder: `windlass dev` writes where it is, and `windlass why` and `top` ask it first.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::client::document;
use crate::screen::{Tone, say};
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
}

/// A file that is there for as long as this is held.
#[derive(Debug)]
pub struct Written {
    path: PathBuf,
    text: String,
}

impl Drop for Written {
    fn drop(&mut self) {
        // Another host may have taken the folder over.
        if fs::read_to_string(&self.path).is_ok_and(|held| held == self.text) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Writes into `folder`, a project's `.windlass`, that `host` shows its status at `url`.
///
/// # Errors
/// The file cannot be written.
pub fn write(folder: &Path, host: &str, url: &str) -> io::Result<Written> {
    let held = HostOf {
        api_version: "windlass.dev/v1alpha1".to_owned(),
        kind: "HostAddress".to_owned(),
        host: host.to_owned(),
        url: url.to_owned(),
    };
    let written = Written {
        path: folder.join(FILE),
        text: serde_json::to_string(&held)? + "\n",
    };
    fs::write(&written.path, &written.text)?;
    Ok(written)
}

/// Which host a command asks: the one that is `named`, the one of `folder` while it runs, or the usual one. Says which
/// it is, unless it is named.
pub async fn asked(named: Option<&str>, folder: &Path, seams: &Seams) -> String {
    let held = read(folder);
    let answers = match (named, &held) {
        (None, Some(held)) => {
            let status = document::<Status>(&held.url, "/?o=json", seams);
            let status = seams.clock.within(PATIENCE, status).await;
            status.and_then(Result::ok).map(|(status, _)| status.host)
        }
        _ => None,
    };
    let (url, says) = choose(named, held.as_ref(), answers.as_deref());
    if let Some((tone, text)) = says {
        // Where nobody hears it, the answer is as good.
        let _ = say(tone, "Asking", &text);
    }
    url
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

#[cfg(test)]
mod tests {
    use super::*;

    fn held() -> HostOf {
        HostOf {
            api_version: "windlass.dev/v1alpha1".into(),
            kind: "HostAddress".into(),
            host: "laptop_abc".into(),
            url: "http://127.0.0.1:40000".into(),
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
        let first = write(&folder, "laptop_abc", "http://127.0.0.1:40000").unwrap();
        assert_eq!(read(home.path()), Some(held()));
        let second = write(&folder, "laptop_def", "http://127.0.0.1:40001").unwrap();
        drop(first);
        assert_eq!(read(home.path()).unwrap().host, "laptop_def");
        drop(second);
        assert_eq!(read(home.path()), None);
        fs::write(folder.join(FILE), "{").unwrap();
        assert_eq!(read(home.path()), None, "a damaged file is none");
    }
}
