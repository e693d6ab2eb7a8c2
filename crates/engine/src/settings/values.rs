// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types of the settings whose value is text.

use std::sync::Arc;

use fabric::ofi::Sharing;

/// The node of each rank (`RANKPOINT_VIRTUAL_NODES`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum VirtualNodes {
    /// All ranks are on one node.
    #[default]
    One,
    /// So many nodes, each with about as many neighbouring ranks.
    Blocks(u32),
    /// The node of each rank, repeated at the end of the list.
    List(Arc<[u32]>),
}

impl VirtualNodes {
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.trim().is_empty() {
            return Some(Self::One);
        }
        let numbers: Result<Vec<u32>, _> =
            text.split(',').map(|word| word.trim().parse()).collect();
        match numbers.ok()?[..] {
            [0] => None,
            [1] => Some(Self::One),
            [blocks] => Some(Self::Blocks(blocks)),
            ref list => Some(Self::List(list.into())),
        }
    }

    /// The node of one of `size` ranks.
    pub fn node_of(&self, rank: u32, size: u32) -> u32 {
        match self {
            Self::One => 0,
            Self::Blocks(count) => {
                let node = u64::from(rank) * u64::from(*count) / u64::from(size.max(1));
                node as u32
            }
            Self::List(list) => list[rank as usize % list.len()],
        }
    }
}

/// The network between nodes; an empty text chooses the best that is there.
#[derive(Clone, Debug, Default)]
pub struct NetworkChoice {
    /// Provider of libfabric (`RANKPOINT_PROVIDER`).
    pub provider: String,
    /// Interface, by name or address (`RANKPOINT_INTERFACE`).
    pub interface: String,
    /// The library's file (`RANKPOINT_LIBFABRIC`).
    pub library: String,
    /// How VCIs share contexts of libfabric (`RANKPOINT_NET_SHARING`).
    pub sharing: Sharing,
    /// The value given for `sharing`.
    pub sharing_text: String,
}

/// Which locks threads take at MPI_THREAD_MULTIPLE (`RANKPOINT_LOCKS`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockModel {
    /// One for each VCI.
    #[default]
    Vci,
    /// One for the process, which then has one VCI.
    Global,
}

impl LockModel {
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "" | "vci" => Some(Self::Vci),
            "global" => Some(Self::Global),
            _ => None,
        }
    }

    /// The value of the setting; empty for the default.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vci => "",
            Self::Global => "global",
        }
    }
}

/// Which VCIs a waiting call advances (`RANKPOINT_PROGRESS`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgressModel {
    /// That of its request, and now and then all.
    #[default]
    Hybrid,
    /// That of its request.
    Vci,
    /// Always all.
    Global,
}

impl ProgressModel {
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "" | "hybrid" => Some(Self::Hybrid),
            "vci" => Some(Self::Vci),
            "global" => Some(Self::Global),
            _ => None,
        }
    }

    /// The value of the setting; empty for the default.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hybrid => "",
            Self::Vci => "vci",
            Self::Global => "global",
        }
    }
}

/// How one-sided operations reach the memory of a target (`RANKPOINT_RMA`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RmaPath {
    /// As the memory permits.
    #[default]
    Best,
    /// Loads and stores; messages where memory is private.
    Direct,
    /// Cross-memory attach where the kernel allows it.
    Attach,
    /// Messages to a service of the target.
    Message,
}

impl RmaPath {
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "" => Some(Self::Best),
            "direct" => Some(Self::Direct),
            "attach" => Some(Self::Attach),
            "message" => Some(Self::Message),
            _ => None,
        }
    }

    /// The value of the setting; empty for the default.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Best => "",
            Self::Direct => "direct",
            Self::Attach => "attach",
            Self::Message => "message",
        }
    }
}

/// Who starts a long message, and how its bytes move (`RANKPOINT_RENDEZVOUS`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Rendezvous {
    /// As receivers measure it.
    #[default]
    Auto = 0,
    /// The sender asks; the receiver reads, where the kernel allows it.
    Read = 1,
    /// The sender asks; both sides copy chunks through the ring.
    Pipeline = 2,
    /// Receivers offer the memory of their receives, and senders write it; without an offer as `Auto`.
    Write = 3,
}

impl Rendezvous {
    const ALL: [Self; 4] = [Self::Auto, Self::Read, Self::Pipeline, Self::Write];

    /// The protocol of this name; `None` if there is none.
    pub fn parse(text: &str) -> Option<Self> {
        let is_named = |one: &Self| one.name() == text.trim();
        Self::ALL.into_iter().find(is_named)
    }

    /// The value of the setting.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Read => "read",
            Self::Pipeline => "pieces",
            Self::Write => "write",
        }
    }

    /// The protocol with this number; `None` if there is none.
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::Auto),
            1 => Some(Self::Read),
            2 => Some(Self::Pipeline),
            3 => Some(Self::Write),
            _ => None,
        }
    }
}

/// The checks that cost time (`RANKPOINT_CHECK`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// The ranks of each collective compare their arguments first.
    pub collectives: bool,
    /// Each receive is compared with the type signature of its message.
    pub types: bool,
    /// Calls of several threads that must not overlap are found.
    pub threads: bool,
    /// Calls are compared with what hints promise of them.
    pub hints: bool,
    /// Accesses of one-sided operations that conflict are found.
    pub rma: bool,
    /// Buffers in the memory of a GPU on which its work was not complete are found.
    pub gpu: bool,
    /// Accesses of two ranks to a file that conflict are found.
    pub files: bool,
}

impl Checks {
    /// Whether a check needs to see each collective call.
    pub const fn watches_collectives(&self) -> bool {
        self.collectives || self.threads || self.rma
    }

    /// The checks of a comma-separated list, and its unknown words.
    pub(super) fn parse(list: &str) -> (Self, Vec<&str>) {
        let (mut checks, mut unknown) = (Self::default(), Vec::new());
        for word in list.split(',').map(str::trim) {
            match word {
                "" => {}
                "collectives" => checks.collectives = true,
                "types" => checks.types = true,
                "threads" => checks.threads = true,
                "hints" => checks.hints = true,
                "rma" => checks.rma = true,
                "gpu" => checks.gpu = true,
                "files" => checks.files = true,
                _ => unknown.push(word),
            }
        }
        (checks, unknown)
    }
}
