// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which thread uses which object.

use super::workload::{Level, Object, Workload};
use crate::account::ratio;
use crate::expectation::FEW_OF_CONTEXT;
use crate::nic::Memory;
use crate::policy::{UARS_PER_CONTEXT, UUARS_PER_PAGE};

const LINE_BYTES: usize = 64;

/// The objects of a thread.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Seat {
    /// Its device context.
    pub context: usize,
    /// Its protection domain.
    pub protection_domain: usize,
    /// Its memory region.
    pub region: usize,
    /// Its completion queue.
    pub completion_queue: usize,
    /// Its queue pair, among those that threads use.
    pub queue_pair: usize,
    /// The UAR page of its queue pair.
    pub page: usize,
    /// Address of its payload.
    pub address: usize,
}

/// The objects of all threads.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Arrangement {
    /// Of each thread.
    pub seats: Vec<Seat>,
    /// Device contexts.
    pub contexts: usize,
    /// Queue pairs, also those that nobody uses.
    pub queue_pairs: usize,
    /// Completion queues.
    pub completion_queues: usize,
    /// UAR pages.
    pub uars: usize,
    /// uUARs of the queue pairs that threads use.
    pub used_uuars: usize,
}

impl Arrangement {
    /// That of a checked workload, with a thread domain for each queue pair, under the published driver.
    pub fn new(workload: &Workload) -> Self {
        let of = |object| workload.sharing.of(object);
        let pairs = workload.threads / of(Object::Qp);
        let contexts = workload.threads / of(Object::Ctx);
        let pairs_per_context = pairs / contexts.max(1);
        let per_page = match workload.level {
            Level::Independent => 1,
            Level::SharedPage => UUARS_PER_PAGE,
        };
        let spacing = if workload.is_spaced { 2 } else { 1 };
        let pages_per_context = (pairs_per_context * spacing).div_ceil(per_page);
        let seat = |thread: usize| {
            let pair = thread / of(Object::Qp);
            let (context, within) = (pair / pairs_per_context, pair % pairs_per_context);
            let page = context * pages_per_context + within * spacing / per_page;
            Seat {
                context,
                protection_domain: thread / of(Object::Pd),
                region: thread / of(Object::Mr),
                completion_queue: thread / of(Object::Cq),
                queue_pair: pair,
                page,
                address: thread / of(Object::Buf) * workload.align,
            }
        };
        let completion_queues = workload.threads / of(Object::Cq);
        Self {
            seats: (0..workload.threads).map(seat).collect(),
            contexts,
            queue_pairs: pairs * spacing,
            // A queue pair that nobody uses has a completion queue of its own, unless threads share theirs.
            completion_queues: match of(Object::Cq) {
                1 => completion_queues * spacing,
                _ => completion_queues,
            },
            uars: contexts * (UARS_PER_CONTEXT + pages_per_context),
            used_uuars: pairs,
        }
    }

    /// uUARs for data.
    pub const fn uuars(&self) -> usize {
        self.uars * UUARS_PER_PAGE
    }

    /// Share of the uUARs that nobody uses.
    pub fn waste(&self) -> f64 {
        1.0 - ratio(self.used_uuars, self.uuars())
    }

    /// Memory of contexts, queue pairs and completion queues.
    pub const fn bytes(&self, memory: &Memory) -> usize {
        self.contexts * memory.context
            + self.queue_pairs * memory.queue_pair
            + self.completion_queues * memory.completion_queue
    }

    /// Queue pairs in use on a page.
    pub(super) fn pairs_on_page(&self, page: usize) -> usize {
        let mut pairs: Vec<usize> = self
            .seats
            .iter()
            .filter(|seat| seat.page == page)
            .map(|seat| seat.queue_pair)
            .collect();
        pairs.dedup();
        pairs.len()
    }

    /// Whether so many queue pairs of a context are on neighbouring pages that sharing it costs something.
    pub(super) fn has_many_neighbours(&self, context: usize, is_spaced: bool) -> bool {
        let mut pairs: Vec<usize> = self
            .seats
            .iter()
            .filter(|seat| seat.context == context)
            .map(|seat| seat.queue_pair)
            .collect();
        pairs.dedup();
        !is_spaced && pairs.len() > FEW_OF_CONTEXT
    }
}

/// The cache line of an address.
pub(super) const fn line(address: usize) -> usize {
    address / LINE_BYTES
}
