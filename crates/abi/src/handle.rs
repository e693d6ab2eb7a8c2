// SPDX-License-Identifier: MIT OR Apache-2.0
//! From handle values to objects: a mask, a compare and a load.
//!
//! Each kind of object has a table whose slot index is the low bits of the handle value. Predefined handles are the ABI's
//! small constants and occupy the slots of their own values; handles made at run time lie above and carry a generation and
//! their kind, so that a freed, foreign or invalid value never equals the one in its slot. The tables are zeroed static
//! memory: pages of slots that were never used cost nothing.

// account: caller

use std::hint::cold_path;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use engine::comm::{Comm, MOST_PREDEFINED, Predefined};
use engine::datatype::Datatype;
use engine::file::File;
use engine::group::Group;
use engine::op::Op;
use engine::p2p::CHECKED;
use engine::rma::Window;
use engine::{Error, ErrorClass, Result};

use crate::fortran_compiler;
use crate::objects::{ErrorHandler, Info, Session};
use crate::sync::{AtomicPtr, AtomicU8, AtomicU64};

/// A power of 2^8, so that a slot is found by a move.
const SLOTS: usize = 1 << INDEX_BITS;
const INDEX_BITS: u32 = 16;
pub(crate) const FIRST_DYNAMIC: u32 = 4096;

/// Communicators whose handles are constants of `mpi_rankpoint.h`. The ABI reserves all values below 4096, so these have the top byte of
/// communicators; their slots are the last ones that no handle of the ABI has.
pub(crate) const PLACES: usize = MOST_PREDEFINED;
const FIRST_PLACE: usize = FIRST_DYNAMIC as usize - PLACES;
const _: () = assert!(FIRST_PLACE.is_multiple_of(PLACES));

/// The number of the place that a handle names, from 0.
// TIER: short
#[inline(always)]
pub(crate) fn place_number(comm: usize) -> Option<usize> {
    const FIRST: usize = (Comm::TAG << 56) as usize | FIRST_PLACE;
    let number = comm.wrapping_sub(FIRST);
    (number < PLACES).then_some(number)
}

/// The predefined handles, their C types and their names.
const PREDEFINED: &[(usize, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/predefined.rs"));

/// The handle of an integer that names no object: never a valid one (MPI-5.0, section 20.3.3).
pub(crate) const NO_HANDLE: usize = 0;

/// The name of a predefined handle, of whatever kind.
fn predefined_name(handle: usize) -> Option<&'static str> {
    let found = PREDEFINED.iter().find(|(value, ..)| *value == handle);
    found.map(|&(_, _, name)| name)
}

/// The predefined handle of a C type, null handles included, that has this integer.
pub(crate) fn predefined_of(number: i32, c_type: &str) -> Option<usize> {
    let value = usize::try_from(number).ok()?;
    let is_it = |&&(other, kind, _): &&(usize, &str, &str)| other == value && kind == c_type;
    PREDEFINED.iter().find(is_it).map(|_| value)
}

/// The error of a predefined handle where only one that the program made will do.
#[cold]
pub(crate) fn made_by_library(
    class: ErrorClass,
    argument: &'static str,
    handle: usize,
    expected: &'static str,
) -> Error {
    let value = predefined_name(handle).unwrap_or("a predefined handle");
    Error::argument(class, argument, value, expected)
}

/// A kind of object that has handles.
pub(crate) trait Object: Send + Sync + Sized + 'static {
    /// Top byte of this kind's handles.
    const TAG: u64;
    /// The C type of this kind's handles.
    const C_TYPE: &'static str;
    /// The kind's name in error texts.
    const KIND: &'static str;
    /// Error class of a bad handle.
    const CLASS: ErrorClass;

    /// The slots that may be reused.
    fn free_list() -> &'static FreeList;
}

/// Whether a handle is its own integer: a constant of the ABI is, and so is an integer that a program took for a handle.
pub(crate) const fn is_integer(handle: usize) -> bool {
    handle as u64 >> 32 == 0
}

/// The slot of a handle, computed once: left to itself the compiler masks for both tables apart, which costs each call an
/// instruction.
#[inline(always)]
fn index_of(handle: usize) -> usize {
    #[cfg_attr(miri, expect(unused_mut, reason = "the interpreter knows no assembly"))]
    let mut index = handle & (SLOTS - 1);
    // SAFETY: the assembly has no instruction, so the value is still below SLOTS.
    #[cfg(not(miri))]
    unsafe {
        std::arch::asm!("/* {0} */", inout(reg) index, options(pure, nomem, preserves_flags, nostack));
        std::hint::assert_unchecked(index < SLOTS);
    }
    index
}

/// In the word of a slot: the object is there, but no call finds it any more ([`HandleTable::close`]). No handle has this bit.
const CLOSED: u64 = 1 << 63;

/// The handles of one kind and their objects, side by side: one scaled index finds both. All-zero when new, so that it costs no
/// space in the library's file.
#[repr(C)]
pub(crate) struct HandleTable<T: 'static> {
    handles: [AtomicU64; SLOTS],
    objects: [AtomicPtr<T>; SLOTS],
}

/// An object that its handle keeps alive: it must not be used after the handle was freed, like the handle itself.
pub(crate) struct Borrowed<T>(ManuallyDrop<Arc<T>>);

impl<T> Deref for Borrowed<T> {
    type Target = Arc<T>;

    fn deref(&self) -> &Arc<T> {
        &self.0
    }
}

/// Whether no two threads are in the library at once; 0 if they may be. Set once, before a program has objects other than those
/// that may be made at any time.
static UNLOCKED: AtomicU8 = AtomicU8::new(0);

/// From now on at most one thread at a time is in the library.
pub(crate) fn expect_one_thread() {
    UNLOCKED.store(1, Ordering::Relaxed);
}

/// Slots of freed handles with their next generation, and the number of slots that were ever used.
pub(crate) struct FreeList {
    /// The slots that were freed last, which programs that make and free in turn use again: (generation, index), 0 for none.
    /// The thread that swaps one out owns it.
    spares: [AtomicU64; 4],
    rest: Mutex<Rest>,
    /// Whether threads use it before MPI_Init, too.
    at_any_time: bool,
}

struct Rest {
    reusable: Vec<(u32, u32)>,
    used: u32,
}

impl FreeList {
    const fn new(at_any_time: bool) -> Self {
        Self {
            spares: [const { AtomicU64::new(0) }; 4],
            rest: Mutex::new(Rest {
                reusable: Vec::new(),
                used: 0,
            }),
            at_any_time,
        }
    }

    /// Whether only one thread uses the list: then loads and stores replace atomic exchanges.
    #[inline(always)]
    fn is_unlocked(&self) -> bool {
        !self.at_any_time && UNLOCKED.load(Ordering::Relaxed) != 0
    }

    /// Replaces the content of a spare; returns the old content.
    #[inline(always)]
    fn exchange(&self, spare: &AtomicU64, slot: u64) -> u64 {
        if self.is_unlocked() {
            let before = spare.load(Ordering::Relaxed);
            spare.store(slot, Ordering::Relaxed);
            return before;
        }
        spare.swap(slot, Ordering::Relaxed)
    }

    /// A slot and the generation of its next handle, unless all are taken.
    fn take(&self) -> Option<(u32, u32)> {
        for spare in &self.spares {
            if spare.load(Ordering::Relaxed) != 0 {
                let slot = self.exchange(spare, 0);
                if slot != 0 {
                    return Some((slot as u32, (slot >> 32) as u32));
                }
            }
        }
        let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = FIRST_DYNAMIC + rest.used;
        let slot = rest.reusable.pop();
        if slot.is_none() && (fresh as usize) < SLOTS {
            rest.used += 1;
            return Some((fresh, 0));
        }
        slot
    }

    /// Whether a slot is free.
    fn has_room(&self) -> bool {
        let is_there = |spare: &AtomicU64| spare.load(Ordering::Relaxed) != 0;
        if self.spares.iter().any(is_there) {
            return true;
        }
        let rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        ((FIRST_DYNAMIC + rest.used) as usize) < SLOTS || !rest.reusable.is_empty()
    }

    /// The slot is free.
    fn give(&self, index: u32, generation: u32) {
        let mut slot = u64::from(generation) << 32 | u64::from(index);
        let is_free = |spare: &&AtomicU64| spare.load(Ordering::Relaxed) == 0;
        if let Some(spare) = self.spares.iter().find(is_free) {
            slot = self.exchange(spare, slot);
        }
        if slot != 0 {
            let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
            rest.reusable.push((slot as u32, (slot >> 32) as u32));
        }
    }

    /// Number of slots that were ever used; all of them if another thread holds the list, which has no such thread in a forked child.
    fn used_slots(&self) -> usize {
        match self.rest.try_lock() {
            Ok(rest) => (FIRST_DYNAMIC + rest.used) as usize,
            Err(_) => SLOTS,
        }
    }

    /// Takes a handle out of its slot; whether it was there.
    #[inline(always)]
    fn take_out(&self, handle: &AtomicU64, word: u64) -> bool {
        if self.is_unlocked() {
            handle.store(0, Ordering::Relaxed);
            return true;
        }
        // Of two threads that free one handle, which is an error of the program, one gets the object.
        // PAIRS: handle.published
        let order = (Ordering::Acquire, Ordering::Relaxed);
        handle.compare_exchange(word, 0, order.0, order.1).is_ok()
    }
}

/// The error when all handles of a kind are taken.
#[cold]
fn full<T: Object>() -> Error {
    let most = SLOTS - FIRST_DYNAMIC as usize;
    let text = format!("{most} objects of kind '{}' exist already", T::KIND);
    Error::new(ErrorClass::ERR_NO_MEM, text)
}

/// A handle that has no object yet; free again when this is dropped.
#[must_use]
pub(crate) struct Reserved<T: Object> {
    table: &'static HandleTable<T>,
    /// (index, generation)
    slot: (u32, u32),
}

impl<T: Object> Reserved<T> {
    /// Gives the handle to an object.
    pub(crate) fn fill(self, object: Arc<T>) -> usize {
        let kept = ManuallyDrop::new(self);
        kept.table.fill(kept.slot, object)
    }
}

impl<T: Object> Drop for Reserved<T> {
    fn drop(&mut self) {
        let (index, generation) = self.slot;
        T::free_list().give(index, generation);
    }
}

impl<T: Object> HandleTable<T> {
    const fn new() -> Self {
        Self {
            handles: [const { AtomicU64::new(0) }; SLOTS],
            objects: [const { AtomicPtr::new(std::ptr::null_mut()) }; SLOTS],
        }
    }

    /// The object of a handle.
    #[inline(always)]
    pub(crate) fn get(&'static self, handle: usize) -> Option<&'static T> {
        let index = index_of(handle);
        // PAIRS: handle.published
        // account: argument-checks
        if self.handles[index].load(Ordering::Acquire) != handle as u64 {
            cold_path();
            return None;
        }
        // account: caller
        let object = self.objects[index].load(Ordering::Relaxed);
        // account: argument-checks
        if object.is_null() {
            // Handle 0 matches the empty slot 0.
            cold_path();
            return None;
        }
        // account: caller
        // SAFETY: a slot whose handle matches holds an object that lives until the handle is removed; using a handle
        // while another thread frees it is an error of the program.
        unsafe { object.as_ref() }
    }

    /// The object of a handle that is one, unless arguments are checked.
    #[inline(always)]
    pub(crate) fn get_trusted(&'static self, handle: usize) -> Option<&'static T> {
        if CHECKED {
            return self.get(handle);
        }
        let object = self.objects[handle & (SLOTS - 1)].load(Ordering::Relaxed);
        // SAFETY: the program promises a valid handle by using this build; the slot of one holds an object (`get`).
        Some(unsafe { &*object })
    }

    /// A handle as an integer: a predefined one is its own, another keeps its index and the low bits of its generation.
    pub(crate) fn to_int(&'static self, handle: usize) -> i32 {
        if is_integer(handle) {
            return handle as i32;
        }
        (handle as u64 & i32::MAX as u64) as i32
    }

    /// The handle that [`Self::to_int`] made an integer of, or [`NO_HANDLE`].
    pub(crate) fn of_int(&'static self, number: i32) -> usize {
        let index = number as u32 as usize & (SLOTS - 1);
        // PAIRS: handle.published
        let handle = self.handles[index].load(Ordering::Acquire) as usize;
        let is_closed = handle as u64 & CLOSED != 0;
        if handle != 0 && !is_closed && self.to_int(handle) == number {
            return handle;
        }
        // Constants have their integers before there are objects, too.
        let place = self.completed(number as u32 as u64);
        if T::TAG == Comm::TAG && place_number(place).is_some() {
            return place;
        }
        predefined_of(number, T::C_TYPE).unwrap_or(NO_HANDLE)
    }

    /// Lets no call find an object by a handle that exists now. The fast stages compare handles anyway, so that they refuse calls after
    /// MPI_Finalize and in forked children at no cost.
    pub(crate) fn close(&'static self) {
        for slot in &self.handles[..T::free_list().used_slots()] {
            close_slot(slot);
        }
    }

    /// [`Self::close`] of one handle.
    pub(crate) fn close_one(&'static self, handle: usize) {
        if self.get(handle).is_some() {
            close_slot(&self.handles[handle & (SLOTS - 1)]);
        }
    }

    /// The object of a handle that was closed.
    pub(crate) fn closed(&'static self, handle: usize) -> Option<&'static T> {
        self.get((handle as u64 | CLOSED) as usize)
    }

    /// The object of a handle, or the error that names argument and value.
    #[inline(always)]
    pub(crate) fn find(&'static self, handle: usize, argument: &'static str) -> Result<&'static T> {
        match self.get(handle) {
            Some(object) => Ok(object),
            None => Err(self.bad(handle, argument)),
        }
    }

    /// The error of a handle that is none.
    #[cold]
    #[inline(never)]
    pub(crate) fn bad(&'static self, handle: usize, argument: &'static str) -> Error {
        let what = match handle {
            _ if self.closed(handle).is_some() => format!(
                "{}, which ended with MPI_Finalize or with the last session",
                predefined_name(handle).unwrap_or(T::KIND)
            ),
            0 => "0, which is no handle".to_owned(),
            1..4096 if fortran_compiler::lacks(handle) => format!(
                "{}, which the program's Fortran compiler lacks (MPI_Abi_set_fortran_info)",
                predefined_name(handle).unwrap_or_default()
            ),
            1..4096 => predefined_name(handle)
                .map_or_else(|| format!("{handle:#x}, which is no handle"), str::to_owned),
            _ if T::TAG == Comm::TAG && place_number(handle).is_some() => format!(
                "MPIX_COMM_{}, into which no communicator was duplicated (MPIX_Comm_dup_predefined)",
                handle % PLACES + 1
            ),
            _ if handle as u64 >> 56 == T::TAG => format!("{handle:#x}, which was freed"),
            _ if is_integer(handle) => format!("{}, which is no handle", handle as i32),
            _ => format!("{handle:#x}, which is no handle of this kind"),
        };
        Error::argument(T::CLASS, argument, what, format!("a valid {}", T::KIND))
    }

    /// The handle whose bits below the top byte these are.
    pub(crate) const fn completed(&'static self, low: u64) -> usize {
        let is_predefined = low < FIRST_PLACE as u64;
        (if is_predefined {
            low
        } else {
            T::TAG << 56 | low
        }) as usize
    }

    /// Whether another object can have a handle.
    pub(crate) fn has_room(&'static self) -> bool {
        T::free_list().has_room()
    }

    /// Visits all objects whose handles were made at run time, which takes as long as there are slots.
    pub(crate) fn each(&'static self, mut action: impl FnMut(usize, &T)) {
        for slot in &self.handles[FIRST_PLACE..] {
            // PAIRS: handle.published
            let handle = slot.load(Ordering::Acquire) as usize;
            if let Some(object) = self.get(handle) {
                action(handle, object);
            }
        }
    }

    /// Gives an object a handle.
    pub(crate) fn insert(&'static self, object: Arc<T>) -> Result<usize> {
        let Some(slot) = T::free_list().take() else {
            return Err(full::<T>());
        };
        Ok(self.fill(slot, object))
    }

    /// Takes a handle for an object that is still to be made.
    pub(crate) fn reserve(&'static self) -> Result<Reserved<T>> {
        let slot = T::free_list().take().ok_or_else(full::<T>)?;
        Ok(Reserved { table: self, slot })
    }

    fn fill(&'static self, (index, generation): (u32, u32), object: Arc<T>) -> usize {
        let handle = T::TAG << 56 | u64::from(generation) << INDEX_BITS | u64::from(index);
        self.place(index as usize, handle, object);
        handle as usize
    }

    /// Gives a predefined handle its object.
    pub(crate) fn define(&'static self, handle: usize, object: Arc<T>) {
        self.place(index_of(handle), handle as u64, object);
    }

    fn place(&self, index: usize, handle: u64, object: Arc<T>) {
        let object = Arc::into_raw(object).cast_mut();
        self.objects[index].store(object, Ordering::Relaxed);
        // PAIRS: handle.published
        self.handles[index].store(handle, Ordering::Release);
    }

    /// Another reference to a handle's object.
    pub(crate) fn share(&'static self, handle: usize, argument: &'static str) -> Result<Arc<T>> {
        let object: *const T = self.find(handle, argument)?;
        // SAFETY: objects in slots come from Arc::into_raw and the slot keeps one count.
        unsafe {
            Arc::increment_strong_count(object);
            Ok(Arc::from_raw(object))
        }
    }

    /// A handle's object as the slot owns it.
    pub(crate) fn borrow(
        &'static self,
        handle: usize,
        argument: &'static str,
    ) -> Result<Borrowed<T>> {
        let object: *const T = self.find(handle, argument)?;
        // SAFETY: objects in slots come from Arc::into_raw; the slot keeps its count, this one is never dropped.
        Ok(Borrowed(ManuallyDrop::new(unsafe {
            Arc::from_raw(object)
        })))
    }

    /// Takes a handle out: it is stale from now on.
    pub(crate) fn remove(&'static self, handle: usize, argument: &'static str) -> Result<Arc<T>> {
        self.find(handle, argument)?;
        let index = handle & (SLOTS - 1);
        let word = handle as u64;
        if !T::free_list().take_out(&self.handles[index], word) {
            return Err(self.bad(handle, argument));
        }
        let raw = self.objects[index].load(Ordering::Relaxed);
        self.objects[index].store(std::ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: the slot's own count, from Arc::into_raw in `place`; the thread that takes the handle out takes the count.
        let object = unsafe { Arc::from_raw(raw) };
        if index as u32 >= FIRST_DYNAMIC {
            let generation = ((word >> INDEX_BITS) as u32 + 1) & 0xff_ffff;
            T::free_list().give(index as u32, generation);
        }
        Ok(object)
    }
}

/// Marks a slot that holds an object.
fn close_slot(slot: &AtomicU64) {
    let word = slot.load(Ordering::Relaxed);
    if word != 0 {
        // Relaxed: no other thread is inside MPI, which has ended.
        slot.store(word | CLOSED, Ordering::Relaxed);
    }
}

/// Lets no call find a communicator, a window or a file that exists now: MPI has ended, or this is a forked child.
pub(crate) fn close() {
    COMMS.close();
    WINS.close();
    FILES.close();
    Predefined::clear_all();
}

macro_rules! tables {
    ($($table:ident $object:ty, $c_type:ident, $tag:literal, $kind:literal, $class:ident, $at_any_time:literal;)*) => {
        $(
            pub(crate) static $table: HandleTable<$object> = HandleTable::new();

            impl Object for $object {
                const TAG: u64 = $tag;
                const C_TYPE: &'static str = stringify!($c_type);
                const KIND: &'static str = $kind;
                const CLASS: ErrorClass = ErrorClass::$class;

                fn free_list() -> &'static FreeList {
                    static FREE: FreeList = FreeList::new($at_any_time);
                    &FREE
                }
            }
        )*
    };
}

tables! {
    COMMS Comm, MPI_Comm, 0x43, "communicator", ERR_COMM, false;
    GROUPS Group, MPI_Group, 0x47, "group", ERR_GROUP, false;
    DATATYPES Datatype, MPI_Datatype, 0x44, "datatype", ERR_TYPE, false;
    OPS Op, MPI_Op, 0x4f, "reduction operation", ERR_OP, false;
    INFOS Info, MPI_Info, 0x49, "info object", ERR_INFO, true;
    HANDLERS ErrorHandler, MPI_Errhandler, 0x45, "error handler", ERR_ERRHANDLER, true;
    SESSIONS Session, MPI_Session, 0x53, "session", ERR_SESSION, true;
    WINS Window, MPI_Win, 0x57, "window", ERR_WIN, false;
    FILES File, MPI_File, 0x46, "file", ERR_FILE, false;
}
