//! The contract test catches every bug that the embedded server can be given on purpose (`make mutants`).
//!
//! The scenarios that must catch them are played on a real server once, on an embedded one as it is, and then
//! on one with each bug. `WINDLASS_CONTRACT_FIRST` is the kubeconfig of a real server that is there already,
//! and `WINDLASS_MUTANT` the name of a bug that alone is tried.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use tokio::time::timeout;
use windlass_apiserver::mutants::{Mutant, choose};
use windlass_contract::judge::{answers, compared};
use windlass_contract::listed::Listed;
use windlass_contract::mask::Masks;
use windlass_contract::play::Entry;
use windlass_contract::scenario::Scenario;
use windlass_contract::server::Server;
use windlass_contract::suite;

/// How long a scenario may take on the embedded server: who then still waits for something does so in vain.
const DEADLINE: Duration = Duration::from_secs(20);
const AT_ONCE: usize = 8;

/// The scenarios each of which catches a bug.
const fn caught_by(mutant: Mutant) -> &'static [&'static str] {
    match mutant {
        Mutant::ForceLeavesTheOldOwner => &["ssa/conflict"],
        Mutant::AppliedFieldsAreNeverRemoved => &["ssa/removed-fields"],
        Mutant::SharedFieldsAreRemoved => &["ssa/shared-values"],
        Mutant::ItemsAreReplaced => &["ssa/list-map", "ssa/containers"],
        Mutant::ScalingLeavesTheOldOwner => &["ssa/scale-ownership"],
        Mutant::LeavingObjectsAreSentAsTheyAre => {
            &["watch/label-transitions", "watch/field-transitions-of-pods"]
        }
        Mutant::InitialEventsEndUnmarked => {
            &["watch/initial-events", "watch/initial-events-of-nothing"]
        }
        Mutant::TooOldVersionsAreServed => &["watch/too-old-version"],
        Mutant::WatchesBeginOneVersionEarlier => &["watch/from-version"],
        Mutant::TheLastBookmarkIsLeftOut => &["watch/bookmark-before-timeout"],
        Mutant::ObjectsOutliveTheirLastFinalizer => &["gc/finalizer-life", "watch/finalizers"],
        Mutant::OwnersDoNotWaitForTheirDependents => &["gc/foreground"],
        Mutant::OrphansKeepTheirOwner => &["gc/orphan", "gc/orphan-several"],
        Mutant::OwnersAreKnownByName => &["gc/owner-with-another-uid"],
        Mutant::DependentsStayByDefault => &["gc/default-policy"],
        Mutant::DeletionsIgnoreTheUid => &["write/delete-preconditions"],
        Mutant::UpdatesIgnoreTheVersion => &["write/update-conflict", "ssa/version-precondition"],
        Mutant::WritesOfNothingAreWritten => &["write/no-op-is-elided", "watch/apply"],
        Mutant::GenerationGrowsWithMetadata => &["write/generation-of-custom-resources"],
        Mutant::DryRunsAreWritten => &["write/dry-run", "ssa/dry-run"],
        Mutant::UpdatesWriteTheStatus => {
            &["subresources/status-on-create", "patch/status-and-spec"]
        }
        Mutant::UidsComeBack => &["write/recreate-with-uid", "gc/owner-recreated"],
        Mutant::GenerateNameWins => &["write/generate-name"],
        Mutant::OnlyTheFirstFaultIsReported => {
            &["crd/validate-everything-at-once", "builtin/pod-invalid"]
        }
        Mutant::TerminatingNamespacesTakeMore => &["namespaces/terminating"],
        Mutant::ItemsAreNotPruned => &["crd/pruning-deep"],
        Mutant::ValuesOfMapsAreNotDefaulted => &["crd/defaulting"],
        Mutant::ItemsAreComparedByTheirPlace => &["crd/cel-keyed-items"],
        Mutant::OldFaultsAreNotForgiven => &["crd/ratcheting"],
        Mutant::PagesRepeatTheirLastItem => &["list/pages", "list/many-pages"],
        Mutant::NotinWantsTheLabel => &["list/labels-sets"],
        Mutant::TestsOfNothingFail => &["patch/json-test-absent-null"],
        Mutant::DeleteDirectivesAreIgnored => &["patch/strategic-maps"],
        Mutant::MergedNullsStay => &["patch/merge"],
        Mutant::VersionsAreNotSorted => &["discovery/new-custom-kind"],
        Mutant::TypesDoNotSayTheirKind => &["openapi/custom-kinds"],
        Mutant::EventsAreNotTranslated => &["events/two-apis-one-store"],
        Mutant::ColumnsDoNotShowLists => &["crd/printer-column-types"],
        Mutant::SubresourcesNeedNoRightOfTheirOwn => &["access/role"],
        Mutant::ImpersonatorsKeepTheirGroups => &["access/self-subject-review", "access/denied"],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_bug_is_caught() -> Result<()> {
    ensure!(Mutant::ALL.len() == 40, "{} bugs", Mutant::ALL.len());
    let trial = Trial::new().await?;
    let differing = trial.differing(None).await?;
    ensure!(
        differing.is_empty(),
        "without a bug, these differ: {differing:?}"
    );
    let mut missed = Vec::new();
    for mutant in &trial.mutants {
        let differing = trial.differing(Some(*mutant)).await?;
        let caught = |scenario: &&&str| differing.iter().any(|title| title == **scenario);
        let blind: Vec<_> = caught_by(*mutant).iter().filter(|s| !caught(s)).collect();
        // Written and not printed: a passing test's prints are not shown.
        let said = if blind.is_empty() { "caught" } else { "missed" };
        let _ = writeln!(std::io::stderr(), "{said} {mutant:?}");
        missed.extend(
            blind
                .iter()
                .map(|scenario| format!("{scenario} does not see {mutant:?}")),
        );
    }
    ensure!(missed.is_empty(), "{}", missed.join("\n"));
    Ok(())
}

/// What the real server answered, and what is tried.
struct Trial {
    mutants: Vec<Mutant>,
    scenarios: Vec<Scenario>,
    /// The real server's answers by scenario.
    right: BTreeMap<String, Vec<Entry>>,
    masks: Masks,
    listed: Vec<Listed>,
}

impl Trial {
    async fn new() -> Result<Self> {
        let mut mutants = Mutant::ALL.to_vec();
        if let Ok(name) = std::env::var("WINDLASS_MUTANT") {
            mutants.retain(|mutant| format!("{mutant:?}") == name);
            ensure!(!mutants.is_empty(), "there is no bug {name}");
        }
        let titles: Vec<&str> = mutants
            .iter()
            .flat_map(|m| caught_by(*m))
            .copied()
            .collect();
        let mut scenarios = suite::scenarios()?;
        scenarios.retain(|scenario| titles.contains(&scenario.title().as_str()));
        for title in &titles {
            let there = scenarios.iter().any(|scenario| scenario.title() == *title);
            ensure!(there, "there is no scenario {title}");
        }
        let mut trial = Self {
            mutants,
            scenarios,
            right: BTreeMap::new(),
            masks: suite::masks()?,
            listed: suite::listed()?,
        };
        let real = match std::env::var_os("WINDLASS_CONTRACT_FIRST") {
            None => Server::real("real").await?,
            Some(kubeconfig) => Server::at("real", Path::new(&kubeconfig)).await?,
        };
        let right = stream::iter(&trial.scenarios)
            .map(async |scenario| {
                let answers = answers(&real, scenario, &trial.masks).await?;
                anyhow::Ok((scenario.title(), answers))
            })
            .buffered(AT_ONCE);
        trial.right = right.try_collect().await?;
        Ok(trial)
    }

    /// The scenarios in which an embedded server answers otherwise, of those that must catch its bug; of all
    /// if it has none.
    async fn differing(&self, mutant: Option<Mutant>) -> Result<Vec<String>> {
        let server = Server::embedded("embedded").await?;
        // Only now: it has the kinds that scenarios share.
        choose(mutant);
        let wanted = |title: &str| mutant.is_none_or(|mutant| caught_by(mutant).contains(&title));
        let scenarios = self.scenarios.iter();
        let differing: Vec<Option<String>> =
            stream::iter(scenarios.filter(|scenario| wanted(&scenario.title())))
                .map(async |scenario| {
                    let differs = self.differs(&server, scenario).await?;
                    anyhow::Ok(differs.then(|| scenario.title()))
                })
                .buffered(AT_ONCE)
                .try_collect()
                .await?;
        choose(None);
        Ok(differing.into_iter().flatten().collect())
    }

    async fn differs(&self, server: &Server, scenario: &Scenario) -> Result<bool> {
        let played = timeout(DEADLINE, answers(server, scenario, &self.masks)).await;
        let Ok(played) = played else {
            return Ok(true);
        };
        let played = played?;
        let right = self.right.get(&scenario.title());
        let right = right.context("the real server was not asked")?;
        let verdict = compared(
            scenario,
            ["real", "embedded"],
            [right, &played],
            &self.listed,
        );
        Ok(!verdict.faults.is_empty())
    }
}
