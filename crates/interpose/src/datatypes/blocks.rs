// SPDX-License-Identifier: MIT OR Apache-2.0
//! The data of a collective: blocks of a process, as the bytes that travel.

use std::ffi::c_void;
use std::sync::Arc;

use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::elements::{Elements, MOST_BYTES, UNMAPPED};
use super::pool::Temporary;
use super::types::Type;
use super::{data, device, leaf};
use crate::table::REAL;

/// An array of a call, in one width or the other.
#[derive(Clone, Copy)]
pub(super) enum Numbers {
    /// Of `int`.
    Narrow(*const i32),
    /// Of MPI_Count or MPI_Aint.
    Wide(*const i64),
}

impl From<*const i32> for Numbers {
    fn from(numbers: *const i32) -> Self {
        Self::Narrow(numbers)
    }
}

impl From<*const MPI_Count> for Numbers {
    fn from(numbers: *const MPI_Count) -> Self {
        Self::Wide(numbers)
    }
}

impl From<*const MPI_Aint> for Numbers {
    fn from(numbers: *const MPI_Aint) -> Self {
        const { assert!(size_of::<MPI_Aint>() == size_of::<i64>()) };
        Self::Wide(numbers.cast())
    }
}

impl Numbers {
    /// The number at an index; `None` without an array.
    unsafe fn at(self, index: usize) -> Option<i64> {
        // SAFETY: the caller's promise: the array has as many.
        unsafe {
            match self {
                Self::Narrow(numbers) if !numbers.is_null() => Some((*numbers.add(index)).into()),
                Self::Wide(numbers) if !numbers.is_null() => Some(*numbers.add(index)),
                _ => None,
            }
        }
    }
}

/// The data of one side of a call, as its arguments name them.
#[derive(Clone, Copy)]
pub(super) enum Data {
    /// Blocks of `count` elements each, one behind the other.
    Even(Elements),
    /// Blocks of their own lengths, at places in extents of the type.
    Uneven {
        base: *const c_void,
        counts: Numbers,
        places: Numbers,
        datatype: MPI_Datatype,
    },
    /// Blocks of their own lengths and types, at places in bytes.
    Mixed {
        base: *const c_void,
        counts: Numbers,
        places: Numbers,
        datatypes: *const MPI_Datatype,
    },
}

impl Data {
    /// Even blocks by the arguments of a call.
    pub(super) fn even(
        base: *const c_void,
        count: impl Into<MPI_Count>,
        datatype: MPI_Datatype,
    ) -> Self {
        Self::Even(Elements::new(base, count, datatype))
    }

    /// Uneven blocks.
    pub(super) fn uneven(
        base: *const c_void,
        counts: impl Into<Numbers>,
        places: impl Into<Numbers>,
        datatype: MPI_Datatype,
    ) -> Self {
        Self::Uneven {
            base,
            counts: counts.into(),
            places: places.into(),
            datatype,
        }
    }

    /// Mixed blocks.
    pub(super) fn mixed(
        base: *const c_void,
        counts: impl Into<Numbers>,
        places: impl Into<Numbers>,
        datatypes: *const MPI_Datatype,
    ) -> Self {
        Self::Mixed {
            base,
            counts: counts.into(),
            places: places.into(),
            datatypes,
        }
    }

    fn base(self) -> *const c_void {
        match self {
            Self::Even(Elements { base, .. })
            | Self::Uneven { base, .. }
            | Self::Mixed { base, .. } => base,
        }
    }

    /// Whether MPI_IN_PLACE stands for them.
    pub(super) fn is_in_place(self) -> bool {
        self.base().addr() == mpi::MPI_IN_PLACE
    }

    /// The distance of places that differ by 1; `None` if an argument is wrong.
    fn unit(self) -> Option<i64> {
        match self {
            Self::Even(Elements { datatype, .. }) | Self::Uneven { datatype, .. } => (datatype
                != mpi::MPI_DATATYPE_NULL)
                .then(|| bounds(datatype))
                .flatten()
                .map(|(_, extent)| extent),
            Self::Mixed { .. } => Some(1),
        }
    }

    /// The elements of a block; `None` if an argument is wrong.
    unsafe fn block(self, index: usize, unit: i64) -> Option<Elements> {
        // SAFETY: the caller's promise: there is such a block.
        let (count, place, datatype) = unsafe {
            match self {
                Self::Even(it) => (
                    it.count,
                    it.count.checked_mul(i64::try_from(index).ok()?)?,
                    it.datatype,
                ),
                Self::Uneven {
                    counts,
                    places,
                    datatype,
                    ..
                } => (counts.at(index)?, places.at(index)?, datatype),
                Self::Mixed {
                    counts,
                    places,
                    datatypes,
                    ..
                } if !datatypes.is_null() => {
                    (counts.at(index)?, places.at(index)?, *datatypes.add(index))
                }
                Self::Mixed { .. } => return None,
            }
        };
        let is_right = count >= 0 && datatype != mpi::MPI_DATATYPE_NULL;
        let base = self.base().cast::<u8>();
        let base = base.wrapping_offset(place.checked_mul(unit)? as isize);
        is_right.then(|| Elements::new(base.cast(), count, datatype))
    }
}

/// Size and extent of a type.
fn bounds(datatype: MPI_Datatype) -> Option<(i64, i64)> {
    let (mut size, mut low, mut extent) = (0, 0, 0);
    let library = REAL.get();
    // SAFETY: the program's type, and places of this function.
    let codes = unsafe {
        [
            (library.MPI_Type_size_c)(datatype, &raw mut size),
            (library.MPI_Type_get_extent_c)(datatype, &raw mut low, &raw mut extent),
        ]
    };
    (codes == [mpi::MPI_SUCCESS; 2]).then_some((size, extent))
}

/// How the bytes of a block are had. Any process can have them for any type, so that all of them call the library alike.
enum How {
    /// They begin at this address, one behind the other.
    There(*const c_void),
    /// This library packs them.
    Here(Arc<Type>),
    /// The MPI library packs them.
    Library,
}

impl How {
    /// The address of the first data.
    fn first(&self, elements: Elements) -> Option<usize> {
        let base = elements.base.addr();
        Some(match self {
            Self::There(start) => start.addr(),
            Self::Here(of) => base.wrapping_add_signed(of.layout().true_lower_bound() as isize),
            Self::Library => {
                let (mut low, mut extent) = (0, 0);
                let true_extent = REAL.get().MPI_Type_get_true_extent_c;
                // SAFETY: the program's type, and places of this function.
                let code = unsafe { true_extent(elements.datatype, &raw mut low, &raw mut extent) };
                if code != mpi::MPI_SUCCESS {
                    return None;
                }
                base.wrapping_add_signed(low as isize)
            }
        })
    }
}

/// A block of the program's buffer.
struct Block {
    elements: Elements,
    bytes: usize,
    how: How,
}

impl Block {
    /// A block; `None` if an argument is wrong.
    fn new(elements: Elements) -> Option<Self> {
        let Elements {
            base,
            count,
            datatype,
        } = elements;
        let (size, extent) = bounds(datatype)?;
        let bytes = usize::try_from(size.checked_mul(count)?).ok()?;
        let how = if bytes == 0 || (leaf::is_predefined(datatype) && size == extent) {
            How::There(base)
        } else if leaf::is_predefined(datatype) {
            How::Library
        } else {
            derived(elements).unwrap_or(How::Library)
        };
        // No data are at small addresses, MPI_IN_PLACE among them: the library reports such a buffer.
        if bytes > 0 && how.first(elements)? < UNMAPPED {
            return None;
        }
        Some(Self {
            elements,
            bytes,
            how,
        })
    }

    /// Packs the block.
    unsafe fn pack(&self, to: *mut u8, comm: MPI_Comm) -> i32 {
        let Elements {
            base,
            count,
            datatype,
        } = self.elements;
        let mut position = 0;
        // SAFETY: the program's elements, and room for their bytes.
        unsafe {
            match &self.how {
                How::There(from) if !device::is_device(from.cast()) => {
                    std::ptr::copy_nonoverlapping(from.cast(), to, self.bytes);
                }
                How::Here(of) => data::pack(of, base.expose_provenance(), self.bytes, to),
                How::There(_) | How::Library => {
                    let (to, bytes) = (to.cast(), self.bytes as MPI_Count);
                    let pack = REAL.get().MPI_Pack_c;
                    return pack(base, count, datatype, to, bytes, &raw mut position, comm);
                }
            }
        }
        mpi::MPI_SUCCESS
    }

    /// Unpacks the block.
    unsafe fn unpack(&self, from: *const u8, comm: MPI_Comm) -> i32 {
        let Elements {
            base,
            count,
            datatype,
        } = self.elements;
        let mut position = 0;
        // SAFETY: the program's elements, and as many bytes.
        unsafe {
            match &self.how {
                How::There(to) if !device::is_device(to.cast()) => {
                    std::ptr::copy_nonoverlapping(from, to.cast_mut().cast(), self.bytes);
                }
                How::Here(of) => data::unpack(of, base.expose_provenance(), self.bytes, from),
                How::There(_) | How::Library => {
                    let (to, bytes) = (base.cast_mut(), self.bytes as MPI_Count);
                    let unpack = REAL.get().MPI_Unpack_c;
                    let from = from.cast();
                    return unpack(from, bytes, &raw mut position, to, count, datatype, comm);
                }
            }
        }
        mpi::MPI_SUCCESS
    }
}

/// How the bytes of elements of a derived type are had here; `None` where the library packs them.
fn derived(elements: Elements) -> Option<How> {
    let known = elements.possible()?;
    let start = known.of.layout().contiguous_start(known.count);
    if let Some(start) = start {
        let at = elements.base.cast::<u8>().wrapping_offset(start as isize);
        return Some(How::There(at.cast()));
    }
    let known = known.on_host(elements.base)?;
    Some(How::Here(known.of))
}

/// Some of the blocks.
pub(super) enum Which {
    /// None.
    None,
    /// All.
    All,
    /// One.
    One(usize),
    /// Those that are marked.
    Marked(Vec<bool>),
}

impl Which {
    fn has(&self, index: usize) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::One(one) => *one == index,
            Self::Marked(marks) => marks.get(index) == Some(&true),
        }
    }
}

/// One side of a collective: its blocks, and what the library gets for them.
pub(super) struct Side {
    blocks: Vec<Block>,
    /// The blocks whose data are needed before the call, and those that have other data after it.
    before: Which,
    after: Which,
    address: *mut c_void,
    counts: Vec<MPI_Count>,
    places: Vec<MPI_Aint>,
    memory: Memory,
}

/// Where the bytes of a side are.
enum Memory {
    /// In the program's memory.
    There,
    /// Packed.
    Packed(Temporary),
    /// There is no memory to pack them.
    Lacking,
}

impl Side {
    /// A side without data: MPI_IN_PLACE, or a process that the standard does not ask for any.
    pub(super) fn absent(data: Data) -> Self {
        Self {
            blocks: Vec::new(),
            before: Which::None,
            after: Which::None,
            address: data.base().cast_mut(),
            counts: Vec::new(),
            places: Vec::new(),
            memory: Memory::There,
        }
    }

    /// A side of so many blocks; `None` if an argument is wrong, so that the library reports it.
    ///
    /// # Safety
    /// The data are the program's arguments, with as many blocks.
    pub(super) unsafe fn new(
        data: Data,
        blocks: usize,
        before: Which,
        after: Which,
    ) -> Option<Self> {
        let unit = data.unit()?;
        // SAFETY: the caller's promise.
        let block = |index| Block::new(unsafe { data.block(index, unit) }?);
        let blocks: Vec<Block> = (0..blocks).map(block).collect::<Option<_>>()?;
        let mut end = 0isize;
        let mut places = Vec::new();
        for block in &blocks {
            places.push(end);
            end = end.checked_add(isize::try_from(block.bytes).ok()?)?;
        }
        let counts = blocks.iter().map(|block| block.bytes as MPI_Count);
        let mut side = Self {
            counts: counts.collect(),
            blocks,
            places,
            before,
            after,
            ..Self::absent(data)
        };
        if !side.is_there(data) {
            let bytes = Some(end as usize).filter(|&bytes| bytes <= MOST_BYTES);
            side.memory = bytes
                .and_then(Temporary::new)
                .map_or(Memory::Lacking, |packed| {
                    side.address = packed.address().cast();
                    Memory::Packed(packed)
                });
        }
        Some(side)
    }

    /// A side that sends so many blocks; `None` if an argument is wrong.
    ///
    /// # Safety
    /// As above.
    pub(super) unsafe fn to_send(data: Data, blocks: usize) -> Option<Self> {
        // SAFETY: the caller's promise.
        unsafe { Self::new(data, blocks, Which::All, Which::None) }
    }

    /// Whether there is no memory to pack it.
    pub(super) fn lacks_memory(&self) -> bool {
        matches!(self.memory, Memory::Lacking)
    }

    /// Has the library take the data from where they are, if it can.
    fn is_there(&mut self, data: Data) -> bool {
        let starts = self.blocks.iter().map(|block| match block.how {
            How::There(start) => Some(start.addr()),
            How::Here(_) | How::Library => None,
        });
        let Some(starts) = starts.collect::<Option<Vec<usize>>>() else {
            return false;
        };
        let distance = |start: &usize, from: usize| start.wrapping_sub(from) as isize;
        if let Data::Even(_) = data {
            let first = starts.first().copied().unwrap_or(data.base().addr());
            let places = starts.iter().map(|start| distance(start, first));
            if !places.eq(self.places.iter().copied()) {
                return false;
            }
            self.address = data.base().with_addr(first).cast_mut();
        } else {
            let base = data.base().addr();
            self.places = starts.iter().map(|start| distance(start, base)).collect();
        }
        true
    }

    /// Where the bytes are.
    pub(super) fn address(&self) -> *mut c_void {
        self.address
    }

    /// The bytes of each block, where all have as many.
    pub(super) fn count(&self) -> MPI_Count {
        self.counts.first().copied().unwrap_or(0)
    }

    /// The bytes of each block.
    pub(super) fn counts(&self) -> *const MPI_Count {
        self.counts.as_ptr()
    }

    /// Where each block begins, in bytes.
    pub(super) fn places(&self) -> *const MPI_Aint {
        self.places.as_ptr()
    }

    /// A type for each block.
    pub(super) fn types(&self) -> Vec<MPI_Datatype> {
        vec![mpi::MPI_PACKED; self.blocks.len()]
    }

    /// Packs what the call needs; its code.
    ///
    /// # Safety
    /// The program's buffers are as its call says.
    pub(super) unsafe fn pack(&self, comm: MPI_Comm) -> i32 {
        // SAFETY: the caller's promise, and room for all blocks.
        self.each(&self.before, |block, at| unsafe { block.pack(at, comm) })
    }

    /// Unpacks what the call has brought; its code.
    ///
    /// # Safety
    /// The program's buffers are as its call says.
    pub(super) unsafe fn unpack(&self, comm: MPI_Comm) -> i32 {
        // SAFETY: as above.
        self.each(&self.after, |block, at| unsafe { block.unpack(at, comm) })
    }

    /// Something for some packed blocks, until it fails.
    fn each(&self, which: &Which, action: impl Fn(&Block, *mut u8) -> i32) -> i32 {
        let Memory::Packed(packed) = &self.memory else {
            return mpi::MPI_SUCCESS;
        };
        let blocks = self.blocks.iter().zip(&self.places).enumerate();
        let mut codes = blocks
            .filter(|(index, (block, _))| which.has(*index) && block.bytes > 0)
            .map(|(_, (block, &place))| action(block, packed.address().wrapping_offset(place)));
        codes
            .find(|&code| code != mpi::MPI_SUCCESS)
            .unwrap_or(mpi::MPI_SUCCESS)
    }
}
