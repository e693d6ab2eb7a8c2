// SPDX-License-Identifier: MIT OR Apache-2.0
//! Datatypes (MPI-5.0, chapter 5): predefined, contiguous, vector, and what else the layouts can describe.

use core::ffi::{c_char, c_void};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use engine::op::{Element, PairKind};
use engine::p2p::Memory;
use engine::{Error, ErrorClass, Result};
use layout::Layout;
use mpi_abi_sys::constants as abi;
use mpi_abi_sys::types::{MPI_Aint, MPI_Count, MPI_Datatype};

use crate::env::store_text;
use crate::error::run;
use crate::handle::DATATYPES;
use crate::status::CountOut;
use crate::sync::AtomicU64;

/// A datatype as C programs know it.
pub(crate) struct Datatype {
    pub(crate) layout: Arc<Layout>,
    /// Elements for predefined operations.
    pub(crate) element: Element,
    /// Sizes of the basic elements of one item in order, if they are all the same size; else 0 and Get_elements counts whole items.
    basic_bytes: usize,
    committed: AtomicU64,
    name: Mutex<String>,
    combiner: i32,
    contents: Contents,
}

/// The arguments of the constructor, for MPI_Type_get_contents.
#[derive(Default)]
struct Contents {
    integers: Vec<i32>,
    addresses: Vec<MPI_Aint>,
    types: Vec<MPI_Datatype>,
}

impl Datatype {
    fn new(
        layout: Layout,
        element: Element,
        basic_bytes: usize,
        combiner: i32,
        contents: Contents,
    ) -> Self {
        let name = Mutex::new(String::new());
        Self {
            layout: Arc::new(layout),
            element,
            basic_bytes,
            committed: AtomicU64::new(0),
            name,
            combiner,
            contents,
        }
    }

    /// Basic elements in `bytes` packed bytes.
    pub(crate) fn elements_in(&self, bytes: u64) -> i64 {
        match self.basic_bytes as u64 {
            0 => 0,
            size if bytes.is_multiple_of(size) => (bytes / size) as i64,
            _ => i64::from(abi::MPI_UNDEFINED),
        }
    }

    /// Packed bytes of `count` whole items.
    pub(crate) fn bytes_of_elements(&self, count: i64) -> Option<u64> {
        u64::try_from(count)
            .ok()?
            .checked_mul(self.layout.size() as u64)
    }

    fn is_committed(&self) -> bool {
        self.committed.load(Ordering::Relaxed) != 0
    }
}

/// Bytes of an element of each predefined type by handle value; 255 where a count needs the object.
static SIZES: [u8; 1024] = predefined_sizes();

const fn predefined_sizes() -> [u8; 1024] {
    let mut sizes = [255u8; 1024];
    let mut index = 0;
    while index < PREDEFINED.len() {
        let row = &PREDEFINED[index];
        if row.2 == row.3 {
            sizes[row.0] = row.2 as u8;
        }
        index += 1;
    }
    sizes
}

/// Bytes of `count` elements of a predefined type without holes, when they are below 2 GiB and `buf` is not null.
// TIER: short
#[inline(always)]
pub(crate) fn plain_bytes(buf: *const c_void, count: i64, datatype: MPI_Datatype) -> Option<usize> {
    if datatype >= 1024 || buf.is_null() || count as u64 >= 1 << 26 {
        return None;
    }
    let size = SIZES[datatype];
    (size != 255).then_some(count as usize * size as usize)
}

/// The memory that a buffer, a count and a datatype describe.
#[inline(always)]
pub(crate) fn memory(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<Memory<'static>> {
    if datatype < 1024 && count >= 0 && !buf.is_null() {
        let size = SIZES[datatype];
        let bytes = (count as u64).wrapping_mul(u64::from(size));
        if size != 255 && count < 1 << 54 {
            return Ok(Memory::contiguous(buf.cast_mut().cast(), bytes as usize));
        }
    }
    general_memory(buf, count, datatype)
}

#[inline(never)]
fn general_memory(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<Memory<'static>> {
    let elements = usize::try_from(count).map_err(|_| {
        Error::argument(ErrorClass::ERR_COUNT, "count", count, "0 or more elements")
    })?;
    let object = DATATYPES.find(datatype, "datatype")?;
    if !object.is_committed() {
        let expected = "a datatype that was committed (MPI_Type_commit)";
        return Err(Error::argument(
            ErrorClass::ERR_TYPE,
            "datatype",
            "not committed",
            expected,
        ));
    }
    if buf.is_null()
        && elements > 0
        && object.layout.size() > 0
        && object.layout.true_lower_bound() == 0
    {
        return Err(Error::argument(
            ErrorClass::ERR_BUFFER,
            "buf",
            "null",
            format!("the address of {count} elements"),
        ));
    }
    Memory::laid_out(buf.cast_mut().cast(), elements, &object.layout).ok_or_else(|| {
        Error::argument(
            ErrorClass::ERR_COUNT,
            "count",
            count,
            "elements that fit into the address space",
        )
    })
}

/// The packed bytes of a memory.
pub(crate) fn packed(memory: Memory<'_>) -> Vec<u8> {
    let mut bytes = vec![0u8; memory.bytes];
    // SAFETY: the program's buffer is readable during the call (crate head).
    unsafe {
        match memory.layout {
            Some((layout, _)) => layout.pack(memory.base, 0..memory.bytes, bytes.as_mut_ptr()),
            None => std::ptr::copy_nonoverlapping(memory.base, bytes.as_mut_ptr(), memory.bytes),
        }
    }
    bytes
}

type Row = (usize, &'static str, usize, usize, Element);

macro_rules! predefined {
    ($($name:ident $size:literal $extent:literal $element:expr;)*) => {
        /// Handle, name, size and extent in bytes, and elements of every predefined type (x86-64 Linux).
        const PREDEFINED: &[Row] = &[$((abi::$name, stringify!($name), $size, $extent, $element)),*];
    };
}

predefined! {
    MPI_AINT 8 8 Element::I64; MPI_COUNT 8 8 Element::I64; MPI_OFFSET 8 8 Element::I64; MPI_PACKED 1 1 Element::Opaque;
    MPI_SHORT 2 2 Element::I16; MPI_INT 4 4 Element::I32; MPI_LONG 8 8 Element::I64; MPI_LONG_LONG 8 8 Element::I64;
    MPI_UNSIGNED_SHORT 2 2 Element::U16; MPI_UNSIGNED 4 4 Element::U32; MPI_UNSIGNED_LONG 8 8 Element::U64;
    MPI_UNSIGNED_LONG_LONG 8 8 Element::U64;
    MPI_FLOAT 4 4 Element::F32; MPI_C_FLOAT_COMPLEX 8 8 Element::C32; MPI_CXX_FLOAT_COMPLEX 8 8 Element::C32;
    MPI_DOUBLE 8 8 Element::F64; MPI_C_DOUBLE_COMPLEX 16 16 Element::C64; MPI_CXX_DOUBLE_COMPLEX 16 16 Element::C64;
    MPI_LOGICAL 4 4 Element::Logical(4); MPI_INTEGER 4 4 Element::I32; MPI_REAL 4 4 Element::F32;
    MPI_COMPLEX 8 8 Element::C32; MPI_DOUBLE_PRECISION 8 8 Element::F64; MPI_DOUBLE_COMPLEX 16 16 Element::C64;
    MPI_CHARACTER 1 1 Element::Opaque; MPI_LONG_DOUBLE 16 16 Element::Opaque;
    MPI_C_LONG_DOUBLE_COMPLEX 32 32 Element::Opaque; MPI_CXX_LONG_DOUBLE_COMPLEX 32 32 Element::Opaque;
    MPI_FLOAT_INT 8 8 Element::Pair(PairKind::F32I32); MPI_DOUBLE_INT 12 16 Element::Pair(PairKind::F64I32);
    MPI_LONG_INT 12 16 Element::Pair(PairKind::I64I32); MPI_2INT 8 8 Element::Pair(PairKind::I32I32);
    MPI_SHORT_INT 6 8 Element::Pair(PairKind::I16I32); MPI_LONG_DOUBLE_INT 20 32 Element::Opaque;
    MPI_2REAL 8 8 Element::Pair(PairKind::F32F32); MPI_2DOUBLE_PRECISION 16 16 Element::Pair(PairKind::F64F64);
    MPI_2INTEGER 8 8 Element::Pair(PairKind::I32I32);
    MPI_C_BOOL 1 1 Element::Bool; MPI_CXX_BOOL 1 1 Element::Bool; MPI_WCHAR 4 4 Element::Opaque;
    MPI_INT8_T 1 1 Element::I8; MPI_UINT8_T 1 1 Element::U8; MPI_CHAR 1 1 Element::Opaque; MPI_SIGNED_CHAR 1 1 Element::I8;
    MPI_UNSIGNED_CHAR 1 1 Element::U8; MPI_BYTE 1 1 Element::Byte; MPI_INT16_T 2 2 Element::I16;
    MPI_UINT16_T 2 2 Element::U16; MPI_INT32_T 4 4 Element::I32; MPI_UINT32_T 4 4 Element::U32;
    MPI_INT64_T 8 8 Element::I64; MPI_UINT64_T 8 8 Element::U64;
    MPI_LOGICAL1 1 1 Element::Logical(1); MPI_INTEGER1 1 1 Element::I8; MPI_LOGICAL2 2 2 Element::Logical(2);
    MPI_INTEGER2 2 2 Element::I16; MPI_REAL2 2 2 Element::Opaque; MPI_LOGICAL4 4 4 Element::Logical(4);
    MPI_INTEGER4 4 4 Element::I32; MPI_REAL4 4 4 Element::F32; MPI_COMPLEX4 4 4 Element::Opaque;
    MPI_LOGICAL8 8 8 Element::Logical(8); MPI_INTEGER8 8 8 Element::I64; MPI_REAL8 8 8 Element::F64;
    MPI_COMPLEX8 8 8 Element::C32; MPI_LOGICAL16 16 16 Element::Opaque; MPI_INTEGER16 16 16 Element::Opaque;
    MPI_REAL16 16 16 Element::Opaque; MPI_COMPLEX16 16 16 Element::C64; MPI_COMPLEX32 32 32 Element::Opaque;
}

/// Offset and size of the index of a pair type whose value has `value` bytes.
fn pair_layout(size: usize, extent: usize) -> std::result::Result<Layout, layout::LayoutError> {
    let value = Layout::named(size - 4, size - 4);
    let index = Layout::named(4, 4);
    let at = if size == 6 { 4 } else { size as i64 - 4 };
    let at = if extent == 32 { 16 } else { at };
    Layout::structure([(0, 1, &value), (at, 1, &index)])?.resized(0, extent as i64)
}

pub(crate) fn define_predefined() {
    for &(handle, name, size, extent, element) in PREDEFINED {
        let plain = Layout::named(size, extent);
        let layout = if size == extent {
            plain
        } else {
            pair_layout(size, extent).unwrap_or(plain)
        };
        let pair = matches!(element, Element::Pair(_));
        let basic = if pair && size == extent {
            size / 2
        } else {
            size
        };
        let datatype = Datatype::new(
            layout,
            element,
            basic,
            abi::MPI_COMBINER_NAMED,
            Contents::default(),
        );
        datatype.committed.store(1, Ordering::Relaxed);
        name.clone_into(&mut datatype.name.lock().unwrap_or_else(PoisonError::into_inner));
        DATATYPES.define(handle, Arc::new(datatype));
    }
}

/// Makes a type out of a layout and remembers how it was described.
fn make(
    call: &'static str,
    newtype: *mut MPI_Datatype,
    build: impl FnOnce() -> Result<Datatype>,
) -> i32 {
    run(call, 0, || {
        let handle = DATATYPES.insert(Arc::new(build()?))?;
        // SAFETY: the result is writable (crate head).
        unsafe { *newtype = handle };
        Ok(())
    })
}

fn built(layout: std::result::Result<Layout, layout::LayoutError>) -> Result<Layout> {
    layout.map_err(|error| {
        Error::argument(
            ErrorClass::ERR_ARG,
            "datatype",
            error,
            "a type whose sizes fit",
        )
    })
}

fn count_of(argument: &'static str, count: i64) -> Result<usize> {
    usize::try_from(count)
        .map_err(|_| Error::argument(ErrorClass::ERR_COUNT, argument, count, "0 or more"))
}

/// A type derived from one other: its layout, the constructor, and the integers and addresses it was called with.
fn derived(
    old: MPI_Datatype,
    layout: Layout,
    combiner: i32,
    integers: Vec<i32>,
    addresses: Vec<MPI_Aint>,
) -> Result<Datatype> {
    let parent = DATATYPES.find(old, "oldtype")?;
    let contents = Contents {
        integers,
        addresses,
        types: vec![old],
    };
    Ok(Datatype::new(
        layout,
        parent.element,
        parent.basic_bytes,
        combiner,
        contents,
    ))
}

pub(crate) unsafe fn MPI_Type_contiguous(
    count: impl Into<i64>,
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    make("MPI_Type_contiguous", newtype, || {
        let count = count.into();
        let layout = built(Layout::contiguous(
            count_of("count", count)?,
            &DATATYPES.find(oldtype, "oldtype")?.layout,
        ))?;
        derived(
            oldtype,
            layout,
            abi::MPI_COMBINER_CONTIGUOUS,
            vec![count as i32],
            Vec::new(),
        )
    })
}

pub(crate) unsafe fn MPI_Type_vector(
    count: impl Into<i64>,
    blocklength: impl Into<i64>,
    stride: impl Into<i64>,
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    make("MPI_Type_vector", newtype, || {
        let (count, length, stride) = (count.into(), blocklength.into(), stride.into());
        let old = &DATATYPES.find(oldtype, "oldtype")?.layout;
        let layout = built(Layout::vector(
            count_of("count", count)?,
            count_of("blocklength", length)?,
            stride,
            old,
        ))?;
        let integers = vec![count as i32, length as i32, stride as i32];
        derived(
            oldtype,
            layout,
            abi::MPI_COMBINER_VECTOR,
            integers,
            Vec::new(),
        )
    })
}

/// Strides and displacements in bytes: MPI_Aint in the small form, MPI_Count in the large one.
pub(crate) trait Address: Copy {
    fn to_i64(self) -> i64;
}

impl Address for isize {
    fn to_i64(self) -> i64 {
        self as i64
    }
}

impl Address for i64 {
    fn to_i64(self) -> i64 {
        self
    }
}

impl Address for i32 {
    fn to_i64(self) -> i64 {
        i64::from(self)
    }
}

pub(crate) unsafe fn MPI_Type_create_hvector(
    count: impl Into<i64>,
    blocklength: impl Into<i64>,
    stride: impl Address,
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    make("MPI_Type_create_hvector", newtype, || {
        let (count, length, stride) = (count.into(), blocklength.into(), stride.to_i64());
        let old = &DATATYPES.find(oldtype, "oldtype")?.layout;
        let layout = built(Layout::hvector(
            count_of("count", count)?,
            count_of("blocklength", length)?,
            stride,
            old,
        ))?;
        derived(
            oldtype,
            layout,
            abi::MPI_COMBINER_HVECTOR,
            vec![count as i32, length as i32],
            vec![stride as isize],
        )
    })
}

/// Reads `count` numbers of a C array.
unsafe fn array<T: Address>(
    argument: &'static str,
    count: i64,
    values: *const T,
) -> Result<Vec<i64>> {
    let length = count_of("count", count)?;
    if length > 0 && values.is_null() {
        return Err(Error::argument(
            ErrorClass::ERR_ARG,
            argument,
            "null",
            format!("an array of {length} entries"),
        ));
    }
    // SAFETY: the array has `count` entries (crate head).
    Ok((0..length)
        .map(|index| unsafe { *values.add(index) }.to_i64())
        .collect())
}

/// Blocks of equal or own lengths at displacements in bytes.
fn indexed(lengths: &[i64], displacements: &[i64], unit: i64, old: &Layout) -> Result<Layout> {
    let mut pieces = Vec::with_capacity(lengths.len());
    for (index, (&length, &displacement)) in lengths.iter().zip(displacements).enumerate() {
        let length = usize::try_from(length).map_err(|_| {
            Error::argument(
                ErrorClass::ERR_ARG,
                "array_of_blocklengths",
                format!("{length} at index {index}"),
                "0 or more",
            )
        })?;
        let at = displacement.checked_mul(unit).ok_or_else(|| {
            Error::argument(
                ErrorClass::ERR_ARG,
                "array_of_displacements",
                displacement,
                "a displacement that fits 63 bits",
            )
        })?;
        pieces.push((at, length));
    }
    built(Layout::hindexed(pieces, old))
}

macro_rules! indexed_types {
    ($($name:ident $combiner:ident $bytes:literal;)*) => {
        $(
            pub(crate) unsafe fn $name(
                count: impl Into<i64>, lengths: *const impl Address, displacements: *const impl Address,
                oldtype: MPI_Datatype, newtype: *mut MPI_Datatype,
            ) -> i32 {
                make(concat!("MPI_Type_", stringify!($name)), newtype, || {
                    let count = count.into();
                    // SAFETY: passed on.
                    let lengths = unsafe { array("array_of_blocklengths", count, lengths) }?;
                    // SAFETY: passed on.
                    let displacements = unsafe { array("array_of_displacements", count, displacements) }?;
                    let old = &DATATYPES.find(oldtype, "oldtype")?.layout;
                    let unit = if $bytes { 1 } else { old.extent() };
                    let layout = indexed(&lengths, &displacements, unit, old)?;
                    let mut integers: Vec<i32> = [count].iter().chain(&lengths).map(|&v| v as i32).collect();
                    let mut addresses = Vec::new();
                    if $bytes {
                        addresses = displacements.iter().map(|&v| v as isize).collect();
                    } else {
                        integers.extend(displacements.iter().map(|&v| v as i32));
                    }
                    derived(oldtype, layout, abi::$combiner, integers, addresses)
                })
            }
        )*
    };
}

indexed_types! {
    indexed_elements MPI_COMBINER_INDEXED false;
    indexed_bytes MPI_COMBINER_HINDEXED true;
}

pub(crate) unsafe fn MPI_Type_indexed(
    count: impl Into<i64>,
    lengths: *const impl Address,
    displacements: *const impl Address,
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    // SAFETY: passed on.
    unsafe { indexed_elements(count, lengths, displacements, oldtype, newtype) }
}

pub(crate) unsafe fn MPI_Type_create_hindexed(
    count: impl Into<i64>,
    lengths: *const impl Address,
    displacements: *const impl Address,
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    // SAFETY: passed on.
    unsafe { indexed_bytes(count, lengths, displacements, oldtype, newtype) }
}

unsafe fn block_indexed(
    call: &'static str,
    count: i64,
    length: i64,
    displacements: *const impl Address,
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
    in_bytes: bool,
) -> i32 {
    make(call, newtype, || {
        // SAFETY: passed on.
        let displacements = unsafe { array("array_of_displacements", count, displacements) }?;
        let old = &DATATYPES.find(oldtype, "oldtype")?.layout;
        let layout = indexed(
            &vec![length; displacements.len()],
            &displacements,
            if in_bytes { 1 } else { old.extent() },
            old,
        )?;
        let mut integers = vec![count as i32, length as i32];
        if in_bytes {
            let addresses = displacements.iter().map(|&v| v as isize).collect();
            return derived(
                oldtype,
                layout,
                abi::MPI_COMBINER_HINDEXED_BLOCK,
                integers,
                addresses,
            );
        }
        integers.extend(displacements.iter().map(|&v| v as i32));
        derived(
            oldtype,
            layout,
            abi::MPI_COMBINER_INDEXED_BLOCK,
            integers,
            Vec::new(),
        )
    })
}

pub(crate) unsafe fn MPI_Type_create_indexed_block(
    count: impl Into<i64>,
    blocklength: impl Into<i64>,
    displacements: *const impl Address,
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    let (count, length) = (count.into(), blocklength.into());
    // SAFETY: passed on.
    unsafe {
        block_indexed(
            "MPI_Type_create_indexed_block",
            count,
            length,
            displacements,
            oldtype,
            newtype,
            false,
        )
    }
}

pub(crate) unsafe fn MPI_Type_create_hindexed_block(
    count: impl Into<i64>,
    blocklength: impl Into<i64>,
    displacements: *const impl Address,
    oldtype: MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    let (count, length) = (count.into(), blocklength.into());
    // SAFETY: passed on.
    unsafe {
        block_indexed(
            "MPI_Type_create_hindexed_block",
            count,
            length,
            displacements,
            oldtype,
            newtype,
            true,
        )
    }
}

pub(crate) unsafe fn MPI_Type_create_struct(
    count: impl Into<i64>,
    lengths: *const impl Address,
    displacements: *const impl Address,
    types: *const MPI_Datatype,
    newtype: *mut MPI_Datatype,
) -> i32 {
    make("MPI_Type_create_struct", newtype, || {
        let count = count.into();
        // SAFETY: passed on.
        let lengths = unsafe { array("array_of_blocklengths", count, lengths) }?;
        // SAFETY: passed on.
        let displacements = unsafe { array("array_of_displacements", count, displacements) }?;
        // SAFETY: the array has `count` entries (crate head).
        let types: Vec<usize> = (0..lengths.len())
            .map(|index| unsafe { *types.add(index) })
            .collect();
        let mut pieces = Vec::new();
        let mut basic = None;
        for ((&length, &at), &handle) in lengths.iter().zip(&displacements).zip(&types) {
            let old = DATATYPES.find(handle, "array_of_types")?;
            if *basic.get_or_insert(old.basic_bytes) != old.basic_bytes {
                basic = Some(0);
            }
            pieces.push((at, count_of("array_of_blocklengths", length)?, &*old.layout));
        }
        let layout = built(Layout::structure(pieces))?;
        let contents = Contents {
            integers: [count].iter().chain(&lengths).map(|&v| v as i32).collect(),
            addresses: displacements.iter().map(|&v| v as isize).collect(),
            types,
        };
        Ok(Datatype::new(
            layout,
            Element::Opaque,
            basic.unwrap_or(0),
            abi::MPI_COMBINER_STRUCT,
            contents,
        ))
    })
}

pub(crate) unsafe fn MPI_Type_create_resized(
    oldtype: MPI_Datatype,
    lb: impl Address,
    extent: impl Address,
    newtype: *mut MPI_Datatype,
) -> i32 {
    make("MPI_Type_create_resized", newtype, || {
        let (lb, extent) = (lb.to_i64(), extent.to_i64());
        let layout = built(
            DATATYPES
                .find(oldtype, "oldtype")?
                .layout
                .resized(lb, extent),
        )?;
        derived(
            oldtype,
            layout,
            abi::MPI_COMBINER_RESIZED,
            Vec::new(),
            vec![lb as isize, extent as isize],
        )
    })
}

pub(crate) unsafe fn MPI_Type_dup(oldtype: MPI_Datatype, newtype: *mut MPI_Datatype) -> i32 {
    make("MPI_Type_dup", newtype, || {
        let old = DATATYPES.find(oldtype, "oldtype")?;
        let copy = derived(
            oldtype,
            (*old.layout).clone(),
            abi::MPI_COMBINER_DUP,
            Vec::new(),
            Vec::new(),
        )?;
        copy.committed
            .store(old.committed.load(Ordering::Relaxed), Ordering::Relaxed);
        Ok(copy)
    })
}

pub(crate) unsafe fn MPI_Type_commit(datatype: *mut MPI_Datatype) -> i32 {
    run("MPI_Type_commit", 0, || {
        // SAFETY: the handle is readable (crate head).
        DATATYPES
            .find(unsafe { *datatype }, "datatype")?
            .committed
            .store(1, Ordering::Relaxed);
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Type_free(datatype: *mut MPI_Datatype) -> i32 {
    run("MPI_Type_free", 0, || {
        // SAFETY: the handle is readable and writable (crate head).
        let handle = unsafe { &mut *datatype };
        if *handle < 4096 && DATATYPES.get(*handle).is_some() {
            return Err(Error::argument(
                ErrorClass::ERR_TYPE,
                "datatype",
                "predefined",
                "a type that the program made",
            ));
        }
        DATATYPES.remove(*handle, "datatype")?;
        *handle = abi::MPI_DATATYPE_NULL;
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Type_size<C: CountOut>(datatype: MPI_Datatype, size: *mut C) -> i32 {
    run("MPI_Type_size", 0, || {
        let bytes = DATATYPES.find(datatype, "datatype")?.layout.size();
        // SAFETY: the result is writable (crate head).
        unsafe { *size = C::from_count(bytes as i64) };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Type_size_x(datatype: MPI_Datatype, size: *mut MPI_Count) -> i32 {
    // SAFETY: passed on.
    unsafe { MPI_Type_size(datatype, size) }
}

pub(crate) unsafe fn MPI_Type_get_extent<C: CountOut>(
    datatype: MPI_Datatype,
    lb: *mut C,
    extent: *mut C,
) -> i32 {
    run("MPI_Type_get_extent", 0, || {
        let layout = &DATATYPES.find(datatype, "datatype")?.layout;
        // SAFETY: the results are writable (crate head).
        unsafe {
            (*lb, *extent) = (
                C::from_count(layout.lower_bound()),
                C::from_count(layout.extent()),
            )
        };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Type_get_extent_x(
    datatype: MPI_Datatype,
    lb: *mut MPI_Count,
    extent: *mut MPI_Count,
) -> i32 {
    // SAFETY: passed on.
    unsafe { MPI_Type_get_extent(datatype, lb, extent) }
}

pub(crate) unsafe fn MPI_Type_get_true_extent<C: CountOut>(
    datatype: MPI_Datatype,
    lb: *mut C,
    extent: *mut C,
) -> i32 {
    run("MPI_Type_get_true_extent", 0, || {
        let layout = &DATATYPES.find(datatype, "datatype")?.layout;
        // SAFETY: the results are writable (crate head).
        unsafe {
            (*lb, *extent) = (
                C::from_count(layout.true_lower_bound()),
                C::from_count(layout.true_extent()),
            )
        };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Type_get_true_extent_x(
    datatype: MPI_Datatype,
    lb: *mut MPI_Count,
    extent: *mut MPI_Count,
) -> i32 {
    // SAFETY: passed on.
    unsafe { MPI_Type_get_true_extent(datatype, lb, extent) }
}

pub(crate) unsafe fn MPI_Type_get_name(
    datatype: MPI_Datatype,
    name: *mut c_char,
    resultlen: *mut i32,
) -> i32 {
    run("MPI_Type_get_name", 0, || {
        let text = DATATYPES
            .find(datatype, "datatype")?
            .name
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        // SAFETY: the buffer has the standard's size (crate head).
        unsafe { store_text(&text, name, resultlen, abi::MPI_MAX_OBJECT_NAME as usize) };
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Type_set_name(datatype: MPI_Datatype, name: *const c_char) -> i32 {
    run("MPI_Type_set_name", 0, || {
        // SAFETY: the text is NUL-terminated (crate head).
        let text = unsafe { core::ffi::CStr::from_ptr(name) }
            .to_string_lossy()
            .into_owned();
        *DATATYPES
            .find(datatype, "datatype")?
            .name
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = text;
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Type_get_envelope(
    datatype: MPI_Datatype,
    num_integers: *mut i32,
    num_addresses: *mut i32,
    num_datatypes: *mut i32,
    combiner: *mut i32,
) -> i32 {
    run("MPI_Type_get_envelope", 0, || {
        let object = DATATYPES.find(datatype, "datatype")?;
        let contents = &object.contents;
        // SAFETY: the results are writable (crate head).
        unsafe {
            *num_integers = contents.integers.len() as i32;
            *num_addresses = contents.addresses.len() as i32;
            *num_datatypes = contents.types.len() as i32;
            *combiner = object.combiner;
        }
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Pack(
    inbuf: *const c_void,
    incount: impl Into<i64>,
    datatype: MPI_Datatype,
    outbuf: *mut c_void,
    outsize: impl Into<i64>,
    position: *mut impl PackPosition,
    comm: usize,
) -> i32 {
    run("MPI_Pack", comm, || {
        let bytes = packed(memory(inbuf, incount.into(), datatype)?);
        // SAFETY: the position is readable (crate head).
        let start = unsafe { *position }.to_i64();
        let end = start + bytes.len() as i64;
        let outsize = outsize.into();
        if end > outsize {
            return Err(Error::argument(
                ErrorClass::ERR_TRUNCATE,
                "outsize",
                outsize,
                format!("{end} or more"),
            ));
        }
        // SAFETY: `outbuf` holds `outsize` bytes (crate head) and the range lies inside.
        unsafe {
            std::ptr::copy_nonoverlapping(
                bytes.as_ptr(),
                outbuf.cast::<u8>().add(start as usize),
                bytes.len(),
            );
            *position = PackPosition::from_position(end);
        }
        Ok(())
    })
}

pub(crate) unsafe fn MPI_Unpack(
    inbuf: *const c_void,
    insize: impl Into<i64>,
    position: *mut impl PackPosition,
    outbuf: *mut c_void,
    outcount: impl Into<i64>,
    datatype: MPI_Datatype,
    comm: usize,
) -> i32 {
    run("MPI_Unpack", comm, || {
        let target = memory(outbuf, outcount.into(), datatype)?;
        // SAFETY: the position is readable (crate head).
        let start = unsafe { *position }.to_i64();
        let end = start + target.bytes as i64;
        let insize = insize.into();
        if end > insize {
            return Err(Error::argument(
                ErrorClass::ERR_TRUNCATE,
                "insize",
                insize,
                format!("{end} or more"),
            ));
        }
        // SAFETY: `inbuf` holds `insize` bytes and the target is writable (crate head).
        unsafe {
            let source = inbuf.cast::<u8>().add(start as usize);
            match target.layout {
                Some((layout, _)) => layout.unpack(target.base, 0..target.bytes, source),
                None => std::ptr::copy_nonoverlapping(source, target.base, target.bytes),
            }
            *position = PackPosition::from_position(end);
        }
        Ok(())
    })
}

/// A position in a pack buffer, of either width.
pub(crate) trait PackPosition: Address {
    fn from_position(value: i64) -> Self;
}

impl PackPosition for i32 {
    fn from_position(value: i64) -> Self {
        value as i32
    }
}

impl PackPosition for i64 {
    fn from_position(value: i64) -> Self {
        value
    }
}

pub(crate) unsafe fn MPI_Pack_size<C: CountOut>(
    incount: impl Into<i64>,
    datatype: MPI_Datatype,
    comm: usize,
    size: *mut C,
) -> i32 {
    run("MPI_Pack_size", comm, || {
        let count = incount.into();
        let bytes = DATATYPES
            .find(datatype, "datatype")?
            .bytes_of_elements(count);
        let bytes = bytes
            .ok_or_else(|| Error::argument(ErrorClass::ERR_COUNT, "incount", count, "0 or more"))?;
        // SAFETY: the result is writable (crate head).
        unsafe { *size = C::from_count(bytes as i64) };
        Ok(())
    })
}
