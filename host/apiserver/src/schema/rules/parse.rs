//! Reads expressions: within cel-go's limits, and with its words for what is wrong.

mod depth;
mod faults;
mod tokens;

use std::borrow::Cow;

use kube_cel::cel::ParseErrors;
use kube_cel::cel::parser::{Expression, Parser};

use crate::deep;
use depth::Walked;
pub(super) use faults::{SHOWN, SyntaxError, messages};
use tokens::{Token, TokenKind};

/// How many characters an expression may have.
const LONGEST: usize = 100_000;
/// How many tokens after one that does not fit are still read.
const READ_ON: usize = 256;

/// Reads an expression.
///
/// # Errors
/// If it is none, or larger than cel-go takes it.
pub(crate) fn parse(text: &str) -> Result<Expression, String> {
    let size = text.chars().count();
    if size > LONGEST {
        let why =
            format!("expression code point size exceeds limit: size: {size}, limit {LONGEST}");
        return Err(SyntaxError::whole(&why));
    }
    roomy(text, || {
        let tokens = tokens::all(text);
        let walked = depth::walk(&tokens).map_err(|why| SyntaxError::whole(&why))?;
        let readable = readable(text, &tokens, walked);
        let parser = Parser::new()
            .enable_optional_syntax(true)
            .max_recursion_depth(u16::MAX - 1);
        parser
            .parse(&readable)
            .map_err(|errors| wrong(text, errors))
    })
}

/// Runs `work` on an expression with a stack for as deep a one as its text can be.
pub(crate) fn roomy<T>(text: &str, work: impl FnOnce() -> T) -> T {
    deep::roomy(text.len(), work)
}

/// What the parser reads in place of a text. Where that has a token that does not fit, the parser goes on to what
/// does, however deep: it does not get to see much of it.
fn readable<'a>(text: &'a str, tokens: &[Token], walked: Walked) -> Cow<'a, str> {
    let mut idle = walked.idle;
    let mut end = text.len();
    if let Some(misfit) = walked.misfit {
        let signs = |index: usize| match tokens.get(index).map(|token| token.kind) {
            Some(TokenKind::Sign(sign @ ("!" | "-"))) => Some(sign),
            _ => None,
        };
        let after = misfit + 1..tokens.len().min(misfit + READ_ON);
        let doubled = |index: &usize| signs(*index).is_some() && signs(*index) == signs(index + 1);
        idle.extend(after.filter(doubled).map(|index| index..index + 1));
        end = tokens.get(misfit + READ_ON).map_or(end, |token| token.at);
    }
    if idle.is_empty() {
        return Cow::Borrowed(text.get(..end).unwrap_or(text));
    }
    let mut bytes = text.as_bytes().get(..end).unwrap_or_default().to_vec();
    for token in idle
        .into_iter()
        .flat_map(|range| tokens.get(range).unwrap_or_default())
    {
        if let Some(signs) = bytes.get_mut(token.at..token.end) {
            signs.fill(b' ');
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

fn wrong(text: &str, errors: ParseErrors) -> String {
    let count = |number: isize| usize::try_from(number).unwrap_or_default();
    let all = errors.errors.len();
    let faults = errors
        .errors
        .into_iter()
        .take(SHOWN)
        .map(|error| SyntaxError {
            line: count(error.pos.0),
            column: count(error.pos.1).saturating_sub(1),
            why: error.msg,
        });
    // cel-go reads no further after that many.
    messages(text, faults.collect(), usize::from(all > SHOWN))
}

#[cfg(test)]
mod tests;
