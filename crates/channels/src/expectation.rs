// SPDX-License-Identifier: MIT OR Apache-2.0
//! The throughput to expect of a category, and where the number is from.

use std::collections::BTreeMap;
use std::fmt;

use crate::category::Category;
use crate::inventory::Inventory;
use crate::nic::Constants;
use crate::policy::Driver;

/// Where a number is from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Origin {
    /// Counted.
    Exact,
    /// Published for the global-array kernel with 16 threads.
    PublishedKernel,
    /// Published for the microbenchmark.
    PublishedMicrobenchmark,
    /// Follows from the published constants.
    Derived,
    /// As [`Self::Derived`], for more threads than were published.
    Extrapolated,
    /// Measured here.
    Measured,
    /// Of the emulated network interface, by its virtual clock.
    Virtual,
}

impl Origin {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::PublishedKernel => "published kernel",
            Self::PublishedMicrobenchmark => "published microbenchmark",
            Self::Derived => "derived",
            Self::Extrapolated => "extrapolated",
            Self::Measured => "measured here",
            Self::Virtual => "virtual",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A throughput relative to [`Category::Everywhere`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expectation {
    /// Share of its throughput, 1 for all of it.
    pub share: f64,
    /// Where the number is from.
    pub origin: Origin,
}

/// Threads of the published measurements.
const PUBLISHED_THREADS: usize = 16;
/// Threads of a context up to which sharing it costs nothing.
pub(crate) const FEW_OF_CONTEXT: usize = 8;

impl Expectation {
    /// What to expect of `threads` threads: the published number where there is one, else what follows from the constants.
    pub fn new(category: Category, driver: Driver, threads: usize, constants: &Constants) -> Self {
        let published = match category {
            Category::Everywhere | Category::TwoDynamic => 1.0,
            Category::Dynamic => 0.94,
            Category::SharedDynamic => 0.65,
            Category::Static => 0.64,
            Category::Threads => 0.03,
        };
        if threads == PUBLISHED_THREADS && driver == Driver::Legacy {
            return Self {
                share: published,
                origin: Origin::PublishedKernel,
            };
        }
        let origin = if threads > PUBLISHED_THREADS {
            Origin::Extrapolated
        } else {
            Origin::Derived
        };
        Self {
            share: derived(category, driver, threads, constants),
            origin,
        }
    }
}

/// The mean of what each thread reaches.
fn derived(category: Category, driver: Driver, threads: usize, constants: &Constants) -> f64 {
    let inventory = Inventory::new(category, driver, threads);
    let (mut on_uuar, mut on_page, mut in_context) =
        (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for (at, pair) in inventory.used() {
        let uuar = pair.uuar;
        *on_uuar.entry((at, uuar)).or_insert(0_usize) += 1;
        *on_page
            .entry((at, uuar.pages, uuar.page))
            .or_insert(0_usize) += 1;
        *in_context.entry(at).or_insert(0_usize) += 1;
    }
    let shares = inventory.used().map(|(at, pair)| {
        let uuar = pair.uuar;
        if pair.threads.len() > 1 {
            // The threads take the queue pair one after the other, and each change of the thread costs more.
            return 1.0 / (1.0 + constants.qp_handover);
        }
        let on_uuar = on_uuar[&(at, uuar)];
        if on_uuar > 1 {
            // Published for two; more wait for each other.
            2.0 / constants.shared_uuar / on_uuar as f64
        } else if on_page[&(at, uuar.pages, uuar.page)] > 1 {
            1.0 / constants.shared_uar_kernel
        } else if category == Category::Dynamic && in_context[&at] > FEW_OF_CONTEXT {
            1.0 / constants.ctx_16way_kernel
        } else {
            1.0
        }
    });
    shares.sum::<f64>() / threads.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    fn constants() -> Constants {
        let nic = Profile::named("connectx4").expect("a profile");
        nic.constants.expect("constants")
    }

    #[test]
    fn constants_give_the_published_shares_back() {
        let expected = [1.0, 1.0, 0.94, 0.65, 0.64, 0.03];
        for (category, expected) in Category::ALL.into_iter().zip(expected) {
            let found = derived(category, Driver::Legacy, 16, &constants());
            assert!((found - expected).abs() < 0.0005, "{category:?}: {found}");
        }
    }

    #[test]
    fn one_thread_shares_with_nobody() {
        for category in Category::ALL {
            for driver in Driver::ALL {
                let found = Expectation::new(category, driver, 1, &constants());
                let expected = Expectation {
                    share: 1.0,
                    origin: Origin::Derived,
                };
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn no_number_beyond_the_published_threads_looks_like_one_of_them() {
        let found = Expectation::new(Category::Dynamic, Driver::Legacy, 32, &constants());
        assert_eq!(found.origin, Origin::Extrapolated);
    }
}
