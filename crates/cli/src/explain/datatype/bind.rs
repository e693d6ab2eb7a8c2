// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of constructors: which value is which, and what it must be.

use std::ops::Range;

use super::parse::{Argument, Kind, Parsed, Trouble, Value};

/// A constructor of the standard, without `MPI_Type_create_`, and its arguments in order; other names of an argument follow
/// a bar, and the default an equals sign.
pub(super) struct Constructor {
    pub(super) name: &'static str,
    arguments: &'static [&'static str],
}

const fn constructor(name: &'static str, arguments: &'static [&'static str]) -> Constructor {
    Constructor { name, arguments }
}

const COUNT: &str = "count";
const LENGTH: &str = "blocklen|blocklength|length";
const LENGTHS: &str = "blocklens|blocklengths|array_of_blocklengths|lengths";
const DISPLACEMENTS: &str = "displs|displacements|array_of_displacements|offsets";
const STRIDE: &str = "stride";
const TYPE: &str = "type|oldtype";

const CONSTRUCTORS: &[Constructor] = &[
    constructor("contiguous", &[COUNT, TYPE]),
    constructor("vector", &[COUNT, LENGTH, STRIDE, TYPE]),
    constructor("hvector", &[COUNT, LENGTH, STRIDE, TYPE]),
    constructor("indexed", &[LENGTHS, DISPLACEMENTS, TYPE]),
    constructor("hindexed", &[LENGTHS, DISPLACEMENTS, TYPE]),
    constructor("indexed_block", &[LENGTH, DISPLACEMENTS, TYPE]),
    constructor("hindexed_block", &[LENGTH, DISPLACEMENTS, TYPE]),
    constructor("struct", &[LENGTHS, DISPLACEMENTS, "types|array_of_types"]),
    constructor(
        "subarray",
        &[
            "sizes|array_of_sizes",
            "subsizes|array_of_subsizes",
            "starts|array_of_starts",
            "order=c",
            TYPE,
        ],
    ),
    constructor(
        "darray",
        &[
            "size",
            "rank",
            "gsizes|array_of_gsizes",
            "distribs|array_of_distribs",
            "dargs|array_of_dargs",
            "psizes|array_of_psizes",
            "order=c",
            TYPE,
        ],
    ),
    constructor("resized", &["lb|lower_bound", "extent", TYPE]),
    constructor("dup", &[TYPE]),
];

fn first_name(argument: &'static str) -> &'static str {
    let names = argument.split('=').next().unwrap_or(argument);
    names.split('|').next().unwrap_or(names)
}

fn is_called(argument: &str, word: &str) -> bool {
    let names = argument.split('=').next().unwrap_or(argument);
    names.split('|').any(|name| name == word)
}

impl Constructor {
    /// The constructor of a name, also with the standard's prefixes.
    pub(super) fn find(word: &str) -> Option<&'static Self> {
        let word = word.to_ascii_lowercase();
        let word = word.strip_prefix("mpi_").unwrap_or(&word);
        let word = word.strip_prefix("type_").unwrap_or(word);
        let word = word.strip_prefix("create_").unwrap_or(word);
        CONSTRUCTORS.iter().find(|it| it.name == word)
    }

    /// The names of all of them.
    pub(super) fn names() -> String {
        let names: Vec<&str> = CONSTRUCTORS.iter().map(|it| it.name).collect();
        names.join(", ")
    }

    /// How it is called.
    pub(super) fn usage(&self) -> String {
        let names: Vec<&str> = self.arguments.iter().map(|it| first_name(it)).collect();
        format!("{}({})", self.name, names.join(", "))
    }

    /// Which value is which: a type without a name is the next type, wherever it stands, and so are the other values.
    pub(super) fn bind<'v>(
        &'static self,
        word_at: &Range<usize>,
        arguments: &'v [Argument],
    ) -> Parsed<Bound<'v>> {
        let mut values = vec![None; self.arguments.len()];
        for argument in arguments {
            let (slot, at) = match &argument.name {
                Some((name, at)) => (self.named(name), at),
                None => (self.next_free(&values, &argument.value), &argument.value.at),
            };
            let slot = slot.ok_or_else(|| {
                let text = match &argument.name {
                    Some((name, _)) => format!("no argument `{name}` in {}", self.usage()),
                    None => format!("one argument too many, expected {}", self.usage()),
                };
                Trouble::new(at, text)
            })?;
            if values[slot].replace(&argument.value).is_some() {
                let name = first_name(self.arguments[slot]);
                return Err(Trouble::new(at, format!("{name} is given twice")));
            }
        }
        let lacks = |(slot, argument): (usize, &&'static str)| {
            (values[slot].is_none() && !argument.contains('=')).then(|| first_name(argument))
        };
        if let Some(name) = self.arguments.iter().enumerate().find_map(lacks) {
            let text = format!("{name} is missing, expected {}", self.usage());
            return Err(Trouble::new(word_at, text));
        }
        Ok(Bound {
            constructor: self,
            values,
        })
    }

    fn named(&self, name: &str) -> Option<usize> {
        let name = name.to_ascii_lowercase();
        self.arguments.iter().position(|it| is_called(it, &name))
    }

    fn next_free(&self, values: &[Option<&Value>], value: &Value) -> Option<usize> {
        let free = |wanted: &dyn Fn(&str) -> bool| {
            (0..values.len()).find(|&slot| values[slot].is_none() && wanted(self.arguments[slot]))
        };
        match &value.kind {
            Kind::Call { word, .. } if order(word).is_none() => {
                free(&|it| it == TYPE).or_else(|| free(&|it| !it.contains('=')))
            }
            Kind::Call { .. } => free(&|it| it.contains('=')),
            _ => free(&|it| it != TYPE && !it.contains('=')),
        }
    }
}

/// Whether a word means Fortran's order of dimensions (or C's).
fn order(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "c" | "mpi_order_c" | "order_c" => Some(false),
        "fortran" | "f" | "mpi_order_fortran" | "order_fortran" => Some(true),
        _ => None,
    }
}

/// The values of a constructor's arguments.
pub(super) struct Bound<'v> {
    constructor: &'static Constructor,
    values: Vec<Option<&'v Value>>,
}

/// A list, and the name of the argument.
pub(super) struct Items<'v> {
    name: &'static str,
    at: Range<usize>,
    pub(super) items: &'v [Value],
}

impl<'v> Bound<'v> {
    /// The value of an argument that has no default.
    pub(super) fn value(&self, name: &'static str) -> &'v Value {
        static NOTHING: Value = Value {
            at: 0..0,
            kind: Kind::List(Vec::new()),
        };
        let slot = self.constructor.named(name);
        slot.and_then(|slot| self.values[slot]).unwrap_or(&NOTHING)
    }

    /// A number.
    pub(super) fn number(&self, name: &'static str) -> Parsed<i64> {
        number(name, self.value(name))
    }

    /// A number of things.
    pub(super) fn count(&self, name: &'static str) -> Parsed<usize> {
        count(name, self.value(name))
    }

    /// Several values.
    pub(super) fn list(&self, name: &'static str) -> Parsed<Items<'v>> {
        let value = self.value(name);
        match &value.kind {
            Kind::List(items) => Ok(Items {
                name,
                at: value.at.clone(),
                items,
            }),
            _ => Err(Trouble::new(
                &value.at,
                format!("expected a list for {name}, such as [1,2,3]"),
            )),
        }
    }

    /// Several values, as many as another list has.
    pub(super) fn list_like(&self, name: &'static str, other: &Items<'_>) -> Parsed<Items<'v>> {
        let list = self.list(name)?;
        if list.items.len() == other.items.len() {
            return Ok(list);
        }
        let text = format!(
            "{name} has {} entries, expected {} as in {}",
            list.items.len(),
            other.items.len(),
            other.name
        );
        Err(Trouble::new(&list.at, text))
    }

    /// Whether an array is in Fortran's order; C's is the default.
    pub(super) fn is_fortran(&self) -> Parsed<bool> {
        let slot = self.constructor.named("order");
        let Some(value) = slot.and_then(|slot| self.values[slot]) else {
            return Ok(false);
        };
        let found = word(value).and_then(order);
        found.ok_or_else(|| Trouble::new(&value.at, "expected the order c or fortran"))
    }
}

impl Items<'_> {
    pub(super) fn numbers(&self) -> Parsed<Vec<i64>> {
        self.items.iter().map(|it| number(self.name, it)).collect()
    }

    pub(super) fn counts(&self) -> Parsed<Vec<usize>> {
        self.items.iter().map(|it| count(self.name, it)).collect()
    }

    /// The complaint that an entry is not what it should be.
    pub(super) fn wrong(&self, index: usize, expected: &str) -> Trouble {
        let at = self.items.get(index).map_or(&self.at, |item| &item.at);
        let text = format!("{}[{index}]: expected {expected}", self.name);
        Trouble::new(at, text)
    }
}

/// The word that a value is.
pub(super) fn word(value: &Value) -> Option<&str> {
    match &value.kind {
        Kind::Call {
            word,
            arguments: None,
            ..
        } => Some(word),
        _ => None,
    }
}

fn number(name: &str, value: &Value) -> Parsed<i64> {
    match value.kind {
        Kind::Number(number) => Ok(number),
        _ => Err(Trouble::new(
            &value.at,
            format!("expected a number for {name}"),
        )),
    }
}

fn count(name: &str, value: &Value) -> Parsed<usize> {
    let found = number(name, value)?;
    usize::try_from(found).map_err(|_| {
        let text = format!("{name} is {found}, expected 0 or more");
        Trouble::new(&value.at, text)
    })
}
