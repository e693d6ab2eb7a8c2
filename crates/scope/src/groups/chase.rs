// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory's latency: chains of loads of which each tells where the next one goes.

use machine_profile::{Axis, Surface};

use crate::entry::Entry;
use crate::kernels::keep;
use crate::memory::{HUGE_PAGE, Mapping, PAGE};
use crate::session::{Found, Outcome, Session, curve, time};

/// Bytes between the links of a chain through caches: more than a line, so that none comes for nothing.
const LINE: usize = 128;
const SIZES: [u64; 15] = [
    4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144, 524_288, 1_048_576, 2_097_152, 4_194_304,
    8_388_608, 16_777_216, 33_554_432, 67_108_864,
];
const QUICK_SIZES: [u64; 5] = [16_384, 262_144, 2_097_152, 16_777_216, 67_108_864];
const PAGES: [u64; 13] = [
    4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384,
];
/// Runs and strides of the surface of rows.
const RUNS: [u64; 6] = [8, 16, 32, 64, 128, 256];
const STRIDES: [u64; 8] = [512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536];
/// Bytes that rows are read from.
const ROWS_BYTES: usize = 64 << 20;

/// The rows of this group.
pub(super) fn entries() -> Vec<Entry> {
    let huge = |session: &Session, name: &str| chase(session, name, true);
    vec![
        Entry::new(
            "memory/chase",
            "a dependent load, small pages, over bytes of the memory that is visited",
            |session, name| chase(session, name, false),
        )
        .quick(),
        Entry::new(
            "memory/chase-huge",
            "the same with huge pages where the kernel gives them",
            huge,
        ),
        Entry::new(
            "memory/tlb",
            "a dependent load with one line in each small page, over pages",
            pages,
        ),
        Entry::new(
            "memory/rows",
            "copying out a row of a run of bytes at a stride, over both",
            rows,
        ),
    ]
}

/// A chain through places of a memory in an order that no prefetcher guesses.
struct Chain {
    memory: Mapping,
    place: *const u8,
}

impl Chain {
    /// `places` gives the offsets of the links.
    fn new(bytes: usize, is_huge: bool, places: &[usize]) -> Result<Self, String> {
        let memory = Mapping::untouched(bytes + HUGE_PAGE)?;
        let advice = if is_huge {
            rustix::mm::Advice::LinuxHugepage
        } else {
            rustix::mm::Advice::LinuxNoHugepage
        };
        let refused = |error| format!("the kernel takes no advice on huge pages: {error}");
        memory.advise(advice).map_err(refused)?;
        let base = memory.start().align_offset(HUGE_PAGE);
        let at = |place: usize| memory.start().wrapping_add(base + place);
        let mut order = places.to_vec();
        // Sattolo's shuffle has one cycle; the numbers are those of Marsaglia's xorshift.
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        for index in (1..order.len()).rev() {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            order.swap(index, (random % index as u64) as usize);
        }
        for (index, &place) in order.iter().enumerate() {
            let next = at(order[(index + 1) % order.len()]);
            // SAFETY: a place inside the memory, at a multiple of 8.
            unsafe { at(place).cast::<*const u8>().write(next) };
        }
        let place = at(order[0]);
        Ok(Self { memory, place })
    }

    fn follow(&mut self, loads: u64) -> f64 {
        let mut place = self.place;
        let taken = time(loads, || {
            // SAFETY: links lead to places of the memory, which hold links.
            place = unsafe { place.cast::<*const u8>().read_volatile() };
        });
        keep(place.addr() as u64);
        debug_assert!(place.addr() >= self.memory.start().addr());
        self.place = place;
        taken
    }
}

fn chase(session: &Session, name: &str, is_huge: bool) -> Outcome {
    let mut points = Vec::new();
    for bytes in session.sizes(&SIZES, &QUICK_SIZES) {
        let places: Vec<usize> = (0..bytes as usize).step_by(LINE).collect();
        let mut chain = Chain::new(bytes as usize, is_huge, &places)?;
        let sample = session.sample(&session.plan(), |repetitions| chain.follow(repetitions));
        points.push((bytes, sample));
    }
    curve(name, Axis::Bytes, Some([0, 0]), points)
}

fn pages(session: &Session, name: &str) -> Outcome {
    let mut points = Vec::new();
    for pages in PAGES {
        // Lines in different sets of the caches: a page and a line further each.
        let places: Vec<usize> = (0..pages as usize)
            .map(|page| page * PAGE + page % 32 * LINE)
            .collect();
        let bytes = pages as usize * PAGE;
        let mut chain = Chain::new(bytes, false, &places)?;
        let sample = session.sample(&session.plan(), |repetitions| chain.follow(repetitions));
        points.push((pages, sample));
    }
    curve(name, Axis::Pages, Some([0, 0]), points)
}

fn rows(session: &Session, name: &str) -> Outcome {
    let memory = Mapping::touched(ROWS_BYTES)?;
    let packed = Mapping::touched(PAGE)?;
    let (mut ns, mut mad) = (Vec::new(), Vec::new());
    let plan = session.plan();
    for run in RUNS {
        let (mut times, mut spreads) = (Vec::new(), Vec::new());
        for stride in STRIDES {
            let (run, stride) = (run as usize, stride as usize);
            let mut place = 0;
            let sample = session.sample(&plan, |repetitions| {
                time(repetitions, || {
                    // SAFETY: a row inside the memory, and room for the longest run.
                    unsafe {
                        let row = memory.start().add(place);
                        std::ptr::copy_nonoverlapping(row, packed.start(), run);
                    }
                    keep(place as u64);
                    place += stride;
                    if place + run > ROWS_BYTES {
                        place = 0;
                    }
                })
            });
            times.push(sample.ns);
            spreads.push(sample.mad);
        }
        ns.push(times);
        mad.push(spreads);
    }
    Ok(vec![Found::Surface(Surface {
        name: name.to_owned(),
        axes: [Axis::Run, Axis::Stride],
        x: RUNS.to_vec(),
        y: STRIDES.to_vec(),
        ns,
        mad,
    })])
}
