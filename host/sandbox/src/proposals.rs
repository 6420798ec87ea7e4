//! Which WebAssembly proposals a component may use: one list, with a reason for each.
//!
//! The list names every proposal that the validator knows (a test counts them), so an update of wasmtime cannot
//! switch on a new one by default. "Measured" are plugins in Rust, Go, Python, and JavaScript on QuickJS and on
//! StarlingMonkey (`make languages`).

use wasmtime::{Config, WasmFeatures as Flag};

/// A WebAssembly proposal, and whether components may use it.
#[derive(Clone, Copy, Debug)]
pub(super) struct WasmProposal {
    /// Its name in the standard.
    pub(super) name: &'static str,
    flag: Flag,
    allowed: bool,
    /// Why it is allowed or not.
    pub(super) reason: &'static str,
}

const fn allowed(name: &'static str, flag: Flag, reason: &'static str) -> WasmProposal {
    WasmProposal {
        name,
        flag,
        allowed: true,
        reason,
    }
}

const fn refused(name: &'static str, flag: Flag, reason: &'static str) -> WasmProposal {
    WasmProposal {
        name,
        flag,
        allowed: false,
        reason,
    }
}

const GC: &str = "wasmtime is built without its garbage collector, and code that needs it can abort the process \
                  (RUSTSEC-2026-0570)";
const THREADS: &str = "a plugin runs on one thread";
const UNUSED: &str = "no measured language uses it";
const DRAFT: &str = "it is not part of the standard yet";
const ASYNC: &str =
    "wasmtime is built without component-model async, and the contract has no async functions";

/// Every proposal.
pub(super) const PROPOSALS: &[WasmProposal] = &[
    allowed(
        "mutable-global",
        Flag::MUTABLE_GLOBAL,
        "Python and QuickJS use it",
    ),
    allowed(
        "nontrapping-float-to-int",
        Flag::SATURATING_FLOAT_TO_INT,
        "every measured language uses it",
    ),
    allowed(
        "sign-extension",
        Flag::SIGN_EXTENSION,
        "every measured language uses it",
    ),
    allowed(
        "bulk-memory",
        Flag::BULK_MEMORY,
        "every measured language uses it",
    ),
    allowed("floats", Flag::FLOATS, "part of WebAssembly 1.0"),
    allowed(
        "reference-types",
        Flag::REFERENCE_TYPES,
        "Python and QuickJS use it",
    ),
    allowed(
        "extended-const",
        Flag::EXTENDED_CONST,
        "Python and QuickJS use it",
    ),
    allowed(
        "multi-value",
        Flag::MULTI_VALUE,
        "LLVM may use it in any Rust or C guest",
    ),
    allowed(
        "component-model",
        Flag::COMPONENT_MODEL,
        "a plugin is a component",
    ),
    // No guest uses it, but it has to stay on.
    allowed(
        "multi-memory",
        Flag::MULTI_MEMORY,
        "without it, wasmtime 48.0.8 panics when it compiles a component that contains components, such as QuickJS: \
         \"invalid adapter module generated\"",
    ),
    refused("gc", Flag::GC, GC),
    // The type `externref`, too.
    refused("gc types", Flag::GC_TYPES, GC),
    refused("function-references", Flag::FUNCTION_REFERENCES, GC),
    refused("exception-handling", Flag::EXCEPTIONS, GC),
    refused("legacy exception-handling", Flag::LEGACY_EXCEPTIONS, GC),
    refused("stack-switching", Flag::STACK_SWITCHING, DRAFT),
    refused("custom-descriptors", Flag::CUSTOM_DESCRIPTORS, DRAFT),
    refused("threads", Flag::THREADS, THREADS),
    refused(
        "shared-everything-threads",
        Flag::SHARED_EVERYTHING_THREADS,
        THREADS,
    ),
    refused(
        "simd",
        Flag::SIMD,
        "no measured language uses it, and code for it has read beyond the sandbox (CVE-2026-34944)",
    ),
    refused(
        "relaxed-simd",
        Flag::RELAXED_SIMD,
        "its results depend on the processor",
    ),
    refused("tail-call", Flag::TAIL_CALL, UNUSED),
    refused(
        "memory64",
        Flag::MEMORY64,
        "no plugin needs more than 4 GiB, and 64-bit tables had bugs (CVE-2026-44216)",
    ),
    refused("memory-control", Flag::MEMORY_CONTROL, DRAFT),
    refused("custom-page-sizes", Flag::CUSTOM_PAGE_SIZES, DRAFT),
    refused("wide-arithmetic", Flag::WIDE_ARITHMETIC, DRAFT),
    refused("compact-import-section", Flag::COMPACT_IMPORTS, DRAFT),
    refused("component-model async", Flag::CM_ASYNC, ASYNC),
    refused(
        "component-model stackful async",
        Flag::CM_ASYNC_STACKFUL,
        ASYNC,
    ),
    refused(
        "component-model async builtins",
        Flag::CM_MORE_ASYNC_BUILTINS,
        ASYNC,
    ),
    refused(
        "component-model error-context",
        Flag::CM_ERROR_CONTEXT,
        ASYNC,
    ),
    refused("component-model threading", Flag::CM_THREADING, THREADS),
    refused("component-model gc", Flag::CM_GC, GC),
    refused("component-model memory64", Flag::CM64, DRAFT),
    refused("component-model values", Flag::CM_VALUES, DRAFT),
    refused("component-model nested names", Flag::CM_NESTED_NAMES, DRAFT),
    refused(
        "component-model fixed-length lists",
        Flag::CM_FIXED_LENGTH_LISTS,
        DRAFT,
    ),
    refused("component-model map", Flag::CM_MAP, DRAFT),
    refused("component-model implements", Flag::CM_IMPLEMENTS, DRAFT),
    refused(
        "component-model version suffixes",
        Flag::CM_CANON_NAMES,
        DRAFT,
    ),
];

/// Allows what the list allows, and refuses everything else.
pub(super) fn configure(config: &mut Config) {
    for proposal in PROPOSALS {
        config.wasm_features(proposal.flag, proposal.allowed);
    }
    // No flag of the validator: the hints are a custom section that the compiler reads.
    config.wasm_branch_hinting(false);
}

/// The proposals that are allowed, for a validator.
pub(super) fn features() -> Flag {
    let allowed = PROPOSALS.iter().filter(|proposal| proposal.allowed);
    allowed.fold(Flag::empty(), |sum, proposal| sum | proposal.flag)
}

/// The refused proposal that a validator misses.
pub(super) fn refused_by(missing: Flag) -> Option<&'static WasmProposal> {
    let mut refused = PROPOSALS.iter().filter(|proposal| !proposal.allowed);
    refused.find(|proposal| missing.intersects(proposal.flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_names_every_proposal_once() {
        let mut named = Flag::empty();
        for WasmProposal {
            name, flag, reason, ..
        } in PROPOSALS
        {
            assert!(
                !flag.is_empty() && !named.intersects(*flag),
                "{name} is named twice"
            );
            assert!(!reason.is_empty(), "{name} has no reason");
            named |= *flag;
        }
        assert_eq!(
            named,
            Flag::all(),
            "not in the list: {:?}",
            Flag::all() - named
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        for proposal in PROPOSALS {
            let named = refused_by(proposal.flag).map(|refused| refused.name);
            assert_eq!(named, (!proposal.allowed).then_some(proposal.name));
        }
    }
}
