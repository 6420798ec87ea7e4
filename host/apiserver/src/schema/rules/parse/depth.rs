//! How deeply an expression is nested, before the parser sees it: that one has no limit that fits.
//!
//! - cel-go counts twice: how often a rule of its grammar is inside itself while it parses, and how deeply chains
//!   and operators are inside each other after that (`parser/parser.go`, `recursionListener` and
//!   `checkAndIncrementRecursionDepth`).
//! - On the way, signs that cancel each other out are found: the parser gets an even number of them wrong.

use std::ops::Range;

use super::tokens::{Token, TokenKind};

/// Of both counts.
const LIMIT: u16 = 250;

/// What walking an expression came to.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// Signs that change nothing.
    pub(super) idle: Vec<Range<usize>>,
    /// The token that does not fit; the parser says what is wrong with it.
    pub(super) misfit: Option<usize>,
}

/// Goes through the tokens of an expression.
///
/// # Errors
/// If it is nested too deeply, in cel-go's words.
pub(super) fn walk(tokens: &[Token]) -> Result<Walked, String> {
    let mut walk = DepthWalk {
        tokens,
        at: 0,
        expressions: 0,
        relations: 0,
        calculations: 0,
        idle: Vec::new(),
    };
    let walked = walk.expression().and_then(|height| {
        let ended = walk.at == tokens.len();
        if ended { Ok(height) } else { Err(Stop::Misfit) }
    });
    match walked {
        Ok(height) if height > LIMIT => Err("max recursion depth exceeded".to_owned()),
        Err(Stop::TooDeep) => Err(format!("expression recursion limit exceeded: {LIMIT}")),
        Ok(_) => Ok(Walked {
            idle: walk.idle,
            misfit: None,
        }),
        Err(Stop::Misfit) => Ok(Walked {
            misfit: Some(walk.at),
            idle: walk.idle,
        }),
    }
}

enum Stop {
    Misfit,
    TooDeep,
}

/// How deeply what follows a chain is inside it.
type Height = Result<u16, Stop>;

/// The rules that are inside themselves more often than any other.
#[derive(Clone, Copy)]
enum GrammarRule {
    Expression,
    Relation,
    Calculation,
}

struct DepthWalk<'a> {
    tokens: &'a [Token],
    at: usize,
    /// How often each rule is inside itself.
    expressions: u16,
    relations: u16,
    calculations: u16,
    idle: Vec<Range<usize>>,
}

impl DepthWalk<'_> {
    fn kind(&self, ahead: usize) -> Option<TokenKind> {
        self.tokens.get(self.at + ahead).map(|token| token.kind)
    }

    fn sign(&self) -> &'static str {
        match self.kind(0) {
            Some(TokenKind::Sign(sign)) => sign,
            _ => "",
        }
    }

    fn takes(&mut self, sign: &str) -> bool {
        let takes = self.sign() == sign;
        self.at += usize::from(takes);
        takes
    }

    fn demands(&mut self, sign: &str) -> Result<(), Stop> {
        if self.takes(sign) {
            Ok(())
        } else {
            Err(Stop::Misfit)
        }
    }

    fn within(&mut self, rule: GrammarRule, work: impl FnOnce(&mut Self) -> Height) -> Height {
        *self.inside(rule) += 1;
        if *self.inside(rule) > LIMIT {
            return Err(Stop::TooDeep);
        }
        let height = work(self);
        *self.inside(rule) -= 1;
        height
    }

    fn inside(&mut self, rule: GrammarRule) -> &mut u16 {
        match rule {
            GrammarRule::Expression => &mut self.expressions,
            GrammarRule::Relation => &mut self.relations,
            GrammarRule::Calculation => &mut self.calculations,
        }
    }

    fn expression(&mut self) -> Height {
        self.within(GrammarRule::Expression, |walk| {
            let mut height = walk.either()?;
            if walk.takes("?") {
                height = height.max(walk.either()?);
                walk.demands(":")?;
                height = height.max(walk.expression()?) + 1;
            }
            Ok(height)
        })
    }

    /// `||` and `&&`: cel-go balances them, so that their number does not matter.
    fn either(&mut self) -> Height {
        let mut height = self.relation(false)?;
        while self.takes("||") || self.takes("&&") {
            height = height.max(self.relation(false)?);
        }
        Ok(height)
    }

    /// A comparison; `right` says that it is the right side of another one.
    fn relation(&mut self, right: bool) -> Height {
        self.within(GrammarRule::Relation, |walk| {
            let mut height = walk.calculation(1)?;
            let compares = ["<", "<=", ">=", ">", "==", "!=", "in"];
            while !right && compares.contains(&walk.sign()) {
                walk.at += 1;
                height = height.max(walk.relation(true)?) + 1;
            }
            Ok(height)
        })
    }

    /// Operators that bind at least so tightly.
    fn calculation(&mut self, tight: u8) -> Height {
        self.within(GrammarRule::Calculation, |walk| {
            let mut height = walk.unary()?;
            loop {
                let binds = match walk.sign() {
                    "*" | "/" | "%" => 2,
                    "+" | "-" => 1,
                    _ => return Ok(height),
                };
                if binds < tight {
                    return Ok(height);
                }
                walk.at += 1;
                height = height.max(walk.calculation(binds + 1)?) + 1;
            }
        })
    }

    fn unary(&mut self) -> Height {
        let sign = self.sign();
        if !matches!(sign, "!" | "-") || self.is_number() {
            return self.member();
        }
        let first = self.at;
        while self.takes(sign) {}
        let count = self.at - first;
        let fits = !matches!(self.sign(), "!" | "-") || self.is_number();
        if count.is_multiple_of(2) {
            // What does not fit keeps a sign, which does not fit either.
            let blank = if fits { count } else { count - 1 };
            self.idle.push(first..first + blank);
        }
        self.member()
    }

    /// Whether a number with a sign follows.
    fn is_number(&self) -> bool {
        self.sign() == "-" && self.kind(1) == Some(TokenKind::Number)
    }

    fn member(&mut self) -> Height {
        let mut height = self.primary()?;
        loop {
            if self.takes("[") {
                self.takes("?");
                height = height.max(self.expression()?);
                self.demands("]")?;
            } else if self.takes(".") {
                let optional = self.takes("?");
                let name = self.kind(0);
                if !matches!(name, Some(TokenKind::Name | TokenKind::Quoted)) {
                    return Err(Stop::Misfit);
                }
                self.at += 1;
                if name == Some(TokenKind::Name) && !optional && self.takes("(") {
                    height = height.max(self.arguments(")", false)?);
                }
            } else {
                return Ok(height);
            }
            height += 1;
        }
    }

    fn primary(&mut self) -> Height {
        if self.is_number() {
            self.at += 2;
            return Ok(0);
        }
        if self.takes("(") {
            let height = self.expression()?;
            self.demands(")")?;
            return Ok(height);
        }
        if self.takes("[") {
            return self.arguments("]", true);
        }
        if self.takes("{") {
            return self.entries();
        }
        if matches!(self.kind(0), Some(TokenKind::Number | TokenKind::Literal)) {
            self.at += 1;
            return Ok(0);
        }
        self.takes(".");
        if self.kind(0) != Some(TokenKind::Name) {
            return Err(Stop::Misfit);
        }
        self.at += 1;
        if self.takes("(") {
            return self.arguments(")", false);
        }
        let dots = || self.tokens.get(self.at..).unwrap_or_default().chunks(2);
        let is_more = |pair: &&[Token]| {
            let kinds = pair.iter().map(|token| token.kind);
            kinds.eq([TokenKind::Sign("."), TokenKind::Name])
        };
        let names = dots().take_while(is_more).count();
        if self.kind(2 * names) == Some(TokenKind::Sign("{")) {
            self.at += 2 * names + 1;
            return self.entries();
        }
        Ok(0)
    }

    /// Expressions up to a bracket. In a list, each may be optional, and a comma may follow the last.
    fn arguments(&mut self, close: &str, list: bool) -> Height {
        let mut height = 0;
        if self.takes(close) {
            return Ok(height);
        }
        loop {
            if list && self.takes(",") {
                self.demands(close)?;
                return Ok(height);
            }
            if list {
                self.takes("?");
            }
            height = height.max(self.expression()?);
            if self.takes(close) {
                return Ok(height);
            }
            self.demands(",")?;
            if list && self.takes(close) {
                return Ok(height);
            }
        }
    }

    /// The entries of a map, or the fields of an object.
    fn entries(&mut self) -> Height {
        let mut height = 0;
        loop {
            if self.takes("}") {
                return Ok(height);
            }
            if self.takes(",") {
                self.demands("}")?;
                return Ok(height);
            }
            self.takes("?");
            if self.kind(0) == Some(TokenKind::Quoted) {
                self.at += 1;
            } else {
                height = height.max(self.expression()?);
            }
            self.demands(":")?;
            height = height.max(self.expression()?);
            if self.sign() != "}" {
                self.demands(",")?;
            }
        }
    }
}
