//! Builds, starts and stops a control plane from the command line.

use std::convert::Infallible;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use windlass_apiserver::options::{Node, Options};
use windlass_controlplane::{Assets, ControlPlane, alone, background, helm};

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
    /// Prints the path of a Helm.
    HelmPath,
    /// Runs one until it is told to end, and prints the path of its kubeconfig.
    Serve,
    /// Runs the embedded API server instead, with a simulated node, until it is told to end, and prints
    /// the path of its kubeconfig.
    ServeEmbedded,
    /// Runs an API server for a suite until it is told to end.
    Alone(Alone),
}

#[derive(Debug, Args)]
struct Alone {
    /// Which server.
    #[arg(value_enum)]
    server: Kind,
    /// Where the kubeconfig appears when the server is ready.
    #[arg(long)]
    kubeconfig_out: PathBuf,
    /// The controllers that run with it, separated by commas; none if this is empty.
    #[arg(long, default_value = "")]
    controllers: String,
    /// The simulated node of the embedded server.
    #[arg(long, value_enum, default_value_t = NodeMode::None)]
    node: NodeMode,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    Real,
    Embedded,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum NodeMode {
    None,
    Full,
    Pods,
}

impl Alone {
    fn serve(&self) -> anyhow::Result<Infallible> {
        match self.server {
            Kind::Real => alone::real(&self.controllers, &self.kubeconfig_out),
            Kind::Embedded => alone::embedded(self.options()?, &self.kubeconfig_out),
        }
    }

    fn options(&self) -> anyhow::Result<Options> {
        // A list that only leaves one out runs none of the others.
        let controllers = match self.controllers.as_str() {
            "" => "-garbage-collector-controller",
            some => some,
        };
        Ok(Options {
            controllers: controllers.parse()?,
            node: match self.node {
                NodeMode::None => Node::Absent,
                NodeMode::Full => Node::Full,
                NodeMode::Pods => Node::PodsOnly,
            },
            ..Options::default()
        })
    }
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
        Command::HelmPath => println!("{}", helm()?.display()),
        Command::Serve => background::serve()?,
        Command::Alone(alone) => match alone.serve()? {},
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
