//! The value of a header, with the keys of a Secret in braces.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::SecretData;
use crate::text::shown;

/// The fewest bytes of a value that is sent: less cannot be told from other text in an answer.
const SHORTEST: usize = 4;
/// The most bytes of a value that is sent.
const LONGEST: usize = 8 * 1024;

/// `Bearer {token}`, `{basic:user:password}`; `{{` for a brace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    /// The value of a key.
    Key(String),
    /// Two keys, as RFC 7617 has them: the word `Basic`, and both values in base64.
    Basic {
        user: String,
        password: String,
    },
}

/// Why a text is not a template, or cannot be rendered. It holds no value of a Secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateProblem {
    /// A brace that is not closed.
    #[error("a brace is not closed: write {{{{ for a brace that stands for itself")]
    Open,
    /// What is between two braces is not the name of a key.
    #[error("{0} is not {{key}} or {{basic:user:password}}")]
    Key(String),
    /// It has no key.
    #[error("has no key of a Secret in braces, such as Bearer {{token}}")]
    Plain,
    /// The text round the keys has a control character.
    #[error("has a control character")]
    Control,
    /// The Secret does not have the key.
    #[error("the Secret has no key {0}")]
    Missing(String),
    /// The value cannot be in a header.
    #[error("the value of key {0} {1}")]
    Value(String, &'static str),
}

/// A rendered value, and what must not come back.
pub(crate) struct Rendered {
    pub(crate) value: Vec<u8>,
    pub(crate) hidden: Vec<Vec<u8>>,
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: &str) -> Result<Self, TemplateProblem> {
        if text.chars().any(char::is_control) {
            return Err(TemplateProblem::Control);
        }
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            literal.push_str(before);
            if let Some(after) = after.strip_prefix('{') {
                literal.push('{');
                rest = after;
                continue;
            }
            let (inside, after) = after.split_once('}').ok_or(TemplateProblem::Open)?;
            if !literal.is_empty() {
                parts.push(Part::Literal(std::mem::take(&mut literal)));
            }
            parts.push(part(inside)?);
            rest = after;
        }
        literal.push_str(rest);
        if parts.is_empty() {
            return Err(TemplateProblem::Plain);
        }
        if !literal.is_empty() {
            parts.push(Part::Literal(literal));
        }
        Ok(Self(parts))
    }

    /// The keys that it needs.
    pub fn keys(&self) -> Vec<&str> {
        let keys = self.0.iter().flat_map(|part| match part {
            Part::Literal(_) => vec![],
            Part::Key(key) => vec![key.as_str()],
            Part::Basic { user, password } => vec![user.as_str(), password.as_str()],
        });
        keys.collect()
    }

    /// Fills in the values of a Secret.
    pub(crate) fn render(&self, data: &SecretData) -> Result<Rendered, TemplateProblem> {
        let mut rendered = Rendered {
            value: Vec::new(),
            hidden: Vec::new(),
        };
        for part in &self.0 {
            match part {
                Part::Literal(text) => rendered.value.extend(text.as_bytes()),
                Part::Key(key) => {
                    let value = long_enough(key, value(data, key)?)?;
                    rendered.value.extend(value);
                    rendered.hidden.push(value.to_vec());
                }
                Part::Basic { user, password } => {
                    let pair = pair(data, user, password)?;
                    rendered.value.extend(b"Basic ");
                    rendered.value.extend(STANDARD.encode(&pair).as_bytes());
                    rendered.hidden.push(pair);
                    rendered.hidden.push(value(data, password)?.to_vec());
                }
            }
        }
        Ok(rendered)
    }
}

impl fmt::Display for Template {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            Part::Literal(text) => out.write_str(&text.replace('{', "{{")),
            Part::Key(key) => write!(out, "{{{key}}}"),
            Part::Basic { user, password } => write!(out, "{{basic:{user}:{password}}}"),
        })
    }
}

fn part(inside: &str) -> Result<Part, TemplateProblem> {
    let words: Vec<&str> = inside.split(':').collect();
    match words.as_slice() {
        [key] if is_key(key) => Ok(Part::Key((*key).to_owned())),
        ["basic", user, password] if is_key(user) && is_key(password) => Ok(Part::Basic {
            user: (*user).to_owned(),
            password: (*password).to_owned(),
        }),
        _ => Err(TemplateProblem::Key(shown(&format!("{{{inside}}}")))),
    }
}

/// Whether a Secret can have the key.
fn is_key(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    (1..=253).contains(&text.len()) && text.bytes().all(is_plain)
}

fn pair(data: &SecretData, user: &str, password: &str) -> Result<Vec<u8>, TemplateProblem> {
    let name = value(data, user)?;
    if name.contains(&b':') {
        return Err(TemplateProblem::Value(
            user.to_owned(),
            "has a colon, which ends a user's name",
        ));
    }
    let password = long_enough(password, value(data, password)?)?;
    Ok([name, b":", password].concat())
}

fn value<'d>(data: &'d SecretData, key: &str) -> Result<&'d [u8], TemplateProblem> {
    let value = data.get(key);
    let value = value.ok_or_else(|| TemplateProblem::Missing(key.to_owned()))?;
    let problem = match value.as_slice() {
        [] => "is empty",
        [.., b'\n'] => "ends with a line break: write the Secret without it",
        value if value.iter().any(u8::is_ascii_control) => "has a control character",
        [b' ', ..] | [.., b' '] => "begins or ends with a space",
        value if value.len() > LONGEST => "is longer than 8 KiB",
        value => return Ok(value),
    };
    Err(TemplateProblem::Value(key.to_owned(), problem))
}

fn long_enough<'d>(key: &str, value: &'d [u8]) -> Result<&'d [u8], TemplateProblem> {
    if value.len() < SHORTEST {
        return Err(TemplateProblem::Value(
            key.to_owned(),
            "is shorter than 4 bytes",
        ));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(pairs: &[(&str, &str)]) -> SecretData {
        let pairs = pairs.iter();
        pairs
            .map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()))
            .collect()
    }

    #[test]
    fn a_template_is_filled_with_the_values_of_a_secret() {
        let data = data(&[("token", "s3cret"), ("user", "anna"), ("pass.word", "öpen")]);
        for (text, want) in [
            ("{token}", "s3cret"),
            ("Bearer {token}", "Bearer s3cret"),
            ("{basic:user:pass.word}", "Basic YW5uYTrDtnBlbg=="),
            ("{{a} {token} }", "{a} s3cret }"),
            ("{{{token}", "{s3cret"),
            ("{token}{token}", "s3crets3cret"),
        ] {
            let template = Template::parse(text).unwrap();
            let rendered = template.render(&data).unwrap();
            assert_eq!(String::from_utf8(rendered.value).unwrap(), want, "{text}");
            assert_eq!(Template::parse(&template.to_string()), Ok(template));
        }
    }

    #[test]
    fn a_text_that_is_no_template_is_refused() {
        for text in [
            "",
            "Bearer",
            "{{token}}",
            "{",
            "{}",
            "{token",
            "a\n{token}",
            "{a b}",
            "{basic:a}",
            "{basic::b}",
            "{other:a:b}",
        ] {
            assert!(Template::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_value_that_cannot_be_in_a_header_is_refused_and_not_repeated() {
        for (value, password) in [
            ("", "word"),
            ("v4lue\n", "word"),
            ("v4l\r\nx: y", "word"),
            ("v4l\0ue", "word"),
            (" v4lue", "word"),
            ("v4lue ", "word"),
            ("abc", "word"),
            ("v4lue", "abc"),
            ("v4:ue", "word"),
            (&"v".repeat(9000), "word"),
        ] {
            let data = data(&[("token", value), ("password", password)]);
            let one = Template::parse("{token}").unwrap().render(&data).err();
            let both = Template::parse("{basic:token:password}")
                .unwrap()
                .render(&data)
                .err();
            let problem = one.or(both).unwrap();
            assert!(
                value.is_empty() || !problem.to_string().contains(value),
                "{problem}"
            );
        }
        let problem = Template::parse("{gone}").unwrap().render(&data(&[])).err();
        assert_eq!(problem, Some(TemplateProblem::Missing("gone".to_owned())));
    }
}
