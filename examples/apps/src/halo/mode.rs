// SPDX-License-Identifier: MIT OR Apache-2.0
//! How threads expose their parallelism.

use clap::ValueEnum;
use commplan::Plan;
use rankpoint::{Hints, TagVcis};

/// Most VCIs of a process, and so most endpoints, and VCIs of tags.
pub const MOST_VCIS: usize = 64;

/// The modes of all mini-apps.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Mode {
    /// A rank for each core, one thread each: MPI everywhere
    Processes,
    /// One communicator for all threads; tags name sender and receiver
    Serial,
    /// A communicator for each thread: it sends on its own, and receives on the sender's
    Naive,
    /// Communicators by a plan in which no two threads of a process share one
    Comm,
    /// One communicator that promises to have no wildcards, and whose tags name the VCIs of sender and receiver
    Tag,
    /// A window for each thread
    Window,
    /// An endpoint for each thread
    Endpoint,
    /// Partitioned messages, a partition for each thread
    Partitioned,
}

impl Mode {
    /// The modes in which halo exchanges run.
    pub const RUNNING: [Self; 7] = [
        Self::Processes,
        Self::Serial,
        Self::Naive,
        Self::Comm,
        Self::Tag,
        Self::Endpoint,
        Self::Partitioned,
    ];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Processes => "processes",
            Self::Serial => "serial",
            Self::Naive => "naive",
            Self::Comm => "comm",
            Self::Tag => "tag",
            Self::Window => "window",
            Self::Endpoint => "endpoint",
            Self::Partitioned => "partitioned",
        }
    }

    /// What the program promises on the communicators of a plan.
    pub fn hints(self, plan: &Plan) -> Hints {
        let is_tag = self == Self::Tag;
        let threads = plan.grid().thread_count();
        let tag_vcis = TagVcis {
            vcis: threads.min(MOST_VCIS),
            bits: plan.tag_layout().thread_bits as usize,
        };
        Hints {
            no_any_source: is_tag,
            no_any_tag: is_tag,
            tag_vcis: (is_tag && threads > 1).then_some(tag_vcis),
        }
    }
}
