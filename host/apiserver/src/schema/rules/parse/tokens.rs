//! The words and signs of an expression, as the lexer of cel-go's grammar takes them (`parser/gen/CEL.g4`).

/// What a token is, as far as it matters for how deeply an expression is nested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Name,
    /// A name between backticks.
    Quoted,
    /// A whole number or one with a fraction, which may have a sign before it.
    Number,
    /// Any other literal.
    Literal,
    Sign(&'static str),
    /// What is not a token at all.
    Bad,
}

/// A token, and where it begins and ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) at: usize,
    pub(super) end: usize,
}

/// The longer ones first.
const SIGNS: [&str; 25] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!",
    "?", ":", "+", "*", "/", "%", "=",
];

/// The tokens of a text.
pub(super) fn all(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let hidden = hidden(rest);
        if hidden > 0 {
            at += hidden;
            continue;
        }
        let (kind, length) = next(rest);
        let end = at + length;
        tokens.push(Token { kind, at, end });
        at = end;
    }
    tokens
}

/// How long the spaces or the comment are with which a text begins.
fn hidden(text: &str) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    count(text, |b| matches!(b, b'\t' | b' ' | b'\r' | b'\n' | 0x0c))
}

fn count(text: &str, fits: impl Fn(u8) -> bool) -> usize {
    text.bytes().take_while(|b| fits(*b)).count()
}

fn next(text: &str) -> (TokenKind, usize) {
    let bad = || {
        (
            TokenKind::Bad,
            text.chars().next().map_or(1, char::len_utf8),
        )
    };
    let first = text.bytes().next().unwrap_or_default();
    let after = text.get(1..).unwrap_or_default();
    if let Some(length) = string(text) {
        return (TokenKind::Literal, length);
    }
    if matches!(first, b'b' | b'B')
        && let Some(length) = string(after)
    {
        return (TokenKind::Literal, length + 1);
    }
    let fraction = first == b'.' && after.starts_with(|c: char| c.is_ascii_digit());
    if first.is_ascii_digit() || fraction {
        return number(text);
    }
    if first.is_ascii_alphabetic() || first == b'_' {
        let length = count(text, |b| b.is_ascii_alphanumeric() || b == b'_');
        let kind = match text.get(..length).unwrap_or_default() {
            "in" => TokenKind::Sign("in"),
            "true" | "false" | "null" => TokenKind::Literal,
            _ => TokenKind::Name,
        };
        return (kind, length);
    }
    if first == b'`' {
        let inner = |b: u8| b.is_ascii_alphanumeric() || b"_.-/ ".contains(&b);
        let length = count(after, inner);
        let closed = after
            .get(length..)
            .is_some_and(|rest| rest.starts_with('`'));
        return if length > 0 && closed {
            (TokenKind::Quoted, length + 2)
        } else {
            bad()
        };
    }
    match SIGNS.iter().find(|sign| text.starts_with(**sign)) {
        Some(&"=") | None => bad(),
        Some(sign) => (TokenKind::Sign(sign), sign.len()),
    }
}

fn number(text: &str) -> (TokenKind, usize) {
    let digits = |text: &str| count(text, |b| b.is_ascii_digit());
    let at = |length: usize| text.get(length..).unwrap_or_default();
    let unsigned = |length: usize| {
        if at(length).starts_with(['u', 'U']) {
            (TokenKind::Literal, length + 1)
        } else {
            (TokenKind::Number, length)
        }
    };
    if let Some(rest) = text.strip_prefix("0x") {
        let hex = count(rest, |b| b.is_ascii_hexdigit());
        if hex > 0 {
            return unsigned(2 + hex);
        }
    }
    let mut length = digits(text);
    let mut whole = true;
    if let Some(rest) = at(length).strip_prefix('.')
        && digits(rest) > 0
    {
        length += 1 + digits(rest);
        whole = false;
    }
    if let Some(rest) = at(length).strip_prefix(['e', 'E']) {
        let sign = usize::from(rest.starts_with(['+', '-']));
        let exponent = digits(rest.get(sign..).unwrap_or_default());
        if exponent > 0 {
            return (TokenKind::Number, length + 1 + sign + exponent);
        }
    }
    if whole {
        unsigned(length)
    } else {
        (TokenKind::Number, length)
    }
}

/// How long the string is with which a text begins.
fn string(text: &str) -> Option<usize> {
    let raw = text.starts_with(['r', 'R']);
    let prefix = usize::from(raw);
    let rest = text.get(prefix..)?;
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let triple = quote.to_string().repeat(3);
    if let Some(inner) = rest.strip_prefix(&triple)
        && let Some(length) = inside(inner, &triple, raw, true)
    {
        return Some(prefix + 6 + length);
    }
    let inner = rest.get(1..)?;
    let length = inside(inner, quote.encode_utf8(&mut [0; 4]), raw, false)?;
    Some(prefix + 2 + length)
}

/// How long the content of a string is, which ends before `close`.
fn inside(text: &str, close: &str, raw: bool, lines: bool) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        if rest.starts_with(close) {
            return Some(at);
        }
        at += match rest.chars().next()? {
            '\n' | '\r' if !lines => return None,
            '\\' if !raw => escape(rest.get(1..)?)? + 1,
            c => c.len_utf8(),
        };
    }
}

/// How long what follows a backslash is.
fn escape(text: &str) -> Option<usize> {
    let hex = |wanted: usize| {
        let rest = text.get(1..).unwrap_or_default();
        (count(rest, |b| b.is_ascii_hexdigit()) >= wanted).then_some(wanted + 1)
    };
    match text.bytes().next()? {
        b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'"' | b'\'' | b'\\' | b'?' | b'`' => {
            Some(1)
        }
        b'x' | b'X' => hex(2),
        b'u' => hex(4),
        b'U' => hex(8),
        b'0'..=b'3' => {
            let rest = text.get(1..).unwrap_or_default();
            (count(rest, |b| (b'0'..=b'7').contains(&b)) >= 2).then_some(3)
        }
        _ => None,
    }
}
