//! What a component is made of, before it is compiled: its strings, and how much of everything.
//!
//! Counts are sums over a component and all that it contains. What they bound is what the process that runs plugins
//! holds for a component, and what a compiler spends on it.

use wasmparser::{
    CanonicalFunction, CanonicalOption, ComponentType, ComponentTypeDeclaration,
    InstanceTypeDeclaration, Parser, Payload, Validator,
};

use super::Refused;
use crate::engine::TABLE_ELEMENTS;
use crate::proposals;

/// How deep components and modules may lie in each other. Of those measured: 3 (QuickJS).
const DEEPEST: usize = 6;

/// A part of components, of which there may be so many.
struct CountedSection {
    name: &'static str,
    most: usize,
    found: usize,
}

impl CountedSection {
    const fn new(name: &'static str, most: usize) -> Self {
        Self {
            name,
            most,
            found: 0,
        }
    }

    fn add(&mut self, more: impl TryInto<usize>) -> Result<(), Refused> {
        let more = more.try_into().unwrap_or(usize::MAX);
        self.found = self.found.saturating_add(more);
        if self.found > self.most {
            return Err(Refused::TooMany(self.name, self.most));
        }
        Ok(())
    }
}

/// The parts of a component.
struct Sections {
    modules: CountedSection,
    components: CountedSection,
    functions: CountedSection,
    types: CountedSection,
    imports: CountedSection,
    exports: CountedSection,
}

impl Sections {
    /// None yet. The numbers beside the limits are those of the largest measured component, Python's.
    const fn none() -> Self {
        Self {
            modules: CountedSection::new("core modules", 64), // 14
            components: CountedSection::new("components", 32), // 3, QuickJS 5
            functions: CountedSection::new("functions", 150_000), // 13,387
            types: CountedSection::new("types", 20_000),      // 1,780
            imports: CountedSection::new("imports", 20_000),  // 2,348
            exports: CountedSection::new("exports", 20_000),  // 4,234
        }
    }
}

/// Judges what a component is made of.
///
/// # Errors
/// There is too much of something, a string has another encoding than UTF-8, or it is damaged.
pub(crate) fn judge_structure(bytes: &[u8]) -> Result<(), Refused> {
    let mut parts = Sections::none();
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(damaged)? {
            Payload::Version { .. } => {
                depth += 1;
                if depth > DEEPEST {
                    return Err(Refused::TooDeep(DEEPEST));
                }
            }
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ModuleSection { .. } => parts.modules.add(1_u32)?,
            Payload::ComponentSection { .. } => parts.components.add(1_u32)?,
            Payload::FunctionSection(section) => parts.functions.add(section.count())?,
            Payload::TypeSection(section) => parts.types.add(section.count())?,
            Payload::CoreTypeSection(section) => parts.types.add(section.count())?,
            Payload::ComponentTypeSection(section) => {
                for kind in section {
                    parts.types.add(declarations(&kind.map_err(damaged)?))?;
                }
            }
            Payload::ImportSection(section) => parts.imports.add(section.count())?,
            Payload::ComponentImportSection(section) => parts.imports.add(section.count())?,
            Payload::ExportSection(section) => parts.exports.add(section.count())?,
            Payload::ComponentExportSection(section) => parts.exports.add(section.count())?,
            Payload::TableSection(section) => {
                for table in section {
                    let elements = table.map_err(damaged)?.ty.initial;
                    if elements > TABLE_ELEMENTS as u64 {
                        return Err(Refused::LargeTable(elements));
                    }
                }
            }
            Payload::ComponentCanonicalSection(section) => {
                for function in section {
                    judge_strings(&function.map_err(damaged)?)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// How many types a type declares, itself included.
fn declarations(kind: &ComponentType<'_>) -> usize {
    let inner = |kind: Option<&ComponentType<'_>>| kind.map_or(1, declarations);
    match kind {
        ComponentType::Component(inside) => {
            let inside = inside.iter().map(|declared| match declared {
                ComponentTypeDeclaration::Type(kind) => inner(Some(kind)),
                _ => inner(None),
            });
            1 + inside.sum::<usize>()
        }
        ComponentType::Instance(inside) => {
            let inside = inside.iter().map(|declared| match declared {
                InstanceTypeDeclaration::Type(kind) => inner(Some(kind)),
                _ => inner(None),
            });
            1 + inside.sum::<usize>()
        }
        ComponentType::Defined(_) | ComponentType::Func(_) | ComponentType::Resource { .. } => 1,
    }
}

/// Strings in UTF-16 and Latin-1 are translated by code of the engine that no plugin needs, and that has written out of
/// bounds (RUSTSEC-2026-0091). Other functions with options belong to component-model async, which is refused.
fn judge_strings(function: &CanonicalFunction) -> Result<(), Refused> {
    let (CanonicalFunction::Lift { options, .. } | CanonicalFunction::Lower { options, .. }) =
        function
    else {
        return Ok(());
    };
    for option in options {
        match option {
            CanonicalOption::UTF16 => return Err(Refused::Strings("UTF-16")),
            CanonicalOption::CompactUTF16 => return Err(Refused::Strings("Latin-1 or UTF-16")),
            _ => {}
        }
    }
    Ok(())
}

/// Why a component is not valid, for one that the compiler has refused with `error`.
pub(crate) fn invalid(bytes: &[u8], error: &wasmtime::Error) -> Refused {
    let validated = Validator::new_with_features(proposals::features()).validate_all(bytes);
    let Err(invalid) = validated else {
        return Refused::Damaged(format!("{error:#}"));
    };
    let missing = invalid.missing_wasm_feature();
    match missing.and_then(proposals::refused_by) {
        Some(proposal) => Refused::Proposal {
            name: proposal.name,
            reason: proposal.reason,
            at: invalid.offset(),
        },
        None => damaged(invalid),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn damaged(error: wasmparser::Error) -> Refused {
    Refused::Damaged(error.to_string().replace('\n', ": "))
}
