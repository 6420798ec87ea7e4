//! Builds JavaScript plugins into components, with the npm workspace's own tools.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};

use crate::guests::target;
use crate::workspace;

/// The oldest Node.js that will do.
const NODE: u32 = 20;

/// The folder of the JavaScript plugin `package`, if there is one.
pub(crate) fn folder(package: &str) -> Option<PathBuf> {
    let folders = ["plugins", "tests"].map(|above| workspace().join(above).join(package));
    let mut folders = folders.into_iter();
    folders.find(|folder| folder.join("package.json").is_file())
}

/// Builds the plugin in `folder`, unless its component is newer than everything that it is made of.
///
/// # Errors
/// It cannot be built; the compiler's words are on standard error, as they came.
pub(crate) fn build(folder: &Path) -> Result<PathBuf> {
    let guests = target().join("js");
    fs::create_dir_all(&guests)?;
    // One process at a time installs and builds, as with cargo.
    let lock = File::create(guests.join("lock"))?;
    lock.lock()?;
    install()?;
    let name = folder.file_name().context("a plugin's folder has a name")?;
    let component = guests.join(name).with_extension("wasm");
    let built = changed(&component).unwrap_or(SystemTime::UNIX_EPOCH);
    if newest(folder)? < built {
        return Ok(component);
    }
    let tool = workspace().join("node_modules/.bin/windlass-build");
    let mut command = Command::new(tool);
    command.current_dir(folder).arg("-o").arg(&component);
    run(&mut command, &format!("{} does not build", name.display()))?;
    Ok(component)
}

/// Installs the npm workspace's packages, unless those of its lock file are there.
fn install() -> Result<()> {
    let wanted = fs::read(workspace().join("package-lock.json"))?;
    let stamp = workspace().join("node_modules/.windlass-lock.json");
    check_node()?;
    if fs::read(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    let mut npm = Command::new("npm");
    npm.current_dir(workspace()).args(["ci", "--no-progress"]);
    run(&mut npm, "npm cannot install what package-lock.json names")?;
    Ok(fs::write(stamp, wanted)?)
}

fn check_node() -> Result<()> {
    let said = Command::new("node").arg("--version").output();
    let version = said
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_else(|_| "none".to_owned());
    let major = version.trim_start_matches('v').split('.').next();
    if major.and_then(|major| major.parse().ok()) < Some(NODE) {
        bail!(
            "install Node.js {NODE} or newer, with npm: JavaScript plugins are built with it (found: {version})"
        );
    }
    Ok(())
}

fn run(command: &mut Command, wrong: &str) -> Result<Output> {
    let program = command.get_program().display().to_string();
    let output = command.output();
    let output = output.with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        bail!("{wrong} ({})", output.status);
    }
    Ok(output)
}

/// When the last change was of what a plugin in `folder` is made of.
fn newest(folder: &Path) -> Result<SystemTime> {
    let sdk = workspace().join("guest-sdk/js");
    let mut newest = changed(&workspace().join("package-lock.json"))?;
    for place in [
        folder,
        &sdk.join("src"),
        &sdk.join("build"),
        &workspace().join("wit"),
    ] {
        newest = newest.max(newest_below(place)?);
    }
    Ok(newest)
}

/// As above, of a folder and all that is in it. What was taken away has changed its folder.
fn newest_below(folder: &Path) -> Result<SystemTime> {
    let mut newest = changed(folder)?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let time = if path.is_dir() {
            newest_below(&path)?
        } else {
            changed(&path)?
        };
        newest = newest.max(time);
    }
    Ok(newest)
}

fn changed(path: &Path) -> Result<SystemTime> {
    let metadata = fs::metadata(path).with_context(|| path.display().to_string())?;
    Ok(metadata.modified()?)
}
