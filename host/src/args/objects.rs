//! Flags of the commands that change objects of a cluster.

use std::path::PathBuf;

use clap::Args;

use super::Cluster;

/// Annotate an object, for the host that reconciles it.
#[derive(Debug, Args)]
pub struct AnnotateFlags {
    /// The object, as KIND/NAME or KIND NAME; KIND is a kind, its plural or its short name, optionally with .GROUP
    #[arg(required = true, num_args = 1..=2, value_name = "KIND/NAME")]
    pub object: Vec<String>,
    /// The object's namespace [default: the context's]
    #[arg(long, short, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Kubeconfig file [default: that of the host that `windlass dev` runs in this folder, then KUBECONFIG, then ~/.kube/config, then the pod's service account]
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME", help_heading = "Cluster")]
    pub context: Option<String>,
}

impl AnnotateFlags {
    /// Which cluster, and the namespace of the object there.
    pub fn cluster(&self) -> Cluster {
        Cluster {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            namespace: self.namespace.clone(),
        }
    }
}

/// Kind and name of an object that is given as KIND/NAME or KIND NAME; `None` if it is neither.
pub fn named(object: &[String]) -> Option<(&str, &str)> {
    let named = match object {
        [one] => one.split_once('/')?,
        [kind, name] => (kind.as_str(), name.as_str()),
        _ => return None,
    };
    let (kind, name) = named;
    (!kind.is_empty() && !name.is_empty() && !name.contains('/')).then_some(named)
}

/// Remove a plugin's finalizers from all objects.
#[derive(Debug, Args)]
pub struct Release {
    /// The plugin's name
    pub plugin: String,
    /// Release objects of this resource only, for example greetings.examples.windlass.dev
    #[arg(long, value_name = "RESOURCE")]
    pub resource: Option<String>,
    /// Print the objects that would be released, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Which cluster
    #[command(flatten)]
    pub cluster: Cluster,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_named_in_one_word_or_two() {
        for object in [&["greeting/ada"][..], &["greeting", "ada"]] {
            let object: Vec<String> = object.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(named(&object), Some(("greeting", "ada")), "{object:?}");
        }
        let dotted = ["greetings.x.dev/ada".to_owned()];
        assert_eq!(named(&dotted), Some(("greetings.x.dev", "ada")));
        for object in [
            &["greeting"][..],
            &["/ada"],
            &["greeting/"],
            &["greeting", ""],
            &["greeting/ns/ada"],
        ] {
            let object: Vec<String> = object.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(named(&object), None, "{object:?}");
        }
    }
}
