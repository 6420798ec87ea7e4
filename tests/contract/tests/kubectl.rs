//! kubectl prints the same on both servers.

use std::ffi::OsStr;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use futures::future::try_join;
use windlass_contract::kubectl::{self, CONTROLLERS};
use windlass_controlplane::ControlPlane;

#[tokio::test]
async fn kubectl_prints_the_same_on_both_servers() -> Result<()> {
    let commands = kubectl::commands()?;
    ensure!(commands.len() >= 60, "only {} commands", commands.len());
    let first = ControlPlane::start_with_controllers(CONTROLLERS)?;
    let second = Second::start()?;
    let (first, second) = try_join(
        kubectl::run(&first.kubeconfig_admin(), &commands),
        kubectl::run(&second.kubeconfig(), &commands),
    )
    .await?;
    let differences = kubectl::differences(&first, &second)?;
    ensure!(
        differences.is_empty(),
        "{} of {} commands differ:\n\n{}",
        differences.len(),
        commands.len(),
        differences.join("\n\n")
    );
    Ok(())
}

/// The server that is compared with the real one: the embedded one, or what `WINDLASS_CONTRACT_SECOND` leads
/// to, where `real` is another real one, which tries the masks.
enum Second {
    Started(Box<ControlPlane>),
    Given(PathBuf),
}

impl Second {
    fn start() -> Result<Self> {
        let second = std::env::var_os("WINDLASS_CONTRACT_SECOND");
        let started = match second.as_deref().map(OsStr::to_str) {
            None => ControlPlane::start_embedded_with_controllers(CONTROLLERS)?,
            Some(Some("real")) => ControlPlane::start_with_controllers(CONTROLLERS)?,
            Some(_) => return Ok(Self::Given(second.unwrap_or_default().into())),
        };
        Ok(Self::Started(Box::new(started)))
    }

    fn kubeconfig(&self) -> PathBuf {
        match self {
            Self::Started(control_plane) => control_plane.kubeconfig_admin(),
            Self::Given(kubeconfig) => kubeconfig.clone(),
        }
    }
}
