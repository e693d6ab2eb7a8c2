// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks in the memory of GPUs. A rank knows the kinds of its own buffers only, so the messages of a collective depend on none of them: a
//! collective works on copies on the host, which are loaded before it begins and stored when it is complete.

#![expect(unsafe_code, reason = "blocks are addresses that programs gave")]

use std::future::Future;
use std::sync::Arc;

use layout::{Layout, SharedLayout};

use super::blocks::{Blocks, Root, Sizes};
use super::primitives::{Block, RawMut};
use crate::comm::Comm;
use crate::device::{Device, Form, HostCopy};
use crate::errors::Result;
use crate::op::Reduction;

/// What a collective does with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It reads the data.
    Read,
    /// It writes all data.
    Written,
    /// It reads them and writes them, or writes some of them.
    Updated,
}

impl Use {
    const fn reads(self) -> bool {
        !matches!(self, Self::Written)
    }

    const fn writes(self) -> bool {
        !matches!(self, Self::Read)
    }

    /// Both uses.
    fn and(self, other: Self) -> Self {
        match self == other {
            true => self,
            false => Self::Updated,
        }
    }
}

/// The GPU in whose memory a block is, and what the collective does with it.
#[derive(Clone, Copy)]
pub(in crate::coll) struct Held {
    device: Device,
    used: Use,
}

impl Block {
    /// The same block in the memory of a GPU.
    #[must_use]
    pub fn on(self, device: Device, used: Use) -> Self {
        let held = Some(Box::new(Held { device, used }));
        Self { held, ..self }
    }

    /// The same block, of which a collective that receives into it may read data, or leave some as they are.
    #[must_use]
    pub fn updated(mut self) -> Self {
        if let Some(held) = &mut self.held {
            held.used = Use::Updated;
        }
        self
    }
}

impl Blocks {
    /// [`Block::updated`] for each.
    #[must_use]
    pub fn updated(self) -> Self {
        Self(self.0.into_iter().map(Block::updated).collect())
    }
}

/// The arguments of a collective, of which blocks may be in the memory of a GPU.
pub trait Buffers {
    /// Calls `action` with each block.
    fn for_each(&mut self, action: &mut dyn FnMut(&mut Block)) {
        let _ = action;
    }

    /// Whether elements of the blocks are operands.
    fn combines(&self) -> bool {
        false
    }
}

impl Buffers for () {}
impl Buffers for Sizes {}
impl Buffers for Root {}
impl Buffers for Vec<usize> {}

impl Buffers for Reduction {
    fn combines(&self) -> bool {
        true
    }
}

impl Buffers for Block {
    fn for_each(&mut self, action: &mut dyn FnMut(&mut Block)) {
        action(self);
    }
}

impl Buffers for Blocks {
    fn for_each(&mut self, action: &mut dyn FnMut(&mut Block)) {
        self.0.iter_mut().for_each(action);
    }
}

impl<T: Buffers> Buffers for Option<T> {
    fn for_each(&mut self, action: &mut dyn FnMut(&mut Block)) {
        if let Some(inner) = self {
            inner.for_each(action);
        }
    }
}

macro_rules! of_tuples {
    ($(($($part:ident)*))*) => {$(
        impl<$($part: Buffers),*> Buffers for ($($part,)*) {
            fn for_each(&mut self, action: &mut dyn FnMut(&mut Block)) {
                #[expect(non_snake_case, reason = "a part is named as its type")]
                let ($($part,)*) = self;
                $($part.for_each(action);)*
            }

            fn combines(&self) -> bool {
                #[expect(non_snake_case, reason = "a part is named as its type")]
                let ($($part,)*) = self;
                $($part.combines())||*
            }
        }
    )*};
}

of_tuples! {
    (A B)
    (A B C)
    (A B C D)
}

/// Whether a block of the arguments is in the memory of a GPU.
///
/// # Errors
/// MPI_ERR_BUFFER for one that leaves it.
pub fn are_on_device<A: Buffers>(arguments: &mut A) -> Result<bool> {
    let mut found = Ok(false);
    arguments.for_each(&mut |block| {
        if let (Some(held), Ok(_)) = (&block.held, &found) {
            let checked = held.device.check(block.base.0, &block.layout, block.count);
            found = checked.map(|()| true);
        }
    });
    found
}

/// Runs `work` on copies of the blocks that are in the memory of GPUs. What the driver refuses is returned at the end: other members would
/// wait for ever for a rank that takes no part.
///
/// # Errors
/// MPI_ERR_NO_MEM, the driver's errors, those of `work`.
pub async fn on_copies<A: Buffers, W: Future<Output = Result<()>>>(
    comm: Arc<Comm>,
    mut arguments: A,
    work: impl Fn(Arc<Comm>, A) -> W,
) -> Result<()> {
    let mut copies = Copies::of(&mut arguments)?;
    let loaded = copies.load();
    let done = work(comm, arguments).await;
    loaded.and(done)?;
    copies.store()
}

/// Combines elements of one block with those of another, of which one is in the memory of a GPU (MPI_Reduce_local).
///
/// # Errors
/// As for [`on_copies`].
pub fn reduce_on_device(given: Block, got: Block, reduction: Reduction) -> Result<()> {
    let mut arguments = (given, got.updated(), reduction);
    let mut copies = Copies::of(&mut arguments)?;
    copies.load()?;
    let (given, got, reduction) = &arguments;
    // SAFETY: both are blocks of as many elements of the reduction's type (Block::new), which do not overlap.
    unsafe { reduction.apply(given.base.0, got.base.0, got.count) };
    copies.store()
}

/// Memory of a GPU that is copied at once: blocks that lie one behind the other, or elements with gaps.
struct Region {
    held: Held,
    base: *mut u8,
    layout: SharedLayout,
    count: usize,
    /// Whether it is one run of bytes.
    is_run: bool,
}

static BYTE: Layout = Layout::named(1, 1);

impl Region {
    fn of(block: &Block, held: Held) -> Self {
        let memory = block.memory();
        let (layout, count, is_run) = match memory.layout {
            None => (SharedLayout::Forever(&BYTE), memory.bytes, true),
            Some((layout, count)) => (layout.clone(), count, false),
        };
        Self {
            held,
            base: memory.base,
            layout,
            count,
            is_run,
        }
    }

    /// Takes a region in that begins inside of this one or at its end; gives the offset of its first byte.
    fn take(&mut self, other: &Self) -> Option<usize> {
        if !self.held.device.shares_allocation(&other.held.device) {
            return None;
        }
        let offset = (other.base as usize).checked_sub(self.base as usize)?;
        let fits = match self.is_run && other.is_run {
            true => offset <= self.count,
            false => offset == 0 && self.layout == other.layout && other.count <= self.count,
        };
        if !fits {
            return None;
        }
        if self.is_run {
            self.count = self.count.max(offset + other.count);
        }
        self.held.used = self.held.used.and(other.held.used);
        Some(offset)
    }
}

/// The copies of a collective's blocks, and what it does with each.
struct Copies(Vec<(HostCopy, Use)>);

// SAFETY: addresses of programs' buffers, which any thread may copy while the collective runs (Block::new).
unsafe impl Send for Region {}

impl Copies {
    /// Makes the copies, and gives the arguments these instead of the memory of GPUs.
    fn of<A: Buffers>(arguments: &mut A) -> Result<Self> {
        let mut regions: Vec<Region> = Vec::new();
        let mut slots = Vec::new();
        arguments.for_each(&mut |block| {
            let Some(held) = block.held.as_deref().copied().filter(|_| block.bytes() > 0) else {
                return;
            };
            let region = Region::of(block, held);
            let mut known = regions.iter_mut().enumerate().rev();
            let slot = known.find_map(|(index, one)| Some((index, one.take(&region)?)));
            slots.push(slot.unwrap_or((regions.len(), 0)));
            if slot.is_none() {
                regions.push(region);
            }
        });
        let form = match arguments.combines() {
            true => Form::LaidOut,
            false => Form::Packed,
        };
        let copies = regions.iter().map(|region| {
            let elements = (&region.layout, region.count);
            let copy = HostCopy::new(region.held.device, region.base, elements, form)?;
            Ok((copy, region.held.used))
        });
        let mut copies = copies.collect::<Result<Vec<_>>>()?;
        let mut slots = slots.into_iter();
        arguments.for_each(&mut |block| {
            let has_copy = block.held.take().is_some() && block.bytes() > 0;
            if let Some((index, offset)) = has_copy.then(|| slots.next()).flatten() {
                move_to(block, &mut copies[index].0, offset, form);
            }
        });
        Ok(Self(copies))
    }

    fn load(&mut self) -> Result<()> {
        let mut read = self.0.iter_mut().filter(|(_, used)| used.reads());
        read.try_for_each(|(copy, _)| copy.load())
    }

    fn store(&mut self) -> Result<()> {
        let mut written = self.0.iter_mut().filter(|(_, used)| used.writes());
        written.try_for_each(|(copy, _)| copy.store())
    }
}

/// Lets a block name its copy, which begins `offset` bytes behind that of its region.
fn move_to(block: &mut Block, copy: &mut HostCopy, offset: usize, form: Form) {
    let lowest = block.layout.span(block.count).map_or(0, |(first, _)| first);
    let first = copy.first().wrapping_add(offset);
    if form == Form::Packed && block.layout.contiguous_start(block.count).is_none() {
        let size = block.layout.size();
        block.layout = Layout::aligned(size, size, 1).into();
        block.base = RawMut(first);
    } else {
        block.base = RawMut(first.wrapping_offset(-lowest as isize));
    }
}
