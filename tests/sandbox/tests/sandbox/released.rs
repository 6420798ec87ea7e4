//! The contract only grows: what was released is in `wit/released`, and `wit-component` compares.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use windlass_harness::workspace;
use wit_component::semver_check;
use wit_parser::{PackageId, Resolve, SourceMap};

/// A change of a text of the contract.
type Change<'a> = (&'a str, &'a str);

/// Reads a package, with changes; each must be possible.
fn read(resolve: &mut Resolve, folder: &Path, changes: &[Change]) -> Result<PackageId> {
    let mut sources = SourceMap::default();
    let mut changed = 0;
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        if path.extension().is_none_or(|end| end != "wit") {
            continue;
        }
        let mut text = fs::read_to_string(&path)?;
        for (from, to) in changes {
            if text.contains(from) {
                text = text.replacen(from, to, 1);
                changed += 1;
            }
        }
        sources.push(&path, text);
    }
    ensure!(changed == changes.len(), "{changed} of {changes:?} apply");
    let group = match sources.parse() {
        Ok(group) => group,
        Err((_, error)) => bail!("{}: {error}", folder.display()),
    };
    Ok(resolve.push_group(group)?)
}

/// Whether each world of the package in `released` is one of the contract with `changes`.
fn compare(released: &Path, changes: &[Change]) -> Result<()> {
    for world in ["plugin", "plugin-going"] {
        let mut resolve = Resolve::default();
        let before = read(&mut resolve, released, &[])?;
        // A package cannot be there twice in one version.
        let version = (
            "package windlass:plugin@0.2.0;",
            "package windlass:plugin@0.2.999;",
        );
        let changes = [&[version], changes].concat();
        let now = read(&mut resolve, &workspace().join("wit"), &changes)?;
        let before = resolve.select_world(&[before], Some(world))?;
        let now = resolve.select_world(&[now], Some(world))?;
        semver_check(resolve, before, now).with_context(|| format!("world {world}"))?;
    }
    Ok(())
}

#[test]
fn the_contract_takes_components_of_each_release() -> Result<()> {
    let mut releases = 0;
    for release in fs::read_dir(workspace().join("wit/released"))? {
        let release = release?.path();
        let what = || {
            let release = release.display();
            format!(
                "the contract is another one than {release}: see wit/world.wit for what may change"
            )
        };
        compare(&release, &[]).with_context(what)?;
        releases += 1;
    }
    assert!(releases > 0);
    Ok(())
}

#[test]
fn what_components_of_a_release_cannot_bear_is_noticed() -> Result<()> {
    let released = workspace().join("wit/released/0.2.0");
    // What may be added.
    let more = "  now: func() -> string;\n  /// More.\n  more: func();";
    compare(&released, &[("  now: func() -> string;", more)])?;
    let imports = "  import rates;\n  import more;";
    let interface = "interface more { f: func(); }\n\n/// A controller plugin. A component has";
    compare(
        &released,
        &[
            ("  import rates;", imports),
            ("/// A controller plugin. A component has", interface),
        ],
    )?;
    let broken: [&[Change]; 5] = [
        // A function is gone, or has another signature.
        &[("  now: func() -> string;", "")],
        &[("  now: func() -> string;", "  now: func() -> u64;")],
        // A record has one more field, and an enum one more case.
        &[("record label {", "record label { more: string,")],
        &[("enum level {", "enum level { fatal,")],
        // A component could not export it.
        &[(
            "  export controller;",
            "  export controller;\n  export going;",
        )],
    ];
    for changes in broken {
        let compared = compare(&released, changes);
        ensure!(compared.is_err(), "{changes:?} is not noticed");
    }
    Ok(())
}
