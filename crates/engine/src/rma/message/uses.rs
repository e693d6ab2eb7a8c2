// SPDX-License-Identifier: MIT OR Apache-2.0
//! What operations do with memory, and which uses of the same bytes conflict if nothing orders them (MPI-5.0, section 12.7).

use super::wire::During;
use crate::datatype::Predefined;
use crate::op::Operator;

/// A use of memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum Use {
    /// By a put.
    Put,
    /// By a get.
    Get,
    /// By an accumulate of a basic type.
    Combine {
        operator: Operator,
        basic: &'static Predefined,
        fetches: bool,
    },
    /// By a compare-and-swap.
    Swap { basic: &'static Predefined },
    /// The member itself reads it as the origin of an operation.
    Load,
    /// The member itself writes it as the result of an operation.
    Store,
    /// The member itself reads it in another call.
    Sent(&'static str),
    /// The member itself writes it in another call.
    Received(&'static str),
}

impl Use {
    pub(super) const fn only_reads(self) -> bool {
        match self {
            Self::Get | Self::Load | Self::Sent(_) => true,
            Self::Combine { operator, .. } => matches!(operator, Operator::NoOp),
            Self::Put | Self::Swap { .. } | Self::Store | Self::Received(_) => false,
        }
    }

    /// Whether it is over when the origin has its data.
    pub(super) const fn fetches(self) -> bool {
        match self {
            Self::Combine { fetches, .. } => fetches,
            Self::Get | Self::Swap { .. } => true,
            Self::Put | Self::Load | Self::Store | Self::Sent(_) | Self::Received(_) => false,
        }
    }

    pub(super) const fn is_local(self) -> bool {
        matches!(
            self,
            Self::Load | Self::Store | Self::Sent(_) | Self::Received(_)
        )
    }

    /// The basic type of what is atomic for each element.
    pub(super) const fn basic(self) -> Option<&'static Predefined> {
        match self {
            Self::Combine { basic, .. } | Self::Swap { basic } => Some(basic),
            _ => None,
        }
    }

    /// The operation of an accumulate, of which concurrent ones are to have the same.
    pub(super) const fn operator(self) -> Option<Operator> {
        match self {
            Self::Combine { operator, .. } => Some(operator),
            _ => None,
        }
    }

    pub(super) fn text(self, rank: u32) -> String {
        match self {
            Self::Put => format!("a put of rank {rank}"),
            Self::Get => format!("a get of rank {rank}"),
            Self::Combine {
                operator,
                basic,
                fetches,
            } => {
                let kind = if fetches { "a fetch" } else { "an accumulate" };
                let operator = operator.name();
                format!("{kind} ({operator} of {}) of rank {rank}", basic.name)
            }
            Self::Swap { basic } => {
                format!("a compare-and-swap (of {}) of rank {rank}", basic.name)
            }
            Self::Load => format!("an operation of rank {rank} that reads its own window"),
            Self::Store => format!("an operation of rank {rank} that stores into its own window"),
            Self::Sent(call) => format!("{call} of rank {rank}, which reads its own window"),
            Self::Received(call) => {
                format!("{call} of rank {rank}, which stores into its own window")
            }
        }
    }
}

/// An access of an origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) used: Use,
    pub(super) during: During,
    /// The target of the operation that uses the member's own memory.
    pub(super) partner: Option<u32>,
}

/// What a window says about its accesses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rules {
    /// Offsets are addresses.
    pub(super) is_dynamic: bool,
    /// Concurrent accumulates all have the same operation, not even MPI_NO_OP beside it (the hint `accumulate_ops`).
    pub(super) same_op: bool,
}

impl Rules {
    /// Whether two accesses of the same bytes conflict.
    pub(super) fn conflict(self, [first, second]: [(u32, Use); 2]) -> bool {
        let (uses, is_one_origin) = ([first.1, second.1], first.0 == second.0);
        if uses.iter().all(|used| used.only_reads()) || uses.iter().all(|used| used.is_local()) {
            return false;
        }
        let [Some(one), Some(other)] = uses.map(Use::basic) else {
            return true;
        };
        if !one.agrees_with(other) {
            return true;
        }
        // Accumulates of one origin are ordered; a compare-and-swap goes with any of them.
        let [Some(one), Some(other)] = uses.map(Use::operator) else {
            return false;
        };
        let is_exempt = !self.same_op && [one, other].contains(&Operator::NoOp);
        !is_one_origin && one != other && !is_exempt
    }
}
