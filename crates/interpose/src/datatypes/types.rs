// SPDX-License-Identifier: MIT OR Apache-2.0
//! The committed datatypes of the program, by handle.
//!
//! Only what was committed here is known, so that the library reports all others itself. Handles are used again: an attribute of each
//! datatype says when the library forgets it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use layout::Layout;
use layout_cuda::{CudaError, DeviceLayout, Gpu};
use mpi_abi_sys::constants as mpi;
use mpi_abi_sys::types::*;

use super::decode::{self, Decoded};
use super::{costs, counts, leaf, own};
use crate::sync::{AtomicU64, AtomicUsize};
use crate::table::REAL;

/// A datatype whose layout is known.
pub(crate) struct Type {
    handle: MPI_Datatype,
    decoded: Decoded,
    is_possible: OnceLock<bool>,
    packed_here: OnceLock<Range<usize>>,
    /// So many elements do not overlap each other.
    apart: AtomicUsize,
    /// Its tables in the memory of GPUs.
    on_gpus: Mutex<Vec<Arc<DeviceLayout>>>,
}

impl Type {
    /// Where its bytes are.
    pub(crate) fn layout(&self) -> &Layout {
        &self.decoded.layout
    }

    /// The mean length of a block.
    pub(super) fn block(&self) -> usize {
        self.decoded.layout.size() / self.decoded.blocks.max(1)
    }

    /// The type for the kernels of a GPU.
    ///
    /// # Errors
    /// The driver's errors, if its table does not get there.
    pub(super) fn on(&self, gpu: &'static Gpu) -> Result<Arc<DeviceLayout>, CudaError> {
        let mut known = self.on_gpus.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|it| ptr::eq(it.gpu(), gpu));
        if let Some(found) = found {
            return Ok(Arc::clone(found));
        }
        let new = Arc::new(gpu.prepare(self.layout())?);
        known.push(Arc::clone(&new));
        Ok(new)
    }

    /// Gives the memory of GPUs back, but for what messages in progress use. Threads may hold the type until they end, when the driver may
    /// have ended.
    fn leave_gpus(&self) {
        let mut known = self.on_gpus.lock().unwrap_or_else(PoisonError::into_inner);
        known.clear();
    }

    /// Whether the library packs it in the same way.
    pub(super) fn is_possible(&self) -> bool {
        *self
            .is_possible
            .get_or_init(|| costs::is_possible(self.handle, &self.decoded))
    }

    /// Whether messages of so many bytes are packed here; the library packs the others.
    pub(super) fn is_packed_here(&self, bytes: usize) -> bool {
        self.packed_here
            .get_or_init(|| costs::packed_here(&self.decoded))
            .contains(&bytes)
    }

    /// Whether so many elements may be received: they do not overlap each other.
    pub(super) fn is_apart(&self, count: usize) -> bool {
        // Acquire, Release: nothing but the number is read.
        if count <= self.apart.load(Acquire) {
            return true;
        }
        let is_apart = self.layout().repeated_byte(count).is_none();
        if is_apart {
            self.apart.fetch_max(count, Release);
        }
        is_apart
    }
}

const SHARDS: usize = 16;
type Shard = RwLock<Option<HashMap<MPI_Datatype, Arc<Type>>>>;
static KNOWN: [Shard; SHARDS] = [const { RwLock::new(None) }; SHARDS];
/// How often a datatype was forgotten or learnt.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// What a thread has found last, and the number of changes before.
type Found = (u64, MPI_Datatype, Option<Arc<Type>>);
const RECENT: usize = 16;

thread_local! {
    static LAST: RefCell<[Found; RECENT]> = const { RefCell::new([const { (u64::MAX, 0, None) }; RECENT]) };
}

/// Handles are addresses, or differ in their low bits.
fn hash(datatype: MPI_Datatype) -> usize {
    (datatype ^ (datatype >> 7)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60
}

fn shard(datatype: MPI_Datatype) -> &'static Shard {
    &KNOWN[hash(datatype) % SHARDS]
}

/// The datatype, if it was committed and its layout is known.
pub(crate) fn find(datatype: MPI_Datatype) -> Option<Arc<Type>> {
    // Acquire: with the Release of `changed`.
    let changes = CHANGES.load(Acquire);
    let place = hash(datatype) % RECENT;
    let recent = LAST.try_with(|last| {
        let last = last.try_borrow().ok()?;
        let (then, handle, found) = &last[place];
        (*then == changes && *handle == datatype).then(|| found.clone())
    });
    if let Ok(Some(found)) = recent {
        return found;
    }
    let known = shard(datatype).read().ok()?;
    let found = known
        .as_ref()
        .and_then(|known| known.get(&datatype).cloned());
    drop(known);
    // A thread that ends keeps nothing.
    let _ = LAST.try_with(|last| {
        if let Ok(mut last) = last.try_borrow_mut() {
            last[place] = (changes, datatype, found.clone());
        }
    });
    found
}

fn changed() {
    // Release: with the Acquire of `find`.
    CHANGES.fetch_add(1, Release);
}

/// Reads a datatype that the program has just committed.
pub(super) fn learn(datatype: MPI_Datatype) {
    // Between sessions there are no keys of attributes.
    if leaf::is_predefined(datatype) || find(datatype).is_some() || !own::is_started() {
        return;
    }
    let Some(decoded) = decode::decode(datatype) else {
        counts::add(&counts::REFUSED, 1);
        return;
    };
    if !watch(datatype) {
        return;
    }
    counts::add(&counts::DECODED, 1);
    let apart = usize::from(decoded.layout.is_contiguous());
    let new = Arc::new(Type {
        handle: datatype,
        decoded,
        is_possible: OnceLock::new(),
        packed_here: OnceLock::new(),
        apart: AtomicUsize::new(apart),
        on_gpus: Mutex::new(Vec::new()),
    });
    if let Ok(mut known) = shard(datatype).write() {
        known.get_or_insert_default().insert(datatype, new);
    }
    changed();
}

/// The key of the attribute, once there is one.
static KEY: Mutex<Option<i32>> = Mutex::new(None);

/// Has the library say when it forgets a datatype.
fn watch(datatype: MPI_Datatype) -> bool {
    let Ok(mut key) = KEY.lock() else {
        return false;
    };
    let library = REAL.get();
    if key.is_none() {
        let mut new = mpi::MPI_KEYVAL_INVALID;
        // A null function copies nothing: a duplicate is a datatype of its own.
        // SAFETY: a function with the prototype of a delete callback, and a place of this function.
        let code = unsafe {
            let forget = forget as *const () as usize;
            (library.MPI_Type_create_keyval)(0, forget, &raw mut new, std::ptr::null_mut())
        };
        *key = (code == mpi::MPI_SUCCESS).then_some(new);
    }
    let Some(value) = *key else {
        return false;
    };
    drop(key);
    let place = std::ptr::without_provenance_mut::<c_void>(datatype);
    // SAFETY: a committed datatype, and a key of datatypes.
    let code = unsafe { (library.MPI_Type_set_attr)(datatype, value, place) };
    code == mpi::MPI_SUCCESS
}

/// The library forgets a datatype.
extern "C" fn forget(_: MPI_Datatype, _: i32, place: *mut c_void, _: *mut c_void) -> i32 {
    let datatype = place.addr();
    let known = shard(datatype).write().ok();
    let gone = known.and_then(|mut known| known.as_mut()?.remove(&datatype));
    changed();
    if let Some(gone) = gone {
        gone.leave_gpus();
    }
    mpi::MPI_SUCCESS
}

/// Forgets everything, before MPI ends: the library's keys end with it.
pub(super) fn clear() {
    if let Ok(mut key) = KEY.lock() {
        *key = None;
    }
    for shard in &KNOWN {
        if let Ok(mut known) = shard.write() {
            let gone = known.take().unwrap_or_default();
            gone.values().for_each(|gone| gone.leave_gpus());
        }
    }
    changed();
}
