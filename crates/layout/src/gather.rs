// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pieces at displacements, and the simplest form of the whole.

use crate::error::{LayoutError, Result};
use crate::form::{Block, Dimension, Dimensions, Form, MAX_DEPTH, Member, Nest};
use crate::form::{Observer, Rule, Silent, tell};
#[cfg(target_arch = "x86_64")]
use crate::isa;
use crate::layout::Layout;
use crate::offsets::Offsets;
use crate::regular::{Place, patterns, steps};

/// Most nests of an irregular form; more would take gigabytes.
const MAX_NESTS: usize = 1 << 26;

/// Nests as which pieces of a type are written out altogether: few enough that all of them stay in the processor's caches.
const FEW_NESTS: usize = 256;

/// Memory that any piece may take for writing out what it consists of: little more than for a member.
const FEW_BYTES: usize = 256;

/// Gathers forms in packing order, joins neighbours, and finds the simplest form of the whole.
pub(crate) struct Gather<'o, O: Observer> {
    /// All pieces, as long as they are runs.
    runs: Vec<Block>,
    /// All pieces, from the first that is more than a run on.
    nests: Vec<Nest>,
    /// What came before the runs and nests, from the first piece on that is not written out as those.
    members: Vec<Member>,
    /// Nests that have been written out.
    written: usize,
    /// The pieces as they came, for an observer.
    asked: Vec<Member>,
    /// Whether runs were joined, and nests.
    joined: (bool, bool),
    observer: &'o mut O,
}

impl<'o, O: Observer> Gather<'o, O> {
    pub(crate) const fn new(observer: &'o mut O) -> Self {
        Self {
            runs: Vec::new(),
            nests: Vec::new(),
            members: Vec::new(),
            written: 0,
            asked: Vec::new(),
            joined: (false, false),
            observer,
        }
    }

    /// Appends `length` (> 0) elements of `old`, together `size` bytes, at offset `at`.
    pub(crate) fn add_copies(
        &mut self,
        old: &Layout,
        length: usize,
        at: i64,
        size: usize,
    ) -> Result<()> {
        if length == 1 {
            return self.add(&old.form, at, size);
        }
        let mut form = old.form.clone();
        form.told_repeat(length, old.extent(), old.size(), &mut Silent);
        self.add(&form, at, size)
    }

    /// Appends `form`, whose elements have `size` bytes, at offset `at`.
    fn add(&mut self, form: &Form, at: i64, size: usize) -> Result<()> {
        if size == 0 {
            return Ok(());
        }
        if let Form::Regular(nest) = form {
            return self.add_nest(nest, at);
        }
        if !self.is_written_out(form) {
            return self.add_member(form, at);
        }
        self.written += form.pieces();
        match form {
            Form::Regular(nest) => self.add_nest(nest, at),
            Form::List {
                offsets,
                bytes,
                dimensions,
            } => repetitions(dimensions, at, |at| {
                for offset in offsets.iter() {
                    let block = Block {
                        offset,
                        bytes: *bytes,
                    };
                    self.add_run(block, at)?;
                }
                Ok(())
            }),
            Form::Irregular {
                nests, dimensions, ..
            } => repetitions(dimensions, at, |at| {
                nests.iter().try_for_each(|nest| self.add_nest(nest, at))
            }),
            Form::Compound {
                members,
                dimensions,
            } => repetitions(dimensions, at, |at| {
                members.iter().try_for_each(|member| {
                    let at = at.checked_add(member.offset);
                    self.add(&member.form, at.ok_or(LayoutError::Overflow)?, member.bytes)
                })
            }),
        }
    }

    /// Whether a form is added as the pieces that it consists of: where those are few, or as many as a member takes memory for.
    fn is_written_out(&self, form: &Form) -> bool {
        let pieces = form.pieces();
        let each = match form {
            Form::List { .. } => size_of::<i64>(),
            _ => size_of::<Nest>(),
        };
        let is_small =
            pieces <= FEW_BYTES / each || self.written.saturating_add(pieces) <= FEW_NESTS;
        is_small || form.dimensions().is_empty() && form.depth() >= MAX_DEPTH
    }

    /// Appends a form as it is.
    fn add_member(&mut self, form: &Form, at: i64) -> Result<()> {
        let member = Member::new(at, form.clone());
        if O::WATCHES {
            self.asked.push(member.clone());
        }
        self.turn_into_members()?;
        push(&mut self.members, member)?;
        while let [.., before, last] = &mut self.members[..]
            && let Some(joined) = before.continued_by(last)
        {
            *before = joined;
            self.members.pop();
            self.joined.1 = true;
        }
        Ok(())
    }

    /// Makes the runs and nests one member, whose own offsets are relative to its first byte.
    fn turn_into_members(&mut self) -> Result<()> {
        let (runs, nests) = (
            std::mem::take(&mut self.runs),
            std::mem::take(&mut self.nests),
        );
        let mut form = match (runs.is_empty(), nests.is_empty()) {
            (true, true) => return Ok(()),
            (_, true) => simplest(runs, &mut Silent)?,
            (_, false) => simplest(nests, &mut Silent)?,
        };
        let mut first = form.first_offset();
        match first.checked_neg() {
            Some(back) => form.shift(back).ok_or(LayoutError::Overflow)?,
            None => first = 0,
        }
        push(&mut self.members, Member::new(first, form))
    }

    fn add_nest(&mut self, nest: &Nest, at: i64) -> Result<()> {
        if nest.dimensions.is_empty() {
            return self.add_run(nest.block, at);
        }
        self.turn_runs_into_nests()?;
        let offset = moved(nest.block, at)?.offset;
        if O::WATCHES {
            self.note_asked(nest.at(offset));
        }
        push(&mut self.nests, nest.at(offset))?;
        self.join_nests();
        Ok(())
    }

    /// Makes room for so many runs, as far as that is likely to be used.
    pub(crate) fn expect_runs(&mut self, count: usize) {
        // Without room now, what is there grows later, or fails then.
        drop(self.runs.try_reserve_exact(count.min(1 << 20)));
    }

    /// Appends a block at offset `at`.
    #[inline(always)]
    pub(crate) fn add_run(&mut self, block: Block, at: i64) -> Result<()> {
        let run = moved(block, at)?;
        if O::WATCHES {
            self.note_asked(run.into_nest());
        }
        let last = if let Some(nest) = self.nests.last_mut() {
            Some(&mut nest.block).filter(|_| nest.dimensions.is_empty())
        } else {
            self.runs.last_mut()
        };
        if let Some(last) = last
            && last.offset.checked_add_unsigned(last.bytes as u64) == Some(run.offset)
        {
            last.bytes += run.bytes;
            self.joined.0 = true;
        } else if self.nests.is_empty() {
            push(&mut self.runs, run)?;
        } else {
            push(&mut self.nests, run.into_nest())?;
            self.join_nests();
        }
        Ok(())
    }

    fn note_asked(&mut self, nest: Nest) {
        self.asked.push(Member::new(0, Form::Regular(nest)));
    }

    fn turn_runs_into_nests(&mut self) -> Result<()> {
        if self.nests.is_empty() && !self.runs.is_empty() {
            self.nests = into_nests(std::mem::take(&mut self.runs))?;
        }
        Ok(())
    }

    /// Joins the last nests as long as one continues the other. Runs are joined with nests only, so that what is irregular
    /// stays one list.
    fn join_nests(&mut self) {
        while let [.., before, last] = &mut self.nests[..]
            && let Some(joined) = before.continued_by(last)
        {
            *before = joined;
            self.nests.pop();
            self.joined.1 = true;
        }
    }

    pub(crate) fn finish(mut self) -> Result<Form> {
        if !self.members.is_empty() {
            self.turn_into_members()?;
        }
        let asked = std::mem::take(&mut self.asked);
        if asked.len() > 1 {
            tell(self.observer, Rule::Pieces, || listed(asked));
            let runs = self.runs.iter().map(|run| run.into_nest());
            let nests = runs.chain(self.nests.iter().cloned());
            let members = nests.map(|nest| Member::new(0, Form::Regular(nest)));
            let seen = || {
                listed(
                    self.members
                        .iter()
                        .cloned()
                        .chain(members.clone())
                        .collect(),
                )
            };
            if self.joined.0 {
                tell(self.observer, Rule::Fold, seen);
            }
            if self.joined.1 {
                tell(self.observer, Rule::Continue, seen);
            }
        }
        if !self.members.is_empty() {
            simplest_compound(self.members, self.observer)
        } else if self.nests.is_empty() {
            simplest(self.runs, self.observer)
        } else {
            simplest(self.nests, self.observer)
        }
    }
}

/// Members as they are, for an observer: nests where all are.
fn listed(members: Vec<Member>) -> Form {
    let nest = |member: &Member| match &member.form {
        Form::Regular(nest) if member.offset == 0 => Some(nest.clone()),
        _ => None,
    };
    match members.iter().map(nest).collect::<Option<Vec<Nest>>>() {
        Some(nests) => Form::irregular(nests.into_iter()),
        None => Form::compound(members),
    }
}

/// The parts that are gathered: runs, or nests.
trait Piece: Place {
    /// Whether a piece is one run.
    const IS_RUN: bool;

    fn into_nest(self) -> Nest;
}

impl Piece for Block {
    const IS_RUN: bool = true;

    fn into_nest(self) -> Nest {
        Nest {
            block: self,
            dimensions: Dimensions::NONE,
            packed_before: 0,
        }
    }
}

impl Piece for Nest {
    const IS_RUN: bool = false;

    fn into_nest(self) -> Nest {
        self
    }
}

fn moved(block: Block, by: i64) -> Result<Block> {
    let offset = by.checked_add(block.offset).ok_or(LayoutError::Overflow)?;
    Ok(Block { offset, ..block })
}

#[inline(always)]
fn push<P>(pieces: &mut Vec<P>, piece: P) -> Result<()> {
    if pieces.len() == pieces.capacity() {
        grow(pieces)?;
    }
    pieces.push(piece);
    Ok(())
}

#[cold]
fn grow<P>(pieces: &mut Vec<P>) -> Result<()> {
    if pieces.len() >= MAX_NESTS {
        return Err(LayoutError::TooManyBlocks);
    }
    let more = pieces.len().max(4).min(MAX_NESTS - pieces.len());
    pieces
        .try_reserve_exact(more)
        .map_err(|_| LayoutError::TooManyBlocks)
}

fn into_nests<P: Piece>(pieces: Vec<P>) -> Result<Vec<Nest>> {
    let mut nests = Vec::new();
    nests
        .try_reserve_exact(pieces.len())
        .map_err(|_| LayoutError::TooManyBlocks)?;
    nests.extend(pieces.into_iter().map(Piece::into_nest));
    Ok(nests)
}

/// The lowest and the highest of some numbers.
pub(crate) fn extremes(numbers: impl Iterator<Item = i64>) -> (i64, i64) {
    #[cfg(target_arch = "x86_64")]
    if isa::has_avx2() {
        // SAFETY: the processor has AVX2.
        return unsafe { extremes_avx2(numbers) };
    }
    extremes_anywhere(numbers)
}

/// # Safety
/// The processor has the instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn extremes_avx2(numbers: impl Iterator<Item = i64>) -> (i64, i64) {
    extremes_anywhere(numbers)
}

#[inline(always)]
fn extremes_anywhere(numbers: impl Iterator<Item = i64>) -> (i64, i64) {
    numbers.fold((i64::MAX, i64::MIN), |(low, high), number| {
        (low.min(number), high.max(number))
    })
}

/// The offsets of runs at places in units of so many bytes, and whether any two neighbours touch.
fn offsets_of(
    places: impl ExactSizeIterator<Item = i64>,
    unit: i64,
    run: Block,
) -> Result<(Vec<i64>, bool)> {
    #[cfg(target_arch = "x86_64")]
    if isa::has_avx2() {
        // SAFETY: the processor has AVX2.
        return unsafe { offsets_avx2(places, unit, run) };
    }
    offsets_anywhere(places, unit, run)
}

/// # Safety
/// The processor has the instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn offsets_avx2(
    places: impl ExactSizeIterator<Item = i64>,
    unit: i64,
    run: Block,
) -> Result<(Vec<i64>, bool)> {
    offsets_anywhere(places, unit, run)
}

#[inline(always)]
fn offsets_anywhere(
    places: impl ExactSizeIterator<Item = i64>,
    unit: i64,
    run: Block,
) -> Result<(Vec<i64>, bool)> {
    let mut offsets: Vec<i64> = Vec::new();
    offsets
        .try_reserve_exact(places.len())
        .map_err(|_| LayoutError::TooManyBlocks)?;
    offsets.extend(places.map(|at| at.wrapping_mul(unit).wrapping_add(run.offset)));
    // Without a way out in the middle, so that several are compared at once.
    let touch = |pair: &[i64; 2]| pair[1].wrapping_sub(pair[0]) == run.bytes as i64;
    let touching = offsets.array_windows().filter(|pair| touch(pair)).count();
    Ok((offsets, touching > 0))
}

/// The simplest form of more than one equal run at places in units of so many bytes, which are below 63 bits; `None` if runs
/// touch, so that they are not equal in the end.
pub(crate) fn equal_runs(
    places: impl ExactSizeIterator<Item = i64>,
    unit: i64,
    run: Block,
) -> Result<Option<Form>> {
    if places.len() > MAX_NESTS {
        return Err(LayoutError::TooManyBlocks);
    }
    let (mut offsets, touch) = offsets_of(places, unit, run)?;
    if touch {
        return Ok(None);
    }
    if let Some(steps) = steps(&offsets) {
        let first = Block {
            offset: offsets[0],
            ..run
        };
        let mut nest = first.into_nest();
        for &(count, stride) in &steps {
            nest.repeat(count, stride);
        }
        return Ok(Some(Form::Regular(nest)));
    }
    let patterns = patterns(&mut offsets);
    repeated_list(&offsets, run.bytes, &patterns).map(Some)
}

/// Equal runs, along dimensions (counts and strides).
fn repeated_list(offsets: &[i64], bytes: usize, patterns: &[(usize, i64)]) -> Result<Form> {
    let list = Form::List {
        offsets: Offsets::new(offsets)?,
        bytes,
        dimensions: Dimensions::NONE,
    };
    Ok(along(list, patterns))
}

/// A form along dimensions (counts and strides).
fn along(mut form: Form, patterns: &[(usize, i64)]) -> Form {
    let mut bytes = form.bytes();
    for &(count, stride) in patterns {
        form.repeat(Dimension {
            count,
            stride,
            bytes,
        });
        bytes *= count;
    }
    form
}

/// The simplest form of pieces in packing order.
fn simplest<P: Piece>(mut pieces: Vec<P>, observer: &mut impl Observer) -> Result<Form> {
    let Some(first) = pieces.first() else {
        return Ok(Form::EMPTY);
    };
    let are_equal = pieces.iter().all(|piece| piece.is_like(first));
    if are_equal && let Some(steps) = steps(&pieces) {
        let mut nest = pieces.swap_remove(0).into_nest();
        for &(count, stride) in &steps {
            nest.repeat(count, stride);
        }
        if !steps.is_empty() {
            tell(observer, Rule::Regular, || Form::Regular(nest.clone()));
        }
        return Ok(Form::Regular(nest));
    }
    let patterns = patterns(&mut pieces);
    let are_equal_runs = are_equal && P::IS_RUN;
    let form = if are_equal_runs {
        let offsets: Vec<i64> = pieces.iter().map(Place::offset).collect();
        let run = pieces.swap_remove(0).into_nest().block;
        repeated_list(&offsets, run.bytes, &patterns)?
    } else {
        along(
            Form::irregular(pieces.into_iter().map(Piece::into_nest)),
            &patterns,
        )
    };
    if !patterns.is_empty() {
        tell(observer, Rule::Regular, || form.clone());
    } else if are_equal_runs {
        tell(observer, Rule::List, || form.clone());
    }
    Ok(form)
}

/// The simplest form of members in packing order, at least one.
fn simplest_compound(mut members: Vec<Member>, observer: &mut impl Observer) -> Result<Form> {
    let are_equal = members.iter().all(|member| member.is_like(&members[0]));
    if are_equal && let Some(steps) = steps(&members) {
        let first = members.swap_remove(0);
        let mut form = first.form;
        form.shift(first.offset).ok_or(LayoutError::Overflow)?;
        let form = along(form, &steps);
        if !steps.is_empty() {
            tell(observer, Rule::Regular, || form.clone());
        }
        return Ok(form);
    }
    let patterns = patterns(&mut members);
    let form = along(Form::compound(members), &patterns);
    if !patterns.is_empty() {
        tell(observer, Rule::Regular, || form.clone());
    }
    Ok(form)
}

impl Nest {
    fn at(&self, offset: i64) -> Self {
        Self {
            block: Block {
                offset,
                bytes: self.block.bytes,
            },
            dimensions: self.dimensions.clone(),
            packed_before: 0,
        }
    }
}

/// Calls `action` with the offset of each repetition along dimensions, starting with `at`.
fn repetitions(
    dimensions: &[Dimension],
    at: i64,
    mut action: impl FnMut(i64) -> Result<()>,
) -> Result<()> {
    let copies = dimensions.iter().try_fold(1usize, |product, dimension| {
        product.checked_mul(dimension.count)
    });
    let copies = copies.ok_or(LayoutError::TooManyBlocks)?;
    let mut index = vec![0usize; dimensions.len()];
    for _ in 0..copies {
        let offset = index
            .iter()
            .zip(dimensions)
            .map(|(&i, dimension)| i as i64 * dimension.stride)
            .sum::<i64>();
        action(at.checked_add(offset).ok_or(LayoutError::Overflow)?)?;
        for (i, dimension) in index.iter_mut().zip(dimensions) {
            *i += 1;
            if *i < dimension.count {
                break;
            }
            *i = 0;
        }
    }
    Ok(())
}
