//! Cuts a label selector into words, as apimachinery's `labels.Lexer` does.

/// A word of a selector, with its text for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) token: SelectorToken,
    pub(super) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SelectorToken {
    Error,
    End,
    Close,
    Comma,
    Not,
    DoubleEquals,
    Equals,
    Greater,
    Name,
    In,
    Less,
    NotEquals,
    NotIn,
    Open,
}

/// All words, the last one being [`SelectorToken::End`].
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let Some(first) = rest.chars().next() else {
            words.push(Word {
                token: SelectorToken::End,
                text: String::new(),
            });
            return words;
        };
        let length = if is_special(first) {
            special(rest)
        } else {
            rest.find(|c| is_special(c) || is_space(c))
                .unwrap_or(rest.len())
        };
        let (word, after) = rest.split_at(length.clamp(first.len_utf8(), rest.len()));
        rest = after;
        words.push(Word {
            token: token(word, is_special(first)),
            text: word.to_owned(),
        });
    }
}

/// The longest run of signs that is an operator; a single sign otherwise.
fn special(rest: &str) -> usize {
    let run = rest.find(|c| !is_special(c)).unwrap_or(rest.len());
    let known = |length: &usize| {
        rest.get(..*length)
            .is_some_and(|word| token(word, true) != SelectorToken::Error)
    };
    (1..=run.min(2)).rev().find(known).unwrap_or(run)
}

fn token(word: &str, special: bool) -> SelectorToken {
    match word {
        ")" => SelectorToken::Close,
        "," => SelectorToken::Comma,
        "!" => SelectorToken::Not,
        "==" => SelectorToken::DoubleEquals,
        "=" => SelectorToken::Equals,
        ">" => SelectorToken::Greater,
        "in" => SelectorToken::In,
        "<" => SelectorToken::Less,
        "!=" => SelectorToken::NotEquals,
        "notin" => SelectorToken::NotIn,
        "(" => SelectorToken::Open,
        _ if special => SelectorToken::Error,
        _ => SelectorToken::Name,
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_special(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}
