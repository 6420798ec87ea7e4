//! `--attach`: a build on this machine in place of a plugin that a host runs in a cluster.
//!
//! - As a dry run, which is the default, it observes: its connection to the API server sends reads alone. The host keeps the
//!   Lease and works on, since two readers harm nobody.
//! - Otherwise it asks the host for the Lease. The host ends its passes and stands by, until this command ends: it releases
//!   the Lease, or its session expires.

use anyhow::{Context, bail, ensure};

use super::flags::DevFlags;
use super::target::Target;
use windlass_kube::api::Api;
use windlass_kube::lease::Lease;
use windlass_policy::grants::Grants;
use windlass_policy::manifest::{Mode, PluginDocument};

/// What `--attach` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attachment {
    /// Whether nothing is sent.
    pub(super) dry_run: bool,
}

impl Attachment {
    /// What the flags ask for; nothing without `--attach`.
    ///
    /// # Errors
    /// They name no cluster, or something that is not one project.
    pub(super) fn of(flags: &DevFlags, targets: &[Target]) -> anyhow::Result<Option<Self>> {
        if !flags.attach {
            return Ok(None);
        }
        ensure!(
            flags.kubeconfig.is_some() || flags.context.is_some(),
            "--attach needs a cluster: name it with --context, or with --kubeconfig"
        );
        if !matches!(targets, [Target::Project(_)]) {
            bail!(
                "--attach needs one project: a folder with the plugin.yaml of the plugin that the cluster has"
            );
        }
        let dry_run = flags.dry_run;
        Ok(Some(Self { dry_run }))
    }

    /// The connection that it uses: one that sends reads alone, if it is a dry run.
    pub(super) fn api(self, api: &Api) -> Api {
        if self.dry_run {
            api.read_only()
        } else {
            api.clone()
        }
    }

    /// Makes `document` one for a plugin of a cluster. It has the grants that somebody has `written`, and no more, as with
    /// `windlass run`. It has the rights of the person who runs this command: its service account is left out, since a
    /// review of what the account may do is a write, and a dry run sends none.
    pub(super) fn adapts(self, document: &mut PluginDocument, written: Grants) {
        document.grants = written;
        document.service_account = None;
        if self.dry_run {
            document.mode = Mode::Observe;
        }
    }

    /// The namespace of the host that runs `plugin`: where its Lease is, unless one is `named`.
    ///
    /// # Errors
    /// There is none, or there are several.
    pub(super) async fn namespace(
        self,
        api: &Api,
        plugin: &str,
        named: Option<&str>,
    ) -> anyhow::Result<String> {
        if let Some(named) = named {
            return Ok(named.to_owned());
        }
        let found = Lease::namespaces(api, plugin).await;
        let found = found.with_context(|| {
            format!("cannot look for the Lease of {plugin}: name the namespace of its host with --namespace")
        })?;
        match &*found {
            [only] => Ok(only.clone()),
            [] => bail!("no host of this cluster runs {plugin}: there is no Lease of it"),
            _ => {
                let all = found.join(", ");
                bail!("hosts in {all} run {plugin}: name one of these with --namespace")
            }
        }
    }

    /// What people are told at the beginning.
    pub(super) fn said(self, plugin: &str) -> String {
        if self.dry_run {
            format!("{plugin} observes: nothing is sent, and the host in the cluster works on")
        } else {
            format!(
                "{plugin} takes over: the host in the cluster stands by until this command ends, and what is written is real"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_policy::manifest::{Origin, parse};

    use super::*;

    const DOCUMENT: &str = r#"
apiVersion: windlass.dev/v1alpha1
kind: Plugin
metadata: { name: greeter }
spec:
  source: { file: greeter.wasm }
  serviceAccount: { namespace: apps, name: greeter }
  grants:
    - apiGroups: [examples.windlass.dev]
      resources: [greetings]
      verbs: [get, list, watch]
      namespaces: [apps]
"#;

    #[test]
    fn a_plugin_has_the_grants_of_its_document_and_the_rights_of_who_develops_it() {
        let origin = Origin::File("plugin.yaml".into());
        let document = parse(&origin, DOCUMENT).unwrap().remove(0);
        let written = document.grants.clone();
        let needs = r#"
    - { apiGroups: [""], resources: [configmaps], verbs: [get], namespaces: all }
"#;
        let more = format!("{}{}", DOCUMENT.trim_end(), needs);
        let asked = parse(&origin, &more).unwrap().remove(0);
        assert_ne!(asked.grants, written);
        for (dry_run, mode) in [(true, Mode::Observe), (false, Mode::Run)] {
            let mut document = asked.clone();
            Attachment { dry_run }.adapts(&mut document, written.clone());
            assert_eq!(document.grants, written);
            assert_eq!(document.service_account, None);
            assert_eq!(document.mode, mode);
        }
    }
}
