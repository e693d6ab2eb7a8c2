// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernels as PTX text.
//!
//! A thread copies words. The number of a word in the launch is divided by the counts of the dimensions, the innermost first;
//! each remainder is an index along that dimension, and the sum of indices times strides is where the word lies. Lists look
//! up their run's offset with one such index, patterns of unequal runs search theirs by its packed position. Divisions are
//! multiplications by what the host worked out ([`crate::params::Divisor`]). Consecutive threads have consecutive words of
//! the packed side.

use std::fmt::Write as _;
use std::mem::offset_of;

use crate::params::{Axis, Divisor, Params};

/// Which way a kernel copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From laid-out memory into packed bytes.
    Pack,
    /// From packed bytes into laid-out memory.
    Unpack,
}

/// How a kernel finds a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Along 1, 2 or 3 dimensions, written out.
    Few(u32),
    /// Along any number of dimensions.
    Many,
    /// In equal runs at a list of offsets, and along any number of dimensions.
    List,
    /// In a pattern of unequal runs, and along any number of dimensions.
    Pattern,
}

/// A kernel: its name in the module is its [`Display`](std::fmt::Display) text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelName {
    /// Which way.
    pub direction: Direction,
    /// Where the words are.
    pub shape: Shape,
    /// Bytes of a word: 1, 2, 4, 8 or 16.
    pub word: u32,
}

/// Most dimensions that have kernels of their own.
pub(super) const FEW: u32 = 3;

const SHAPES: [Shape; 6] = [
    Shape::Few(1),
    Shape::Few(2),
    Shape::Few(3),
    Shape::Many,
    Shape::List,
    Shape::Pattern,
];

/// Bytes that a thread copies at once, the largest first.
pub(super) const WORDS: [u32; 5] = [16, 8, 4, 2, 1];

/// Threads of a block.
pub(super) const BLOCK_THREADS: u32 = 256;

impl std::fmt::Display for KernelName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let direction = match self.direction {
            Direction::Pack => "pack",
            Direction::Unpack => "unpack",
        };
        write!(f, "rankpoint_{direction}_")?;
        match self.shape {
            Shape::Few(dimensions) => write!(f, "nest{dimensions}")?,
            Shape::Many => f.write_str("nest")?,
            Shape::List => f.write_str("list")?,
            Shape::Pattern => f.write_str("pattern")?,
        }
        write!(f, "_{}", self.word)
    }
}

impl KernelName {
    /// All kernels of the module.
    pub fn all() -> impl Iterator<Item = Self> {
        [Direction::Pack, Direction::Unpack]
            .into_iter()
            .flat_map(|direction| SHAPES.map(|shape| (direction, shape)))
            .flat_map(|(direction, shape)| {
                WORDS.map(|word| Self {
                    direction,
                    shape,
                    word,
                })
            })
    }

    /// Where the kernel stands in [`KernelName::all`].
    pub(super) fn index(self) -> usize {
        let shape = SHAPES.iter().position(|&it| it == self.shape);
        let word = WORDS.iter().position(|&it| it == self.word);
        let direction = usize::from(self.direction == Direction::Unpack);
        let (Some(shape), Some(word)) = (shape, word) else {
            unreachable!("only the shapes and words of the tables are ever chosen");
        };
        (direction * SHAPES.len() + shape) * WORDS.len() + word
    }
}

/// The module with all kernels: PTX for the first processors that have what it uses (sm_70), which newer ones run too.
pub fn module_text() -> String {
    let mut text = String::from(".version 6.0\n.target sm_70\n.address_size 64\n");
    for kernel in KernelName::all() {
        Kernel { text: &mut text }.emit(kernel);
    }
    text
}

/// Registers that all kernels declare.
const REGISTERS: &str = "\t.reg .pred %done, %less;
\t.reg .b32 %words, %first, %index, %threads, %t, %rest, %next, %count, %multiplier, %shift, %left, %low, %high, %middle, %value;
\t.reg .b64 %laid_out, %packed, %from, %to, %at, %wide, %stride, %axis, %offsets, %starts, %position, %start, %value0, %value1;
";

/// Writes one kernel.
struct Kernel<'t> {
    text: &'t mut String,
}

impl Kernel<'_> {
    fn line(&mut self, code: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "\t{code}");
    }

    fn label(&mut self, name: &str) {
        let _ = writeln!(self.text, "{name}:");
    }

    fn load(&mut self, register: &str, bits: u32, offset: usize) {
        self.line(&format!("ld.param.u{bits} {register}, [params+{offset}];"));
    }

    fn emit(&mut self, kernel: KernelName) {
        let bytes = match kernel.shape {
            Shape::Few(dimensions) => {
                offset_of!(Params, axes) + dimensions as usize * size_of::<Axis>()
            }
            _ => size_of::<Params>(),
        };
        let _ = write!(
            self.text,
            "\n.visible .entry {kernel}(.param .align 8 .b8 params[{bytes}])\n{{\n{REGISTERS}"
        );
        if let Shape::Few(dimensions) = kernel.shape {
            for axis in 0..dimensions {
                self.line(&format!(
                    ".reg .b32 %count{axis}, %multiplier{axis}, %shift{axis};"
                ));
                self.line(&format!(".reg .b64 %stride{axis};"));
            }
        }
        self.load("%words", 32, offset_of!(Params, words));
        self.line("mov.u32 %t, %ctaid.x;");
        self.line("mov.u32 %threads, %ntid.x;");
        self.line("mov.u32 %index, %tid.x;");
        self.line("mad.lo.u32 %index, %t, %threads, %index;");
        self.line("setp.ge.u32 %done, %index, %words;");
        self.line("@%done bra $finish;");
        self.line("mov.u32 %t, %nctaid.x;");
        self.line("mul.lo.u32 %threads, %threads, %t;");
        self.load("%first", 32, offset_of!(Params, first));
        self.load("%laid_out", 64, offset_of!(Params, laid_out));
        self.line("cvta.to.global.u64 %laid_out, %laid_out;");
        self.load("%packed", 64, offset_of!(Params, packed));
        self.line("cvta.to.global.u64 %packed, %packed;");
        self.prepare(kernel.shape);
        self.label("$word");
        self.line("add.u32 %rest, %first, %index;");
        self.line("mov.u64 %at, %laid_out;");
        self.find(kernel);
        self.line(&format!(
            "mad.wide.u32 %wide, %index, {}, %packed;",
            kernel.word
        ));
        self.copy(kernel);
        self.line("add.u32 %index, %index, %threads;");
        self.line("setp.lt.u32 %less, %index, %words;");
        self.line("@%less bra $word;");
        self.label("$finish");
        self.line("ret;");
        self.text.push_str("}\n");
    }

    /// Loads what all words of a thread use.
    fn prepare(&mut self, shape: Shape) {
        match shape {
            Shape::Few(dimensions) => {
                for axis in 0..dimensions {
                    let at = offset_of!(Params, axes) + axis as usize * size_of::<Axis>();
                    self.load(&format!("%stride{axis}"), 64, at + offset_of!(Axis, stride));
                    if axis + 1 < dimensions {
                        self.load(&format!("%count{axis}"), 32, at + offset_of!(Axis, count));
                        self.load_divisor(&axis.to_string(), at + offset_of!(Axis, by));
                    }
                }
            }
            Shape::Many => {}
            Shape::List => self.load_table("%offsets", offset_of!(Params, offsets)),
            Shape::Pattern => {
                self.load_table("%offsets", offset_of!(Params, offsets));
                self.load_table("%starts", offset_of!(Params, starts));
            }
        }
    }

    fn load_table(&mut self, register: &str, offset: usize) {
        self.load(register, 64, offset);
        self.line(&format!("cvta.to.global.u64 {register}, {register};"));
    }

    fn load_divisor(&mut self, suffix: &str, at: usize) {
        let multiplier = at + offset_of!(Divisor, multiplier);
        self.load(&format!("%multiplier{suffix}"), 32, multiplier);
        self.load(
            &format!("%shift{suffix}"),
            32,
            at + offset_of!(Divisor, shift),
        );
    }

    /// Adds to `%at` where word `%rest` is.
    fn find(&mut self, kernel: KernelName) {
        match kernel.shape {
            Shape::Few(dimensions) => {
                for axis in 0..dimensions {
                    let stride = format!("%stride{axis}");
                    if axis + 1 < dimensions {
                        self.divide(&axis.to_string());
                        self.step("%t", &stride);
                        self.line("mov.u32 %rest, %next;");
                    } else {
                        self.step("%rest", &stride);
                    }
                }
            }
            Shape::Many => self.dimensions(),
            Shape::List => {
                self.load("%count", 32, offset_of!(Params, run_words));
                self.load_divisor("", offset_of!(Params, by_run_words));
                self.divide("");
                self.line(&format!("mad.wide.u32 %at, %t, {}, %at;", kernel.word));
                self.line("mov.u32 %rest, %next;");
                self.load("%count", 32, offset_of!(Params, runs));
                self.load_divisor("", offset_of!(Params, by_runs));
                self.divide("");
                self.lookup("%t", "%offsets", "%stride");
                self.line("add.u64 %at, %at, %stride;");
                self.line("mov.u32 %rest, %next;");
                self.dimensions();
            }
            Shape::Pattern => self.pattern(kernel.word),
        }
    }

    /// The run of the pattern in which the word is: the last one that does not start behind it.
    fn pattern(&mut self, word: u32) {
        self.load("%count", 32, offset_of!(Params, run_words));
        self.load_divisor("", offset_of!(Params, by_run_words));
        self.divide("");
        self.load("%position", 64, offset_of!(Params, origin));
        self.line(&format!("mad.wide.u32 %position, %t, {word}, %position;"));
        self.line("mov.u32 %rest, %next;");
        self.line("mov.u32 %low, 0;");
        self.load("%high", 32, offset_of!(Params, runs));
        self.label("$search");
        self.line("sub.u32 %t, %high, %low;");
        self.line("setp.le.u32 %done, %t, 1;");
        self.line("@%done bra $found;");
        self.line("shr.u32 %t, %t, 1;");
        self.line("add.u32 %middle, %low, %t;");
        self.lookup("%middle", "%starts", "%start");
        self.line("setp.le.u64 %less, %start, %position;");
        self.line("selp.b32 %low, %middle, %low, %less;");
        self.line("selp.b32 %high, %high, %middle, %less;");
        self.line("bra $search;");
        self.label("$found");
        self.lookup("%low", "%starts", "%start");
        self.line("sub.u64 %position, %position, %start;");
        self.line("add.u64 %at, %at, %position;");
        self.lookup("%low", "%offsets", "%stride");
        self.line("add.u64 %at, %at, %stride;");
        self.dimensions();
    }

    /// Entry `index` of a table.
    fn lookup(&mut self, index: &str, table: &str, register: &str) {
        self.line(&format!("mad.wide.u32 %wide, {index}, 8, {table};"));
        self.line(&format!("ld.global.u64 {register}, [%wide];"));
    }

    /// `%rest` divided by a count: the quotient in `%next`, the remainder in `%t`.
    fn divide(&mut self, suffix: &str) {
        self.line(&format!("mul.wide.u32 %wide, %rest, %multiplier{suffix};"));
        self.line(&format!("shr.u64 %wide, %wide, %shift{suffix};"));
        self.line("cvt.u32.u64 %next, %wide;");
        self.line(&format!("mul.lo.u32 %t, %next, %count{suffix};"));
        self.line("sub.u32 %t, %rest, %t;");
    }

    fn step(&mut self, index: &str, stride: &str) {
        self.line(&format!("cvt.u64.u32 %wide, {index};"));
        self.line(&format!("mad.lo.s64 %at, %wide, {stride}, %at;"));
    }

    /// The dimensions around, as many as there are; the last one is never left.
    fn dimensions(&mut self) {
        self.load("%left", 32, offset_of!(Params, dimensions));
        self.line("mov.u64 %axis, params;");
        self.label("$axis");
        self.line("setp.eq.u32 %done, %left, 0;");
        self.line("@%done bra $placed;");
        let at = |field: usize| offset_of!(Params, axes) + field;
        let load = |register: &str, bits: u32, field: usize| {
            format!("ld.param.u{bits} {register}, [%axis+{}];", at(field))
        };
        let by = offset_of!(Axis, by);
        self.line(&load("%stride", 64, offset_of!(Axis, stride)));
        self.line(&load("%count", 32, offset_of!(Axis, count)));
        self.line(&load(
            "%multiplier",
            32,
            by + offset_of!(Divisor, multiplier),
        ));
        self.line(&load("%shift", 32, by + offset_of!(Divisor, shift)));
        self.divide("");
        self.step("%t", "%stride");
        self.line("mov.u32 %rest, %next;");
        self.line(&format!("add.u64 %axis, %axis, {};", size_of::<Axis>()));
        self.line("sub.u32 %left, %left, 1;");
        self.line("bra $axis;");
        self.label("$placed");
    }

    /// Copies the word between `%at` and `%wide`.
    fn copy(&mut self, kernel: KernelName) {
        let (from, to) = match kernel.direction {
            Direction::Pack => ("%at", "%wide"),
            Direction::Unpack => ("%wide", "%at"),
        };
        let (kind, value) = match kernel.word {
            16 => ("v2.u64".to_owned(), "{%value0, %value1}"),
            8 => ("u64".to_owned(), "%value0"),
            bytes => (format!("u{}", bytes * 8), "%value"),
        };
        self.line(&format!("ld.global.{kind} {value}, [{from}];"));
        self.line(&format!("st.global.{kind} [{to}], {value};"));
    }
}
