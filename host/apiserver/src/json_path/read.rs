//! Reading paths, character by character as client-go does.

use serde_json::Value;

use super::{JsonPath, NoPath, Operator, PathStep, Slice, Test};

/// Reads a path as the inside of a `{…}`: what stands behind a closing brace is a text, perhaps with more paths in
/// braces, which must be right but lead nowhere.
pub(super) fn path(text: &str) -> Result<JsonPath, NoPath> {
    let mut steps = Vec::new();
    let mut rest = text;
    let mut meant = None;
    while let Some(first) = rest.chars().next() {
        rest = if let Some(after) = rest.strip_prefix("[?(") {
            filter(after, &mut steps)?
        } else if let Some(after) = rest.strip_prefix("..") {
            deep(after, &mut steps)?
        } else {
            match first {
                '}' => {
                    let done = std::mem::take(&mut steps);
                    meant.get_or_insert(done);
                    rest.split_once('{').map_or("", |(_, more)| more)
                }
                ' ' | '@' | '$' => rest.get(1..).unwrap_or_default(),
                '[' => brackets(rest, &mut steps)?,
                '.' => field(rest.get(1..).unwrap_or_default(), &mut steps)?,
                '"' | '\'' => quoted(rest, first, &mut steps)?,
                '+' | '-' => number(rest, &mut steps)?,
                c if c.is_ascii_digit() => number(rest, &mut steps)?,
                c if is_word(c) => word(rest, &mut steps),
                '\n' | '\r' => return Err(no_path("unclosed action")),
                other => return Err(unrecognized(other)),
            }
        };
    }
    Ok(JsonPath(meant.unwrap_or(steps)))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_end(c: char) -> bool {
    " \t\r\n.,[]$@{}".contains(c)
}

/// A name, with backslashes before what would end it.
fn field<'a>(text: &'a str, steps: &mut Vec<PathStep>) -> Result<&'a str, NoPath> {
    let mut escaped = false;
    let end = text.find(|c: char| {
        let ends = !escaped && is_end(c);
        escaped = !escaped && c == '\\';
        ends
    });
    if end.is_none() && escaped {
        return Err(no_path("unclosed action"));
    }
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    steps.push(match name {
        "*" => PathStep::All,
        name => PathStep::Field(name.replace('\\', "")),
    });
    Ok(rest)
}

fn deep<'a>(text: &'a str, steps: &mut Vec<PathStep>) -> Result<&'a str, NoPath> {
    if steps.last() == Some(&PathStep::Deep) {
        return Err(no_path("invalid multiple recursive descent"));
    }
    steps.push(PathStep::Deep);
    if text.starts_with(is_word) {
        field(text, steps)
    } else {
        Ok(text)
    }
}

/// `[0]`, `[1:3]`, `[*]`, `['name']`, `[0,2]`.
fn brackets<'a>(text: &'a str, steps: &mut Vec<PathStep>) -> Result<&'a str, NoPath> {
    let unterminated = || no_path("unterminated array");
    let (inside, rest) = text.split_once(']').ok_or_else(unterminated)?;
    let inside = inside.strip_prefix('[').ok_or_else(unterminated)?;
    if inside.contains('\n') {
        return Err(unterminated());
    }
    if inside.contains(',') {
        let parts = inside
            .split(',')
            .map(|part| path(&format!("[{}]", part.trim_matches(' '))));
        steps.push(PathStep::Union(parts.collect::<Result<_, _>>()?));
        return Ok(rest);
    }
    let name = inside
        .strip_prefix('\'')
        .and_then(|name| name.strip_suffix('\''));
    match name {
        // A name with a dot is a path of its own.
        Some(name) if !name.contains('\'') => steps.extend(path(&format!(".{name}"))?.0),
        _ => steps.push(PathStep::Slice(slice(if inside == "*" {
            ":"
        } else {
            inside
        })?)),
    }
    Ok(rest)
}

fn slice(text: &str) -> Result<Slice, NoPath> {
    let invalid = || NoPath(format!("invalid array index {text}"));
    let number = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(invalid());
        }
        let number = (!text.is_empty()).then(|| text.parse()).transpose();
        number.map_err(|_| NoPath(format!("array index {text} is not a number")))
    };
    let mut parts = text.split(':');
    let from = number(parts.next().unwrap_or_default())?;
    let to = parts.next();
    let by = number(parts.next().unwrap_or_default())?;
    if parts.next().is_some() {
        return Err(invalid());
    }
    Ok(Slice {
        from,
        to: number(to.unwrap_or_default())?,
        by,
        is_single: to.is_none(),
    })
}

/// Where the `)` of a filter is; it may be in quotes, but client-go knows only one quoted text.
fn closing(text: &str) -> Option<usize> {
    let mut open = None;
    let mut has_closed = false;
    let mut before = '(';
    text.find(|c: char| {
        let mut ends = false;
        match (c, open) {
            ('"' | '\'', None) => open = Some(c),
            (_, Some(open)) if c == open && before != '\\' => has_closed = true,
            (')', _) => ends = open.is_some() == has_closed,
            _ => {}
        }
        before = c;
        ends
    })
}

/// `[?(@.type=="Ready")]`, from behind the opening.
fn filter<'a>(text: &'a str, steps: &mut Vec<PathStep>) -> Result<&'a str, NoPath> {
    let unterminated = || no_path("unterminated filter");
    let (inside, rest) = text.split_at(closing(text).ok_or_else(unterminated)?);
    if inside.contains('\n') {
        return Err(unterminated());
    }
    let unclosed = || no_path("unclosed array expect ]");
    let rest = rest.strip_prefix(")]").ok_or_else(unclosed)?;
    let sign = |c: char| "!<>=".contains(c);
    let Some(at) = inside.find(sign) else {
        steps.push(PathStep::Filter(path(inside)?, Test::Exists));
        return Ok(rest);
    };
    let (left, right) = inside.split_at(at);
    let Some(end) = right.find(|c| !sign(c)) else {
        // The last sign is taken for what is compared with, if it is not the only one.
        if let Some(last) = right.chars().skip(1).last() {
            return Err(unrecognized(last));
        }
        steps.push(PathStep::Filter(path(inside)?, Test::Exists));
        return Ok(rest);
    };
    let (operator, right) = right.split_at(end);
    let operator = match operator {
        "==" => Operator::Equal,
        "!=" => Operator::NotEqual,
        "<" => Operator::Less,
        "<=" => Operator::LessOrEqual,
        ">" => Operator::Greater,
        ">=" => Operator::GreaterOrEqual,
        _ => Operator::Unknown,
    };
    if left.is_empty() {
        return Err(unrecognized(right.chars().next().unwrap_or('=')));
    }
    let test = Test::Compare(operator, path(right)?);
    steps.push(PathStep::Filter(path(left)?, test));
    Ok(rest)
}

fn quoted<'a>(text: &'a str, quote: char, steps: &mut Vec<PathStep>) -> Result<&'a str, NoPath> {
    let unterminated = || no_path("unterminated quoted string");
    let mut said = String::new();
    let mut is_odd = false;
    let mut rest = text.char_indices().skip(1);
    while let Some((at, c)) = rest.next() {
        match c {
            '\n' => return Err(unterminated()),
            '\\' => said.push(match rest.next().ok_or_else(unterminated)?.1 {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                c => {
                    is_odd |= c != quote && c != '\\';
                    c
                }
            }),
            c if c == quote => {
                let (whole, rest) = text.split_at_checked(at + 1).ok_or_else(unterminated)?;
                if is_odd {
                    let why = format!("unquote string {whole} error invalid syntax");
                    return Err(NoPath(why));
                }
                steps.push(PathStep::Text(said.into()));
                return Ok(rest);
            }
            c => said.push(c),
        }
    }
    Err(unterminated())
}

fn no_path(why: &str) -> NoPath {
    NoPath(why.to_owned())
}

fn unrecognized(c: char) -> NoPath {
    let code = u32::from(c);
    NoPath(format!(
        "unrecognized character in action: U+{code:04X} '{c}'"
    ))
}

fn number<'a>(text: &'a str, steps: &mut Vec<PathStep>) -> Result<&'a str, NoPath> {
    let signed = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = signed
        .find(|c: char| c != '.' && !c.is_ascii_digit())
        .unwrap_or(signed.len());
    let (number, rest) = text.split_at(text.len() - signed.len() + digits);
    let plain = number.strip_prefix('+').unwrap_or(number);
    let value: Value = match plain.parse::<i64>() {
        Ok(int) => int.into(),
        Err(_) => plain
            .parse::<f64>()
            .map_err(|_| NoPath(format!("cannot parse number {number}")))?
            .into(),
    };
    steps.push(PathStep::Literal(value));
    Ok(rest)
}

/// `true` or `false`; client-go's `range` and `end` have no place here.
fn word<'a>(text: &'a str, steps: &mut Vec<PathStep>) -> &'a str {
    let (word, rest) = text.split_at(text.find(is_end).unwrap_or(text.len()));
    steps.push(match word.parse::<bool>() {
        Ok(value) => PathStep::Literal(value.into()),
        Err(_) => PathStep::Word,
    });
    rest
}
