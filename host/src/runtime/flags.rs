//! The flags of `windlass run`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::shares::ShareFlags;
use crate::admin::BindAddress;
use windlass_kube::connect::ClusterFlags;
use windlass_kube::flags::{duration, label_selector};
use windlass_kube::lease::LeaderElectionFlags;
use windlass_kube::telemetry::TraceFlags;
use windlass_policy::registries::RegistryFlags;

/// Run plugins against a cluster: those of a config folder, and those of Plugin objects.
#[derive(Debug, Args)]
pub struct RunFlags {
    /// Folder with Plugin documents (*.yaml, *.yml) and their components (*.wasm, *.wasm.gz)
    #[arg(
        long,
        env = "WINDLASS_CONFIG",
        value_name = "DIR",
        required_unless_present = "plugin_objects"
    )]
    pub config: Option<PathBuf>,
    /// Run also the plugins that Plugin objects ask for (plugins.windlass.dev)
    #[arg(long, env = "WINDLASS_PLUGIN_OBJECTS")]
    pub plugin_objects: bool,
    /// Run only Plugin objects whose labels match, such as team=a [default: all]
    #[arg(
        long,
        env = "WINDLASS_PLUGIN_SELECTOR",
        value_name = "SELECTOR",
        requires = "plugin_objects",
        value_parser = label_selector
    )]
    pub plugin_selector: Option<String>,
    /// Private folder for compiled code; created if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
    /// Private folder that keeps the last good version of each plugin, for a restart that refuses the config folder's version, and a record of crashes [default: nothing is kept]
    #[arg(long, env = "WINDLASS_STATE_DIR", value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Private folder for recordings of failed passes, for `windlass replay`; created if absent [default: nothing is recorded]
    #[arg(long, env = "WINDLASS_RECORD_FAILURES", value_name = "DIR")]
    pub record_failures: Option<PathBuf>,
    /// Threads that run plugins [default: one for each processor]
    #[arg(long, env = "WINDLASS_GUEST_THREADS", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub guest_threads: Option<u16>,
    /// How long running passes may take to end after SIGTERM, for example 30s
    #[arg(long, env = "WINDLASS_GRACEFUL_SHUTDOWN_TIMEOUT", default_value = "30s", value_parser = duration, value_name = "DURATION")]
    pub graceful_shutdown_timeout: Duration,
    /// Name of this host in Leases and Events [default: host name and a random suffix]
    #[arg(long, env = "WINDLASS_IDENTITY", value_name = "NAME")]
    pub identity: Option<String>,
    /// Address that serves /metrics, such as :8080; 0 to turn it off
    #[arg(
        long,
        env = "WINDLASS_METRICS_BIND_ADDRESS",
        default_value = "0",
        value_name = "ADDRESS"
    )]
    pub metrics_bind_address: BindAddress,
    /// Address that serves /livez and /readyz, such as :8081; 0 to turn them off
    #[arg(
        long,
        env = "WINDLASS_HEALTH_PROBE_BIND_ADDRESS",
        default_value = "0",
        value_name = "ADDRESS"
    )]
    pub health_probe_bind_address: BindAddress,
    /// Address that serves the status of this host, which `windlass why` asks; 0 to turn it off [default: 127.0.0.1:8082, or any free port if that is taken]
    #[arg(long, env = "WINDLASS_ADMIN_BIND_ADDRESS", value_name = "ADDRESS")]
    pub admin_bind_address: Option<BindAddress>,
    /// Namespace whose ConfigMaps, Secrets and pods no plugin reaches, whatever its grants say; an empty name for none [default: the pod's; outside of a cluster that of --namespace, if the host runs Plugin objects]
    #[arg(long, env = "WINDLASS_PROTECT_NAMESPACE", value_name = "NAME")]
    pub protect_namespace: Option<String>,
    /// Which cluster
    #[command(flatten)]
    pub cluster: ClusterFlags,
    /// Times of the LeaderElectionFlags
    #[command(flatten)]
    pub leases: LeaderElectionFlags,
    /// Which registries
    #[command(flatten)]
    pub registries: RegistryFlags,
    /// What plugins may do
    #[command(flatten)]
    pub shares: ShareFlags,
    /// Where traces go
    #[command(flatten)]
    pub traces: TraceFlags,
}

impl RunFlags {
    /// The namespace of the host's own things: that of `--protect-namespace`, or of the pod whose file is `pod`. An empty
    /// name protects none. Outside of a cluster there is none, unless others install plugins: then `--namespace` names it.
    pub fn protected_namespace(&self, pod: &Path) -> Option<String> {
        let of_pod = || fs::read_to_string(pod).ok();
        let of_flag = || {
            self.cluster
                .namespace
                .clone()
                .filter(|_| self.plugin_objects)
        };
        let name = self.protect_namespace.clone();
        let name = name.or_else(of_pod).or_else(of_flag)?;
        let name = name.trim();
        (!name.is_empty()).then(|| name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        run: RunFlags,
    }

    #[test]
    fn the_namespace_of_the_host_is_that_of_the_flag_of_the_pod_or_of_the_leases() {
        let folder = tempfile::tempdir().unwrap();
        let pod = folder.path().join("namespace");
        fs::write(&pod, "windlass-system\n").unwrap();
        let outside = folder.path().join("absent");
        // (flags, of a pod, outside of a cluster)
        let rows: [(&[&str], _, _); 5] = [
            (&[], Some("windlass-system"), None),
            (&["-n", "leases"], Some("windlass-system"), None),
            (
                &["-n", "leases", "--plugin-objects"],
                Some("windlass-system"),
                Some("leases"),
            ),
            (
                &["-n", "leases", "--protect-namespace=home"],
                Some("home"),
                Some("home"),
            ),
            (&["-n", "leases", "--protect-namespace="], None, None),
        ];
        for (flags, of_pod, of_none) in rows {
            let words = [&["windlass", "--config=plugins"], flags].concat();
            let run = Flags::try_parse_from(words).unwrap().run;
            assert_eq!(
                run.protected_namespace(&pod).as_deref(),
                of_pod,
                "{flags:?}"
            );
            let protected = run.protected_namespace(&outside);
            assert_eq!(protected.as_deref(), of_none, "{flags:?}");
        }
    }
}
