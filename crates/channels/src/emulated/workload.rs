// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a microbenchmark does.

use std::str::FromStr;

use crate::error::Error;

/// An object that threads can share.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Object {
    /// Memory of payloads.
    Buf,
    /// A device context.
    Ctx,
    /// A protection domain.
    Pd,
    /// A memory region.
    Mr,
    /// A completion queue.
    Cq,
    /// A queue pair.
    Qp,
}

impl Object {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Buf, Self::Ctx, Self::Pd, Self::Mr, Self::Cq, Self::Qp];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Buf => "buf",
            Self::Ctx => "ctx",
            Self::Pd => "pd",
            Self::Mr => "mr",
            Self::Cq => "cq",
            Self::Qp => "qp",
        }
    }
}

impl FromStr for Object {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|object| object.name() == text);
        found.ok_or_else(|| Error::unknown("object", text, "buf, ctx, pd, mr, cq or qp"))
    }
}

/// How many threads share one object of each kind.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sharing {
    ways: [usize; 6],
}

impl Default for Sharing {
    fn default() -> Self {
        Self { ways: [1; 6] }
    }
}

impl Sharing {
    /// Threads that share one object.
    pub const fn of(&self, object: Object) -> usize {
        self.ways[object as usize]
    }

    /// The same with another number for one object.
    #[must_use]
    pub const fn with(mut self, object: Object, ways: usize) -> Self {
        self.ways[object as usize] = ways;
        self
    }

    /// As many threads as share something share what it belongs to: a queue pair its completion queue and protection domain, a memory
    /// region its protection domain, and all of them the context.
    #[must_use]
    pub fn closed(self) -> Self {
        let raise = |sharing: Self, object: Object, by: &[Object]| {
            let most = by.iter().map(|&one| sharing.of(one)).max().unwrap_or(1);
            sharing.with(object, sharing.of(object).max(most))
        };
        let sharing = raise(self, Object::Cq, &[Object::Qp]);
        let sharing = raise(sharing, Object::Pd, &[Object::Qp, Object::Mr]);
        raise(sharing, Object::Ctx, &[Object::Cq, Object::Pd])
    }
}

/// Features of Verbs that a program uses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Features {
    /// Several WQEs with one DoorBell.
    pub postlist: bool,
    /// Payloads within WQEs.
    pub inlining: bool,
    /// Completions for some WQEs only.
    pub unsignaled: bool,
    /// WQEs by programmed I/O, where one is posted at a time.
    pub blue_flame: bool,
}

impl Features {
    /// All of them.
    pub const ALL: Self = Self {
        postlist: true,
        inlining: true,
        unsignaled: true,
        blue_flame: true,
    };
    /// The features that a message of MPI uses: no lists, and a completion for each.
    pub const MPI: Self = Self {
        postlist: false,
        unsignaled: false,
        ..Self::ALL
    };

    /// All but one.
    ///
    /// # Errors
    /// When the name is of no feature.
    pub fn without(self, name: &str) -> Result<Self, Error> {
        let mut features = self;
        let one = match name {
            "postlist" => &mut features.postlist,
            "inlining" => &mut features.inlining,
            "unsignaled" => &mut features.unsignaled,
            "blueflame" => &mut features.blue_flame,
            _ => {
                let expected = "postlist, inlining, unsignaled or blueflame";
                return Err(Error::unknown("feature", name, expected));
            }
        };
        *one = false;
        Ok(features)
    }
}

/// What thread domains share.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Level {
    /// Nothing: each has a UAR page.
    Independent,
    /// Two have a UAR page, each a uUAR.
    SharedPage,
}

/// A microbenchmark: each thread posts writes and polls for their completions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Workload {
    /// Threads.
    pub threads: usize,
    /// Writes of each thread.
    pub messages: usize,
    /// Bytes of a write.
    pub size: usize,
    /// WQEs of a queue pair.
    pub depth: usize,
    /// WQEs of a post with [`Features::postlist`], else 1.
    pub list: usize,
    /// WQEs for each completion with [`Features::unsignaled`], else 1.
    pub signal: usize,
    /// Bytes from a thread's payload to the next one's.
    pub align: usize,
    /// Features in use.
    pub features: Features,
    /// Who shares what.
    pub sharing: Sharing,
    /// What thread domains share.
    pub level: Level,
    /// Twice the queue pairs, of which every other one is used.
    pub is_spaced: bool,
    /// Completion queues without a lock, where one thread uses them.
    pub is_extended: bool,
}

impl Workload {
    /// The published one: 2-byte writes, lists of 32, a completion for 64.
    pub fn published(threads: usize) -> Self {
        Self {
            threads,
            messages: 1024,
            size: 2,
            depth: 128,
            list: 32,
            signal: 64,
            align: 64,
            features: Features::ALL,
            sharing: Sharing::default(),
            level: Level::Independent,
            is_spaced: false,
            is_extended: false,
        }
    }

    /// WQEs of a post.
    pub const fn posted(&self) -> usize {
        if self.features.postlist { self.list } else { 1 }
    }

    /// WQEs for each completion.
    pub const fn signaled(&self) -> usize {
        if self.features.unsignaled {
            self.signal
        } else {
            1
        }
    }

    /// Whether payloads travel within WQEs.
    pub fn is_inlined(&self, limit: usize) -> bool {
        self.features.inlining && self.size <= limit
    }

    /// Whether WQEs are written by programmed I/O.
    pub const fn has_blue_flame(&self) -> bool {
        self.features.blue_flame && self.posted() == 1
    }

    /// The same with what is shared closed upwards, if the numbers go together.
    ///
    /// # Errors
    /// When the ways of an object do not divide the threads, or lists, completions, depth and messages are no multiples of each other.
    pub fn checked(self) -> Result<Self, Error> {
        let disagree = |option, value: usize, expected: String| {
            let value = value.to_string();
            Err(Error::Disagree {
                option,
                value,
                expected,
            })
        };
        for object in Object::ALL {
            let ways = self.sharing.of(object);
            if ways == 0 || !self.threads.is_multiple_of(ways) {
                return Err(Error::Disagree {
                    option: "share",
                    value: format!("{}={ways}", object.name()),
                    expected: format!("a divisor of {} threads", self.threads),
                });
            }
        }
        let (list, signal) = (self.posted(), self.signaled());
        let (long, short) = (list.max(signal), list.min(signal));
        if short == 0 || !long.is_multiple_of(short) {
            let expected = format!("a multiple or a divisor of the {list} WQEs of a post");
            return disagree("q", signal, expected);
        }
        if self.depth == 0 || !self.depth.is_multiple_of(long) {
            return disagree("depth", self.depth, format!("a multiple of {long}"));
        }
        if self.messages == 0 || !self.messages.is_multiple_of(long) {
            return disagree("messages", self.messages, format!("a multiple of {long}"));
        }
        if self.size == 0 || self.align == 0 {
            let least = "at least 1".to_owned();
            return disagree("size or align", 0, least);
        }
        let sharing = self.sharing.closed();
        Ok(Self { sharing, ..self })
    }
}
