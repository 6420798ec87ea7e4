//! `windlass doctor`: whether this machine can build and run plugins, and the one line that fixes it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::bail;
use serde::Serialize;

use super::flags::DoctorFlags;
use super::toolchain::{Tool, all_tools, needed};
use super::{DOCUMENT, Project};
use windlass_base::screen::{print, print_json};
use windlass_base::seams::{Seams, Spawn};
use windlass_kube::flags::OutputFormat;
use windlass_sandbox::{code_cache, sandboxes};

/// What was found.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Diagnosis {
    api_version: &'static str,
    kind: &'static str,
    checks: Vec<Check>,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    name: String,
    /// `ok`, `missing`, or `unneeded` if it is missing and nothing here needs it.
    state: &'static str,
    /// What is wrong.
    message: Option<String>,
    /// What fixes it.
    cure: Option<String>,
}

impl Check {
    fn of(name: &str, found: Result<(), String>) -> Self {
        Self {
            name: name.to_owned(),
            state: if found.is_ok() { "ok" } else { "missing" },
            message: found.err(),
            cure: None,
        }
    }
}

/// Looks, and prints what was found.
///
/// # Errors
/// Something that is needed is missing.
pub async fn doctor(flags: DoctorFlags, threads: usize, seams: Seams) -> anyhow::Result<()> {
    let mut checks = Vec::new();
    let command = if has_document(&flags.folder) {
        let project = Project::open(&flags.folder);
        let command = project.as_ref().ok().and_then(Project::how);
        let command = command.map(|build| build.command.clone());
        let found = project.map(drop).map_err(|error| format!("{error:#}"));
        checks.push(Check::of(DOCUMENT, found));
        command
    } else {
        None
    };
    for tool in all_tools() {
        let is_needed = command
            .as_ref()
            .is_some_and(|command| needed(command).any(|one| one.name == tool.name));
        checks.push(look_for(tool, is_needed, &flags.folder, &seams.spawn).await?);
    }
    let cache = code_cache(flags.code_cache).map(drop);
    let cache = cache.map_err(|error| format!("{error:#}"));
    checks.push(Check::of("folder for compiled code", cache));
    let engine = sandboxes(threads, &seams).map(drop);
    let engine = engine.map_err(|error| format!("{error:#}"));
    checks.push(Check::of("WebAssembly engine", engine));
    checks.push(Check::of("notices of changed files", notices(&seams.spawn)));
    let missing = checks
        .iter()
        .filter(|check| check.state == "missing")
        .count();
    match flags.output {
        OutputFormat::Text => print(&text(&checks)),
        OutputFormat::Json => {
            let diagnosis = Diagnosis {
                api_version: "windlass.dev/v1alpha1",
                kind: "Diagnosis",
                checks,
            };
            print_json(&(serde_json::to_string_pretty(&diagnosis)? + "\n"))
        }
    }?;
    match missing {
        0 => Ok(()),
        1 => bail!("1 thing is missing, see above"),
        many => bail!("{many} things are missing, see above"),
    }
}

fn has_document(folder: &Path) -> bool {
    folder.join(DOCUMENT).exists()
}

async fn look_for(
    tool: &Tool,
    is_needed: bool,
    folder: &Path,
    spawn: &Spawn,
) -> anyhow::Result<Check> {
    let here = if folder.is_dir() {
        folder.to_owned()
    } else {
        PathBuf::from(".")
    };
    let is_there = tool.is_there(&here, spawn).await?;
    let state = match (is_there, is_needed) {
        (true, _) => "ok",
        (false, true) => "missing",
        (false, false) => "unneeded",
    };
    Ok(Check {
        name: tool.name.to_owned(),
        state,
        message: None,
        cure: (!is_there).then(|| tool.cure.to_owned()),
    })
}

fn notices(spawn: &Spawn) -> Result<(), String> {
    let found = spawn.notices().map(drop);
    found.map_err(|error| {
        format!("{error}: raise fs.inotify.max_user_instances or max_user_watches")
    })
}

fn text(checks: &[Check]) -> String {
    let mut out = String::new();
    for check in checks {
        let state = match check.state {
            "unneeded" => "missing, but not needed",
            state => state,
        };
        // Writing into memory does not fail.
        let _ = writeln!(out, "{:<28} {state}", check.name);
        for more in [&check.message, &check.cure].into_iter().flatten() {
            let _ = writeln!(out, "{:<28}   {more}", "");
        }
    }
    out
}
