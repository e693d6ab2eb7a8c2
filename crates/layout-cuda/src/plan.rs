// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which kernels copy a range of a layout's packed bytes, and with which parameters. Nothing here needs a GPU.
//!
//! Kernels count words in 31 bits, so a launch is confined to a part of the layout in which that suffices: as many of the inner
//! dimensions as do not exceed it are divided by the kernel, what is outside of them is added to its base address here.

use std::ops::Range;

use crate::emit::{BLOCK_THREADS, Direction, FEW, KernelName, Shape, WORDS};
use crate::params::{Axis, Divisor, Params};
use layout::Layout;
use layout::{Dimension, Form};
use layout::{LayoutError, Result};

/// The criteria for one launch or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// A launch copies at most twice as many words; at most 2^30.
    pub launch_words: u64,
    /// From this length on, ranges that do not begin and end with a whole word get launches of their own for the bytes at the
    /// ends, so that the rest can be copied in larger words.
    pub split_bytes: usize,
    /// Blocks of a launch, at most; their threads copy several words where there are more.
    pub blocks: u32,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            launch_words: 1 << 30,
            split_bytes: 1 << 18,
            blocks: 1 << 14,
        }
    }
}

/// Where the sides of a copy are in the memory of the device.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// The origin of the layout's offsets.
    pub base: u64,
    /// The first byte of the range in packed memory.
    pub packed: u64,
    /// A copy of [`Plan::table`].
    pub table: u64,
}

/// One launch of a kernel.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The kernel.
    pub kernel: KernelName,
    /// Blocks of the grid, which has one dimension.
    pub blocks: u32,
    params: Params,
}

impl Launch {
    /// Threads of a block.
    pub const THREADS: u32 = BLOCK_THREADS;

    /// The bytes of the kernel's only parameter; kernels may declare fewer.
    pub fn params(&self) -> &[u8] {
        self.params.bytes()
    }
}

/// The innermost part, which the dimensions repeat.
#[derive(Clone, Copy, Debug)]
enum Inner {
    /// One run of bytes at this offset.
    Run(i64),
    /// Equal runs of so many bytes.
    List(usize),
    /// Runs of any length.
    Pattern,
}

/// A layout as kernels copy it.
#[derive(Clone, Debug)]
pub struct Plan {
    inner: Inner,
    /// Around the inner part, innermost first; the elements of a message are the last one.
    dimensions: Vec<Dimension>,
    /// Offsets of runs from the base; behind them, for patterns, their packed positions.
    table: Vec<i64>,
    runs: usize,
    /// The offset of the first run.
    offset: i64,
    /// A common divisor of all distances and lengths inside an element.
    grain: u64,
    extent: u64,
    tuning: Tuning,
}

/// Most runs of a pattern, which is a quarter of a gibibyte of table.
const MAX_RUNS: usize = 1 << 24;

impl Plan {
    /// How kernels copy this layout.
    ///
    /// # Errors
    /// When the layout consists of more unequal runs than fit into a table.
    pub fn new(layout: &Layout, tuning: Tuning) -> Result<Self> {
        let mut dimensions = layout.form().dimensions().to_vec();
        dimensions.push(layout.elements());
        let mut plan = Self {
            inner: Inner::Pattern,
            dimensions,
            table: Vec::new(),
            runs: 1,
            offset: 0,
            grain: 0,
            extent: layout.extent().unsigned_abs(),
            tuning,
        };
        match layout.form() {
            Form::Regular(nest) => {
                plan.inner = Inner::Run(nest.block.offset);
                plan.offset = nest.block.offset;
                plan.grain = nest.block.bytes as u64;
            }
            Form::List { offsets, bytes, .. } => {
                plan.inner = Inner::List(*bytes);
                plan.table = offsets.iter().collect();
                plan.grain = *bytes as u64;
            }
            Form::Irregular { .. } | Form::Compound { .. } => plan.expand(layout)?,
        }
        if let Some(&first) = plan.table.first() {
            plan.offset = first;
            plan.runs = match plan.inner {
                Inner::Pattern => plan.table.len() / 2,
                _ => plan.table.len(),
            };
            for offset in &plan.table[..plan.runs] {
                plan.grain = common(plan.grain, offset.wrapping_sub(first).unsigned_abs());
            }
        }
        let (_, inside) = plan
            .dimensions
            .split_last()
            .unwrap_or((&layout.elements(), &[]));
        plan.grain = inside.iter().fold(plan.grain, |grain, dimension| {
            common(grain, dimension.stride.unsigned_abs())
        });
        Ok(plan)
    }

    /// Makes the table of an irregular form: its runs, without the dimensions around.
    fn expand(&mut self, layout: &Layout) -> Result<()> {
        if layout.form().repeated_runs() > MAX_RUNS {
            return Err(LayoutError::TooManyBlocks);
        }
        let bytes = self.dimensions[0].bytes;
        let mut starts = Vec::new();
        let mut position = 0;
        // The bytes of the first repetition of all dimensions are those of the list.
        layout.for_each_run(0..bytes, |offset, length| {
            self.table.push(offset);
            starts.push(position);
            position += length as i64;
            self.grain = common(self.grain, length as u64);
        });
        self.table.append(&mut starts);
        Ok(())
    }

    /// The table in which kernels look runs up, to be copied to the device; empty for regular layouts.
    pub fn table(&self) -> &[i64] {
        &self.table
    }

    /// Calls `launch` with each launch that copies the bytes `range` of the packed form, in any order.
    pub fn launches(
        &self,
        direction: Direction,
        range: Range<usize>,
        at: Addresses,
        mut launch: impl FnMut(&Launch),
    ) {
        if self.dimensions[0].bytes == 0 || range.is_empty() {
            return;
        }
        let word = self.word(&range, at);
        let size = word as usize;
        let first = range.start.next_multiple_of(size).min(range.end);
        let last = (range.end / size * size).max(first);
        let parts = [
            (range.start..first, 1),
            (first..last, word),
            (last..range.end, 1),
        ];
        for (part, word) in parts {
            let mut start = part.start;
            while start < part.end {
                let packed = at.packed.wrapping_add((start - range.start) as u64);
                let at = Addresses { packed, ..at };
                let (next, end) = self.launch(direction, word, start..part.end, at);
                launch(&next);
                start = end;
            }
        }
    }

    /// The largest word in which a range can be copied.
    fn word(&self, range: &Range<usize>, at: Addresses) -> u32 {
        let size = self.elements().bytes;
        let grain = if range.end > size {
            common(self.grain, self.extent)
        } else {
            self.grain
        };
        let laid_out = at.base.wrapping_add_signed(self.offset);
        let fits = |&word: &u32| {
            let word = u64::from(word);
            let packed = at.packed.wrapping_sub(range.start as u64);
            [grain, laid_out, packed]
                .iter()
                .all(|it| it.is_multiple_of(word))
        };
        let is_worth_it = |&word: &u32| {
            let is_whole = |end: usize| end.is_multiple_of(word as usize);
            range.len() >= self.tuning.split_bytes || is_whole(range.start) && is_whole(range.end)
        };
        let mut words = WORDS.into_iter().filter(fits);
        words.find(is_worth_it).unwrap_or(1)
    }

    fn elements(&self) -> &Dimension {
        &self.dimensions[self.dimensions.len() - 1]
    }

    /// The first launch of a range that begins and ends with a whole word, and where it ends.
    fn launch(
        &self,
        direction: Direction,
        word: u32,
        range: Range<usize>,
        at: Addresses,
    ) -> (Launch, usize) {
        let most = 2 * self.tuning.launch_words as usize * word as usize;
        let (inside, outside) = self
            .dimensions
            .split_at(self.kernel_dimensions(&range, most / 2));
        // Where the repetition of the dimensions outside begins, and how far inside of it the range does.
        let (mut offset, mut rest) = (0i64, range.start);
        for dimension in outside.iter().rev() {
            offset = offset.wrapping_add(
                dimension
                    .stride
                    .wrapping_mul((rest / dimension.bytes) as i64),
            );
            rest %= dimension.bytes;
        }
        let mut params = Params::new();
        let (shape, within, left) = match inside.split_last() {
            Some((last, _)) => {
                let index = rest / last.bytes;
                offset = offset.wrapping_add(last.stride.wrapping_mul(index as i64));
                let left = (last.count - index).saturating_mul(last.bytes);
                offset = offset.wrapping_add(self.describe(&mut params, at, word, inside));
                (self.shape(&params), rest % last.bytes, left)
            }
            None => {
                let part = self.part(&mut params, at, word, rest, most / 2);
                offset = offset.wrapping_add(part.0);
                (part.1, part.2, part.3)
            }
        };
        let bytes = (left.min(most) - within).min(range.len());
        params.laid_out = at.base.wrapping_add_signed(offset);
        params.packed = at.packed;
        params.first = (within / word as usize) as u32;
        params.words = (bytes / word as usize) as u32;
        let kernel = KernelName {
            direction,
            shape,
            word,
        };
        let blocks = params.words.div_ceil(BLOCK_THREADS).min(self.tuning.blocks);
        let launch = Launch {
            kernel,
            blocks,
            params,
        };
        (launch, range.start + bytes)
    }

    /// How many dimensions a kernel takes for a range: none whose repetitions are longer than `most`, nor those that stay as
    /// they are.
    fn kernel_dimensions(&self, range: &Range<usize>, most: usize) -> usize {
        let last = range.end - 1;
        self.dimensions.partition_point(|dimension| {
            let bytes = dimension.bytes;
            bytes <= most && range.start / bytes != last / bytes
        })
    }

    fn shape(&self, params: &Params) -> Shape {
        match self.inner {
            Inner::Run(_) if params.dimensions <= FEW => Shape::Few(params.dimensions),
            Inner::Run(_) => Shape::Many,
            Inner::List(_) => Shape::List,
            Inner::Pattern => Shape::Pattern,
        }
    }

    /// Tells a kernel the inner part with dimensions around it (at least one); gives an offset that it does not look up.
    fn describe(&self, params: &mut Params, at: Addresses, word: u32, inside: &[Dimension]) -> i64 {
        let bytes = inside[0].bytes;
        self.look_up(params, at);
        let offset = match self.inner {
            Inner::Run(offset) => {
                let words = bytes as u64 / u64::from(word);
                if words > 1 {
                    params.push(Axis::new(words, word.into()));
                }
                offset
            }
            Inner::List(run) => {
                params.run_words = (run / word as usize) as u32;
                params.by_run_words = Divisor::by(params.run_words.into());
                params.by_runs = Divisor::by(self.runs as u64);
                0
            }
            Inner::Pattern => {
                params.run_words = (bytes / word as usize) as u32;
                params.by_run_words = Divisor::by(params.run_words.into());
                0
            }
        };
        for dimension in inside {
            params.push(Axis::new(dimension.count as u64, dimension.stride));
        }
        let last = params.dimensions as usize - 1;
        params.axes[last] = params.axes[last].endless();
        offset
    }

    fn look_up(&self, params: &mut Params, at: Addresses) {
        params.offsets = at.table;
        params.starts = at.table + 8 * self.runs as u64;
        params.runs = self.runs as u32;
    }

    /// Tells a kernel a part of the inner part, from position `rest` on, in launches of which the half is `most` bytes. Gives an offset
    /// that the kernel does not look up, its shape, the position of the launch's first byte, counted from where the kernel does, and
    /// the end of that part.
    fn part(
        &self,
        params: &mut Params,
        at: Addresses,
        word: u32,
        rest: usize,
        most: usize,
    ) -> (i64, Shape, usize, usize) {
        let all = self.dimensions[0].bytes;
        self.look_up(params, at);
        let mut run = |offset: i64, skip: usize, bytes: usize| {
            params.push(Axis::new(u64::MAX, word.into()));
            (
                offset.wrapping_add(skip as i64),
                Shape::Few(1),
                0,
                bytes - skip,
            )
        };
        match self.inner {
            Inner::Run(offset) => run(offset, rest, all),
            Inner::List(bytes) if bytes > most => {
                run(self.table[rest / bytes], rest % bytes, bytes)
            }
            Inner::List(bytes) => {
                let index = rest / bytes;
                params.offsets += 8 * index as u64;
                params.run_words = (bytes / word as usize) as u32;
                params.by_run_words = Divisor::by(params.run_words.into());
                (0, Shape::List, rest % bytes, all - index * bytes)
            }
            Inner::Pattern => {
                params.origin = rest as u64;
                (0, Shape::Pattern, 0, all - rest)
            }
        }
    }
}

/// The greatest common divisor.
const fn common(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
