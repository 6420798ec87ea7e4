//! What `windlass dev` says, as data: for people a line with what belongs to it, for tools one document.

mod wrote;

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use windlass_base::screen::Tone;
use windlass_base::text::{counted, format_duration, shell_word};
use windlass_controller::needs::lacks;
use windlass_host::why::PassAnswer;
use windlass_kube::object::ObjectRef;
use wrote::{has_effect, lines};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(
    tag = "event",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub(super) enum News {
    /// The API server is there.
    Serving {
        /// Its address.
        url: String,
    },
    /// A toolchain begins.
    Building {
        /// Its command line.
        command: String,
    },
    /// There is a component.
    Built {
        /// The plugin.
        plugin: String,
        /// Its version.
        version: String,
        /// Its digest.
        digest: String,
        /// Its size.
        bytes: usize,
        /// How long it took.
        took_ms: u64,
    },
    /// A build made what runs already.
    Same {
        /// The plugin.
        plugin: String,
        /// The digest of its component.
        digest: String,
    },
    /// There is none, or none that a host would load.
    BuildFailed {
        /// What went wrong.
        message: String,
        /// Whether an earlier version runs on.
        runs_on: bool,
    },
    /// What a plugin may touch.
    Granted {
        /// The plugin.
        plugin: String,
        /// What it asks for: `configmaps: get list watch`.
        needs: Vec<String>,
        /// Of those, what is powerful, and why.
        powerful: Vec<String>,
        /// Of those, what its document does not grant.
        missing: Vec<String>,
        /// What to add to the grants of the document, as entries of YAML.
        add: Vec<String>,
        /// The command that adds them.
        command: String,
        /// What cannot work in the grants of the document.
        problems: Vec<String>,
    },
    /// An object of the project was applied.
    Applied {
        /// The object.
        object: ObjectRef,
        /// The file that holds it.
        file: String,
    },
    /// An object of the project was refused.
    NotApplied {
        /// The file that holds it.
        file: String,
        /// What is wrong.
        message: String,
    },
    /// An object was applied, and no file of the project holds it any more.
    Left {
        /// The object.
        object: ObjectRef,
        /// The command that deletes it.
        command: String,
    },
    /// A file has changed.
    Changed {
        /// Which one.
        file: String,
    },
    /// A file changes whenever the component is built, and is not watched any more.
    Unwatched {
        /// Which one.
        file: String,
    },
    /// A version runs.
    Running {
        /// The plugin.
        plugin: String,
        /// The digest of its component.
        digest: String,
        /// Of the version before, if there was one.
        before: Option<String>,
    },
    /// A plugin, or a new version of it, does not run.
    Held {
        /// The plugin.
        plugin: String,
        /// Why.
        message: String,
    },
    /// A pass.
    Pass {
        /// The plugin.
        plugin: String,
        /// The object.
        object: ObjectRef,
        /// When it runs next, if nothing happens before.
        next_ms: Option<u64>,
        /// What it did.
        #[serde(flatten)]
        pass: Box<PassAnswer>,
    },
    /// Everything is at rest for the first time.
    Ready {
        /// How long that took.
        took_ms: u64,
        /// Where the page is.
        page: Option<String>,
        /// Where the kubeconfig is.
        kubeconfig: Option<String>,
    },
}

/// What is said in the terminal: how it is meant, the verb, and the text.
pub(super) type Said = (Tone, &'static str, String);

impl News {
    /// An object is left behind. `kubectl` is how its cluster is reached.
    pub(super) fn remains(object: ObjectRef, kubectl: &str) -> Self {
        let (kind, name) = (object.kind.to_lowercase(), shell_word(&object.name));
        let mut command = format!("{kubectl} delete {kind} {name}");
        if let Some(namespace) = &object.namespace {
            command.push_str(&format!(" -n {namespace}"));
        }
        Self::Left { object, command }
    }

    /// For people who have heard `before` about the same object: what is the same again is not said again.
    pub(super) fn message_after(&self, before: Option<&PassAnswer>) -> Said {
        match (self, before) {
            (
                Self::Pass {
                    object,
                    next_ms,
                    pass,
                    ..
                },
                Some(before),
            ) if pass.error.is_some()
                && (&pass.error, &pass.output, &pass.wrote)
                    == (&before.error, &before.output, &before.wrote) =>
            {
                let text = format!("{object}  the same again; {}", attempt(*next_ms, pass));
                (Tone::Bad, "Failed", text)
            }
            _ => self.message(),
        }
    }

    /// For people.
    pub(super) fn message(&self) -> Said {
        match self {
            Self::Serving { url } => {
                let text = format!("Kubernetes API on {url}  (in memory, gone on exit)");
                (Tone::Good, "Serving", text)
            }
            Self::Building { command } => (Tone::Good, "Building", command.clone()),
            Self::Built {
                plugin,
                version,
                digest,
                bytes,
                took_ms,
            } => {
                let (kib, took) = (bytes.div_ceil(1024), millis(*took_ms));
                let text = format!("{plugin} {version}  {kib} KiB  {}  {took}", short(digest));
                (Tone::Good, "Built", text)
            }
            Self::Same { plugin, digest } => {
                let text = format!("{plugin}  {}  as before", short(digest));
                (Tone::Good, "Built", text)
            }
            Self::BuildFailed { message, runs_on } => {
                let more = if *runs_on {
                    "\nthe version before continues to run"
                } else {
                    ""
                };
                (Tone::Bad, "Failed", format!("{message}{more}"))
            }
            Self::Granted {
                plugin,
                needs,
                powerful,
                missing,
                add,
                command,
                problems,
            } => granted(plugin, needs, powerful, (missing, add, command), problems),
            Self::Applied { object, file } => (Tone::Good, "Applied", format!("{object}  {file}")),
            Self::NotApplied { file, message } => {
                (Tone::Bad, "Refused", format!("{file}: {message}"))
            }
            Self::Left { object, command } => (Tone::Warning, "Left", remains(object, command)),
            Self::Changed { file } => (Tone::Good, "Changed", file.clone()),
            Self::Unwatched { file } => {
                let text = format!(
                    "{file} changes with every build, so it is no longer watched: add it to .gitignore, or remove it from spec.build.watch"
                );
                (Tone::Warning, "Ignored", text)
            }
            Self::Running {
                plugin,
                digest,
                before,
            } => match before {
                Some(before) => {
                    let text = format!("{plugin}  {} -> {}", short(before), short(digest));
                    (Tone::Good, "Swapped", text)
                }
                None => (
                    Tone::Good,
                    "Running",
                    format!("{plugin}  {}", short(digest)),
                ),
            },
            Self::Held { plugin, message } => {
                (Tone::Warning, "Held", format!("{plugin}: {message}"))
            }
            Self::Pass {
                object,
                next_ms,
                pass,
                ..
            } => pass_said(object, *next_ms, pass),
            Self::Ready {
                took_ms,
                page,
                kubeconfig,
            } => ready(*took_ms, page.as_deref(), kubeconfig.as_deref()),
        }
    }
}

fn granted(
    plugin: &str,
    needs: &[String],
    powerful: &[String],
    (missing, add, command): (&[String], &[String], &str),
    problems: &[String],
) -> Said {
    let mut lines = needs.to_vec();
    lines.extend(powerful.iter().map(|power| format!("powerful: {power}")));
    if missing.is_empty() && problems.is_empty() {
        return (Tone::Good, "Granted", lines.join("\n"));
    }
    if !missing.is_empty() {
        lines.push(format!(
            "plugin.yaml: plugin {plugin} {}; `windlass run` would not start it",
            lacks(missing)
        ));
    }
    if !add.is_empty() {
        lines.push(format!(
            "`{command}` adds this to spec.grants of plugin.yaml:"
        ));
        lines.extend(add.iter().cloned());
    }
    lines.extend(
        problems
            .iter()
            .map(|problem| format!("plugin.yaml: {problem}")),
    );
    (Tone::Warning, "Granted", lines.join("\n"))
}

fn remains(object: &ObjectRef, command: &str) -> String {
    let more = match &*object.kind {
        "CustomResourceDefinition" => ", and all objects of that kind",
        _ => "",
    };
    format!(
        "{object} is no longer in any file, but still in the cluster: `{command}` deletes it{more}"
    )
}

fn ready(took_ms: u64, page: Option<&str>, kubeconfig: Option<&str>) -> Said {
    let mut text = format!("in {}", millis(took_ms));
    if let Some(page) = page {
        text.push_str(&format!("        page {page}"));
    }
    if let Some(kubeconfig) = kubeconfig {
        let kubeconfig = shell_word(kubeconfig);
        text.push_str(&format!("\ntry: kubectl --kubeconfig {kubeconfig} get all"));
    }
    (Tone::Good, "Ready", text)
}

fn pass_said(object: &ObjectRef, next_ms: Option<u64>, pass: &PassAnswer) -> Said {
    let why = pass.woken_by.first().map_or("", String::as_str);
    let (took, writes) = (
        millis(pass.took_ms),
        pass.wrote.iter().filter(has_effect).count(),
    );
    let what = match (pass.observes, writes) {
        (false, writes) => counted(writes, "write"),
        (true, 0) => "no difference".to_owned(),
        (true, writes) => format!("would send {}", counted(writes, "write")),
    };
    let mut text = format!("{object}  {why}  {took}  {what}");
    for wrote in pass.wrote.iter().filter(has_effect) {
        for line in lines(wrote) {
            text.push_str(&format!("\n{line}"));
        }
    }
    for request in &pass.sent {
        text.push_str(&format!("\n> {request}"));
    }
    let Some(error) = &pass.error else {
        let verb = match &*pass.step {
            "protect" => "Protect",
            "finalize" => "Finalize",
            "release" => "Release",
            _ => "Reconcile",
        };
        return (Tone::Good, verb, text);
    };
    text.push_str(&format!("\nerror: {error}"));
    // A record has its guest's words in one line.
    for line in pass.output.split("\\n").filter(|line| !line.is_empty()) {
        text.push_str(&format!("\n  {line}"));
    }
    text.push_str(&format!("\n{}", attempt(next_ms, pass)));
    if let Some(recording) = &pass.recording {
        let command = windlass_controller::recording::command(Path::new(recording));
        text.push_str(&format!("\nreplay: {command}"));
    }
    (Tone::Bad, "Failed", text)
}

fn attempt(next_ms: Option<u64>, pass: &PassAnswer) -> String {
    let next = next_ms.map_or_else(
        || "it is not tried again before something changes".to_owned(),
        |next| format!("it is tried again in {}", millis(next)),
    );
    format!("attempt {}; {next}", pass.attempt + 1)
}

/// The first digits of a digest.
fn short(digest: &str) -> &str {
    digest.get(.."sha256:".len() + 12).unwrap_or(digest)
}

fn millis(millis: u64) -> String {
    format_duration(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests;
