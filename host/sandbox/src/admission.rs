//! Which components are admitted: what they import, and whether they export a controller.
//!
//! Everything that can be wrong with a file gets its own sentence, with what to do about it.

mod structure;

use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::{self, ComponentItem};

use super::bindings::GOING;
use super::bindings::types::{Action, Description, Failure, Progress, Request};
use super::engine::TABLE_ELEMENTS;
pub(super) use structure::{invalid, judge_structure};
use windlass_policy::source::LARGEST_FILE;

const CONTROLLER: &str = "windlass:plugin/controller";
const GOING_INTERFACE: &str = "windlass:plugin/going";
/// The version of the contract, and how the versions begin that fit it.
const CONTRACT: &str = "0.2";
const MINOR: &str = "0.2.";
const OURS: [&str; 10] = [
    "types", "cluster", "events", "log", "config", "clock", "metrics", "http", "memory", "rates",
];
const WASI: [&str; 6] = ["cli", "io", "clocks", "random", "filesystem", "sockets"];

/// Why a file is not admitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Nothing in it.
    #[error("the file is empty: was the build or the copy cut off?")]
    Empty,
    /// Too much in it.
    #[error("the file has {0} bytes; at most 32 MiB are taken")]
    TooLarge(usize),
    /// Not WebAssembly.
    #[error("the file is not WebAssembly: it should begin with `\\0asm`")]
    NotWasm,
    /// WebAssembly, but a core module.
    #[error(
        "the file is a core module, not a component: build for wasm32-wasip2, or wrap it with `wasm-tools component new`"
    )]
    CoreModule,
    /// A component that does not hold together.
    #[error("the component is damaged or cut off: {0}")]
    Damaged(String),
    /// It uses a WebAssembly proposal that plugins may not use.
    #[error(
        "the component uses the WebAssembly proposal {name} (at byte {at:#x}), which this host does not allow: {reason}; \
         build it without, for Rust by taking it out of `-C target-feature`"
    )]
    Proposal {
        /// Its name in the standard.
        name: &'static str,
        /// Why it is not allowed.
        reason: &'static str,
        /// Where in the file.
        at: usize,
    },
    /// Its strings are not UTF-8.
    #[error(
        "the component passes strings as {0}, and this host takes UTF-8 only: build it with `string-encoding=utf8`, \
         the default of every toolchain"
    )]
    Strings(&'static str),
    /// Too much of something.
    #[error(
        "the component has too many {0}: at most {1} are taken, with those of all that it contains; split it"
    )]
    TooMany(&'static str, usize),
    /// Components in components in components.
    #[error(
        "the component contains components and modules in more than {0} levels; compose it flatter"
    )]
    TooDeep(usize),
    /// A table that no sandbox has room for.
    #[error("the component has a table of {0} elements; at most {TABLE_ELEMENTS} are taken")]
    LargeTable(u64),
    /// More instances, memories or tables than a sandbox has room for.
    #[error("the component needs more than a sandbox has: {0}; split it")]
    TooDemanding(String),
    /// What the compiler in the child process said of it.
    #[error("{0}")]
    Told(String),
    /// It is built for another version of the contract.
    #[error(
        "the component is built for contract {0}, and this host has contract {CONTRACT}: rebuild it with SDK {CONTRACT}"
    )]
    Contract(String),
    /// It wants something that the host does not have.
    #[error(
        "the component imports {0}, which this host does not offer: plugins may import windlass:plugin@0.2 and WASI 0.2 ({wasi}) only",
        wasi = "cli, io, clocks, random, filesystem, sockets"
    )]
    Import(String),
    /// It is somebody else's component.
    #[error(
        "the component does not export {CONTROLLER}@0.2.0, so it is not a controller plugin{0}"
    )]
    NoController(String),
    /// Names fit, types do not.
    #[error("the component does not fit the contract windlass:plugin@0.2.0: {0}")]
    Mismatch(String),
}

/// Judges the bytes before anything is compiled.
///
/// # Errors
/// Why they cannot be a component.
pub fn judge_bytes(bytes: &[u8]) -> Result<(), Refused> {
    if bytes.is_empty() {
        return Err(Refused::Empty);
    }
    if bytes.len() > LARGEST_FILE {
        return Err(Refused::TooLarge(bytes.len()));
    }
    // Magic, then version and layer: 1,0 is a core module, 13,1 a component.
    match (bytes.get(..4), bytes.get(4..8)) {
        (Some(b"\0asm"), Some([1, 0, 0, 0])) => Err(Refused::CoreModule),
        (Some(b"\0asm"), Some(_)) => Ok(()),
        (Some(b"\0asm"), None) => Err(Refused::Damaged("it ends after 4 to 7 bytes".into())),
        _ => Err(Refused::NotWasm),
    }
}

/// Judges what a compiled component imports and exports.
///
/// # Errors
/// The first import that is not offered, that it exports no controller, or that it exports another
/// one than the contract's.
pub fn judge_component(engine: &Engine, component: &Component) -> Result<(), Refused> {
    let kind = component.component_type();
    let names = || {
        let imports = kind.imports(engine).map(|(name, _)| name);
        imports.chain(kind.exports(engine).map(|(name, _)| name))
    };
    if let Some(version) = names().find_map(other_contract) {
        return Err(Refused::Contract(version));
    }
    if let Some((name, _)) = kind.imports(engine).find(|(name, _)| !is_offered(name)) {
        return Err(Refused::Import(name.to_owned()));
    }
    let mut exports = kind.exports(engine);
    if let Some((_, found)) = exports.find(|(name, _)| has_version(name, CONTROLLER, MINOR)) {
        judge_controller(engine, &kind, &found.ty)?;
        let mut exports = kind.exports(engine);
        let going = exports.find(|(name, _)| has_version(name, GOING_INTERFACE, MINOR));
        return going.map_or(Ok(()), |(_, found)| judge_going(engine, &kind, &found.ty));
    }
    let mut names: Vec<_> = kind
        .exports(engine)
        .map(|(name, _)| name.to_owned())
        .collect();
    names.truncate(5);
    let hint = if names.is_empty() {
        " (it exports nothing)".into()
    } else {
        format!(" (it exports {})", names.join(", "))
    };
    Err(Refused::NoController(hint))
}

/// Judges the types of the functions: wasmtime would do so only when it calls them.
fn judge_controller(
    engine: &Engine,
    kind: &types::Component,
    controller: &ComponentItem,
) -> Result<(), Refused> {
    let cx = &kind.instance_type();
    for name in ["describe", "reconcile", "finalize"] {
        let found = match controller {
            ComponentItem::ComponentInstance(instance) => instance.get_export(engine, name),
            _ => None,
        };
        let Some(ComponentItem::ComponentFunc(found)) = found.map(|found| found.ty) else {
            return Err(Refused::Mismatch(format!("it exports no function {name}")));
        };
        let fits = match name {
            "describe" => found.typecheck::<(), (Description,)>(cx),
            "reconcile" => found.typecheck::<(Request,), (Result<Action, Failure>,)>(cx),
            _ => found.typecheck::<(Request,), (Result<Progress, Failure>,)>(cx),
        };
        fits.map_err(|error| Refused::Mismatch(format!("{name}: {error:#}")))?;
    }
    Ok(())
}

/// Whether a component has the optional export for primaries that are being deleted.
pub(super) fn has_going(engine: &Engine, component: &Component) -> bool {
    let kind = component.component_type();
    let mut names = kind.exports(engine).map(|(name, _)| name);
    names.any(|name| has_version(name, GOING_INTERFACE, MINOR))
}

/// Judges the type of its function.
fn judge_going(
    engine: &Engine,
    kind: &types::Component,
    going: &ComponentItem,
) -> Result<(), Refused> {
    let (_, name) = GOING;
    let found = match going {
        ComponentItem::ComponentInstance(instance) => instance.get_export(engine, name),
        _ => None,
    };
    let Some(ComponentItem::ComponentFunc(found)) = found.map(|found| found.ty) else {
        return Err(Refused::Mismatch(format!("it exports no function {name}")));
    };
    let fits = found.typecheck::<(Request,), (Result<Action, Failure>,)>(&kind.instance_type());
    fits.map_err(|error| Refused::Mismatch(format!("{name}: {error:#}")))
}

/// The contract that an import or export of `name` is of, such as `0.1`, if it is another one than the host's.
fn other_contract(name: &str) -> Option<String> {
    let (_, version) = name.strip_prefix("windlass:plugin/")?.split_once('@')?;
    let mut numbers = version.splitn(3, '.');
    let contract = format!("{}.{}", numbers.next()?, numbers.next()?);
    (contract != CONTRACT).then_some(contract)
}

fn is_offered(import: &str) -> bool {
    OURS.iter()
        .any(|name| has_version(import, &format!("windlass:plugin/{name}"), MINOR))
        || WASI.iter().any(|package| {
            let rest = import
                .strip_prefix("wasi:")
                .and_then(|rest| rest.strip_prefix(package));
            rest.is_some_and(|rest| {
                rest.strip_prefix('/')
                    .and_then(|rest| rest.split_once('@'))
                    .is_some_and(|(_, version)| version.starts_with("0.2."))
            })
        })
}

fn has_version(name: &str, interface: &str, version: &str) -> bool {
    name.strip_prefix(interface)
        .and_then(|rest| rest.strip_prefix('@'))
        .is_some_and(|rest| rest.starts_with(version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_offered_by_interface_and_version() {
        let cases = [
            ("windlass:plugin/cluster@0.2.0", true),
            ("windlass:plugin/cluster@0.2.9", true),
            ("windlass:plugin/cluster@0.1.0", false),
            ("windlass:plugin/http@0.2.0", true),
            ("windlass:plugin/shell@0.2.0", false),
            ("wasi:cli/environment@0.2.6", true),
            ("wasi:clocks/monotonic-clock@0.2.12", true),
            ("wasi:cli/environment@0.3.0", false),
            ("wasi:http/outgoing-handler@0.2.0", false),
            ("wasi:clientele/x@0.2.0", false),
            ("env", false),
        ];
        for (name, want) in cases {
            assert_eq!(is_offered(name), want, "{name}");
        }
    }

    #[test]
    fn another_contract_is_told_by_its_version() {
        let cases = [
            ("windlass:plugin/cluster@0.1.0", Some("0.1")),
            ("windlass:plugin/controller@1.0.0-rc1", Some("1.0")),
            ("windlass:plugin/cluster@0.20.0", Some("0.20")),
            ("windlass:plugin/http@0.2.7", None),
            ("wasi:cli/environment@0.1.0", None),
            ("windlass:plugin/cluster", None),
        ];
        for (name, want) in cases {
            assert_eq!(other_contract(name).as_deref(), want, "{name}");
        }
        let told = Refused::Contract("0.1".into()).to_string();
        assert!(
            told.contains("built for contract 0.1") && told.contains("rebuild it with SDK 0.2")
        );
    }

    #[test]
    fn files_that_cannot_be_components_are_told_apart() {
        let cases: [(&[u8], Refused); 4] = [
            (b"", Refused::Empty),
            (b"<html>", Refused::NotWasm),
            (b"\0asm\x01\0\0\0", Refused::CoreModule),
            (
                b"\0asm\x0d",
                Refused::Damaged("it ends after 4 to 7 bytes".into()),
            ),
        ];
        for (bytes, want) in cases {
            assert_eq!(judge_bytes(bytes), Err(want));
        }
        assert_eq!(judge_bytes(b"\0asm\x0d\0\x01\0"), Ok(()));
        assert_eq!(
            judge_bytes(&vec![0; LARGEST_FILE + 1]),
            Err(Refused::TooLarge(LARGEST_FILE + 1))
        );
    }
}
