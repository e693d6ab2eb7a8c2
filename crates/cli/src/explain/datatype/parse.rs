// SPDX-License-Identifier: MIT OR Apache-2.0
//! The grammar of type expressions.
//!
//! ```text
//! value    = number | list | call
//! number   = ["-"] digits {"*" digits}
//! list     = "[" [value {"," value}] "]"
//! call     = word ["(" [argument {"," argument}] ")"]
//! argument = [word "="] value
//! ```

use std::ops::Range;

/// Something wrong, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) at: Range<usize>,
    pub(super) text: String,
}

impl Trouble {
    pub(super) fn new(at: &Range<usize>, text: impl Into<String>) -> Self {
        Self {
            at: at.clone(),
            text: text.into(),
        }
    }

    /// The text, and the expression with a mark below the place.
    pub(super) fn show(&self, expression: &str) -> String {
        let before = expression[..self.at.start].chars().count();
        let marks = expression[self.at.clone()].chars().count().max(1);
        let (gap, mark) = (" ".repeat(before), "^".repeat(marks));
        let column = before + 1;
        format!(
            "column {column}: {}\n  {expression}\n  {gap}{mark}",
            self.text
        )
    }
}

pub(super) type Parsed<T> = Result<T, Trouble>;

/// A part of an expression, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) at: Range<usize>,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Number(i64),
    List(Vec<Value>),
    Call {
        word: String,
        /// Where the word stands.
        word_at: Range<usize>,
        /// `None` without parentheses.
        arguments: Option<Vec<Argument>>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Argument {
    /// The name before the equals sign, and where it stands.
    pub(super) name: Option<(String, Range<usize>)>,
    pub(super) value: Value,
}

/// Types inside each other at most; the parser recurses.
const DEEPEST: usize = 200;

/// Parses a whole expression.
pub(super) fn parse(text: &str) -> Parsed<Value> {
    let mut parser = Parser { text, at: 0 };
    let value = parser.value(0)?;
    let rest = parser.next_token();
    if rest.is_empty() {
        return Ok(value);
    }
    Err(parser.expected("the end of the expression", &rest))
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl Parser<'_> {
    /// The next token without taking it: a word, a number, or one other character; empty at the end.
    fn next_token(&self) -> Range<usize> {
        let rest = &self.text[self.at..];
        let start = self.at + rest.len() - rest.trim_start().len();
        let rest = &self.text[start..];
        let length = match rest.chars().next() {
            None => 0,
            Some(c) if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            Some(c) => c.len_utf8(),
        };
        start..start + length
    }

    fn take(&mut self) -> (Range<usize>, &str) {
        let token = self.next_token();
        self.at = token.end;
        (token.clone(), &self.text[token])
    }

    fn take_if(&mut self, sign: &str) -> bool {
        let token = self.next_token();
        let found = &self.text[token.clone()] == sign;
        if found {
            self.at = token.end;
        }
        found
    }

    #[cold]
    fn expected(&self, what: &str, found: &Range<usize>) -> Trouble {
        let found_text = match &self.text[found.clone()] {
            "" => "the end".to_owned(),
            token => format!("`{token}`"),
        };
        Trouble::new(found, format!("expected {what}, found {found_text}"))
    }

    fn value(&mut self, depth: usize) -> Parsed<Value> {
        let first = self.next_token();
        if depth > DEEPEST {
            let text = format!("types are nested more than {DEEPEST} deep");
            return Err(Trouble::new(&first, text));
        }
        let kind = match self.text[first.clone()].chars().next() {
            Some('[') => {
                self.take();
                Kind::List(self.separated("]", "a value", |parser| parser.value(depth + 1))?)
            }
            Some(c) if c == '-' || (c.is_ascii_digit() && self.is_number(&first)) => {
                self.number()?
            }
            Some(c) if is_word(c) => self.call(depth)?,
            _ => return Err(self.expected("a type, a number or a list", &first)),
        };
        Ok(Value {
            at: first.start..self.at,
            kind,
        })
    }

    /// Whether a word that starts with a digit is a number and no name such as 2INT.
    fn is_number(&self, token: &Range<usize>) -> bool {
        self.text[token.clone()].chars().all(|c| c.is_ascii_digit())
    }

    fn number(&mut self) -> Parsed<Kind> {
        let start = self.next_token().start;
        let is_negative = self.take_if("-");
        let mut product = 1i64;
        loop {
            let token = self.next_token();
            let digits = &self.text[token.clone()];
            if digits.is_empty() || !self.is_number(&token) {
                return Err(self.expected("digits", &token));
            }
            let factor = digits.parse().ok();
            self.at = token.end;
            let whole = factor.and_then(|factor| product.checked_mul(factor));
            product = whole.ok_or_else(|| {
                let at = start..token.end;
                Trouble::new(&at, "the number exceeds 63 bits")
            })?;
            if !self.take_if("*") {
                break;
            }
        }
        Ok(Kind::Number(if is_negative { -product } else { product }))
    }

    fn call(&mut self, depth: usize) -> Parsed<Kind> {
        let (word_at, word) = self.take();
        let word = word.to_owned();
        let arguments = if self.take_if("(") {
            Some(self.separated(")", "an argument", |parser| parser.argument(depth))?)
        } else {
            None
        };
        Ok(Kind::Call {
            word,
            word_at,
            arguments,
        })
    }

    fn argument(&mut self, depth: usize) -> Parsed<Argument> {
        let before = self.at;
        let (at, word) = self.take();
        let word = word.to_owned();
        if word.starts_with(is_word) && self.take_if("=") {
            let value = self.value(depth + 1)?;
            let name = Some((word, at));
            return Ok(Argument { name, value });
        }
        self.at = before;
        let value = self.value(depth + 1)?;
        Ok(Argument { name: None, value })
    }

    /// Items with commas between them up to `end`.
    fn separated<T>(
        &mut self,
        end: &str,
        what: &str,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        if self.take_if(end) {
            return Ok(items);
        }
        loop {
            if self.next_token().is_empty() {
                return Err(self.expected(what, &self.next_token()));
            }
            items.push(item(self)?);
            if self.take_if(end) {
                return Ok(items);
            }
            if !self.take_if(",") {
                let wanted = format!("`,` or `{end}`");
                return Err(self.expected(&wanted, &self.next_token()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trouble(text: &str) -> (usize, String) {
        let trouble = parse(text).unwrap_err();
        (trouble.at.start + 1, trouble.text)
    }

    #[test]
    fn values_know_where_they_stand() {
        let value = parse(" vector( 4, stride = -2*3,double )").unwrap();
        assert_eq!(value.at, 1..34);
        let Kind::Call {
            word, arguments, ..
        } = value.kind
        else {
            panic!("a call");
        };
        let arguments = arguments.unwrap();
        assert_eq!((word.as_str(), arguments.len()), ("vector", 3));
        assert_eq!(arguments[0].value.kind, Kind::Number(4));
        assert_eq!(arguments[1].name, Some(("stride".to_owned(), 12..18)));
        assert_eq!(arguments[1].value.kind, Kind::Number(-6));
        assert_eq!(arguments[1].value.at, 21..25);
        let Kind::Call {
            word, arguments, ..
        } = &arguments[2].value.kind
        else {
            panic!("a word");
        };
        assert_eq!((word.as_str(), arguments), ("double", &None));
    }

    #[test]
    fn lists_nest_and_names_may_start_with_digits() {
        let value = parse("[[], [1, 2INT]]").unwrap();
        let Kind::List(outer) = value.kind else {
            panic!("a list");
        };
        assert_eq!(outer[0].kind, Kind::List(Vec::new()));
        let Kind::List(inner) = &outer[1].kind else {
            panic!("a list");
        };
        assert_eq!(inner[0].kind, Kind::Number(1));
        assert!(matches!(&inner[1].kind, Kind::Call { word, .. } if word == "2INT"));
    }

    #[test]
    fn errors_name_the_column_and_what_was_expected() {
        let cases = [
            ("", 1, "expected a type, a number or a list, found the end"),
            (
                "double)",
                7,
                "expected the end of the expression, found `)`",
            ),
            ("vector(1 2)", 10, "expected `,` or `)`, found `2`"),
            ("vector(1,", 10, "expected an argument, found the end"),
            ("[1,", 4, "expected a value, found the end"),
            (
                "vector(count=)",
                14,
                "expected a type, a number or a list, found `)`",
            ),
            ("vector(-x)", 9, "expected digits, found `x`"),
            ("contiguous(3*,int)", 14, "expected digits, found `,`"),
            (
                "contiguous(99999999999999999999)",
                12,
                "the number exceeds 63 bits",
            ),
            (
                "contiguous(4611686018427387904*2)",
                12,
                "the number exceeds 63 bits",
            ),
        ];
        for (text, column, expected) in cases {
            assert_eq!(trouble(text), (column, expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn depth_is_limited() {
        let text = format!("{}int{}", "dup(".repeat(200), ")".repeat(200));
        assert!(parse(&text).is_ok());
        let text = format!("{}int{}", "dup(".repeat(201), ")".repeat(201));
        assert_eq!(trouble(&text).1, "types are nested more than 200 deep");
    }

    #[test]
    fn marks_stand_below_the_place() {
        let text = "contiguous(é)";
        let trouble = Trouble::new(&(11..13), "expected a count");
        assert_eq!(
            trouble.show(text),
            "column 12: expected a count\n  contiguous(é)\n             ^"
        );
    }
}
