//! The flags of `windlass rbac`.

use std::path::PathBuf;

use clap::Args;

use super::Impersonation;
use windlass_kube::flags::{ObjectFormat, dns_label, dns_subdomain};
use windlass_policy::registries::RegistryFlags;

/// Print the roles that the grants of a config folder need.
#[derive(Debug, Args)]
pub struct RbacFlags {
    /// Folder with Plugin documents (*.yaml, *.yml) and their components (*.wasm, *.wasm.gz)
    #[arg(long, env = "WINDLASS_CONFIG", value_name = "DIR")]
    pub config: PathBuf,
    /// Namespace of the service account that the host runs as
    #[arg(long, short, env = "WINDLASS_NAMESPACE", default_value = "windlass-system", value_parser = dns_label, value_name = "NAMESPACE")]
    pub namespace: String,
    /// Name of that service account
    #[arg(long, default_value = "windlass", value_parser = dns_subdomain, value_name = "NAME")]
    pub service_account: String,
    /// How the host may act as the service accounts of plugins
    #[arg(long, default_value = "legacy", value_name = "WAY")]
    pub impersonation: Impersonation,
    /// Which registries
    #[command(flatten)]
    pub registries: RegistryFlags,
    /// How the roles are written
    #[arg(long, short, default_value = "yaml", value_name = "FORMAT")]
    pub output: ObjectFormat,
    /// Private folder for compiled code; created if absent [default: windlass/code in the user's cache folder]
    #[arg(long, env = "WINDLASS_CODE_CACHE", value_name = "DIR")]
    pub code_cache: Option<PathBuf>,
}
