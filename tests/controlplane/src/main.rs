//! Builds, starts and stops a control plane from the command line.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use windlass_controlplane::{Assets, ControlPlane, background};

/// A real etcd, kube-apiserver and kube-controller-manager to try things on.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Starts one in the background unless there is one, and prints the path of its kubeconfig.
    Up,
    /// Ends the one in the background.
    Down,
    /// Builds the binaries if they are missing, and does nothing else.
    Build,
    /// Prints the path of a kubectl of the right version.
    KubectlPath,
    /// Runs one until it is told to end, and prints the path of its kubeconfig.
    Serve,
    /// Runs the embedded API server instead, with a simulated node, until it is told to end, and prints
    /// the path of its kubeconfig.
    ServeEmbedded,
}

fn main() -> ExitCode {
    match run(&Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("controlplane: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Up => println!("{}", background::up(&std::env::current_exe()?)?.display()),
        Command::Down => {
            let ended = background::down()?;
            eprintln!(
                "controlplane: {}",
                if ended {
                    "ended"
                } else {
                    "there is none to end"
                }
            );
        }
        Command::Build => drop(Assets::find()?),
        Command::KubectlPath => println!("{}", Assets::find()?.kubectl.display()),
        Command::Serve => background::serve()?,
        Command::ServeEmbedded => {
            let control_plane = ControlPlane::start_embedded()?;
            println!("{}", control_plane.kubeconfig_admin().display());
            loop {
                std::thread::park();
            }
        }
    }
    Ok(())
}
