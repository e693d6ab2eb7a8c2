// SPDX-License-Identifier: MIT OR Apache-2.0
//! Datatypes as arguments: the memory that a buffer, a count and a datatype describe (MPI-5.0, section 5.1).

// account: datatype

use core::ffi::c_void;
use std::hint::cold_path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::coll::Block;
use engine::coll::fast::Span;
use engine::datatype::Datatype;
use engine::datatype::fortran::TYPES;
use engine::datatype::predefined::{PREDEFINED, Predefined};
use engine::device::{self, Device, Devices};
use engine::p2p::{CHECKED, Memory};
use engine::{Error, ErrorClass, Result, allocate};
use mpi_abi_sys::constants::{MPI_BUFFER_AUTOMATIC, MPI_BYTE, MPI_IN_PLACE};
use mpi_abi_sys::types::MPI_Datatype;

use crate::handle::DATATYPES;
use crate::sync::{AtomicU8, AtomicU32};

/// Bytes of an element of each predefined type by handle value; 255 where a count needs the object. They change only before other
/// threads call MPI ([`look_closer`]), those of Fortran's types also when a program describes its compiler. Words, because a load
/// of one fills a register.
static SIZES: [AtomicU32; 1024] = predefined_sizes();

const fn predefined_sizes() -> [AtomicU32; 1024] {
    let mut sizes = [const { AtomicU32::new(255) }; 1024];
    let mut index = 0;
    while index < PREDEFINED.len() {
        let row = &PREDEFINED[index];
        if row.shape.size() == row.shape.extent() {
            sizes[row.code as usize] = AtomicU32::new(row.shape.size() as u32);
        }
        index += 1;
    }
    sizes
}

/// Whether the memory of messages says which basic types it consists of; 0 if not.
static CHECKS_TYPES: AtomicU8 = AtomicU8::new(0);

/// Whether buffers may be in the memory of a GPU: one of the values below.
static DEVICES: AtomicU8 = AtomicU8::new(NEVER);
const NEVER: u8 = 0;
/// Once the process has loaded the driver.
const LATER: u8 = 1;
const NOW: u8 = 2;

/// From now on it does.
pub(crate) fn check_types() {
    CHECKS_TYPES.store(1, Ordering::Relaxed);
    look_closer();
}

/// Says whether buffers may be in the memory of a GPU. Where the driver may come later, every count needs the object from now on: a fast
/// path would take a GPU's memory for plain bytes, and has no instruction to ask with.
pub(crate) fn expect_devices(when: Devices) {
    let value = match when {
        Devices::Never => return,
        Devices::Later => LATER,
        Devices::Now => NOW,
    };
    DEVICES.store(value, Ordering::Relaxed);
    forget_sizes();
}

/// Whether every buffer needs a closer look, whatever its kind of memory; 0 if not.
static LOOKS_CLOSER: AtomicU8 = AtomicU8::new(0);

/// From now on every count needs the object: no path takes memory for plain bytes without a closer look.
pub(crate) fn look_closer() {
    LOOKS_CLOSER.store(1, Ordering::Relaxed);
    forget_sizes();
}

fn forget_sizes() {
    for size in &SIZES {
        size.store(255, Ordering::Relaxed);
    }
}

/// Whether a count and a predefined datatype say how many plain bytes a buffer has: [`look_closer`] was not called.
pub(crate) fn sizes_are_known() -> bool {
    SIZES[MPI_BYTE % SIZES.len()].load(Ordering::Relaxed) != 255
}

/// Whether buffers may be in the memory of a GPU.
fn knows_devices() -> bool {
    match DEVICES.load(Ordering::Relaxed) {
        NEVER => false,
        NOW => true,
        _ => have_come(),
    }
}

/// Whether the process has loaded the driver meanwhile.
#[cold]
fn have_come() -> bool {
    let have_come = device::have_come();
    if have_come {
        DEVICES.store(NOW, Ordering::Relaxed);
    }
    have_come
}

/// Whether the memory of messages says which basic types it consists of. Then no communicator has a fast path.
#[inline(always)]
pub(crate) fn checks_types() -> bool {
    CHECKS_TYPES.load(Ordering::Relaxed) != 0
}

pub(crate) fn define_predefined() {
    for row in PREDEFINED {
        if let Some(row) = Predefined::find(row.code) {
            DATATYPES.define(row.code as usize, row.datatype().clone());
        }
    }
}

/// Gives Fortran's types the sizes that the program's compiler gives them, and takes away those that it lacks.
pub(crate) fn define_fortran(lacked: impl Iterator<Item = u32>) {
    for row in TYPES.into_iter().filter_map(Predefined::find) {
        DATATYPES.define(row.code as usize, row.datatype().clone());
        let size = &SIZES[row.code as usize];
        if size.load(Ordering::Relaxed) != 255 {
            size.store(row.size() as u32, Ordering::Relaxed);
        }
    }
    for code in lacked {
        SIZES[code as usize].store(255, Ordering::Relaxed);
        // Only the first call has something to remove.
        if DATATYPES.get(code as usize).is_some() {
            let _ = DATATYPES.remove(code as usize, "datatype");
        }
    }
}

/// The largest of the values that stand for a buffer: null, MPI_IN_PLACE and MPI_BUFFER_AUTOMATIC.
pub(crate) const LAST_CONSTANT: usize = MPI_BUFFER_AUTOMATIC;
const _: () = assert!(MPI_IN_PLACE < LAST_CONSTANT);

/// Whether a buffer can be one: neither null nor a constant such as MPI_IN_PLACE. Without checks it is.
// TIER: short
#[inline(always)]
pub(crate) fn is_address(buf: *const c_void) -> bool {
    !CHECKED || buf as usize > LAST_CONSTANT // account: argument-checks
}

/// The name of the constant that a buffer is.
pub(crate) fn constant_name(buf: *const c_void) -> Option<&'static str> {
    match buf as usize {
        MPI_IN_PLACE => Some("MPI_IN_PLACE"),
        MPI_BUFFER_AUTOMATIC => Some("MPI_BUFFER_AUTOMATIC"),
        _ => None,
    }
}

/// Refuses null and other constants in place of `bytes` bytes of memory.
///
/// # Errors
/// The class that is given.
pub(crate) fn need_memory(
    class: ErrorClass,
    argument: &'static str,
    buf: *const c_void,
    bytes: u64,
) -> Result<()> {
    if bytes == 0 || buf as usize > LAST_CONSTANT {
        return Ok(());
    }
    let value = constant_name(buf).unwrap_or("null");
    let expected = format!("the address of {bytes} bytes");
    Err(Error::argument(class, argument, value, expected))
}

/// Bytes of `count` elements of a predefined type without holes; `None` for anything that needs a closer look.
// TIER: short
#[inline(always)]
pub(crate) fn contiguous_bytes(
    buf: *const c_void,
    count: impl Count,
    datatype: MPI_Datatype,
) -> Option<usize> {
    if datatype >= SIZES.len() {
        cold_path();
        return None;
    }
    // account: argument-checks
    if !is_address(buf) {
        cold_path();
        return None;
    }
    // account: datatype
    let size = SIZES[datatype].load(Ordering::Relaxed);
    if size == 255 {
        cold_path();
        return None;
    }
    count.times(size)
}

/// The two types of the ABI's counts.
pub(crate) trait Count: Into<i64> + Copy + crate::naming::Wide {
    /// This many elements of `size` bytes, at most 32; `None` for an impossible count or a large one.
    fn times(self, size: u32) -> Option<usize>;
}

impl Count for i32 {
    #[inline(always)]
    fn times(self, size: u32) -> Option<usize> {
        if !CHECKED {
            return Some((self as usize).wrapping_mul(size as usize));
        }
        // A product of 26 and 6 bits fits into 32.
        // account: argument-checks
        if self as u32 >= 1 << 26 {
            cold_path();
            return None;
        }
        // account: datatype
        Some((self as u32 * size) as usize)
    }
}

impl Count for i64 {
    #[inline(always)]
    fn times(self, size: u32) -> Option<usize> {
        if !CHECKED {
            return Some((self as usize).wrapping_mul(size as usize));
        }
        if self as u64 >= 1 << 26 {
            cold_path();
            return None;
        }
        Some((self as u32 * size) as usize)
    }
}

/// The memory that a buffer, a count and a datatype describe.
#[inline(always)]
pub(crate) fn memory(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<Memory<'static>> {
    match known_memory(buf, count, datatype) {
        Some(found) => Ok(found),
        None => general_memory(buf, count, datatype),
    }
}

/// The memory of elements of a predefined type without holes; `None` for anything that needs a closer look.
#[inline(always)]
fn known_memory(buf: *const c_void, count: i64, datatype: MPI_Datatype) -> Option<Memory<'static>> {
    if datatype < 1024 && count >= 0 && buf as usize > LAST_CONSTANT {
        let size = SIZES[datatype].load(Ordering::Relaxed);
        let bytes = (count as u64).wrapping_mul(u64::from(size));
        if size != 255 && count < 1 << 54 {
            return Some(Memory::contiguous(buf.cast_mut().cast(), bytes as usize));
        }
        if size == 255 {
            return own_memory(buf, count, datatype);
        }
    }
    None
}

/// The same where buffers may be in the memory of a GPU, for those that are certainly not.
#[cold]
#[inline(never)]
fn own_memory(buf: *const c_void, count: i64, datatype: MPI_Datatype) -> Option<Memory<'static>> {
    let is_only_of_gpus = LOOKS_CLOSER.load(Ordering::Relaxed) == 0;
    let may_be_of_gpus = DEVICES.load(Ordering::Relaxed) != NEVER;
    if !is_only_of_gpus || !may_be_of_gpus || !device::is_own_memory(buf.cast()) {
        return None;
    }
    let object = DATATYPES.get(datatype)?;
    let found = object.memory(buf.cast_mut().cast(), count as usize).ok()?;
    found.layout.is_none().then_some(found)
}

/// As [`memory`], of a buffer that is written.
#[inline(always)]
pub(crate) fn target_memory(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<Memory<'static>> {
    as_target(memory(buf, count, datatype)?, datatype)
}

/// Refuses to write elements of a type in which a byte occurs twice.
#[inline(always)]
fn as_target(found: Memory<'static>, datatype: MPI_Datatype) -> Result<Memory<'static>> {
    if CHECKED && let Some((_, elements)) = found.layout {
        DATATYPES
            .find(datatype, "datatype")?
            .check_target(elements)?;
    }
    Ok(found)
}

#[inline(never)]
fn general_memory(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<Memory<'static>> {
    Ok(general_located(buf, count, datatype)?.0)
}

/// The memory that a buffer, a count and a datatype describe, and the GPU that it belongs to. Memory of a GPU has a layout, contiguous or not.
#[inline(always)]
pub(crate) fn located_memory(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<(Memory<'static>, Option<Device>)> {
    match known_memory(buf, count, datatype) {
        Some(found) => Ok((found, None)),
        None => general_located(buf, count, datatype),
    }
}

/// As [`located_memory`], of a buffer that is written.
pub(crate) fn located_target_memory(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<(Memory<'static>, Option<Device>)> {
    let (found, device) = located_memory(buf, count, datatype)?;
    Ok((as_target(found, datatype)?, device))
}

#[inline(never)]
fn general_located(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<(Memory<'static>, Option<Device>)> {
    let elements = usize::try_from(count).map_err(|_| {
        Error::argument(ErrorClass::ERR_COUNT, "count", count, "0 or more elements")
    })?;
    let object = DATATYPES.find(datatype, "datatype")?;
    let layout = object.layout();
    if buf.is_null() && elements > 0 && layout.size() > 0 && layout.true_lower_bound() == 0 {
        return Err(Error::argument(
            ErrorClass::ERR_BUFFER,
            "buf",
            "null",
            format!("the address of {count} elements"),
        ));
    }
    if let Some(value) = constant_name(buf)
        && elements > 0
        && layout.size() > 0
    {
        let expected = format!("the address of {count} elements: it has no meaning here");
        return Err(Error::argument(
            ErrorClass::ERR_BUFFER,
            "buf",
            value,
            expected,
        ));
    }
    let mut memory = object.memory(buf.cast_mut().cast(), elements)?;
    let device = match knows_devices() {
        true => device::device_of(buf.cast(), layout, elements)?,
        false => None,
    };
    if device.is_some() {
        memory.base = buf.cast_mut().cast();
        memory.layout = Some((object.shared_layout(), elements));
    }
    if checks_types() {
        memory = memory.typed(Some((object.typed(), elements)));
    }
    Ok((memory, device))
}

/// The GPU in whose memory a block is.
///
/// # Errors
/// MPI_ERR_BUFFER for a block in several kinds of memory; the driver's errors.
pub(crate) fn device_of_block(block: &Block) -> Result<Option<Device>> {
    match knows_devices() {
        true => device::device_of(block.base.0, &block.layout, block.count),
        false => Ok(None),
    }
}

/// The span of the elements of a predefined type; `None` for every other type.
#[inline(always)]
pub(crate) fn contiguous_span(
    buf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> Option<Span> {
    if datatype >= 1024 || buf as usize <= LAST_CONSTANT || count as u64 >= 1 << 54 {
        cold_path();
        return None;
    }
    let size = SIZES[datatype].load(Ordering::Relaxed);
    if size == 255 {
        cold_path();
        return None;
    }
    // SAFETY: it is above the constants.
    Some(unsafe { Span::at(buf.cast_mut().cast(), count as usize * size as usize) })
}

/// As many elements of the same type in another buffer.
#[inline(always)]
pub(crate) fn contiguous_alike(buf: *const c_void, span: Span) -> Option<Span> {
    if buf as usize <= LAST_CONSTANT {
        cold_path();
        return None;
    }
    // SAFETY: it is above the constants.
    Some(unsafe { span.also_at(buf.cast_mut().cast()) })
}

/// The packed bytes of a memory.
pub(crate) fn packed(memory: Memory<'_>) -> Result<Vec<u8>> {
    let mut bytes = allocate::zeroed(memory.bytes)?;
    // SAFETY: the program's buffer is readable during the call (crate head); `bytes` is as long as the memory.
    unsafe { pack(memory, bytes.as_mut_ptr())? };
    Ok(bytes)
}

/// Packs a memory.
///
/// # Errors
/// Errors of the GPU's driver.
///
/// # Safety
/// The memory is readable and `target` writable for its bytes.
pub(crate) unsafe fn pack(memory: Memory<'_>, target: *mut u8) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        if knows_devices() && device::copy(memory, device::packed_at(target, memory.bytes))? {
            return Ok(());
        }
        match memory.layout {
            Some((layout, _)) => layout.pack(memory.base, 0..memory.bytes, target),
            None => std::ptr::copy_nonoverlapping(memory.base, target, memory.bytes),
        }
    }
    Ok(())
}

/// Unpacks bytes into a memory.
///
/// # Errors
/// Errors of the GPU's driver.
///
/// # Safety
/// The memory is writable and `source` readable for its bytes.
pub(crate) unsafe fn unpack(memory: Memory<'_>, source: *const u8) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        let packed = device::packed_at(source.cast_mut(), memory.bytes);
        if knows_devices() && device::copy(packed, memory)? {
            return Ok(());
        }
        match memory.layout {
            Some((layout, _)) => layout.unpack(memory.base, 0..memory.bytes, source),
            None => std::ptr::copy_nonoverlapping(source, memory.base, memory.bytes),
        }
    }
    Ok(())
}

/// Gives a datatype a handle; a datatype may have several.
pub(crate) fn publish(datatype: Arc<Datatype>) -> Result<MPI_Datatype> {
    if let Some(row) = datatype.row() {
        return Ok(row.code as usize);
    }
    let handle = DATATYPES.insert(datatype)?;
    if let Some(datatype) = DATATYPES.get(handle) {
        datatype.handle.store(handle as u64, Ordering::Relaxed);
    }
    Ok(handle)
}

/// Calls `action` with a handle of a datatype: one that the program has, or one for the duration of the call if the
/// program has freed them all.
pub(crate) fn lend_handle(datatype: &Arc<Datatype>, action: impl FnOnce(MPI_Datatype)) {
    let known = datatype.handle.load(Ordering::Relaxed) as usize;
    let live = DATATYPES
        .get(known)
        .is_some_and(|object| std::ptr::eq(object, &raw const **datatype));
    if live {
        return action(known);
    }
    if let Ok(handle) = DATATYPES.insert(datatype.clone()) {
        action(handle);
        // The handle was made three lines above.
        let _ = DATATYPES.remove(handle, "datatype");
    }
}
