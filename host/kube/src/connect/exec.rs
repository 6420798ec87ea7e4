//! Credential plugins: runs the program of a kubeconfig's `exec`, and checks what it answers, as client-go does.

mod renewed;

use std::io::{self, IsTerminal, stdin};
use std::process::Output;
use std::time::Duration;

use http::HeaderValue;
use jiff::Timestamp;
use kube::config::{ExecConfig, ExecInteractiveMode};
use serde::Deserialize;
use serde_json::json;

pub(super) use renewed::Renewed;

use super::token::{TokenError, bearer};
use windlass_base::seams::{Program, Seams};
use windlass_base::text::clean;

/// The longest text of a plugin, or about it, that is told.
const TEXT: usize = 1 << 10;

/// How long a plugin may take.
const LIMIT: Duration = Duration::from_secs(60);

/// What a plugin gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given {
    /// The header for each request.
    pub(super) token: Option<HeaderValue>,
    /// A certificate and its key, in PEM.
    pub(super) identity: Option<(String, String)>,
    /// When the plugin must be asked again.
    expires: Option<Timestamp>,
}

/// Why a plugin gave nothing.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// The operating system refused to start it.
    #[error("cannot be run: {0}")]
    NotStarted(#[source] io::Error),
    /// It failed, and said why.
    #[error("failed with {}: {}", .0.status, stderr_text(.0))]
    Failed(Output),
    /// It was killed.
    #[error("took too long")]
    Late,
    /// It cannot be asked, or what it printed has nothing to use.
    #[error("gave no credentials: {0}")]
    Wrong(String),
    /// What it gave cannot be sent.
    #[error("gave no credentials: {0}")]
    Token(#[source] TokenError),
}

/// What a plugin answers.
#[derive(Deserialize)]
struct ExecCredential {
    status: Option<ExecCredentialStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredentialStatus {
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
    expiration_timestamp: Option<String>,
}

/// Asks the plugin that `exec` names.
///
/// # Errors
/// It gives no credentials; the message has its name, and how to install it.
pub(super) async fn ask(exec: &ExecConfig, seams: &Seams) -> anyhow::Result<Given> {
    let given = match program(exec, stdin().is_terminal()) {
        Ok(program) => run(&program, seams).await,
        Err(failure) => Err(failure),
    };
    given.map_err(|failure| anyhow::anyhow!(failure_text(exec, &failure)))
}

async fn run(program: &Program, seams: &Seams) -> Result<Given, Failure> {
    let ended = seams.clock.within(LIMIT, seams.spawn.program(program));
    let output = ended.await.ok_or(Failure::Late)?;
    let output = output.map_err(Failure::NotStarted)?;
    if output.status.success() {
        read(&output.stdout)
    } else {
        Err(Failure::Failed(output))
    }
}

/// What is run; `terminal` says whether there is a user to ask.
fn program(exec: &ExecConfig, terminal: bool) -> Result<Program, Failure> {
    let wrong = |text: &str| Failure::Wrong(text.to_owned());
    let command = exec.command.clone().filter(|command| !command.is_empty());
    let command = command.ok_or_else(|| wrong("no command is named"))?;
    let interactive = match exec.interactive_mode {
        Some(ExecInteractiveMode::Never) => false,
        Some(ExecInteractiveMode::Always) if !terminal => {
            return Err(wrong("standard input is not a terminal"));
        }
        Some(ExecInteractiveMode::Always | ExecInteractiveMode::IfAvailable) | None => terminal,
    };
    let spec = match &exec.cluster {
        Some(cluster) if exec.provide_cluster_info => {
            json!({ "interactive": interactive, "cluster": cluster })
        }
        _ => json!({ "interactive": interactive }),
    };
    let info = json!({ "kind": "ExecCredential", "apiVersion": exec.api_version, "spec": spec });
    let variables = exec.env.iter().flatten();
    let variables =
        variables.filter_map(|it| Some((it.get("name")?.clone(), it.get("value")?.clone())));
    let mut environment: Vec<(String, String)> = variables.collect();
    environment.push(("KUBERNETES_EXEC_INFO".to_owned(), info.to_string()));
    Ok(Program {
        command,
        arguments: exec.args.clone().unwrap_or_default(),
        environment,
        interactive,
    })
}

/// Reads what a plugin printed: JSON, or YAML.
fn read(printed: &[u8]) -> Result<Given, Failure> {
    let wrong = |text: &str| Failure::Wrong(text.to_owned());
    // The error could show a credential.
    let answer: Option<ExecCredential> = serde_saphyr::from_slice(printed)
        .map_err(|_| wrong("what it printed is not an ExecCredential"))?;
    let status = answer.and_then(|answer| answer.status);
    let status = status.ok_or_else(|| wrong("it printed no status"))?;
    let set = |text: Option<String>| text.filter(|text| !text.is_empty());
    let (certificate, key) = (
        set(status.client_certificate_data),
        set(status.client_key_data),
    );
    let identity = match (certificate, key) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        _ => return Err(wrong("it printed a certificate or a key, not both")),
    };
    let token = set(status.token).map(|token| bearer(&token));
    let token = token.transpose().map_err(Failure::Token)?;
    if token.is_none() && identity.is_none() {
        return Err(wrong("it printed neither a token nor a certificate"));
    }
    let expires = set(status.expiration_timestamp).map(|time| time.parse::<Timestamp>());
    let expires = expires.transpose();
    Ok(Given {
        token,
        identity,
        expires: expires.map_err(|_| wrong("its expirationTimestamp is not a timestamp"))?,
    })
}

/// What a plugin says; what it prints to standard output is a credential.
fn stderr_text(output: &Output) -> String {
    clean(String::from_utf8_lossy(&output.stderr).trim(), TEXT)
}

/// Why the plugin that `exec` names gave no credentials, on one line.
fn failure_text(exec: &ExecConfig, failure: &Failure) -> String {
    let command = clean(exec.command.as_deref().unwrap_or_default(), TEXT);
    let hint = exec.install_hint.as_deref().unwrap_or_default();
    let hint: Vec<&str> = hint.split_whitespace().collect();
    let hint = match (failure, &hint[..]) {
        (Failure::NotStarted(_), [_, ..]) => format!("; {}", clean(&hint.join(" "), TEXT)),
        _ => String::new(),
    };
    format!("its credential plugin {command} {failure}{hint}")
}

#[cfg(test)]
mod tests;
