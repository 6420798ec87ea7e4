//! Exports a [`Reconciler`] through the contract.

use std::marker::PhantomData;

use crate::answer::Failure;
use crate::bindings::exports::windlass::plugin::controller::Guest;
use crate::bindings::windlass::plugin::types as wit;
use crate::host::Host;
use crate::reconciler::{Reconciler, all_needs};

/// The plugin's name and version; [`export!`](crate::export) takes them from the package.
pub trait Package {
    /// A DNS label.
    const NAME: &'static str;
    /// As people write it.
    const VERSION: &'static str;
}

/// The component that a reconciler and its package make.
pub struct Adapter<R, P>(PhantomData<(R, P)>);

impl<R: Reconciler, P: Package> Guest for Adapter<R, P> {
    fn describe() -> wit::Description {
        describe::<R>(P::NAME, P::VERSION)
    }

    fn reconcile(request: wit::Request) -> Result<wit::Action, wit::Failure> {
        let run = || -> Result<_, Failure> {
            let host = Host {
                attempt: request.attempt,
            };
            R::default().reconcile(&serde_json::from_str(&request.object)?, &host)
        };
        run().map(Into::into).map_err(Into::into)
    }

    fn finalize(request: wit::Request) -> Result<wit::Progress, wit::Failure> {
        let Some(finalize) = R::FINALIZE else {
            return Ok(wit::Progress::Done);
        };
        let run = || -> Result<_, Failure> {
            let host = Host {
                attempt: request.attempt,
            };
            finalize(
                &R::default(),
                &serde_json::from_str(&request.object)?,
                &host,
            )
        };
        run().map(Into::into).map_err(Into::into)
    }
}

/// What `R` says about itself.
fn describe<R: Reconciler>(name: &str, version: &str) -> wit::Description {
    let (api_version, kind) = R::WATCHES;
    let watch = R::watch();
    wit::Description {
        name: name.to_owned(),
        version: version.to_owned(),
        primaries: vec![wit::Watch {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            label_selector: watch.label_selector,
            field_selector: watch.field_selector,
            trigger: if watch.spec_changes_only {
                wit::Trigger::SpecChange
            } else {
                wit::Trigger::AnyChange
            },
            fields: watch.fields,
            finalizes: match R::FINALIZE {
                Some(_) => wit::Finalizes::Always,
                None => wit::Finalizes::Never,
            },
        }],
        needs: all_needs::<R>().into_rules().map(Into::into).collect(),
        crds: R::CRDS.iter().map(|&crd| crd.to_owned()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Cluster, Needs, Object, Progress, manage};

    #[derive(Default)]
    struct Rests;

    impl Reconciler for Rests {
        const WATCHES: (&'static str, &'static str) = ("x.dev/v1", "Policy");
        type Object = Object<serde_json::Value>;

        fn reconcile(&self, _: &Self::Object, _: &dyn Cluster) -> Result<Action, Failure> {
            Ok(Action::AwaitChange)
        }
    }

    #[derive(Default)]
    struct Cleans;

    impl Reconciler for Cleans {
        const WATCHES: (&'static str, &'static str) = Rests::WATCHES;
        const FINALIZE: Option<crate::Finalize<Self>> = Some(|_, _, _| Ok(Progress::Done));
        const WRITES_STATUS: bool = true;
        const CRDS: &'static [&'static str] = &[r#"{ "kind": "CustomResourceDefinition" }"#];
        type Object = Object<serde_json::Value>;

        fn needs() -> Needs {
            manage("v1", "ConfigMap")
        }

        fn reconcile(&self, _: &Self::Object, _: &dyn Cluster) -> Result<Action, Failure> {
            Ok(Action::AwaitChange)
        }
    }

    #[test]
    fn the_primary_is_among_the_needs_finalizing_takes_patch_and_a_status_is_asked_for_if_it_is_written()
     {
        let needs = |description: &wit::Description| -> Vec<String> {
            let line = |rule: &wit::Rule| rule.resources.join(" ") + ": " + &rule.verbs.join(" ");
            description.needs.iter().map(line).collect()
        };
        let rests = describe::<Rests>("rests", "1.0.0");
        assert_eq!(needs(&rests), ["policies: get list watch"]);
        assert_eq!(rests.primaries[0].finalizes, wit::Finalizes::Never);
        let cleans = describe::<Cleans>("cleans", "1.0.0");
        assert_eq!(
            needs(&cleans),
            [
                "policies: get list watch patch",
                "policies/status: patch",
                "configmaps: get list watch create patch delete",
            ],
        );
        assert_eq!(cleans.primaries[0].finalizes, wit::Finalizes::Always);
    }

    #[test]
    fn definitions_are_carried_as_they_are_written() {
        assert!(describe::<Rests>("rests", "1.0.0").crds.is_empty());
        assert_eq!(describe::<Cleans>("cleans", "1.0.0").crds, Cleans::CRDS);
    }
}
