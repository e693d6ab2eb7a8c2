// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of NUMA nodes: copies from one to another, and moving pages.

use std::collections::BTreeMap;

use machine_profile::{Matrix, PlaceKind, Unit};
use measure::threads::bind;

use crate::entry::Entry;
use crate::kernels::{flush, keep};
use crate::memory::{HUGE_PAGE, Mapping, PAGE};
use crate::session::{Found, Outcome, Session, cost, time_after};

/// Bytes of a copy: more than most caches hold.
const BYTES: usize = 64 << 20;
/// Pages that are moved at once.
const PAGES: usize = 256;

/// The rows of this group.
pub(super) fn entries() -> Vec<Entry> {
    vec![
        Entry::new(
            "numa/matrix",
            "memcpy of 64 MiB from the memory of one NUMA node to that of another, by a core of the second",
            matrix,
        )
        .quick(),
        Entry::new("numa/move-page", "move_pages: a page to another NUMA node", moving),
    ]
}

/// A core of each NUMA node.
fn nodes(session: &Session) -> Result<Vec<(u64, u32)>, String> {
    let mut nodes = BTreeMap::new();
    for place in session
        .places
        .iter()
        .filter(|place| place.kind == PlaceKind::Core)
    {
        if let Some(numa) = place.numa {
            nodes.entry(numa).or_insert(place.index as u32);
        }
    }
    if nodes.len() < 2 {
        return Err(format!(
            "needs two NUMA nodes with cores, and this system shows {}",
            nodes.len()
        ));
    }
    Ok(nodes.into_iter().collect())
}

/// Memory whose pages are those of a core's own node, because a thread there touches them first.
fn memory_at(core: u32, bytes: usize) -> Result<Mapping, String> {
    let touch = move || {
        bind(core)?;
        let mapping = Mapping::untouched(bytes)?;
        mapping.touch(PAGE);
        Ok(mapping)
    };
    let thread = std::thread::spawn(touch);
    let early = |_| Err("a thread ended early".to_owned());
    thread.join().unwrap_or_else(early)
}

fn matrix(session: &Session, name: &str) -> Outcome {
    let nodes = nodes(session)?;
    let place = |&(_, core): &(u64, u32)| {
        let is_it = |&found: &u32| found == core;
        session.cores().iter().position(is_it)
    };
    let places: Vec<usize> = nodes.iter().filter_map(place).collect();
    let mut values = vec![vec![None; nodes.len()]; nodes.len()];
    let mut mad = values.clone();
    let clock_ns = measure::sampling::clock_ns();
    for (row, &(_, from)) in nodes.iter().enumerate() {
        for (column, &(_, to)) in nodes.iter().enumerate() {
            let (source, target) = (memory_at(from, BYTES)?, memory_at(to, BYTES)?);
            let (source, target) = (&source, &target);
            let found = std::thread::scope(|scope| {
                let thread = scope.spawn(move || {
                    bind(to)?;
                    let cool = || {
                        // SAFETY: mappings of so many bytes.
                        unsafe {
                            flush(source.start(), BYTES);
                            flush(target.start(), BYTES);
                        }
                    };
                    let copy = || {
                        // SAFETY: as above.
                        unsafe {
                            std::ptr::copy_nonoverlapping(source.start(), target.start(), BYTES);
                        }
                        keep(1);
                    };
                    Ok(measure::threads::sample_here(
                        &session.plan(),
                        |repetitions| time_after(repetitions, clock_ns, cool, copy),
                    ))
                });
                thread
                    .join()
                    .unwrap_or_else(|_| Err("a thread ended early".to_owned()))
            })?;
            let sample = session.count(found);
            let rate = BYTES as f64 / sample.ns;
            values[row][column] = Some(rate);
            mad[row][column] = Some(rate * sample.mad / sample.ns);
        }
    }
    Ok(vec![Found::Matrix(Matrix {
        name: name.to_owned(),
        unit: Unit::GbPerS,
        places,
        values,
        mad,
    })])
}

fn moving(session: &Session, name: &str) -> Outcome {
    let nodes = nodes(session)?;
    let mapping = Mapping::untouched(HUGE_PAGE)?;
    mapping.touch(PAGE);
    let mut next = 0;
    let mut failed = None;
    let mut plan = session.plan();
    plan.value_ns /= PAGES as f64;
    let sample = session.sample_with_faults(&plan, |repetitions| {
        let start = std::time::Instant::now();
        for _ in 0..repetitions {
            next += 1;
            let node = nodes[next % nodes.len()].0 as i32;
            failed = failed.take().or_else(|| move_pages(&mapping, node).err());
        }
        start.elapsed().as_nanos() as f64 / PAGES as f64
    });
    match failed {
        Some(error) => Err(format!("move_pages: {error}")),
        None => Ok(vec![cost(name, sample)]),
    }
}

/// Moves the first pages of a mapping to a NUMA node.
fn move_pages(mapping: &Mapping, node: i32) -> std::io::Result<()> {
    /// Moves the pages that only this process has (Linux, <numaif.h>).
    const MPOL_MF_MOVE: libc::c_int = 2;
    let pages: Vec<usize> = (0..PAGES)
        .map(|page| mapping.start().addr() + page * PAGE)
        .collect();
    let (nodes, mut status) = (vec![node; PAGES], vec![0i32; PAGES]);
    // SAFETY: three arrays of as many values as are told; process 0 is this one; the pages belong to the mapping.
    let moved = unsafe {
        let (pages, nodes, status) = (pages.as_ptr(), nodes.as_ptr(), status.as_mut_ptr());
        libc::syscall(
            libc::SYS_move_pages,
            0,
            PAGES,
            pages,
            nodes,
            status,
            MPOL_MF_MOVE,
        )
    };
    if moved < 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(())
}
