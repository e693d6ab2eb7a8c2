// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a grid or a plan is refused.

use std::fmt;

use crate::kind::Kind;
use crate::stencil::Stencil;
use crate::unknown::Unknown;

/// Names of the axes.
pub(crate) const AXES: [&str; 3] = ["x", "y", "z"];

/// A refused grid, plan or tag layout. Displayed, it is the sentence that a user reads.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Error {
    /// A text that names nothing.
    Unknown(Unknown),
    /// A grid has another number of axes than the stencil.
    Axes {
        /// Which grid: `threads` or `processes`.
        grid: &'static str,
        /// Its number of axes.
        given: usize,
        /// The stencil.
        stencil: Stencil,
    },
    /// A grid has no threads or processes along an axis.
    Zero {
        /// Which grid.
        grid: &'static str,
        /// The axis.
        axis: usize,
    },
    /// A grid has more threads or processes than can be counted here.
    TooMany {
        /// Which grid.
        grid: &'static str,
        /// The largest number.
        limit: usize,
    },
    /// A plan has more messages than can be mapped here.
    TooManyMessages {
        /// Messages of the processes that differ.
        messages: u64,
        /// The largest number.
        limit: u64,
    },
    /// Periodic along an axis that the stencil does not have.
    PeriodicAxis {
        /// The axis.
        axis: usize,
        /// The stencil.
        stencil: Stencil,
    },
    /// Interfaces along a periodic axis with an odd number of processes need a third class.
    OddPeriodic {
        /// The axis.
        axis: usize,
        /// Processes along it.
        processes: usize,
    },
    /// The plan is not defined for this stencil or grid of threads.
    NoPlan {
        /// The plan.
        kind: Kind,
        /// The stencil.
        stencil: Stencil,
        /// Fewest threads along each axis with which there is one; none for any number.
        threads: Option<usize>,
    },
    /// Tags have too few bits.
    TagBits {
        /// Bits for the direction.
        direction: u32,
        /// Bits for the sender's thread, and as many for the receiver's.
        thread: u32,
        /// The largest tag of the library.
        tag_ub: i32,
        /// Bits of which all values are tags.
        available: u32,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Unknown(ref unknown) => unknown.fmt(f),
            Self::Axes {
                grid,
                given,
                stencil,
            } => {
                let (points, axes) = (stencil.points(), stencil.axes());
                write!(
                    f,
                    "{grid}: {given} given, but a {points}-point stencil has {axes} axes"
                )
            }
            Self::Zero { grid, axis } => {
                write!(f, "{grid}: 0 along {}, expected at least 1", AXES[axis])
            }
            Self::TooMany { grid, limit } => write!(f, "{grid}: more than {limit} in all"),
            Self::TooManyMessages { messages, limit } => {
                write!(f, "a plan of {messages} messages, expected at most {limit}")
            }
            Self::PeriodicAxis { axis, stencil } => {
                let (axis, points) = (AXES[axis], stencil.points());
                write!(
                    f,
                    "periodic along {axis}, which a {points}-point stencil does not have"
                )
            }
            Self::OddPeriodic { axis, processes } => write!(
                f,
                "{processes} processes along the periodic axis {}: two classes of interfaces need an even number, an odd one needs a third class",
                AXES[axis]
            ),
            Self::NoPlan {
                kind,
                stencil,
                threads: None,
            } => {
                let (kind, points) = (kind.name(), stencil.points());
                write!(f, "no plan '{kind}' is known for a {points}-point stencil")
            }
            Self::NoPlan {
                kind,
                stencil,
                threads: Some(fewest),
            } => {
                let (kind, points) = (kind.name(), stencil.points());
                write!(
                    f,
                    "the plan '{kind}' for a {points}-point stencil needs at least {fewest} threads along each axis"
                )
            }
            Self::TagBits {
                direction,
                thread,
                tag_ub,
                available,
            } => {
                let all = direction + 2 * thread;
                write!(
                    f,
                    "tags need {all} bits ({direction} for the direction, {thread} for the sender, {thread} for the receiver), but MPI_TAG_UB {tag_ub} has {available}"
                )
            }
        }
    }
}

impl std::error::Error for Error {}
