// SPDX-License-Identifier: MIT OR Apache-2.0
//! How threads expose their parallelism.

use clap::ValueEnum;
use commplan::Kind;
use rankpoint::Hints;

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
    /// One communicator that promises to have no wildcards; tags name sender and receiver
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
    pub const RUNNING: [Self; 5] = [
        Self::Processes,
        Self::Serial,
        Self::Naive,
        Self::Comm,
        Self::Tag,
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

    /// The plan of the mode; `comm` is that of mode `comm`.
    ///
    /// # Errors
    /// When a halo exchange has no such mode, or not yet; the text says why.
    pub fn plan(self, comm: Kind) -> Result<Kind, String> {
        match self {
            Self::Processes | Self::Serial | Self::Tag => Ok(Kind::Tag),
            Self::Naive => Ok(Kind::Naive),
            Self::Comm => Ok(comm),
            Self::Window => Err("mode window: a halo exchange has messages, no windows".to_owned()),
            Self::Endpoint => Err(
                "mode endpoint: the halo exchange does not use Communicator::endpoints yet"
                    .to_owned(),
            ),
            Self::Partitioned => Err(
                "mode partitioned: the halo exchange does not use MPI_Psend_init yet".to_owned(),
            ),
        }
    }

    /// What the program promises on its communicators.
    pub fn hints(self) -> Hints {
        let is_tag = self == Self::Tag;
        Hints {
            no_any_source: is_tag,
            no_any_tag: is_tag,
            ..Hints::default()
        }
    }
}
