// SPDX-License-Identifier: MIT OR Apache-2.0
//! When views have gaps: what accesses cost, and whether writes may cover gaps.
//!
//! A write that covers a gap reads bytes of others and writes them back. That loses nothing as long as every write locks its range, so
//! ranks agree in three steps: each has its writes lock, each says that no write is left which does not, and only then may gaps be
//! covered. Writes of the file then lock for ever. Other opens of the file are what MPI_MODE_UNIQUE_OPEN excludes, or the program with
//! the hint `romio_ds_write=enable`.

use std::sync::{Arc, PoisonError};

use file_plan::{COSTS, Costs};
use storage::{Hold, measure};
use sys::sync::{AtomicUsize, Mutex, Ordering};

use super::agree::gather;
use super::hints::SIEVED_WRITES;
use super::mode::bits;
use super::object::File;
use super::view::View;
use crate::errors::Result;

/// What was measured, by device.
static MEASURED: Mutex<Vec<(u64, Costs)>> = Mutex::new(Vec::new());

/// A write of a rank, from when it asks whether it has to lock until it is done.
pub(super) struct Writing(Arc<AtomicUsize>);

impl Writing {
    pub(super) fn new(file: &File) -> Self {
        // SeqCst: the write is counted before it asks whether writes lock; `agree` says that they do, then counts those that are left.
        // Otherwise a write could miss the lock and the count could miss the write.
        // PAIRS: file.locking
        file.writes.fetch_add(1, Ordering::SeqCst);
        Self(file.writes.clone())
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        // PAIRS: file.written
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Agrees, at all ranks, on what follows from a view with gaps at one of them.
pub(super) fn agree(file: &File, view: &View, call: &'static str) -> Result<()> {
    let has_gaps = !view.tiles.are_dense();
    let any = gather(&file.comm, call, &[u64::from(has_gaps)])?;
    if any.iter().all(|&has_gaps| has_gaps == 0) {
        return Ok(());
    }
    let may_cover = may_cover(file);
    if may_cover {
        // SeqCst: as in `Writing::new`.
        // PAIRS: file.locking
        file.locks.store(true, Ordering::SeqCst);
    }
    // PAIRS: file.written
    let is_idle = file.writes.load(Ordering::SeqCst) == 0;
    let costs = match file.comm.rank() {
        0 => costs_of(file),
        _ => file.costs(),
    };
    let mut words = vec![u64::from(may_cover && is_idle)];
    words.extend(costs.words());
    let all = gather(&file.comm, call, &words)?;
    let mut first = [0; COSTS];
    first.copy_from_slice(&all[1..words.len()]);
    *file.costs.lock().unwrap_or_else(PoisonError::into_inner) = Costs::of_words(first);
    if all.iter().step_by(words.len()).all(|&word| word != 0) {
        file.covers.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// Whether this rank may have its writes cover gaps.
fn may_cover(file: &File) -> bool {
    if !file.mode.has(bits::RDWR) || file.mode.has(bits::SEQUENTIAL) {
        return false;
    }
    let asked = match file.hints.get(SIEVED_WRITES).as_deref() {
        Some("enable") => true,
        Some("automatic") => {
            let system = file.storage.system();
            file.mode.has(bits::UNIQUE_OPEN) && system.is_ok_and(|system| system.has_cheap_locks)
        }
        _ => false,
    };
    // A lock that another one has says that there are locks.
    asked && file.storage.try_lock(Hold::Exclusive, 0..1).is_ok()
}

/// What accesses cost: as the setting says, or as measured once on the device of the file, or by the table.
fn costs_of(file: &File) -> Costs {
    let settings = file.comm.process().settings();
    if let Some(costs) = settings.file_costs {
        return costs;
    }
    let device = file.storage.identity().map_or(0, |found| found.device);
    let mut known = MEASURED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, costs)) = known.iter().find(|row| row.0 == device) {
        return *costs;
    }
    let folder = file.path.parent().filter(|folder| *folder != "");
    let folder = folder.unwrap_or(std::path::Path::new("."));
    let measured = measure(folder).map(|found| Costs::measured(found.all()));
    let costs = measured.unwrap_or_default();
    known.push((device, costs));
    costs
}
