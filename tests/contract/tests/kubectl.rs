//! kubectl prints the same on both servers.

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

/// The server that is compared with the real one.
enum Second {
    /// What `WINDLASS_CONTRACT_SECOND` leads to.
    Given(PathBuf),
    /// Another real one, which tries the masks.
    Real(Box<ControlPlane>),
}

impl Second {
    fn start() -> Result<Self> {
        Ok(match std::env::var_os("WINDLASS_CONTRACT_SECOND") {
            Some(kubeconfig) => Self::Given(kubeconfig.into()),
            None => Self::Real(Box::new(ControlPlane::start_with_controllers(CONTROLLERS)?)),
        })
    }

    fn kubeconfig(&self) -> PathBuf {
        match self {
            Self::Given(kubeconfig) => kubeconfig.clone(),
            Self::Real(control_plane) => control_plane.kubeconfig_admin(),
        }
    }
}
