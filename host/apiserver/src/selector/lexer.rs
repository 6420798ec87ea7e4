//! Cuts a label selector into words, as apimachinery's `labels.Lexer` does.

/// A word of a selector, with its text for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) token: Token,
    pub(super) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
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

/// All words, the last one being [`Token::End`].
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let Some(first) = rest.chars().next() else {
            words.push(Word {
                token: Token::End,
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
            .is_some_and(|word| token(word, true) != Token::Error)
    };
    (1..=run.min(2)).rev().find(known).unwrap_or(run)
}

fn token(word: &str, special: bool) -> Token {
    match word {
        ")" => Token::Close,
        "," => Token::Comma,
        "!" => Token::Not,
        "==" => Token::DoubleEquals,
        "=" => Token::Equals,
        ">" => Token::Greater,
        "in" => Token::In,
        "<" => Token::Less,
        "!=" => Token::NotEquals,
        "notin" => Token::NotIn,
        "(" => Token::Open,
        _ if special => Token::Error,
        _ => Token::Name,
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_special(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}
