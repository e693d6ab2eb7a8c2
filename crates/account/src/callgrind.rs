// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of valgrind's tool callgrind (format version 1, of the page "Callgrind Format Specification" of its manual): the costs of calls,
//! and those of instructions.

use std::collections::HashMap;
use std::path::Path;

use crate::COUNTED;

/// Valgrind's arguments with which it writes `file`, from which [`Costs`] are read.
pub fn arguments(file: &Path) -> Vec<String> {
    vec![
        "--tool=callgrind".to_owned(),
        // Each name and position is written out.
        "--compress-strings=no".to_owned(),
        "--compress-pos=no".to_owned(),
        format!("--callgrind-out-file={}", file.display()),
    ]
}

/// Valgrind's arguments with which it writes `file`, from which a [`Trace`] is read.
pub fn arguments_of_trace(file: &Path) -> Vec<String> {
    let mut arguments = arguments(file);
    arguments.extend([
        "--dump-instr=yes".to_owned(),
        // Counts what counted functions do, and keeps apart what a function does for each of its callers.
        format!("--toggle-collect={COUNTED}*"),
        "--separate-callers=64".to_owned(),
    ]);
    arguments
}

/// A line that says something.
enum Line<'t> {
    Object(&'t str),
    Function(&'t str),
    Called(&'t str),
    Calls(f64),
    /// An address, or a line number where instructions are not told apart, and what it cost.
    Cost(u64, f64),
}

/// The lines of a file, in their order.
fn lines(text: &str) -> impl Iterator<Item = Result<Line<'_>, String>> {
    text.lines().filter_map(|line| {
        if let Some((key, value)) = line.split_once('=') {
            return match key {
                "ob" => Some(Ok(Line::Object(value))),
                "fn" => Some(Ok(Line::Function(value))),
                "cfn" => Some(Ok(Line::Called(value))),
                "calls" => Some(number(value.split_whitespace().next()).map(Line::Calls)),
                _ => None,
            };
        }
        let first = line.bytes().next()?;
        first.is_ascii_digit().then(|| cost(line))
    })
}

fn cost(line: &str) -> Result<Line<'_>, String> {
    let mut words = line.split_whitespace();
    let position = words.next().unwrap_or("");
    let position = match position.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => position.parse().ok(),
    };
    let position = position.ok_or_else(|| format!("callgrind's file says '{line}' for a cost"))?;
    Ok(Line::Cost(position, number(words.last())?))
}

fn number(word: Option<&str>) -> Result<f64, String> {
    let word = word.unwrap_or("");
    word.parse()
        .map_err(|_| format!("callgrind's file says '{word}' for a number"))
}

/// Instructions and numbers of calls of the counted functions.
#[derive(Debug)]
pub struct Costs(HashMap<String, Cost>);

#[derive(Debug, Default)]
struct Cost {
    /// Of the function itself, and of what it called.
    own: f64,
    called: f64,
    calls: f64,
}

impl Costs {
    /// Reads a file.
    ///
    /// # Errors
    /// The line that is not as callgrind writes it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut caller, mut called, mut calls) = (None, None, 0.0);
        let mut found = HashMap::<String, Cost>::new();
        let mut of = |name: Option<&str>, add: &dyn Fn(&mut Cost)| {
            if let Some(name) = name {
                add(found.entry(name.to_owned()).or_default());
            }
        };
        for line in lines(text) {
            match line? {
                Line::Object(_) => {}
                Line::Function(name) => caller = counted(name),
                Line::Called(name) => called = counted(name),
                Line::Calls(number) => calls = number,
                // The line after the calls: where they were made, and what they cost.
                Line::Cost(_, cost) if calls > 0.0 => {
                    of(caller, &|it| it.called += cost);
                    of(called, &|it| it.calls += calls);
                    calls = 0.0;
                }
                Line::Cost(_, cost) => of(caller, &|it| it.own += cost),
            }
        }
        Ok(Self(found))
    }

    /// Instructions of one call that `counted_NAME` makes, without those of that function.
    ///
    /// # Errors
    /// The name of a function that was not called.
    pub fn per_call(&self, name: &str) -> Result<f64, String> {
        self.of(name).map(|it| it.called / it.calls)
    }

    /// Instructions of one call of `counted_NAME`, for calls that are inlined into it.
    ///
    /// # Errors
    /// As for [`Self::per_call`].
    pub fn per_inlined_call(&self, name: &str) -> Result<f64, String> {
        self.of(name).map(|it| (it.own + it.called) / it.calls)
    }

    fn of(&self, name: &str) -> Result<&Cost, String> {
        let cost = self.0.get(name).filter(|cost| cost.calls > 0.0);
        cost.ok_or_else(|| format!("callgrind saw no call of {COUNTED}{name}"))
    }
}

/// What stands behind [`COUNTED`] in the name of such a function, in C or, with its path and perhaps a hash, in Rust.
fn counted(name: &str) -> Option<&str> {
    name.split("::").find_map(|part| part.strip_prefix(COUNTED))
}

/// An instruction, and what it cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    /// Index of the program's or library's file.
    pub(crate) object: usize,
    pub(crate) address: u64,
    pub(crate) cost: f64,
}

/// A function, called by a chain of callers.
#[derive(Debug, Default)]
pub(crate) struct Context {
    /// Its own instructions.
    pub(crate) instructions: Vec<Instruction>,
    /// Where it was called: the caller's context, and the instruction there with the cost of these calls.
    pub(crate) sites: Vec<(String, Instruction)>,
    pub(crate) calls: f64,
}

/// The instructions that counted functions took, told apart by the chains of callers.
#[derive(Debug, Default)]
pub struct Trace {
    /// Files of programs and libraries.
    pub(crate) objects: Vec<String>,
    pub(crate) contexts: HashMap<String, Context>,
}

impl Trace {
    /// Reads a file.
    ///
    /// # Errors
    /// The line that is not as callgrind writes it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut trace = Self::default();
        let (mut object, mut function, mut called, mut calls) = (0, "", "", 0.0);
        for line in lines(text) {
            match line? {
                Line::Object(name) => object = trace.object(name),
                Line::Function(name) => function = name,
                Line::Called(name) => called = name,
                Line::Calls(number) => calls = number,
                Line::Cost(address, cost) => {
                    let instruction = Instruction {
                        object,
                        address,
                        cost,
                    };
                    if calls > 0.0 {
                        let context = trace.contexts.entry(called.to_owned()).or_default();
                        context.sites.push((function.to_owned(), instruction));
                        context.calls += calls;
                        calls = 0.0;
                    } else {
                        let context = trace.contexts.entry(function.to_owned()).or_default();
                        context.instructions.push(instruction);
                    }
                }
            }
        }
        Ok(trace)
    }

    /// The index of a file.
    fn object(&mut self, name: &str) -> usize {
        let found = self.objects.iter().position(|object| object == name);
        found.unwrap_or_else(|| {
            self.objects.push(name.to_owned());
            self.objects.len() - 1
        })
    }

    /// The file of an instruction; empty when callgrind names none.
    pub(crate) fn object_of(&self, instruction: Instruction) -> &str {
        self.objects
            .get(instruction.object)
            .map_or("", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_of_callees_are_divided_by_the_calls() {
        let text = "fn=main\n10 7\ncfn=counted_send_8\ncalls=4 20\n11 500\n\
                    fn=counted_send_8\n20 8\ncfn=MPI_Send\ncalls=4 0\n21 240\n";
        let costs = Costs::parse(text).expect("a file of callgrind");
        assert_eq!(costs.per_call("send_8"), Ok(60.0));
        assert_eq!(costs.per_inlined_call("send_8"), Ok(62.0));
        assert!(costs.per_call("recv_8").is_err());
    }

    #[test]
    fn functions_of_rust_are_named_without_their_paths() {
        let text = "fn=main\n10 7\ncfn=calls::counted_send::h0123\ncalls=2 20\n11 50\nfn=calls::counted_send::h0123\n20 50\n";
        let costs = Costs::parse(text).expect("a file of callgrind");
        assert_eq!(costs.per_inlined_call("send"), Ok(25.0));
    }

    #[test]
    fn a_broken_line_is_an_error() {
        assert!(Costs::parse("fn=main\n10 many\n").is_err());
        assert!(Trace::parse("fn=main\n0xzz 1 1\n").is_err());
    }
}
