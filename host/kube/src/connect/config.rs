//! Reads the kubeconfig, or what a pod is given in place of one.

use anyhow::bail;
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::connect::ClusterFlags;

/// In place of the proxy of a cluster: kube would take that of the environment for one of the kubeconfig.
const TAKEN: &str = "http://taken";

/// A configuration, and the proxy that the kubeconfig itself names.
pub(super) async fn config(
    cluster: &ClusterFlags,
) -> anyhow::Result<(kube::Config, Option<String>)> {
    let options = KubeConfigOptions {
        context: cluster.context.clone(),
        ..KubeConfigOptions::default()
    };
    match &cluster.kubeconfig {
        Some(file) if !file.exists() => bail!("there is no such file"),
        Some(file) => from(Kubeconfig::read_from(file)?, &options).await,
        None if cluster.context.is_some() => from(Kubeconfig::read()?, &options).await,
        None => infer(&options).await,
    }
}

/// As `kube::Config::infer`: the default kubeconfig, or the pod's service account.
async fn infer(options: &KubeConfigOptions) -> anyhow::Result<(kube::Config, Option<String>)> {
    let read = match Kubeconfig::read() {
        Ok(kubeconfig) => from(kubeconfig, options).await,
        Err(error) => Err(error.into()),
    };
    let (mut config, named) = match read {
        Ok(read) => read,
        Err(kubeconfig) => match kube::Config::incluster() {
            Ok(config) => (config, None),
            Err(in_cluster) => {
                let told = format!(
                    "failed to infer config: in-cluster: ({in_cluster}), kubeconfig: ({kubeconfig})"
                );
                return Err(kubeconfig.context(told));
            }
        },
    };
    config.apply_debug_overrides();
    Ok((config, named))
}

async fn from(
    mut kubeconfig: Kubeconfig,
    options: &KubeConfigOptions,
) -> anyhow::Result<(kube::Config, Option<String>)> {
    let named = take_proxy(&mut kubeconfig, options.context.as_deref());
    let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, options).await?;
    config.proxy_url = None;
    // A credential plugin is told of the cluster as the kubeconfig has it.
    if let Some(exec) = &mut config.auth_info.exec
        && let Some(cluster) = &mut exec.cluster
    {
        cluster.proxy_url.clone_from(&named);
    }
    Ok((config, named))
}

/// Takes the proxy of the context's cluster; an empty one is none.
fn take_proxy(kubeconfig: &mut Kubeconfig, context: Option<&str>) -> Option<String> {
    let context = context.or(kubeconfig.current_context.as_deref())?;
    let mut contexts = kubeconfig.contexts.iter();
    let context = contexts.find(|named| named.name == context)?;
    let name = &context.context.as_ref()?.cluster;
    let mut clusters = kubeconfig.clusters.iter_mut();
    let cluster = clusters.find(|named| named.name == *name)?;
    let proxy = cluster.cluster.as_mut()?.proxy_url.replace(TAKEN.into());
    proxy.filter(|proxy| !proxy.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "
apiVersion: v1
kind: Config
current-context: a
contexts:
- { name: a, context: { cluster: a, user: u } }
- { name: b, context: { cluster: b, user: u } }
- { name: c, context: { cluster: c, user: u } }
clusters:
- { name: a, cluster: { server: 'https://a:6443', proxy-url: 'http://proxy-a:1' } }
- { name: b, cluster: { server: 'https://b:6443' } }
- { name: c, cluster: { server: 'https://c:6443', proxy-url: '' } }
users:
- { name: u, user: { exec: { command: none, provideClusterInfo: true } } }
";

    #[tokio::test]
    async fn only_the_clusters_own_proxy_is_that_of_the_kubeconfig() {
        let cases = [
            (None, "a", Some("http://proxy-a:1")),
            (Some("a"), "a", Some("http://proxy-a:1")),
            (Some("b"), "b", None),
            (Some("c"), "c", None),
        ];
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kubeconfig");
        std::fs::write(&file, FILE).unwrap();
        for (context, host, want) in cases {
            let options = KubeConfigOptions {
                context: context.map(str::to_owned),
                ..KubeConfigOptions::default()
            };
            let kubeconfig = Kubeconfig::read_from(&file).unwrap();
            let (config, named) = from(kubeconfig, &options).await.unwrap();
            assert_eq!(named.as_deref(), want, "{context:?}");
            assert_eq!(config.cluster_url.host(), Some(host));
            assert_eq!(config.proxy_url, None);
            let told = config.auth_info.exec.unwrap().cluster.unwrap();
            assert_eq!(told.proxy_url.as_deref(), want, "{context:?}");
        }
    }
}
