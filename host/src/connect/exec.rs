//! What is told of a credential plugin that gives no credentials: its name, and how to install it.

use kube::client::AuthError;
use kube::config::ExecConfig;

use crate::text::clean;

/// The longest text of a plugin, or about it, that is told.
const TEXT: usize = 1 << 10;

/// Why the plugin that `exec` names gave no credentials, on one line.
pub(super) fn told(exec: &ExecConfig, error: &AuthError) -> String {
    let command = clean(exec.command.as_deref().unwrap_or_default(), TEXT);
    match error {
        AuthError::AuthExecStart(error) => {
            let hint = exec.install_hint.as_deref().unwrap_or_default();
            let hint: Vec<&str> = hint.split_whitespace().collect();
            let hint = match &hint[..] {
                [] => String::new(),
                words => format!("; {}", clean(&words.join(" "), TEXT)),
            };
            format!("its credential plugin {command} cannot be run: {error}{hint}")
        }
        AuthError::AuthExecRun { out, .. } => {
            // What it prints to standard output is a credential.
            let said = String::from_utf8_lossy(&out.stderr);
            let said = clean(said.trim(), TEXT);
            let status = out.status;
            format!("its credential plugin {command} failed with {status}: {said}")
        }
        error => {
            let error = clean(&error.to_string(), TEXT);
            format!("its credential plugin {command} gave no credentials: {error}")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{ExitStatus, Output};

    use super::*;

    fn exec(hint: Option<&str>) -> ExecConfig {
        ExecConfig {
            command: Some("nope-cmd".into()),
            install_hint: hint.map(str::to_owned),
            ..ExecConfig::default()
        }
    }

    #[test]
    fn a_plugin_is_named_with_how_to_install_it() {
        let absent = || AuthError::AuthExecStart(std::io::ErrorKind::NotFound.into());
        let failed = AuthError::AuthExecRun {
            cmd: String::new(),
            out: Box::new(Output {
                status: ExitStatus::from_raw(1 << 8),
                stdout: b"credential".to_vec(),
                stderr: b"log in\nfirst\n".to_vec(),
            }),
        };
        let cases = [
            (
                absent(),
                Some("install nope\n  with care\n"),
                "nope-cmd cannot be run: entity not found; install nope with care",
            ),
            (absent(), None, "nope-cmd cannot be run: entity not found"),
            (
                failed,
                Some("install nope"),
                "nope-cmd failed with exit status: 1: log in\\nfirst",
            ),
            (
                AuthError::ExecPluginFailed,
                None,
                "nope-cmd gave no credentials: exec-plugin response did not contain a status",
            ),
        ];
        for (error, hint, want) in cases {
            let told = told(&exec(hint), &error);
            assert_eq!(told, format!("its credential plugin {want}"));
        }
    }
}
