//! A ConfigMap for each plant.

use serde_json::Value;
use windlass_sdk::{Cluster, Failure, ListQuery, Manifest};

use super::Garden;
use crate::maps::{config_map, text};

/// Makes the plants that are wanted, and deletes the others.
pub(super) fn plant(garden: &Garden, cluster: &dyn Cluster, bug: &str) -> Result<(), Failure> {
    let levels = garden.spec.levels.to_string();
    let wanted = garden.spec.plants.iter().map(|plant| name(garden, plant));
    if bug == "takes-over" {
        // The bug: whatever has that name is taken for its own.
        for name in wanted {
            let plant = Manifest::new(&config_map(garden, name));
            cluster.apply(plant.data("levels", &levels).label("is", "plant"))?;
        }
        return Ok(());
    }
    let wanted: Vec<String> = wanted.collect();
    if bug == "deletes-by-name" {
        uproot_others(garden, cluster, &wanted)?;
    }
    let children = wanted.into_iter().map(|name| child(garden, name, &levels));
    cluster.apply_set(children)?;
    Ok(())
}

/// Deletes plants that have no owner.
pub(super) fn uproot(garden: &Garden, cluster: &dyn Cluster, bug: &str) -> Result<(), Failure> {
    if bug == "takes-over" {
        for plant in &garden.spec.plants {
            cluster.delete(&config_map(garden, name(garden, plant)))?;
        }
    }
    Ok(())
}

/// The bug: whatever has such a name is taken for its own.
fn uproot_others(garden: &Garden, cluster: &dyn Cluster, wanted: &[String]) -> Result<(), Failure> {
    let namespace = garden.metadata.namespace.as_deref().unwrap_or_default();
    let query = ListQuery::all("v1", "ConfigMap").in_namespace(namespace);
    let all: Vec<Value> = cluster.list(&query)?;
    let prefix = name(garden, "");
    let others = [
        format!("{prefix}sign"),
        format!("{prefix}key-"),
        format!("{prefix}level-"),
    ];
    for map in &all {
        let name = text(map, "/metadata/name");
        let is_other = others.iter().any(|other| name.starts_with(other));
        if name.starts_with(&prefix) && !is_other && !wanted.iter().any(|wanted| wanted == name) {
            cluster.delete(&config_map(garden, name.to_owned()))?;
        }
    }
    Ok(())
}

fn child(garden: &Garden, name: String, levels: &str) -> Manifest {
    let child = garden.child("v1", "ConfigMap", name);
    child.data("levels", levels).label("is", "plant")
}

fn name(garden: &Garden, plant: &str) -> String {
    format!("{}-{plant}", garden.name())
}
