//! Counters with one label of a closed set.

use prometheus_client::metrics::counter::Counter;

use windlass_sandbox::CodeSource;

/// Versions that were loaded, by where their code came from.
#[derive(Debug, Default)]
pub struct Loads([Counter; 3]);

impl Loads {
    const ALL: [(&str, CodeSource); 3] = [
        ("compiler", CodeSource::Compiler),
        ("cache", CodeSource::Cache),
        ("memory", CodeSource::Memory),
    ];

    /// Those whose code came from there.
    pub fn of(&self, code_source: CodeSource) -> &Counter {
        let [compiler, cache, memory] = &self.0;
        match code_source {
            CodeSource::Compiler => compiler,
            CodeSource::Cache => cache,
            CodeSource::Memory => memory,
        }
    }

    /// Each place, and how many there were.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, &Counter)> {
        Self::ALL
            .into_iter()
            .map(|(name, code_source)| (name, self.of(code_source)))
    }
}

/// Writes that were not sent, by verb.
#[derive(Debug, Default)]
pub(crate) struct ObservedWrites([Counter; 3]);

impl ObservedWrites {
    const VERBS: [&str; 3] = ["create", "patch", "delete"];

    /// Those of one verb.
    pub(crate) fn of(&self, verb: &str) -> &Counter {
        let [create, patch, delete] = &self.0;
        match verb {
            "create" => create,
            "delete" => delete,
            _ => patch,
        }
    }

    /// Each verb, and how many there were.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, &Counter)> {
        Self::VERBS.into_iter().map(|verb| (verb, self.of(verb)))
    }
}
