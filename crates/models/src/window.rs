// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time per message where operations wait for completions, credits or a lock: bounds of a deterministic closed queue.
//!
//! Source: R. Zambre, *Exascalable Communication for Modern Supercomputing* (University of California, Irvine, 2020), chapter 2,
//! for the components; the queues are ours. [`crate::simulate`] runs the same path event by event.

/// What one core does for a message, and how long its completion takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// Nanoseconds of posting.
    pub post_ns: f64,
    /// Nanoseconds of progress for one completion.
    pub progress_ns: f64,
    /// Nanoseconds of the loop around it.
    pub misc_ns: f64,
    /// Nanoseconds from the end of posting until the completion can be polled.
    pub completion_ns: f64,
}

/// Which bound holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Work of the core, or of all cores.
    Cpu,
    /// Completions, which the queue waits for.
    Completion,
    /// Credits of the bus.
    Credits,
    /// A lock that all threads take.
    Lock,
    /// The network interface.
    Nic,
}

impl Bound {
    /// The name that a user reads.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "core",
            Self::Completion => "completions",
            Self::Credits => "credits",
            Self::Lock => "lock",
            Self::Nic => "NIC",
        }
    }
}

/// Time per message, or time between messages of all threads, and what bounds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounded {
    /// Nanoseconds per message.
    pub ns: f64,
    /// What bounds it; a change of anything else changes nothing.
    pub bound: Bound,
}

impl Bounded {
    /// Messages a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        1e9 / self.ns
    }

    /// The largest of several times.
    fn largest(times: &[(f64, Bound)]) -> Self {
        let mut largest = Self {
            ns: 0.0,
            bound: Bound::Cpu,
        };
        for &(ns, bound) in times {
            if ns > largest.ns {
                largest = Self { ns, bound };
            }
        }
        largest
    }
}

/// What threads share.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shared {
    /// Nanoseconds that each message holds the common lock.
    pub lock_hold_ns: Option<f64>,
    /// Nanoseconds per message of the network interface.
    pub nic_ns: Option<f64>,
    /// Writes that may be outstanding, and nanoseconds until each is returned.
    pub credits: Option<(f64, f64)>,
}

impl Path {
    /// Work of the core per message.
    #[must_use]
    pub fn cpu_ns(&self) -> f64 {
        self.post_ns + self.progress_ns + self.misc_ns
    }

    /// A window of `depth` outstanding operations, refilled one by one.
    #[must_use]
    pub fn rolling(&self, depth: u32) -> Bounded {
        let cpu = self.cpu_ns();
        Bounded::largest(&[
            (cpu, Bound::Cpu),
            (
                (cpu + self.completion_ns) / f64::from(depth),
                Bound::Completion,
            ),
        ])
    }

    /// Smallest window that the core bounds.
    #[must_use]
    pub fn rolling_depth(&self) -> f64 {
        (1.0 + self.completion_ns / self.cpu_ns()).ceil()
    }

    /// `posts` operations, then all of their completions, over and over.
    #[must_use]
    pub fn fill_drain(&self, posts: u32) -> Bounded {
        let each = self.post_ns + self.misc_ns;
        let posts = f64::from(posts);
        // The last completion waits for its own way; where progress is slower than posting, the first one does.
        let last = each + (self.completion_ns + self.progress_ns) / posts;
        let first = self.progress_ns + (each + self.completion_ns) / posts;
        Bounded::largest(&[
            (self.cpu_ns(), Bound::Cpu),
            (last, Bound::Completion),
            (first, Bound::Completion),
        ])
    }

    /// Fewest posts between drains that the core bounds: `(p - 1) progress >= completion`, or with slow progress the same of
    /// posting.
    #[must_use]
    pub fn fill_drain_posts(&self) -> f64 {
        let each = self.post_ns + self.misc_ns;
        (1.0 + self.completion_ns / self.progress_ns.min(each)).ceil()
    }

    /// Posts between polls that keep a poll from waiting (equation 2.2); too few where the queue is filled and drained.
    #[must_use]
    pub fn posts_between_polls(&self) -> f64 {
        (self.completion_ns / self.post_ns).ceil()
    }

    /// Several threads that share something.
    #[must_use]
    pub fn threads(&self, threads: u32, shared: &Shared) -> Bounded {
        let mut times = vec![(self.cpu_ns() / f64::from(threads), Bound::Cpu)];
        times.extend(shared.lock_hold_ns.map(|ns| (ns, Bound::Lock)));
        times.extend(shared.nic_ns.map(|ns| (ns, Bound::Nic)));
        let credits = shared.credits.map(|(count, return_ns)| return_ns / count);
        times.extend(credits.map(|ns| (ns, Bound::Credits)));
        Bounded::largest(&times)
    }

    /// How many cores use up the credits.
    #[must_use]
    pub fn cores_of_credits(&self, credits: f64, return_ns: f64) -> f64 {
        self.cpu_ns() * credits / return_ns
    }
}
