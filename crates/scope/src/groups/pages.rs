// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pages: the first touch, mappings of pages that are there, populating, giving back.

use std::time::Instant;

use rustix::mm::Advice;

use crate::entry::Entry;
use crate::memory::{HUGE_PAGE, Mapping, PAGE, memory_file};
use crate::session::{Outcome, Session, cost};

/// Pages of one repetition; values are of one page.
const PAGES: usize = 256;
const BYTES: usize = PAGES * PAGE;

/// The rows of this group; each time is that of one page.
pub(super) fn entries() -> Vec<Entry> {
    vec![
        Entry::new(
            "page/first-touch",
            "first write to a private 4 KiB page",
            |session, name| touches(session, name, PAGES, PAGE, || private(None)),
        )
        .quick(),
        Entry::new(
            "page/first-touch-huge",
            "first write to a private 2 MiB page, where the kernel gives huge ones",
            |session, name| {
                touches(session, name, 1, HUGE_PAGE, || {
                    private(Some(Advice::LinuxHugepage))
                })
            },
        ),
        Entry::new(
            "page/first-touch-file",
            "first write to a 4 KiB page of a memory file",
            |session, name| {
                touches(session, name, PAGES, PAGE, || {
                    Mapping::shared(&memory_file(BYTES)?, BYTES)
                })
            },
        )
        .quick(),
        Entry::new(
            "page/second-mapping",
            "first write through a second mapping to a page of a memory file that is there",
            second_mapping,
        )
        .quick(),
        Entry::new(
            "page/populate",
            "MADV_POPULATE_WRITE: a private page",
            populate,
        ),
        Entry::new(
            "page/fallocate",
            "fallocate: a page of a memory file",
            fallocate,
        ),
        Entry::new(
            "page/unmap",
            "munmap: a private page that was touched",
            unmap,
        ),
    ]
}

/// Private memory at a multiple of huge pages, with advice.
fn private(advice: Option<Advice>) -> Result<Mapping, String> {
    let mapping = Mapping::untouched(2 * HUGE_PAGE)?;
    if let Some(advice) = advice {
        let refused = |error| format!("the kernel gives no huge pages: {error}");
        mapping.advise(advice).map_err(refused)?;
    }
    Ok(mapping)
}

/// First writes to so many pages of new memory.
fn touches(
    session: &Session,
    name: &str,
    pages: usize,
    step: usize,
    new: impl Fn() -> Result<Mapping, String>,
) -> Outcome {
    timed(session, name, pages, || {
        let mapping = new()?;
        let begin = mapping.start().align_offset(step);
        let start = Instant::now();
        for page in 0..pages {
            // SAFETY: memory of twice a huge page or 256 small ones has so many from its first multiple on.
            unsafe { mapping.start().add(begin + page * step).write_volatile(1) };
        }
        Ok(start.elapsed().as_nanos() as f64)
    })
}

/// Samples an action on pages that prepares and times itself; gives the time of one page.
fn timed(
    session: &Session,
    name: &str,
    pages: usize,
    action: impl Fn() -> Result<f64, String>,
) -> Outcome {
    action()?;
    let mut failed = None;
    let mut plan = session.plan();
    plan.value_ns /= pages as f64;
    let sample = session.sample_with_faults(&plan, |repetitions| {
        let mut whole = 0.0;
        for _ in 0..repetitions {
            match action() {
                Ok(time) => whole += time,
                Err(error) => {
                    failed = Some(error);
                    // Long enough to end the search for a number of repetitions.
                    return f64::INFINITY;
                }
            }
        }
        whole / pages as f64
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(vec![cost(name, sample)]),
    }
}

fn second_mapping(session: &Session, name: &str) -> Outcome {
    let file = memory_file(BYTES)?;
    Mapping::shared(&file, BYTES)?.touch(PAGE);
    timed(session, name, PAGES, || {
        let mapping = Mapping::shared(&file, BYTES)?;
        let start = Instant::now();
        mapping.touch(PAGE);
        Ok(start.elapsed().as_nanos() as f64)
    })
}

fn populate(session: &Session, name: &str) -> Outcome {
    timed(session, name, PAGES, || {
        let mapping = Mapping::untouched(BYTES)?;
        let start = Instant::now();
        let refused = |error| format!("MADV_POPULATE_WRITE: {error}");
        mapping
            .advise(Advice::LinuxPopulateWrite)
            .map_err(refused)?;
        Ok(start.elapsed().as_nanos() as f64)
    })
}

fn fallocate(session: &Session, name: &str) -> Outcome {
    use rustix::fs::FallocateFlags;
    timed(session, name, PAGES, || {
        let file = memory_file(BYTES)?;
        let start = Instant::now();
        let refused = |error| format!("fallocate: {error}");
        rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, BYTES as u64).map_err(refused)?;
        Ok(start.elapsed().as_nanos() as f64)
    })
}

fn unmap(session: &Session, name: &str) -> Outcome {
    timed(session, name, PAGES, || {
        let mapping = Mapping::touched(BYTES)?;
        let start = Instant::now();
        drop(mapping);
        Ok(start.elapsed().as_nanos() as f64)
    })
}
