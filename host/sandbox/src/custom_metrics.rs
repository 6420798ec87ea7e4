//! Numbers that a plugin gives itself: counters, gauges and histograms, checked and bounded.
//!
//! - A guest is hostile: names, labels, series and values have bounds, and what is beyond them is dropped.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::bindings::metrics::Label;
use windlass_base::text::clean;

/// So many names a plugin may use.
const NAMES: usize = 50;
/// So many series it may have in all.
const SERIES: usize = 500;
/// So many labels a series may have.
pub(super) const LABELS: usize = 8;
/// The longest name.
const NAME: usize = 64;
/// The longest value of a label.
const VALUE: usize = 128;
/// How the parts of counters and histograms are called, beside the name (OpenMetrics 1.0).
const ENDINGS: [&str; 6] = ["_total", "_sum", "_count", "_bucket", "_created", "_info"];
/// The upper bounds of histograms (Prometheus' `DefBuckets`).
pub const BUCKETS: [f64; 11] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// The numbers of one plugin, for who reads them, or for one of its versions to add to. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct CustomMetrics {
    held: Arc<Mutex<Measurements>>,
    edition: u64,
}

#[derive(Debug, Default)]
struct Measurements {
    /// How often they have begun again. What is said for another edition is dropped: that version is gone.
    edition: u64,
    families: BTreeMap<String, CustomFamily>,
    series: usize,
    dropped: u64,
}

/// All series of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomFamily {
    /// What it is.
    pub kind: MetricKind,
    /// By its labels, which are sorted.
    pub series: BTreeMap<Vec<(String, String)>, Number>,
}

/// What a number means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Values, counted by size.
    Histogram,
}

/// The number of a series.
#[derive(Clone, Debug, PartialEq)]
pub enum Number {
    /// Of a counter or a gauge.
    One(f64),
    /// Of a histogram: the sum of the values, and how many there are up to each bound, and beyond.
    Many {
        /// The sum.
        sum: f64,
        /// How many are in each bucket alone; the last one has no bound.
        counts: [u64; BUCKETS.len() + 1],
    },
}

/// Why a number was dropped, for the log.
pub(super) type DropReason = &'static str;

impl CustomMetrics {
    /// Takes a number in. Answers why it was dropped, if it was, and it is the first.
    pub(super) fn take(
        &self,
        kind: MetricKind,
        name: &str,
        labels: Vec<Label>,
        value: f64,
    ) -> Result<(), Option<DropReason>> {
        let mut held = self.held.lock();
        if held.edition != self.edition {
            return Ok(());
        }
        held.take(kind, name, labels, value).map_err(|why| {
            held.dropped += 1;
            (held.dropped == 1).then_some(why)
        })
    }

    /// All of them, by name.
    pub fn all(&self) -> BTreeMap<String, CustomFamily> {
        self.held.lock().families.clone()
    }

    /// How many numbers were dropped.
    pub fn dropped(&self) -> u64 {
        self.held.lock().dropped
    }

    /// They begin again: what is said for [`now`](Self::now) of before comes too late.
    pub fn clear(&self) {
        let mut held = self.held.lock();
        let edition = held.edition + 1;
        *held = Measurements {
            edition,
            ..Measurements::default()
        };
    }

    /// Where the version that runs says its numbers, until they begin again.
    pub fn now(&self) -> Self {
        let edition = self.held.lock().edition;
        Self {
            edition,
            ..self.clone()
        }
    }
}

impl Measurements {
    fn take(
        &mut self,
        kind: MetricKind,
        name: &str,
        labels: Vec<Label>,
        value: f64,
    ) -> Result<(), DropReason> {
        if !value.is_finite() {
            return Err("it is not a finite number");
        }
        if kind == MetricKind::Counter && value < 0.0 {
            return Err("a counter does not go down");
        }
        // `_total` is said by the code that writes them.
        let name = match kind {
            MetricKind::Counter => name.strip_suffix("_total").unwrap_or(name),
            MetricKind::Gauge | MetricKind::Histogram => name,
        };
        if ENDINGS.iter().any(|ending| name.ends_with(ending)) {
            return Err("a name does not end as the parts of a counter or a histogram do");
        }
        let labels = checked(name, labels)?;
        if !self.families.contains_key(name) && self.families.len() >= NAMES {
            return Err("the plugin has 50 names already");
        }
        let family = self.families.entry(name.to_owned());
        let family = family.or_insert_with(|| CustomFamily {
            kind,
            series: BTreeMap::new(),
        });
        if family.kind != kind {
            return Err("the name belongs to something else");
        }
        if !family.series.contains_key(&labels) {
            if self.series >= SERIES {
                return Err("the plugin has 500 series already");
            }
            self.series += 1;
        }
        let number = family.series.entry(labels);
        let number = number.or_insert_with(|| Number::zero(kind));
        number.record(kind, value);
        Ok(())
    }
}

impl Number {
    /// That of a new series.
    fn zero(kind: MetricKind) -> Self {
        match kind {
            MetricKind::Counter | MetricKind::Gauge => Self::One(0.0),
            MetricKind::Histogram => Self::Many {
                sum: 0.0,
                counts: [0; BUCKETS.len() + 1],
            },
        }
    }

    /// Sets, adds or observes `value`, as the kind has it.
    fn record(&mut self, kind: MetricKind, value: f64) {
        match self {
            Self::One(held) if kind == MetricKind::Gauge => *held = value,
            Self::One(held) => *held += value,
            Self::Many { sum, counts } => {
                *sum += value;
                let bucket = BUCKETS.iter().take_while(|bound| value > **bound).count();
                if let Some(count) = counts.get_mut(bucket) {
                    *count += 1;
                }
            }
        }
    }
}

/// The labels of a series, sorted.
fn checked(name: &str, labels: Vec<Label>) -> Result<Vec<(String, String)>, DropReason> {
    if !is_name(name) {
        return Err("a name is letters, digits and `_`, with a letter first, at most 64");
    }
    if labels.len() > LABELS {
        return Err("a series has at most 8 labels");
    }
    let mut checked: Vec<(String, String)> = Vec::new();
    for Label { name, value } in labels {
        if !is_name(&name) {
            return Err("a label's name is letters, digits and `_`, with a letter first");
        }
        if matches!(&*name, "controller" | "le" | "quantile") {
            return Err("the labels `controller`, `le` and `quantile` are the host's");
        }
        checked.push((name, clean(&value, VALUE)));
    }
    checked.sort();
    if checked
        .windows(2)
        .any(|pair| matches!(pair, [(one, _), (other, _)] if one == other))
    {
        Err("a label is there twice")
    } else {
        Ok(checked)
    }
}

fn is_name(text: &str) -> bool {
    let rest = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let first = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
    first && text.len() <= NAME && text.chars().all(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(name: &str, value: &str) -> Label {
        Label {
            name: name.into(),
            value: value.into(),
        }
    }

    fn value(custom_metrics: &CustomMetrics, name: &str) -> Vec<Number> {
        let all = custom_metrics.all();
        let family = all.get(name).map(|family| family.series.values().cloned());
        family.into_iter().flatten().collect()
    }

    #[test]
    fn counters_add_up_gauges_are_set_and_histograms_count() {
        let custom_metrics = CustomMetrics::default();
        let take = |kind, name: &str, value| custom_metrics.take(kind, name, Vec::new(), value);
        for number in [1.0, 2.5] {
            take(MetricKind::Counter, "sent", number).unwrap();
            take(MetricKind::Gauge, "open", number).unwrap();
        }
        for seconds in [0.001, 0.005, 0.3, 99.0] {
            take(MetricKind::Histogram, "took", seconds).unwrap();
        }
        assert_eq!(value(&custom_metrics, "sent"), [Number::One(3.5)]);
        assert_eq!(value(&custom_metrics, "open"), [Number::One(2.5)]);
        let [Number::Many { sum, counts }] = &value(&custom_metrics, "took")[..] else {
            panic!("it is a histogram");
        };
        assert!((sum - 99.306).abs() < 1e-9);
        assert_eq!(*counts, [2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
        let before = custom_metrics.now();
        custom_metrics.clear();
        assert!(custom_metrics.all().is_empty());
        for (version, shown) in [(before, 0), (custom_metrics.now(), 1)] {
            let taken = version.take(MetricKind::Gauge, "open", Vec::new(), 1.0);
            assert_eq!(taken, Ok(()), "nothing is wrong with it");
            assert_eq!(custom_metrics.all().len(), shown);
        }
    }

    #[test]
    fn what_is_beyond_the_bounds_is_dropped_and_said_once() {
        let custom_metrics = CustomMetrics::default();
        custom_metrics
            .take(MetricKind::Gauge, "known", Vec::new(), 1.0)
            .unwrap();
        let nine = || (0..9).map(|n| label(&format!("l{n}"), "x")).collect();
        let cases: Vec<(MetricKind, &str, Vec<Label>, f64)> = vec![
            (MetricKind::Gauge, "g", vec![], f64::NAN),
            (MetricKind::Gauge, "g", vec![], f64::INFINITY),
            (MetricKind::Counter, "c", vec![], -1.0),
            (MetricKind::Counter, "known", vec![], 1.0),
            (MetricKind::Gauge, "", vec![], 1.0),
            (MetricKind::Gauge, "1st", vec![], 1.0),
            (MetricKind::Gauge, "_own", vec![], 1.0),
            (MetricKind::Gauge, "a-b", vec![], 1.0),
            (MetricKind::Gauge, "g\n# EOF", vec![], 1.0),
            (MetricKind::Gauge, "known_total", vec![], 1.0),
            (MetricKind::Histogram, "known_count", vec![], 1.0),
            (MetricKind::Gauge, "g", nine(), 1.0),
            (
                MetricKind::Gauge,
                "g",
                vec![label("controller", "other")],
                1.0,
            ),
            (
                MetricKind::Gauge,
                "g",
                vec![label("a", "1"), label("a", "2")],
                1.0,
            ),
        ];
        let number = cases.len();
        for (at, (kind, name, labels, value)) in cases.into_iter().enumerate() {
            let dropped = custom_metrics.take(kind, name, labels, value);
            assert_eq!(
                dropped.map_err(|why| why.is_some()),
                Err(at == 0),
                "{name:?}"
            );
        }
        assert_eq!(custom_metrics.dropped(), u64::try_from(number).unwrap());
        assert_eq!(custom_metrics.all().len(), 1);
    }

    #[test]
    fn names_and_series_are_few() {
        let custom_metrics = CustomMetrics::default();
        let took = |name: &str, value: &str| {
            let labels = vec![label("of", value)];
            custom_metrics
                .take(MetricKind::Gauge, name, labels, 1.0)
                .is_ok()
        };
        let names = (0..100).filter(|n| took(&format!("n{n}"), "x")).count();
        assert_eq!(names, NAMES);
        let series = (0..1000).filter(|n| took("n0", &n.to_string())).count();
        assert_eq!(series, SERIES - NAMES);
        assert!(took("n0", "x"), "what is there goes on");
    }
}
