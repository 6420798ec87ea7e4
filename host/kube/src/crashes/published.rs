//! What hosts tell each other of crashes: an annotation on the Lease of each plugin whose component was at work.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Crash;
use windlass_base::digest::Digest;

/// The annotation's name.
pub const ANNOTATION: &str = "windlass.dev/crashes";

/// So many crashes are published for a plugin.
const MOST: usize = 16;

/// More text than that is not read.
const LONGEST: usize = 8 << 10;

/// The longest name of a run.
const RUN: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct PublishedCrash {
    at: String,
    run: String,
    digest: String,
}

/// The annotation that tells of the `crashes` that `digests` were at work in, and of what is `published` already; none
/// if that is all of it.
pub(super) fn text(
    crashes: &[Crash],
    digests: &BTreeSet<Digest>,
    published: &str,
) -> Option<String> {
    let known = entries(published);
    let mut all = known.clone();
    for crash in crashes {
        for digest in crash.suspects.intersection(digests) {
            all.insert(PublishedCrash {
                at: crash.at.to_string(),
                run: crash.run.clone(),
                digest: digest.hex(),
            });
        }
    }
    let newest: BTreeSet<PublishedCrash> = all.into_iter().rev().take(MOST).collect();
    if newest == known {
        return None;
    }
    serde_json::to_string(&newest).ok()
}

/// The crashes that an annotation tells of. What cannot be read tells nothing.
pub(super) fn read(published: &str) -> Vec<Crash> {
    let entries = entries(published).into_iter();
    let crash = |entry: PublishedCrash| {
        Some(Crash {
            at: entry.at.parse().ok()?,
            suspects: BTreeSet::from([Digest::of_hex(&entry.digest)?]),
            run: entry.run,
        })
    };
    entries.filter_map(crash).collect()
}

fn entries(published: &str) -> BTreeSet<PublishedCrash> {
    if published.len() > LONGEST {
        return BTreeSet::new();
    }
    let entries: Vec<PublishedCrash> = serde_json::from_str(published).unwrap_or_default();
    let sound = entries.into_iter().filter(|entry| entry.run.len() <= RUN);
    sound.take(MOST).collect()
}
