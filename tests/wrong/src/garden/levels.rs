//! A ConfigMap with a generated name for each level.

use windlass_sdk::{Cluster, Failure};

use super::{Garden, Status};
use crate::maps::{children, config_map, text};

/// Makes the levels that are missing, and deletes those that are too many.
pub(super) fn build(
    garden: &Garden,
    cluster: &dyn Cluster,
    bug: &str,
    status: &mut Status,
) -> Result<(), Failure> {
    let there = children(garden, cluster, "level")?;
    let number = |level: u32| level.to_string();
    let is = |level: u32| {
        there
            .iter()
            .any(|map| text(map, "/metadata/labels/level") == number(level))
    };
    for level in 1..=garden.spec.levels {
        let is_there = match bug {
            // The bug: the counter is written after what it counts.
            "counts-afterwards" => level <= status.levels,
            _ => is(level),
        };
        if is_there {
            continue;
        }
        let map = garden.child("v1", "ConfigMap", "");
        let map = map.generate_name(format!("{}-level-", garden.name()));
        cluster.create(map.label("is", "level").label("level", number(level)))?;
        if bug == "counts-afterwards" {
            status.levels = level;
            cluster.apply_status(garden, status.clone())?;
        }
    }
    for map in &there {
        let level: u32 = text(map, "/metadata/labels/level")
            .parse()
            .unwrap_or_default();
        if level > garden.spec.levels {
            cluster.delete(&config_map(garden, text(map, "/metadata/name").to_owned()))?;
        }
    }
    status.levels = garden.spec.levels;
    Ok(())
}
