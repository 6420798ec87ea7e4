//! The process of the host under attack.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use windlass_e2e::{Host, MemoryLimit, workspace};
use windlass_harness::jemalloc_host_binary;

/// Where the host serves what it counts, how it is, and what it does.
const PORTS: [&str; 3] = [
    "--metrics-bind-address=127.0.0.1:0",
    "--health-probe-bind-address=127.0.0.1:0",
    "--admin-bind-address=127.0.0.1:0",
];

/// What a host is started with.
pub(crate) struct Start<'a> {
    pub(crate) config: &'a Path,
    pub(crate) kubeconfig: &'a Path,
    /// Where its Leases are.
    pub(crate) namespace: &'a str,
    /// Where it records failed passes, if it does.
    pub(crate) recordings: Option<&'a Path>,
    /// How many descriptors it can have open; 0 for as many as we can.
    pub(crate) descriptors: u32,
    pub(crate) limit: Option<&'a MemoryLimit>,
}

impl Start<'_> {
    /// Starts it.
    pub(crate) fn start(&self) -> Result<Host> {
        let code = workspace().join("target/code-cache");
        let recordings = self
            .recordings
            .map(|to| format!("--record-failures={}", to.display()));
        let flags: Vec<&str> = PORTS.into_iter().chain(recordings.as_deref()).collect();
        let (config, kubeconfig) = (self.config, self.kubeconfig);
        let binary = jemalloc_host_binary()?;
        let mut command = Host::command(&binary, &code, config, kubeconfig, self.namespace, &flags);
        if self.descriptors > 0 {
            let mut limited = Command::new("sh");
            let script = format!("ulimit -n {}; exec \"$@\"", self.descriptors);
            limited
                .args(["-euc", &script, "sh"])
                .arg(command.get_program());
            limited.args(command.get_args());
            command = limited;
        }
        match self.limit {
            Some(limit) => Host::run_command(&limit.wrap(&command)),
            None => Host::run_command(&command),
        }
    }
}
