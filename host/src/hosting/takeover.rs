//! Whether a version can be called in the place of another one, by the same controller: pure.
//!
//! - Everything that a controller is made of is compared. Everything else is read again for each call, or set when a version
//!   takes over. A new field does not compile until somebody has said here which of the two it is.

use std::time::Duration;

use windlass_egress::Rules;

use windlass_kube::api::ServiceAccount;
use windlass_policy::grants::Grants;
use windlass_policy::manifest::{Limits, Mode, ObjectAnnotations};
use windlass_sandbox::{Description, PrimaryWatch};

/// What a controller is made for.
#[derive(Clone, Copy)]
pub(super) struct Wants<'a> {
    pub(super) description: &'a Description,
    pub(super) finalizer: Option<&'a str>,
    pub(super) replaces: &'a [String],
    pub(super) grants: &'a Grants,
    pub(super) service_account: Option<&'a ServiceAccount>,
    pub(super) http: &'a Rules,
    pub(super) limits: &'a Limits,
    pub(super) resync: Duration,
    pub(super) mode: Mode,
    pub(super) object_annotations: ObjectAnnotations,
}

impl Wants<'_> {
    /// Whether a controller that was made for this serves `other` as well.
    pub(super) fn serve(&self, other: &Self) -> bool {
        same_sight(self.description, other.description)
            && same_steps(self.description, other.description)
            && self.finalizer == other.finalizer
            && self.replaces == other.replaces
            && self.description.crds == other.description.crds
            && self.grants == other.grants
            && self.service_account == other.service_account
            && self.http == other.http
            && same_workers(self.limits, other.limits)
            && self.resync == other.resync
            && self.mode == other.mode
            && self.object_annotations == other.object_annotations
    }
}

/// Whether two versions see the same objects, and the same fields of them.
pub(super) fn same_sight(one: &Description, two: &Description) -> bool {
    let Description {
        primaries,
        needs,
        name: _,
        version: _,
        // What of them is allowed is compared with the document.
        origins: _,
        // Nobody sees another one because of them.
        crds: _,
    } = one;
    let mut pairs = primaries.iter().zip(&two.primaries);
    primaries.len() == two.primaries.len()
        && pairs.all(|(one, two)| same_objects(one, two))
        && *needs == two.needs
}

/// Whether the same objects of a kind are reconciled, by the same fields.
fn same_objects(one: &PrimaryWatch, two: &PrimaryWatch) -> bool {
    let PrimaryWatch {
        api_version,
        kind,
        label_selector,
        field_selector,
        fields,
        finalizes: _,
        finalizes_on_leave: _,
        spec_change_only: _,
    } = one;
    (api_version, kind, fields) == (&two.api_version, &two.kind, &two.fields)
        && (label_selector, field_selector) == (&two.label_selector, &two.field_selector)
}

/// Whether two versions that see the same are called for the same reasons.
fn same_steps(one: &Description, two: &Description) -> bool {
    let steps = |primary: &PrimaryWatch| {
        let leave = primary.finalizes_on_leave;
        (primary.finalizes, leave, primary.spec_change_only)
    };
    let (one, two) = (one.primaries.iter(), two.primaries.iter());
    one.map(steps).eq(two.map(steps))
}

/// Whether two versions have the same workers.
fn same_workers(one: &Limits, two: &Limits) -> bool {
    let Limits {
        concurrency,
        // Each call has those of the version that it calls.
        memory: _,
        cpu: _,
        deadline: _,
        api_calls: _,
        api_rate: _,
        log_bytes_per_second: _,
        // Set when a version takes over: by `Plugin::take_over`, the weight of its Events by `Worker::weigh_events`.
        host_memory: _,
        weight: _,
    } = one;
    *concurrency == two.concurrency
}

#[cfg(test)]
mod tests {
    use windlass_egress::Origin;

    use super::*;
    use windlass_base::memory::Bounds;
    use windlass_kube::object::Fields;
    use windlass_policy::grants::Grant;
    use windlass_policy::manifest::ApiRate;
    use windlass_sandbox::Finalizes;

    fn serves(change: impl Fn(&mut Description, &mut Grants, &mut Limits, &mut Duration)) -> bool {
        let described = Description::asking("x.dev", "xes", &["get", "watch"]);
        let (granted, limits) = (Grants::default(), Limits::default());
        let resync = Duration::from_secs(600);
        let wants = Wants {
            description: &described,
            finalizer: None,
            replaces: &[],
            grants: &granted,
            service_account: None,
            http: &Rules::default(),
            limits: &limits,
            resync,
            mode: Mode::Run,
            object_annotations: ObjectAnnotations::Follow,
        };
        let mut other = (described.clone(), granted.clone(), limits, resync);
        change(&mut other.0, &mut other.1, &mut other.2, &mut other.3);
        let (description, grants, limits, resync) = &other;
        wants.serve(&Wants {
            description,
            finalizer: None,
            replaces: &[],
            grants,
            service_account: None,
            http: &Rules::default(),
            limits,
            resync: *resync,
            mode: Mode::Run,
            object_annotations: ObjectAnnotations::Follow,
        })
    }

    #[test]
    fn what_a_version_says_of_itself_decides_whether_it_can_be_swapped_in() {
        type Change = fn(&mut Description);
        let rows: [(&str, Change, bool); 16] = [
            ("nothing", |_| {}, true),
            ("name", |it| it.name.push('x'), true),
            ("version", |it| it.version.push('x'), true),
            (
                "api_version",
                |it| it.primaries[0].api_version.push('1'),
                false,
            ),
            ("kind", |it| it.primaries[0].kind.push('x'), false),
            (
                "label_selector",
                |it| it.primaries[0].label_selector = Some("a".into()),
                false,
            ),
            (
                "field_selector",
                |it| it.primaries[0].field_selector = Some("a=b".into()),
                false,
            ),
            (
                "fields",
                |it| it.primaries[0].fields = Fields::parse([".spec"]).unwrap(),
                false,
            ),
            (
                "spec_change_only",
                |it| it.primaries[0].spec_change_only = !it.primaries[0].spec_change_only,
                false,
            ),
            (
                "finalizes",
                |it| it.primaries[0].finalizes = Finalizes::OnRequest,
                false,
            ),
            (
                "finalizes_on_leave",
                |it| it.primaries[0].finalizes_on_leave = true,
                false,
            ),
            (
                "another kind",
                |it| it.primaries.push(PrimaryWatch::of("x.dev/v1", "Y")),
                false,
            ),
            ("no kind", |it| it.primaries.clear(), false),
            ("needs", |it| it.needs.clear(), false),
            (
                "origins",
                |it| it.origins.push(Origin::parse("https://a.example").unwrap()),
                true,
            ),
            ("crds", |it| it.crds.push("kind: X".into()), false),
        ];
        for (field, change, want) in rows {
            assert_eq!(serves(|it, _, _, _| change(it)), want, "{field}");
        }
    }

    #[test]
    fn grants_and_resync_need_another_controller() {
        let grant = || {
            Grant::suggested(
                "",
                &["configmaps"],
                &["get"],
                windlass_policy::grants::Namespaces::All,
            )
        };
        let granted = serves(|_, grants, _, _| *grants = Grants::new(vec![grant()]).unwrap());
        assert!(!granted);
        assert!(!serves(|_, _, _, resync| *resync *= 2));
    }

    #[test]
    fn another_service_account_needs_another_controller() {
        let described = Description::asking("x.dev", "xes", &["get", "watch"]);
        let account = |name| ServiceAccount::new("apps", name).unwrap();
        let (one, two) = (account("one"), account("two"));
        let (granted, http, limits) = (Grants::default(), Rules::default(), Limits::default());
        let wants = |service_account| Wants {
            description: &described,
            finalizer: None,
            replaces: &[],
            grants: &granted,
            service_account,
            http: &http,
            limits: &limits,
            resync: Duration::from_secs(600),
            mode: Mode::Run,
            object_annotations: ObjectAnnotations::Follow,
        };
        let rows = [
            (None, None, true),
            (Some(&one), Some(&one), true),
            (Some(&one), Some(&two), false),
            (Some(&one), None, false),
            (None, Some(&one), false),
        ];
        for (old, new, want) in rows {
            assert_eq!(wants(old).serve(&wants(new)), want, "{old:?} {new:?}");
        }
    }

    #[test]
    fn a_limit_needs_another_controller_if_it_counts_workers() {
        type Change = fn(&mut Limits);
        const RATE: Option<ApiRate> = Some(ApiRate {
            per_second: 9,
            burst: 18,
        });
        let rows: [(&str, Change, bool); 9] = [
            ("memory", |it| it.memory *= 2, true),
            ("cpu", |it| it.cpu *= 2, true),
            ("deadline", |it| it.deadline *= 2, true),
            ("concurrency", |it| it.concurrency *= 2, false),
            ("apiCalls", |it| it.api_calls *= 2, true),
            ("hostMemory", |it| it.host_memory = Bounds::NONE, true),
            ("weight", |it| it.weight *= 2, true),
            ("apiQPS", |it| it.api_rate = RATE, true),
            ("logBytesPerSecond", |it| it.log_bytes_per_second *= 2, true),
        ];
        for (limit, change, want) in rows {
            assert_eq!(serves(|_, _, it, _| change(it)), want, "{limit}");
        }
    }
}
