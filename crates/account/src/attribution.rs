// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions by category: what callgrind counted, joined with what annotations say.
//!
//! The innermost line of the library decides what an instruction is for: code that was inlined from elsewhere (Rust's own library,
//! dependencies), functions of other objects (memcpy) and lines annotated `caller` take the purpose of the line that calls them. What no
//! line of the library has called belongs to the function call.

use std::collections::BTreeMap;

use crate::callgrind::Trace;
use crate::{COUNTED, Category};

/// The purposes of the lines at an address, the inlined ones included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The purpose of the instruction, and the line whose annotation names it.
    Purpose(Category, Place),
    /// No line of the library, or only those that leave the answer to the caller.
    Caller,
    /// A line of the library without an annotation.
    Unannotated(Place),
}

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Path of the file.
    pub file: String,
    /// The first line is 1.
    pub line: u32,
}

/// The instructions of one call, by category.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    /// All of them.
    pub total: f64,
    /// Those of each category that has some.
    pub categories: BTreeMap<Category, f64>,
    /// Those of each annotated line.
    pub lines: BTreeMap<(Place, Category), f64>,
    /// Those of each line that lacks an annotation; they count as [`Category::Other`].
    pub unannotated: BTreeMap<Place, f64>,
}

impl Account {
    /// The instructions of one call that `counted_NAME` makes, without those of that function. `find` says what the lines at an address of
    /// an object are for.
    ///
    /// # Errors
    /// A function that was not called; instructions that do not add up to what callgrind says the calls cost; an error of `find`.
    pub fn new(
        trace: &Trace,
        name: &str,
        find: &mut impl FnMut(&str, u64) -> Result<Found, String>,
    ) -> Result<Self, String> {
        let counted = format!("{COUNTED}{name}");
        let is_own = |context: &&String| context.split('\'').next() == Some(counted.as_str());
        let is_inside = |context: &str| context.split('\'').skip(1).any(|it| it == counted);
        let calls = trace.contexts.iter().filter(|(key, _)| is_own(key));
        let calls: f64 = calls.map(|(_, context)| context.calls).sum();
        if calls == 0.0 {
            return Err(format!("callgrind saw no call of {counted}"));
        }
        let mut account = Self::default();
        let mut called = 0.0;
        for (key, context) in &trace.contexts {
            if !is_inside(key) {
                continue;
            }
            let of_counted = context.sites.iter().filter(|(caller, _)| is_own(&caller));
            called += of_counted.map(|(_, site)| site.cost).sum::<f64>();
            for &instruction in &context.instructions {
                let weight = instruction.cost / calls;
                account.total += weight;
                let found = find(trace.object_of(instruction), instruction.address)?;
                account.add(trace, key, found, weight, find)?;
            }
        }
        let called = called / calls;
        // Both are sums of whole numbers, divided.
        if (called - account.total).abs() > 0.001 {
            let total = account.total;
            return Err(format!(
                "callgrind's file does not add up: calls of {counted} took {called:.3} instructions, and {total:.3} were found"
            ));
        }
        Ok(account)
    }

    /// Adds instructions of a context; those that leave the answer to the caller are divided among the calls as these cost.
    fn add(
        &mut self,
        trace: &Trace,
        context: &str,
        found: Found,
        weight: f64,
        find: &mut impl FnMut(&str, u64) -> Result<Found, String>,
    ) -> Result<(), String> {
        match found {
            Found::Purpose(category, place) => {
                *self.categories.entry(category).or_default() += weight;
                *self.lines.entry((place, category)).or_default() += weight;
            }
            Found::Unannotated(place) => {
                *self.categories.entry(Category::Other).or_default() += weight;
                *self.unannotated.entry(place).or_default() += weight;
            }
            Found::Caller => {
                let sites = trace.contexts.get(context).map(|it| it.sites.as_slice());
                let sites = sites.unwrap_or_default();
                let whole: f64 = sites.iter().map(|(_, site)| site.cost).sum();
                let is_outermost = |caller: &str| caller.starts_with(COUNTED);
                if whole == 0.0 || sites.iter().any(|(caller, _)| is_outermost(caller)) {
                    *self.categories.entry(Category::FunctionCall).or_default() += weight;
                    return Ok(());
                }
                for (caller, site) in sites {
                    let found = find(trace.object_of(*site), site.address)?;
                    self.add(trace, caller, found, weight * site.cost / whole, find)?;
                }
            }
        }
        Ok(())
    }

    /// The instructions of a category.
    pub fn of(&self, category: Category) -> f64 {
        self.categories.get(&category).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
ob=program
fn=main
0x10 1 4
cfn=counted_put'main
calls=2 0x20 2
0x11 1 46
fn=counted_put'main
0x20 2 6
cfn=MPI_Put'counted_put'main
calls=2 0x30 3
0x21 2 40
ob=library
fn=MPI_Put'counted_put'main
0x30 3 2
0x31 4 8
cfn=memcpy'MPI_Put'counted_put'main
calls=2 0x40 5
0x32 4 20
cfn=other'MPI_Put'counted_put'main
calls=2 0x40 5
0x33 4 10
ob=libc
fn=memcpy'MPI_Put'counted_put'main
0x40 5 20
ob=library
fn=other'MPI_Put'counted_put'main
0x50 6 10
";

    fn place(line: u32) -> Place {
        let file = "put.rs".to_owned();
        Place { file, line }
    }

    fn find(object: &str, address: u64) -> Result<Found, String> {
        Ok(match (object, address) {
            ("library", 0x31) => Found::Purpose(Category::Datatype, place(1)),
            ("library", 0x32) => Found::Purpose(Category::Fabric, place(2)),
            ("library", 0x50) => Found::Unannotated(place(3)),
            _ => Found::Caller,
        })
    }

    #[test]
    fn instructions_of_other_objects_belong_to_the_line_that_calls() {
        let trace = Trace::parse(TEXT).expect("a file of callgrind");
        let account = Account::new(&trace, "put", &mut find).expect("an account");
        assert_eq!(account.total, 20.0);
        assert_eq!(account.of(Category::FunctionCall), 1.0);
        assert_eq!(account.of(Category::Datatype), 4.0);
        assert_eq!(account.of(Category::Fabric), 10.0);
        assert_eq!(account.of(Category::Other), 5.0);
        assert_eq!(account.unannotated[&place(3)], 5.0);
        let sum: f64 = account.categories.values().sum();
        assert_eq!(sum, account.total);
    }

    #[test]
    fn a_file_that_does_not_add_up_is_an_error() {
        let text = TEXT.replace("0x21 2 40", "0x21 2 42");
        let trace = Trace::parse(&text).expect("a file of callgrind");
        let error = Account::new(&trace, "put", &mut find).unwrap_err();
        assert!(
            error.contains("took 21.000 instructions, and 20.000 were found"),
            "{error}"
        );
        assert!(Account::new(&trace, "get", &mut find).is_err());
    }
}
