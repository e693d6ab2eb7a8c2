// SPDX-License-Identifier: MIT OR Apache-2.0
//! Terms of a quantity: `2 PCIe`, `LLP_prog / c`, `max(sender, receiver)`.
//!
//! Sums, differences, products, quotients, parentheses and the functions `max`, `min` and `ceil` over numbers and names. A
//! number before a name multiplies it.

use crate::dual::Dual;

/// A parsed term.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Number(f64),
    Name(String),
    Add(Box<Self>, Box<Self>),
    Subtract(Box<Self>, Box<Self>),
    Multiply(Box<Self>, Box<Self>),
    Divide(Box<Self>, Box<Self>),
    Max(Vec<Self>),
    Min(Vec<Self>),
    Ceil(Box<Self>),
}

impl Expression {
    /// The expression of a text; the error tells what was expected where.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser {
            text,
            position: 0,
            depth: 0,
        };
        let whole = parser.sum()?;
        match parser.peek() {
            None => Ok(whole),
            Some(_) => Err(parser.expected("an operator, or the end")),
        }
    }

    /// Names in the order in which they stand.
    pub(crate) fn names<'a>(&'a self, found: &mut Vec<&'a str>) {
        match self {
            Self::Number(_) => {}
            Self::Name(name) => found.push(name),
            Self::Add(left, right)
            | Self::Subtract(left, right)
            | Self::Multiply(left, right)
            | Self::Divide(left, right) => {
                left.names(found);
                right.names(found);
            }
            Self::Max(all) | Self::Min(all) => all.iter().for_each(|one| one.names(found)),
            Self::Ceil(inner) => inner.names(found),
        }
    }

    /// Whether it has a function whose value is no multiple of its arguments'.
    pub(crate) fn has_corner(&self) -> bool {
        match self {
            Self::Number(_) | Self::Name(_) => false,
            Self::Add(left, right) | Self::Subtract(left, right) => {
                left.has_corner() || right.has_corner()
            }
            // A product or a quotient of a number and a name is linear; of two names it is judged by the caller's values.
            Self::Multiply(left, right) | Self::Divide(left, right) => {
                left.has_corner() || right.has_corner()
            }
            Self::Max(_) | Self::Min(_) | Self::Ceil(_) => true,
        }
    }

    /// The value, where `lookup` gives those of names.
    pub(crate) fn evaluate(&self, lookup: &dyn Fn(&str) -> Dual) -> Dual {
        let all = |list: &[Self], pick: fn(Dual, Dual) -> Dual| {
            let values = list.iter().map(|one| one.evaluate(lookup));
            values.reduce(pick).unwrap_or(Dual::constant(0.0))
        };
        match self {
            Self::Number(number) => Dual::constant(*number),
            Self::Name(name) => lookup(name),
            Self::Add(left, right) => left.evaluate(lookup) + right.evaluate(lookup),
            Self::Subtract(left, right) => left.evaluate(lookup) - right.evaluate(lookup),
            Self::Multiply(left, right) => left.evaluate(lookup) * right.evaluate(lookup),
            Self::Divide(left, right) => left.evaluate(lookup) / right.evaluate(lookup),
            Self::Max(list) => all(list, Dual::max),
            Self::Min(list) => all(list, Dual::min),
            Self::Ceil(inner) => inner.evaluate(lookup).ceil(),
        }
    }
}

/// Nesting that no term of a person reaches; it bounds the stack.
const MAX_DEPTH: usize = 64;

struct Parser<'a> {
    text: &'a str,
    position: usize,
    depth: usize,
}

impl Parser<'_> {
    fn sum(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("at most {MAX_DEPTH} parentheses in each other"));
        }
        let mut left = self.product()?;
        while let Some(sign) = self.peek().filter(|sign| matches!(sign, '+' | '-')) {
            self.advance(sign);
            let right = Box::new(self.product()?);
            left = match sign {
                '+' => Expression::Add(Box::new(left), right),
                _ => Expression::Subtract(Box::new(left), right),
            };
        }
        self.depth -= 1;
        Ok(left)
    }

    fn product(&mut self) -> Result<Expression, String> {
        let mut left = self.factor()?;
        loop {
            let sign = match self.peek() {
                Some(sign @ ('*' | '/')) => {
                    self.advance(sign);
                    sign
                }
                // A number before a name, or before a parenthesis, multiplies it.
                Some(next) if starts_name(next) || next == '(' => '*',
                _ => return Ok(left),
            };
            let right = Box::new(self.factor()?);
            left = match sign {
                '*' => Expression::Multiply(Box::new(left), right),
                _ => Expression::Divide(Box::new(left), right),
            };
        }
    }

    fn factor(&mut self) -> Result<Expression, String> {
        match self.peek() {
            Some('(') => {
                self.advance('(');
                let inner = self.sum()?;
                self.close()?;
                Ok(inner)
            }
            Some(next) if next.is_ascii_digit() => self.number(),
            Some(next) if starts_name(next) => self.name(),
            _ => Err(self.expected("a number, a name or a parenthesis")),
        }
    }

    fn number(&mut self) -> Result<Expression, String> {
        let word = self.word(|letter| letter.is_ascii_digit() || letter == '.');
        let number = word.parse().ok().filter(|number: &f64| number.is_finite());
        number
            .map(Expression::Number)
            .ok_or_else(|| self.expected("a number such as 0.5"))
    }

    fn name(&mut self) -> Result<Expression, String> {
        let word = self.word(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        if self.peek() != Some('(') || !matches!(word.as_str(), "max" | "min" | "ceil") {
            return Ok(Expression::Name(word));
        }
        self.advance('(');
        let mut arguments = vec![self.sum()?];
        while self.peek() == Some(',') {
            self.advance(',');
            arguments.push(self.sum()?);
        }
        self.close()?;
        match (word.as_str(), arguments.len()) {
            ("max", _) => Ok(Expression::Max(arguments)),
            ("min", _) => Ok(Expression::Min(arguments)),
            (_, 1) => Ok(Expression::Ceil(Box::new(arguments.remove(0)))),
            _ => Err(self.expected("one argument of ceil")),
        }
    }

    fn close(&mut self) -> Result<(), String> {
        if self.peek() != Some(')') {
            return Err(self.expected("a closing parenthesis"));
        }
        self.advance(')');
        Ok(())
    }

    fn word(&mut self, belongs: fn(char) -> bool) -> String {
        let rest = &self.text[self.position..];
        let end = rest.find(|letter| !belongs(letter)).unwrap_or(rest.len());
        self.position += end;
        rest[..end].to_owned()
    }

    /// The next letter that is no blank.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.position..];
        let blanks = rest.len() - rest.trim_start().len();
        self.position += blanks;
        rest.trim_start().chars().next()
    }

    fn advance(&mut self, letter: char) {
        self.position += letter.len_utf8();
    }

    fn expected(&self, what: &str) -> String {
        match &self.text[self.position..] {
            "" => format!("{what} at the end"),
            rest => format!("{what} before '{rest}'"),
        }
    }
}

const fn starts_name(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        let values = |name: &str| Dual::constant(if name == "W" { 8.0 } else { 3.0 });
        let parsed = Expression::parse(text).expect(text);
        parsed.evaluate(&values).value
    }

    #[test]
    fn numbers_before_names_multiply_and_products_bind_closer_than_sums() {
        assert_eq!(value("2 PCIe"), 6.0);
        assert_eq!(value("1 + 2 PCIe / W - 0.25"), 1.5);
        assert_eq!(value("2 (a + b) * 3"), 36.0);
        assert_eq!(value("max(a, 2 a, W / 2) + min(a, 1)"), 7.0);
        assert_eq!(value("ceil((40 + 30) / 64)"), 2.0);
        assert_eq!(value("10 - 3 - 2"), 5.0);
    }

    #[test]
    fn wrong_terms_tell_what_was_expected_and_where() {
        let error = |text: &str| Expression::parse(text).expect_err(text);
        assert_eq!(error("a +"), "a number, a name or a parenthesis at the end");
        assert_eq!(error("(a"), "a closing parenthesis at the end");
        assert!(error("a ) b").contains("before ') b'"));
        assert!(error("1.2.3").contains("a number such as 0.5"));
        assert!(error("ceil(1, 2)").contains("one argument"));
        assert!(error("-3").contains("before '-3'"));
        assert!(error(&"(".repeat(1000)).contains("at most 64"));
        assert!(error("ä").contains("a number, a name"));
    }

    #[test]
    fn slopes_follow_the_branch_that_counts() {
        let lookup = |name: &str| Dual {
            value: if name == "a" { 3.0 } else { 5.0 },
            slope: if name == "a" { 3.0 } else { 0.0 },
        };
        let slope = |text: &str| Expression::parse(text).expect(text).evaluate(&lookup).slope;
        assert_eq!(slope("2 a + b"), 6.0);
        assert_eq!(slope("max(a, b)"), 0.0);
        assert_eq!(slope("max(2 a, b)"), 6.0);
        assert_eq!(slope("a / b"), 0.6);
    }
}
