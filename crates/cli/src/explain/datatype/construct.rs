// SPDX-License-Identifier: MIT OR Apache-2.0
//! Type expressions as layouts.

use layout::{ArrayOrder, Builder, Form, Layout, LayoutError, Observer, Rule, Share, Slice};

use super::bind::{Bound, Constructor, word};
use super::names;
use super::parse::{Kind, Parsed, Trouble, Value};

/// One step on the way to a canonical form.
pub(super) struct Step {
    /// What is constructed; empty if the same as in the step before.
    pub(super) constructor: String,
    pub(super) rule: Rule,
    pub(super) form: String,
}

/// The steps, with forms as texts.
pub(super) struct Steps {
    pub(super) steps: Vec<Step>,
    constructor: String,
    describe: fn(&Form) -> String,
}

impl Steps {
    pub(super) const fn new(describe: fn(&Form) -> String) -> Self {
        Self {
            steps: Vec::new(),
            constructor: String::new(),
            describe,
        }
    }
}

impl Observer for Steps {
    fn applied(&mut self, rule: Rule, form: &Form) {
        self.steps.push(Step {
            constructor: std::mem::take(&mut self.constructor),
            rule,
            form: (self.describe)(form),
        });
    }
}

/// The layout of an expression.
pub(super) fn layout<O: Watch>(value: &Value, observer: &mut O) -> Parsed<Layout> {
    let Kind::Call {
        word,
        word_at,
        arguments,
    } = &value.kind
    else {
        let text = "expected a type, such as double or contiguous(3, double)";
        return Err(Trouble::new(&value.at, text));
    };
    let known = Constructor::find(word);
    let Some(arguments) = arguments else {
        return names::predefined(word).ok_or_else(|| {
            let text = match known {
                Some(constructor) => format!("expected {}", constructor.usage()),
                None => format!(
                    "no predefined type is called `{word}`; expected one such as double, int or MPI_INT32_T"
                ),
            };
            Trouble::new(word_at, text)
        });
    };
    let constructor = known.ok_or_else(|| {
        let text = format!(
            "no constructor is called `{word}`; there are {}",
            Constructor::names()
        );
        Trouble::new(word_at, text)
    })?;
    let bound = constructor.bind(word_at, arguments)?;
    let built = construct(constructor.name, &bound, observer)?;
    built.map_err(|error: LayoutError| Trouble::new(&value.at, error.to_string()))
}

/// An observer that is told which constructor is at work.
pub(super) trait Watch: Observer {
    fn enter(&mut self, constructor: &'static str);
}

impl Watch for Steps {
    fn enter(&mut self, constructor: &'static str) {
        constructor.clone_into(&mut self.constructor);
    }
}

impl Watch for layout::Silent {
    fn enter(&mut self, _: &'static str) {}
}

fn construct<O: Watch>(
    name: &'static str,
    bound: &Bound<'_>,
    observer: &mut O,
) -> Parsed<layout::Result<Layout>> {
    if name == "struct" {
        return structure(bound, observer);
    }
    let old = layout(bound.value("type"), observer)?;
    observer.enter(name);
    let mut builder = Builder::new(observer);
    Ok(match name {
        "contiguous" => builder.contiguous(bound.count("count")?, &old),
        "vector" | "hvector" => {
            let (count, length) = (bound.count("count")?, bound.count("blocklen")?);
            let stride = bound.number("stride")?;
            if name == "vector" {
                builder.vector(count, length, stride, &old)
            } else {
                builder.hvector(count, length, stride, &old)
            }
        }
        "indexed" | "hindexed" => {
            let lengths = bound.list("blocklens")?;
            let places = bound.list_like("displs", &lengths)?.numbers()?;
            match offsets(places, name == "indexed", &old) {
                Ok(places) => builder.hindexed(places.into_iter().zip(lengths.counts()?), &old),
                Err(error) => Err(error),
            }
        }
        "indexed_block" | "hindexed_block" => {
            let length = bound.count("blocklen")?;
            let places = bound.list("displs")?.numbers()?;
            match offsets(places, name == "indexed_block", &old) {
                Ok(places) => builder.hindexed(places.into_iter().map(|at| (at, length)), &old),
                Err(error) => Err(error),
            }
        }
        "subarray" => builder.subarray(&slices(bound)?, order(bound)?, &old),
        "darray" => builder.darray(&shares(bound)?, order(bound)?, &old),
        "resized" => old.resized(bound.number("lb")?, bound.number("extent")?),
        _ => Ok(old),
    })
}

fn structure<O: Watch>(bound: &Bound<'_>, observer: &mut O) -> Parsed<layout::Result<Layout>> {
    let lengths = bound.list("blocklens")?;
    let places = bound.list_like("displs", &lengths)?.numbers()?;
    let types = bound.list_like("types", &lengths)?;
    let types = types.items.iter().map(|item| layout(item, observer));
    let types: Vec<Layout> = types.collect::<Parsed<_>>()?;
    let lengths = lengths.counts()?;
    observer.enter("struct");
    let pieces = places.iter().zip(&lengths).zip(&types);
    let pieces = pieces.map(|((&at, &length), old)| (at, length, old));
    Ok(Builder::new(observer).structure(pieces))
}

/// Displacements in bytes.
fn offsets(places: Vec<i64>, are_elements: bool, old: &Layout) -> layout::Result<Vec<i64>> {
    if !are_elements {
        return Ok(places);
    }
    let scaled = places
        .iter()
        .map(|place| place.checked_mul(old.extent()).ok_or(LayoutError::Overflow));
    scaled.collect()
}

fn order(bound: &Bound<'_>) -> Parsed<ArrayOrder> {
    Ok(if bound.is_fortran()? {
        ArrayOrder::Fortran
    } else {
        ArrayOrder::C
    })
}

fn slices(bound: &Bound<'_>) -> Parsed<Vec<Slice>> {
    let sizes = bound.list("sizes")?;
    let subsizes = bound.list_like("subsizes", &sizes)?;
    let starts = bound.list_like("starts", &sizes)?;
    if sizes.items.is_empty() {
        return Err(sizes.wrong(0, "1 dimension or more"));
    }
    let numbers = (sizes.counts()?, subsizes.counts()?, starts.counts()?);
    let mut slices = Vec::new();
    for (index, &size) in numbers.0.iter().enumerate() {
        let (subsize, start) = (numbers.1[index], numbers.2[index]);
        if size == 0 {
            return Err(sizes.wrong(index, "1 or more"));
        }
        if !(1..=size).contains(&subsize) {
            return Err(subsizes.wrong(index, &format!("1..={size}")));
        }
        if start > size - subsize {
            return Err(starts.wrong(index, &format!("0..={}", size - subsize)));
        }
        slices.push(Slice {
            size,
            subsize,
            start,
        });
    }
    Ok(slices)
}

fn shares(bound: &Bound<'_>) -> Parsed<Vec<Share>> {
    let (size, rank) = (bound.count("size")?, bound.count("rank")?);
    let global = bound.list("gsizes")?;
    let ways = bound.list_like("distribs", &global)?;
    let arguments = bound.list_like("dargs", &global)?;
    let grid = bound.list_like("psizes", &global)?;
    if global.items.is_empty() {
        return Err(global.wrong(0, "1 dimension or more"));
    }
    let (indices, processes) = (global.counts()?, grid.counts()?);
    let product = processes
        .iter()
        .try_fold(1usize, |all, &n| all.checked_mul(n));
    if product != Some(size) {
        let text = format!("psizes: expected sizes with the product {size}");
        return Err(Trouble::new(&bound.value("psizes").at, text));
    }
    if rank >= size {
        let text = format!("rank is {rank}, expected less than {size}");
        return Err(Trouble::new(&bound.value("rank").at, text));
    }
    let mut rest = rank;
    let mut shares = Vec::new();
    for index in (0..indices.len()).rev() {
        let (indices, processes) = (indices[index], processes[index]);
        let coordinate = rest % processes;
        rest /= processes;
        if indices == 0 {
            return Err(global.wrong(index, "1 or more"));
        }
        let argument = &arguments.items[index];
        let length = |default: usize| match argument.kind {
            Kind::Number(length) if length > 0 => Ok(length as usize),
            _ if word(argument) == Some("default") => Ok(default),
            _ => Err(arguments.wrong(index, "1 or more, or default")),
        };
        shares.push(match word(&ways.items[index]).unwrap_or("") {
            "none" if processes > 1 => {
                return Err(grid.wrong(index, "1, as nothing is distributed"));
            }
            "none" => Share::all(indices),
            "block" => {
                let length = length(indices.div_ceil(processes))?;
                if length.saturating_mul(processes) < indices {
                    let expected = format!("blocks that cover {indices} elements");
                    return Err(arguments.wrong(index, &expected));
                }
                Share::block(indices, length, coordinate)
            }
            "cyclic" => Share::cyclic(indices, length(1)?, processes, coordinate),
            _ => return Err(ways.wrong(index, "block, cyclic or none")),
        });
    }
    shares.reverse();
    Ok(shares)
}
