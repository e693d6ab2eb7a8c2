// SPDX-License-Identifier: MIT OR Apache-2.0
//! Comments in sources that say what the instructions of lines are for: `// account: match-bits`.
//!
//! A comment at the end of a line holds for that line. A comment on a line of its own holds for the lines below it, to the end of the
//! block that it stands in, or, in front of a function, to the end of that function. Of several the closest one holds: the one of the
//! line, then the last one of the innermost block. `// account: caller` leaves the answer to the line that calls the function.

use crate::Category;

/// How annotations start.
const MARK: &str = "// account: ";
/// The word of an annotation of helpers, whose instructions count for their callers.
const CALLER: &str = "caller";

/// The purpose that an annotation gives to lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// They are for this.
    Of(Category),
    /// They are for what the calling line is for.
    Caller,
}

/// The annotations of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    /// By line, the first of which is 0 here.
    lines: Vec<Option<Purpose>>,
}

/// An annotation on a line of its own.
struct Scope {
    /// Spaces in front of it.
    depth: usize,
    purpose: Purpose,
    /// Whether a function follows it, at whose last line it ends.
    of_function: Option<bool>,
}

impl Annotations {
    /// Reads a file's annotations; lines are indented as rustfmt does it.
    ///
    /// # Errors
    /// The line and the word of an annotation that names no category.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut scopes: Vec<Scope> = Vec::new();
        let mut lines = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let code = line.trim();
            let depth = line.len() - line.trim_start().len();
            let said = match line.split_once(MARK) {
                Some((_, word)) => Some(purpose(word.trim(), index + 1)?),
                None => None,
            };
            if code.is_empty() || (code.starts_with("//") && said.is_none()) {
                lines.push(None);
                continue;
            }
            scopes.retain(|scope| scope.depth <= depth);
            if let Some(purpose) = said.filter(|_| code.starts_with(MARK.trim_end())) {
                scopes.push(Scope {
                    depth,
                    purpose,
                    of_function: None,
                });
                lines.push(None);
                continue;
            }
            // Attributes stand between an annotation and its function.
            if !code.starts_with("#[") {
                settle(&mut scopes, is_function(code));
            }
            lines.push(said.or(scopes.last().map(|scope| scope.purpose)));
            let ends = |scope: &Scope| scope.of_function == Some(true) && scope.depth == depth;
            if line.split(MARK).next().map(str::trim) == Some("}") {
                scopes.retain(|scope| !ends(scope));
            }
        }
        Ok(Self { lines })
    }

    /// The purpose of a line; the first line is 1.
    pub fn at(&self, line: u32) -> Option<Purpose> {
        let index = (line as usize).checked_sub(1)?;
        self.lines.get(index).copied().flatten()
    }
}

/// Decides what kind of annotation stands above a line of code: that of a function holds besides the one before, any other replaces it.
fn settle(scopes: &mut Vec<Scope>, is_function: bool) {
    let Some(mut fresh) = scopes.pop_if(|scope| scope.of_function.is_none()) else {
        return;
    };
    if !is_function {
        scopes.retain(|scope| scope.depth < fresh.depth);
    }
    fresh.of_function = Some(is_function);
    scopes.push(fresh);
}

fn purpose(word: &str, line: usize) -> Result<Purpose, String> {
    if word == CALLER {
        return Ok(Purpose::Caller);
    }
    Category::named(word).map(Purpose::Of).ok_or_else(|| {
        let names: Vec<&str> = Category::ALL.iter().map(|one| one.name()).collect();
        let names = names.join(", ");
        format!("line {line}: '{word}' is no category; expected {names} or {CALLER}")
    })
}

/// Whether a line of code starts a function.
fn is_function(code: &str) -> bool {
    let mut words = code.split([' ', '(']);
    let is_before = |word: &&str| {
        matches!(*word, "pub" | "const" | "unsafe" | "extern" | "async")
            || word.starts_with('"')
            || word.ends_with(')')
    };
    words.find(|word| !is_before(word)) == Some("fn")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The purposes of lines, one letter each.
    fn letters(text: &str) -> String {
        let found = Annotations::parse(text).expect("annotations");
        let letter = |line| match found.at(line) {
            Some(Purpose::Of(Category::ProcNull)) => 'p',
            Some(Purpose::Of(Category::Request)) => 'r',
            Some(Purpose::Of(_)) => '?',
            Some(Purpose::Caller) => 'c',
            None => '.',
        };
        (1..=text.lines().count() as u32).map(letter).collect()
    }

    #[test]
    fn annotations_hold_for_their_line_or_their_block() {
        let text = "\
fn one() {
    first();
    // account: proc-null
    if second() { // account: request
        third();
        // account: request
        fourth();
    }
    fifth();
    // account: caller
    sixth();
}
fn two() {}
";
        assert_eq!(letters(text), "...rp.rpp.c..");
    }

    #[test]
    fn an_annotation_in_front_of_a_function_ends_with_it() {
        let text = "\
impl Link {
    // account: request
    #[inline(always)]
    pub(crate) const unsafe extern \"C\" fn one(&self) {
        if self.two() {
            three();
        }
    }

    fn four() {}
}
";
        assert_eq!(letters(text), "..rrrrrr...");
        let text = format!(
            "// account: proc-null\n\nuse one;\n\n// account: request\n{}",
            "fn two() {\n    three();\n}\nfn four() {}\n"
        );
        assert_eq!(letters(&text), "..p..rrrp");
    }

    #[test]
    fn an_unknown_category_is_an_error() {
        let error = Annotations::parse("\n// account: nothing\n").unwrap_err();
        assert!(error.starts_with("line 2: 'nothing' is no category; expected function-call, "));
    }
}
