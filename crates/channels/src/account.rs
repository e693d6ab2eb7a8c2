// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many objects a category takes, and which limit of a network interface breaks first.

use crate::category::Category;
use crate::inventory::{Inventory, threads_per_context};
use crate::nic::{Memory, Profile};
use crate::policy::{DEFAULT_LOW, DEFAULT_TOTAL, Driver, UARS_PER_CONTEXT, UUARS_PER_PAGE, Uuars};

/// Numbers of objects.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Totals {
    /// Device contexts.
    pub contexts: usize,
    /// Queue pairs, and as many completion queues.
    pub queue_pairs: usize,
    /// Thread domains.
    pub domains: usize,
    /// UAR pages.
    pub uars: usize,
    /// uUARs that threads use.
    pub used_uuars: usize,
}

impl Totals {
    /// What `threads` threads take by the formula of the category.
    pub fn new(category: Category, driver: Driver, threads: usize) -> Self {
        let contexts = match threads_per_context(category) {
            Some(each) => threads.div_ceil(each),
            None => threads.min(1),
        };
        let has_any = usize::from(threads > 0);
        let queue_pairs = match category {
            Category::TwoDynamic => 2 * threads,
            Category::Threads => has_any,
            _ => threads,
        };
        // Pages of thread domains, or of queue pairs where the driver allocates them on demand.
        let pages = match (category, driver) {
            (Category::Everywhere | Category::Dynamic, _) => threads,
            (Category::TwoDynamic, _) => 2 * threads,
            (Category::SharedDynamic, _) => threads.div_ceil(2),
            (Category::Static | Category::Threads, Driver::Legacy) => 0,
            (Category::Static, Driver::Dynamic) => pages_on_demand(threads),
            (Category::Threads, Driver::Dynamic) => has_any,
        };
        let domains = match (category, driver) {
            (Category::Static | Category::Threads, _) => 0,
            (Category::Dynamic, Driver::Dynamic) => 2 * threads,
            (Category::TwoDynamic, Driver::Dynamic) => 4 * threads,
            (Category::TwoDynamic, Driver::Legacy) => 2 * threads,
            _ => threads,
        };
        let per_context = match driver {
            Driver::Legacy => UARS_PER_CONTEXT,
            Driver::Dynamic => 1,
        };
        let used_uuars = match (category, driver) {
            (Category::Static, Driver::Legacy) => threads.min(DEFAULT_TOTAL - 1),
            (Category::Static, Driver::Dynamic) => threads.min(DEFAULT_TOTAL),
            (Category::Threads, _) => has_any,
            _ => threads,
        };
        Self {
            contexts,
            queue_pairs,
            domains,
            uars: contexts * per_context + pages,
            used_uuars,
        }
    }

    /// The same of objects that were counted one by one.
    pub fn of(inventory: &Inventory) -> Self {
        let contexts = &inventory.contexts;
        Self {
            contexts: contexts.len(),
            queue_pairs: contexts.iter().map(|one| one.queue_pairs.len()).sum(),
            domains: contexts.iter().map(|one| one.domains).sum(),
            uars: contexts.iter().map(|one| one.uars).sum(),
            used_uuars: inventory.used_uuars(),
        }
    }

    /// As many for each of several processes.
    #[must_use]
    pub const fn times(self, processes: usize) -> Self {
        Self {
            contexts: self.contexts * processes,
            queue_pairs: self.queue_pairs * processes,
            domains: self.domains * processes,
            uars: self.uars * processes,
            used_uuars: self.used_uuars * processes,
        }
    }

    /// uUARs for data.
    pub const fn uuars(&self) -> usize {
        self.uars * UUARS_PER_PAGE
    }

    /// Memory of contexts, queue pairs and completion queues, in bytes.
    pub const fn bytes(&self, memory: &Memory) -> usize {
        self.contexts * memory.context + self.queue_bytes(memory)
    }

    /// Memory of queue pairs and completion queues, in bytes.
    pub const fn queue_bytes(&self, memory: &Memory) -> usize {
        self.queue_pairs * (memory.queue_pair + memory.completion_queue)
    }

    /// Share of the uUARs that nobody uses.
    pub fn waste(&self) -> f64 {
        1.0 - ratio(self.used_uuars, self.uuars())
    }
}

/// Pages that a context has after so many queue pairs without thread domains.
const fn pages_on_demand(queue_pairs: usize) -> usize {
    const SHARED_PAGES: usize = (DEFAULT_TOTAL - DEFAULT_LOW).div_ceil(UUARS_PER_PAGE);
    if queue_pairs <= DEFAULT_LOW {
        return queue_pairs.div_ceil(UUARS_PER_PAGE);
    }
    let shared = queue_pairs - DEFAULT_LOW;
    let shared = if shared < SHARED_PAGES {
        shared
    } else {
        SHARED_PAGES
    };
    DEFAULT_LOW.div_ceil(UUARS_PER_PAGE) + shared
}

/// Hardware and memory compared with [`Category::Everywhere`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// UAR pages over the 8 static ones of each context, as they were published; the legacy driver only.
    pub printed: Option<f64>,
    /// UAR pages over all those of [`Category::Everywhere`].
    pub hardware: f64,
    /// Queue pairs and completion queues.
    pub queues: f64,
}

impl Shares {
    /// Those of a category. The published base leaves the pages of thread domains out of [`Category::Everywhere`].
    pub fn new(category: Category, driver: Driver, threads: usize) -> Self {
        let own = Totals::new(category, driver, threads);
        let base = Totals::new(Category::Everywhere, driver, threads);
        let printed = || match category {
            Category::Everywhere => 1.0,
            _ => ratio(own.uars, base.contexts * UARS_PER_CONTEXT),
        };
        Self {
            printed: (driver == Driver::Legacy).then(printed),
            hardware: ratio(own.uars, base.uars),
            queues: ratio(own.queue_pairs, base.queue_pairs),
        }
    }
}

/// A limit of a network interface that a category exceeds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Break {
    /// Threads of each process at which it is exceeded first.
    pub threads: usize,
    /// Which objects.
    pub what: &'static str,
    /// How many there would be.
    pub needed: usize,
    /// How many there are.
    pub available: usize,
}

/// Threads up to which limits are searched.
const MOST_THREADS: usize = 1 << 20;

/// The objects that exceed a limit of the network interface.
pub fn exceeded(totals: &Totals, nic: &Profile) -> Option<Break> {
    let limits = [
        ("UAR pages", totals.uars, nic.limits.uars),
        ("contexts", totals.contexts, nic.limits.contexts),
    ];
    // The profile of a network interface without UARs has no limit of them.
    let broken = limits.into_iter().find_map(|(what, needed, available)| {
        let available = available.filter(|&available| needed > available)?;
        Some((what, needed, available))
    });
    broken.map(|(what, needed, available)| Break {
        threads: 0,
        what,
        needed,
        available,
    })
}

/// The limit that breaks first when processes get more threads; none below 2^20 threads.
pub fn first_break(
    category: Category,
    driver: Driver,
    processes: usize,
    nic: &Profile,
) -> Option<Break> {
    let at = |threads| {
        exceeded(
            &Totals::new(category, driver, threads).times(processes),
            nic,
        )
    };
    at(MOST_THREADS)?;
    let (mut fits, mut breaks) = (0, MOST_THREADS);
    while breaks - fits > 1 {
        let middle = fits + (breaks - fits) / 2;
        match at(middle) {
            Some(_) => breaks = middle,
            None => fits = middle,
        }
    }
    at(breaks).map(|found| Break {
        threads: breaks,
        ..found
    })
}

/// Threads from which a process needs a second context, because a context has no more thread domains.
pub fn second_context(category: Category) -> Option<usize> {
    let each = threads_per_context(category).filter(|&each| each > 1)?;
    Some(each + 1)
}

/// uUARs of a context by default that a process with one thread leaves unused, as a share.
pub fn unused_by_one_thread() -> f64 {
    let all = Uuars::default().total();
    ratio(all - 1, all)
}

pub(crate) fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}
