//! Which controllers run, by the names and the rules of kube-controller-manager's `--controllers`
//! (kubernetes `cmd/kube-controller-manager/names`, controller-manager `app/helper.go`, `options/generic.go`).

use std::fmt;
use std::str::FromStr;

pub(crate) const CLAIM_PROTECTION: &str = "persistentvolumeclaim-protection-controller";
pub(crate) const CLASS_PROTECTION: &str = "volumeattributesclass-protection-controller";
pub(crate) const CLUSTER_ROLES: &str = "clusterrole-aggregation-controller";
pub(crate) const DAEMON_SETS: &str = "daemonset-controller";
pub(crate) const DEPLOYMENTS: &str = "deployment-controller";
pub(crate) const DISRUPTION: &str = "disruption-controller";
pub(crate) const GARBAGE: &str = "garbage-collector-controller";
pub(crate) const JOBS: &str = "job-controller";
pub(crate) const NAMESPACES: &str = "namespace-controller";
pub(crate) const NODE_LIFECYCLE: &str = "node-lifecycle-controller";
pub(crate) const QUOTAS: &str = "resourcequota-controller";
pub(crate) const REPLICA_SETS: &str = "replicaset-controller";
pub(crate) const REPLICATION_CONTROLLERS: &str = "replicationcontroller-controller";
pub(crate) const ROOT_CERTIFICATES: &str = "root-ca-certificate-publisher-controller";
pub(crate) const SERVICE_ACCOUNTS: &str = "serviceaccount-controller";
pub(crate) const STATEFUL_SETS: &str = "statefulset-controller";
pub(crate) const VOLUME_PROTECTION: &str = "persistentvolume-protection-controller";

/// The controllers that there are, each with its older name.
const KNOWN: [(&str, &str); 17] = [
    (CLUSTER_ROLES, "clusterrole-aggregation"),
    (DAEMON_SETS, "daemonset"),
    (DEPLOYMENTS, "deployment"),
    (DISRUPTION, "disruption"),
    (GARBAGE, "garbagecollector"),
    (JOBS, "job"),
    (NAMESPACES, "namespace"),
    (NODE_LIFECYCLE, "nodelifecycle"),
    (VOLUME_PROTECTION, "pv-protection"),
    (CLAIM_PROTECTION, "pvc-protection"),
    (REPLICA_SETS, "replicaset"),
    (REPLICATION_CONTROLLERS, "replicationcontroller"),
    (QUOTAS, "resourcequota"),
    (ROOT_CERTIFICATES, "root-ca-cert-publisher"),
    (SERVICE_ACCOUNTS, "serviceaccount"),
    (STATEFUL_SETS, "statefulset"),
    (CLASS_PROTECTION, CLASS_PROTECTION),
];
const ALL: &str = "*";

/// Which controllers run. `*` runs all, `foo` runs the controller `foo`, `-foo` does not; the first that names
/// a controller decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Controllers(Vec<String>);

/// A name that no controller has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownController(String);

impl Default for Controllers {
    /// All of them.
    fn default() -> Self {
        Self(vec![ALL.to_owned()])
    }
}

impl FromStr for Controllers {
    type Err = UnknownController;

    /// Reads a list with commas, such as `*,-garbage-collector-controller`.
    fn from_str(text: &str) -> Result<Self, UnknownController> {
        text.split(',')
            .map(canonical)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl Controllers {
    /// The names of the controllers that there are.
    pub fn known() -> impl Iterator<Item = &'static str> {
        KNOWN.iter().map(|(name, _)| *name)
    }

    /// Whether a controller runs.
    pub fn runs(&self, name: &str) -> bool {
        let of_name = self.0.iter().find_map(|said| match said.strip_prefix('-') {
            Some(off) => (off == name).then_some(false),
            None => (said == name).then_some(true),
        });
        of_name.unwrap_or_else(|| self.0.iter().any(|said| said == ALL))
    }
}

/// A part of the list, with the controller's present name.
fn canonical(said: &str) -> Result<String, UnknownController> {
    if said == ALL {
        return Ok(ALL.to_owned());
    }
    let (sign, name) = match said.strip_prefix('-') {
        Some(name) => ("-", name),
        None => ("", said),
    };
    let mut known = KNOWN.iter();
    let found = known.find(|(known, older)| *known == name || *older == name);
    let (known, _) = found.ok_or_else(|| UnknownController(name.to_owned()))?;
    Ok(format!("{sign}{known}"))
}

impl fmt::Display for UnknownController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<&str> = Controllers::known().collect();
        write!(
            f,
            "{:?} is not in the list of known controllers: {}",
            self.0,
            known.join(", ")
        )
    }
}

impl std::error::Error for UnknownController {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_names_a_controller_decides() {
        for (text, garbage, jobs) in [
            ("*", true, true),
            ("*,-garbage-collector-controller", false, true),
            ("-garbage-collector-controller,*", false, true),
            ("*,-garbagecollector", false, true),
            ("garbage-collector-controller", true, false),
            ("job-controller,-job-controller", false, true),
            ("-job-controller,job-controller", false, false),
            ("-job-controller", false, false),
        ] {
            let controllers: Controllers = text.parse().unwrap();
            assert_eq!(controllers.runs(GARBAGE), garbage, "{text}");
            assert_eq!(controllers.runs(JOBS), jobs, "{text}");
        }
        assert!(Controllers::known().all(|name| Controllers::default().runs(name)));
    }

    #[test]
    fn an_unknown_name_is_refused_with_those_that_are_known() {
        for text in ["foo", "*,-foo"] {
            let refused = text.parse::<Controllers>().unwrap_err().to_string();
            let start = "\"foo\" is not in the list of known controllers: clusterrole-aggregation-controller, ";
            assert!(refused.starts_with(start), "{refused}");
            assert!(refused.ends_with(CLASS_PROTECTION), "{refused}");
        }
        assert!("".parse::<Controllers>().is_err());
    }
}
