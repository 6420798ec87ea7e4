//! Imports that are called by their names, as recordings have them.

use serde_json::Value;

use super::super::import::{self, IMPORTS, Import, Recordable, Reply, every_import};
use super::super::sandbox::SandboxState;
use super::run::Run;
use windlass_base::text::nearest;

/// Has the import `name` answered, which is given `arguments`.
///
/// # Errors
/// There is no such import, it does not take such arguments, or the call has to stop.
pub(crate) async fn by_name(
    state: &mut SandboxState,
    name: &str,
    arguments: Value,
) -> Result<Reply, String> {
    macro_rules! called {
        ($($import:ident)+) => {
            match name {
                $(name if name == import::$import::ABOUT.name => {
                    given::<import::$import>(state, arguments).await
                })+
                _ => Err(unknown(name)),
            }
        };
    }
    every_import!(called)
}

async fn given<I: Run>(state: &mut SandboxState, arguments: Value) -> Result<Reply, String> {
    let name = I::ABOUT.name;
    let import: I = serde_json::from_value(arguments)
        .map_err(|error| format!("the arguments of `{name}`: {error}"))?;
    let answer = state.answer(import).await;
    let answer = answer.map_err(|error| format!("{error:#}"))?;
    Ok(answer.reply())
}

/// Says that there is no such import, and which one may be meant.
fn unknown(name: &str) -> String {
    match nearest(name, IMPORTS.iter().map(|about| about.name)) {
        Some(nearest) => format!("there is no import {name:?}: did you mean {nearest:?}?"),
        None => format!("there is no import {name:?}"),
    }
}
