// SPDX-License-Identifier: MIT OR Apache-2.0
//! A fair lock between processes, shared or exclusive: the words of one target of a window.
//!
//! A ticket lock with two counters. An *exclusive* holder waits until all earlier tickets have left (`leaving`), a *shared* one until all
//! earlier tickets have entered (`entering`). Invariant: `leaving <= entering <= next`; only the ticket that is to enter next changes
//! `entering`. Tickets are served in the order in which they are drawn, so nobody starves.
//!
//! Every process can write these words. Garbage makes holders wait or enter too early; it cannot make a process touch other memory.

#[cfg(loom)]
use sys::sync::fence;
use sys::sync::{AtomicU32, Ordering};

/// The words of a lock; zeros are a free lock.
#[repr(C)]
#[derive(Debug, Default)]
pub struct WindowLock {
    next: AtomicU32,
    entering: AtomicU32,
    leaving: AtomicU32,
}

/// What a member holds or wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Together with other shared holders.
    Shared,
    /// Alone.
    Exclusive,
}

/// The tickets whose owners may have to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next(pub Option<u32>);

impl WindowLock {
    /// Draws the next ticket.
    #[inline]
    pub fn draw(&self) -> u32 {
        // PAIRS: window.ticket. SeqCst with the load of `leaving` or `entering` that follows the owner's announcement.
        self.next.fetch_add(1, Ordering::SeqCst)
    }

    /// Whether the holder of a ticket may enter.
    #[inline]
    pub fn may_enter(&self, ticket: u32, hold: Hold) -> bool {
        let word = match hold {
            Hold::Shared => &self.entering,
            Hold::Exclusive => &self.leaving,
        };
        total_order();
        // PAIRS: window.ticket. What earlier holders wrote is visible.
        word.load(Ordering::SeqCst) == ticket
    }

    /// Draws a ticket only if its holder enters at once.
    #[inline]
    pub fn try_enter(&self, hold: Hold) -> Option<u32> {
        let next = self.next.load(Ordering::Relaxed);
        if !self.may_enter(next, hold) {
            return None;
        }
        // PAIRS: window.ticket
        let drawn = self.next.compare_exchange(
            next,
            next.wrapping_add(1),
            Ordering::SeqCst,
            Ordering::Relaxed,
        );
        drawn.ok()
    }

    /// Enters: the ticket is next. The result is the ticket whose owner may follow at once.
    #[inline]
    pub fn enter(&self, ticket: u32, hold: Hold) -> Next {
        match hold {
            Hold::Exclusive => Next(None),
            Hold::Shared => {
                // PAIRS: window.ticket
                self.entering
                    .store(ticket.wrapping_add(1), Ordering::SeqCst);
                self.next_after(ticket.wrapping_add(1))
            }
        }
    }

    /// Leaves. The result is the ticket whose owner may be next.
    #[inline]
    pub fn leave(&self, ticket: u32, hold: Hold) -> Next {
        if hold == Hold::Exclusive {
            // PAIRS: window.ticket. Before `leaving`: from then on the next holder may change this word.
            self.entering
                .store(ticket.wrapping_add(1), Ordering::SeqCst);
        }
        // PAIRS: window.ticket. Added, because a shared holder that has just entered may leave at the same time.
        let word = self.leaving.fetch_add(1, Ordering::SeqCst).wrapping_add(1);
        self.next_after(word)
    }

    fn next_after(&self, ticket: u32) -> Next {
        total_order();
        // PAIRS: window.ticket
        Next((self.next.load(Ordering::SeqCst) != ticket).then_some(ticket))
    }
}

/// In a model, the total order of SeqCst accesses: loom knows that of fences only.
#[inline(always)]
fn total_order() {
    #[cfg(loom)]
    // PAIRS: window.ticket
    fence(Ordering::SeqCst);
}
