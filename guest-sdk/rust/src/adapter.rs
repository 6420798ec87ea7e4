//! Exports a [`Reconciler`] through the contract.

use std::marker::PhantomData;

use serde::Deserialize;

use crate::answer::{Action, Failure, Progress};
use crate::bindings::exports::windlass::plugin::controller::Guest;
use crate::bindings::going::exports::windlass::plugin::going;
use crate::bindings::windlass::plugin::types as wit;
use crate::host::Host;
use crate::needs::EVERY_KIND;
use crate::reconciler::{Reconciler, all_needs};

/// The plugin's name and version; [`export!`](crate::export) takes them from the package.
pub trait Package {
    /// A DNS label.
    const NAME: &'static str;
    /// As people write it.
    const VERSION: &'static str;
}

/// The component that reconcilers and their package make.
pub struct Adapter<K, P>(PhantomData<(K, P)>);

/// Reconcilers, one for each kind: [`export!`](crate::export) makes a list of them, [`And`] after [`And`].
#[doc(hidden)]
pub trait Reconcilers {
    /// How many there are.
    const COUNT: usize;

    /// Whether one of them is for this kind, and names it.
    fn name(kind: &TypeMeta) -> bool;

    /// What they say about themselves: kinds, needs and definitions.
    fn describe(description: &mut wit::Description);

    /// Calls `reconcile` of the one for the kind of the object; without a kind, of the first one.
    fn reconcile(kind: Option<&TypeMeta>, request: &wit::Request) -> Result<Action, Failure>;

    /// Calls `finalize` of the one for the kind of the object; without a kind, of the first one.
    fn finalize(kind: Option<&TypeMeta>, request: &wit::Request) -> Result<Progress, Failure>;
}

/// A reconciler, and the others.
#[doc(hidden)]
pub struct And<R, Others>(PhantomData<(R, Others)>);

/// The kind of an object.
#[doc(hidden)]
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TypeMeta {
    api_version: String,
    kind: String,
}

impl TypeMeta {
    /// The kind of the object in `request`, if there are several.
    fn of<K: Reconcilers>(request: &wit::Request) -> Result<Option<Self>, Failure> {
        if K::COUNT == 1 {
            return Ok(None);
        }
        Ok(Some(serde_json::from_str(&request.object)?))
    }

    /// Whether `R` reconciles it, and no one after it that names it.
    pub(crate) fn is_for<R: Reconciler, Others: Reconcilers>(&self) -> bool {
        self.is(R::WATCHES) || R::WATCHES == EVERY_KIND && !Others::name(self)
    }

    fn is(&self, (api_version, kind): (&str, &str)) -> bool {
        (&*self.api_version, &*self.kind) == (api_version, kind)
    }
}

impl Reconcilers for () {
    const COUNT: usize = 0;

    fn name(_: &TypeMeta) -> bool {
        false
    }

    fn describe(_: &mut wit::Description) {}

    fn reconcile(kind: Option<&TypeMeta>, _: &wit::Request) -> Result<Action, Failure> {
        Err(nobody(kind))
    }

    fn finalize(kind: Option<&TypeMeta>, _: &wit::Request) -> Result<Progress, Failure> {
        Err(nobody(kind))
    }
}

pub(crate) fn nobody(kind: Option<&TypeMeta>) -> Failure {
    let kind = kind.map_or(String::new(), |it| {
        format!("{} of {}", it.kind, it.api_version)
    });
    Failure::Terminal(format!("the plugin does not reconcile {kind}"))
}

impl<R: Reconciler, Others: Reconcilers> Reconcilers for And<R, Others> {
    const COUNT: usize = 1 + Others::COUNT;

    fn name(kind: &TypeMeta) -> bool {
        kind.is(R::WATCHES) || Others::name(kind)
    }

    fn describe(description: &mut wit::Description) {
        let needs = all_needs::<R>().into_rules().map(Into::into);
        description.primaries.push(watch::<R>());
        description.needs.extend(needs);
        for origin in R::ORIGINS {
            if description.origins.iter().all(|held| held != origin) {
                description.origins.push((*origin).to_owned());
            }
        }
        let crds = R::CRDS.iter().map(|&crd| crd.to_owned());
        description.crds.extend(crds);
        Others::describe(description);
    }

    fn reconcile(kind: Option<&TypeMeta>, request: &wit::Request) -> Result<Action, Failure> {
        if kind.is_some_and(|kind| !kind.is_for::<R, Others>()) {
            return Others::reconcile(kind, request);
        }
        let host = Host {
            attempt: request.attempt,
        };
        R::default().reconcile(&serde_json::from_str(&request.object)?, &host)
    }

    fn finalize(kind: Option<&TypeMeta>, request: &wit::Request) -> Result<Progress, Failure> {
        if kind.is_some_and(|kind| !kind.is_for::<R, Others>()) {
            return Others::finalize(kind, request);
        }
        let Some(finalize) = R::FINALIZE else {
            return Ok(Progress::Done);
        };
        let host = Host {
            attempt: request.attempt,
        };
        let object = serde_json::from_str(&request.object)?;
        finalize(&R::default(), &object, &host)
    }
}

impl<K: Reconcilers, P: Package> Guest for Adapter<K, P> {
    fn describe() -> wit::Description {
        describe::<K>(P::NAME, P::VERSION)
    }

    fn reconcile(request: wit::Request) -> Result<wit::Action, wit::Failure> {
        let run = || K::reconcile(TypeMeta::of::<K>(&request)?.as_ref(), &request);
        run().map(Into::into).map_err(Into::into)
    }

    fn finalize(request: wit::Request) -> Result<wit::Progress, wit::Failure> {
        let run = || K::finalize(TypeMeta::of::<K>(&request)?.as_ref(), &request);
        run().map(Into::into).map_err(Into::into)
    }
}

/// Reconcilers that are called for what is being deleted: [`export_going!`](crate::export_going) makes a list of them.
#[doc(hidden)]
pub trait GoingReconcilers {
    /// Calls `reconcile_going` of the one for the kind of the object. For another kind there is nothing to do.
    fn reconcile_going(kind: &TypeMeta, request: &wit::Request) -> Result<Action, Failure>;
}

impl GoingReconcilers for () {
    fn reconcile_going(_: &TypeMeta, _: &wit::Request) -> Result<Action, Failure> {
        Ok(Action::AwaitChange)
    }
}

impl<R: Reconciler, Others: GoingReconcilers + Reconcilers> GoingReconcilers for And<R, Others> {
    fn reconcile_going(kind: &TypeMeta, request: &wit::Request) -> Result<Action, Failure> {
        if !kind.is_for::<R, Others>() {
            return Others::reconcile_going(kind, request);
        }
        let host = Host {
            attempt: request.attempt,
        };
        let Some(reconcile_going) = R::RECONCILE_GOING else {
            return Ok(Action::AwaitChange);
        };
        reconcile_going(
            &R::default(),
            &serde_json::from_str(&request.object)?,
            &host,
        )
    }
}

/// The optional export that reconcilers make.
pub struct GoingAdapter<K>(PhantomData<K>);

impl<K: GoingReconcilers> going::Guest for GoingAdapter<K> {
    fn reconcile_going(request: wit::Request) -> Result<wit::Action, wit::Failure> {
        let run = || K::reconcile_going(&serde_json::from_str(&request.object)?, &request);
        run().map(Into::into).map_err(Into::into)
    }
}

/// What `K` says about itself.
pub(crate) fn describe<K: Reconcilers>(name: &str, version: &str) -> wit::Description {
    let mut description = wit::Description {
        name: name.to_owned(),
        version: version.to_owned(),
        primaries: Vec::new(),
        needs: Vec::new(),
        origins: Vec::new(),
        crds: Vec::new(),
    };
    K::describe(&mut description);
    description
}

/// Which objects `R` reconciles.
fn watch<R: Reconciler>() -> wit::Watch {
    let (api_version, kind) = R::WATCHES;
    let watch = R::watch();
    wit::Watch {
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
            Some(_) if watch.finalizes_on_request => wit::Finalizes::OnRequest,
            Some(_) => wit::Finalizes::Always,
            None => wit::Finalizes::Never,
        },
        on_leave: if watch.finalizes_on_leave {
            wit::OnLeave::Finalize
        } else {
            wit::OnLeave::Forget
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cluster, Needs, Object, manage};

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
        let rests = describe::<And<Rests, ()>>("rests", "1.0.0");
        assert_eq!(needs(&rests), ["policies: get list watch"]);
        assert_eq!(rests.primaries[0].finalizes, wit::Finalizes::Never);
        let cleans = describe::<And<Cleans, ()>>("cleans", "1.0.0");
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
        assert!(describe::<And<Rests, ()>>("rests", "1.0.0").crds.is_empty());
        assert_eq!(
            describe::<And<Cleans, ()>>("cleans", "1.0.0").crds,
            Cleans::CRDS
        );
    }

    #[derive(Default)]
    struct Waits;

    impl Reconciler for Waits {
        const WATCHES: (&'static str, &'static str) = ("v1", "ConfigMap");
        const RECONCILE_GOING: Option<crate::ReconcileGoing<Self>> =
            Some(|_, _, _| Err(Failure::Terminal("it goes".into())));
        type Object = serde_json::Value;

        fn reconcile(&self, _: &Self::Object, _: &dyn Cluster) -> Result<Action, Failure> {
            Ok(Action::RequeueAfter(std::time::Duration::from_secs(1)))
        }
    }

    #[test]
    fn of_several_reconcilers_the_one_for_the_kind_is_called() {
        type Both = And<Cleans, And<Waits, ()>>;
        let described = describe::<Both>("both", "1.0.0");
        let kinds = described.primaries.iter().map(|it| &*it.kind);
        assert_eq!(kinds.collect::<Vec<_>>(), ["Policy", "ConfigMap"]);
        assert_eq!(described.needs.len(), 4, "{:?}", described.needs);
        let request = |api_version: &str, kind: &str| wit::Request {
            object: format!(
                r#"{{"apiVersion":"{api_version}","kind":"{kind}","metadata":{{"name":"a"}},"spec":{{}}}}"#
            ),
            attempt: 0,
        };
        struct Named;
        impl Package for Named {
            const NAME: &'static str = "both";
            const VERSION: &'static str = "1.0.0";
        }
        type Component = Adapter<Both, Named>;
        let policy = request("x.dev/v1", "Policy");
        let map = request("v1", "ConfigMap");
        let of = |request: &wit::Request| Component::reconcile(request.clone());
        assert!(matches!(of(&policy), Ok(wit::Action::AwaitChange)));
        assert!(matches!(of(&map), Ok(wit::Action::RequeueAfter(1000))));
        assert!(matches!(Component::finalize(map), Ok(wit::Progress::Done)));
        let other = of(&request("y.dev/v1", "Policy")).unwrap_err();
        let wit::Failure::Terminal(text) = other else {
            panic!("{other:?}");
        };
        assert_eq!(text, "the plugin does not reconcile Policy of y.dev/v1");
    }

    #[derive(Default)]
    struct Sees;

    impl Reconciler for Sees {
        const WATCHES: (&'static str, &'static str) = ("*", "*");
        type Object = serde_json::Value;

        fn needs() -> Needs {
            crate::need("*", "*", &["delete"])
        }

        fn reconcile(&self, object: &Self::Object, _: &dyn Cluster) -> Result<Action, Failure> {
            Err(Failure::Terminal(format!("sees {}", object["kind"])))
        }
    }

    #[test]
    fn a_reconciler_for_every_kind_is_called_for_those_that_no_other_names() {
        type All = And<Sees, And<Waits, ()>>;
        let described = describe::<All>("all", "1.0.0");
        assert_eq!(described.primaries[0].kind, "*");
        let needs = described.needs.iter();
        let needs: Vec<_> = needs
            .map(|rule| {
                format!(
                    "{:?} {:?} {:?}",
                    rule.api_groups, rule.resources, rule.verbs
                )
            })
            .collect();
        let want = [
            r#"["*"] ["*"] ["delete"]"#,
            r#"[""] ["configmaps"] ["get", "list", "watch"]"#,
        ];
        assert_eq!(needs, want);
        let of = |kind: &str| {
            let object = format!(r#"{{"apiVersion":"v1","kind":"{kind}","metadata":{{}}}}"#);
            let kind = serde_json::from_str(&object).unwrap();
            All::reconcile(Some(&kind), &wit::Request { object, attempt: 0 })
        };
        assert!(matches!(of("ConfigMap"), Ok(Action::RequeueAfter(_))));
        let seen = of("Secret").unwrap_err();
        assert!(matches!(seen, Failure::Terminal(text) if text == r#"sees "Secret""#));
    }

    #[test]
    fn of_what_is_being_deleted_the_kinds_are_called_that_ask_for_it() {
        type Going = GoingAdapter<And<Waits, ()>>;
        let of = |kind: &str| {
            let object =
                format!(r#"{{"apiVersion":"v1","kind":"{kind}","metadata":{{"name":"a"}}}}"#);
            <Going as going::Guest>::reconcile_going(wit::Request { object, attempt: 0 })
        };
        assert!(matches!(of("ConfigMap"), Err(wit::Failure::Terminal(_))));
        assert!(matches!(of("Secret"), Ok(wit::Action::AwaitChange)));
    }
}
