// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs that exchange halos.

use commplan::{Kind, Stencil};

use super::mode::Mode;

/// A program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum App {
    /// Two axes, 5 or 9 points.
    Halo2d,
    /// Three axes, 7 or 27 points.
    Halo3d,
    /// A solver with three axes and 27 points: each step also needs a sum over all cells.
    Uintah,
    /// Three axes, 27 points and periodic; borders are in mailboxes that neighbours get them from.
    Mailbox,
}

impl App {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Halo2d => "halo2d",
            Self::Halo3d => "halo3d",
            Self::Uintah => "uintah",
            Self::Mailbox => "mailbox",
        }
    }

    /// Number of axes.
    pub const fn axes(self) -> usize {
        self.default_stencil().axes()
    }

    /// The stencil, unless another one is asked for.
    pub const fn default_stencil(self) -> Stencil {
        match self {
            Self::Halo2d => Stencil::Five,
            Self::Halo3d => Stencil::Seven,
            Self::Uintah | Self::Mailbox => Stencil::TwentySeven,
        }
    }

    /// The mode, unless another one is asked for.
    pub const fn default_mode(self) -> Mode {
        if self.has_windows() {
            Mode::Serial
        } else {
            Mode::Comm
        }
    }

    /// Whether each step ends with a sum over all cells, on which the next one depends.
    pub const fn has_sum(self) -> bool {
        matches!(self, Self::Uintah)
    }

    /// Whether borders are in windows, not in messages.
    pub const fn has_windows(self) -> bool {
        matches!(self, Self::Mailbox)
    }

    /// The plan of a mode; `comm` is that of mode `comm`.
    ///
    /// # Errors
    /// When the program has no such mode; the text says why.
    pub fn plan(self, mode: Mode, comm: Kind) -> Result<Kind, String> {
        match mode {
            Mode::Window if !self.has_windows() => {
                Err("mode window: a halo exchange has messages, no windows".to_owned())
            }
            Mode::Naive | Mode::Comm | Mode::Tag | Mode::Partitioned if self.has_windows() => {
                Err(format!(
                    "mode {}: mailboxes are in windows, and there are no messages; expected processes, serial, window or endpoint",
                    mode.name()
                ))
            }
            Mode::Processes | Mode::Serial | Mode::Tag | Mode::Partitioned | Mode::Window => {
                Ok(Kind::Tag)
            }
            Mode::Naive => Ok(Kind::Naive),
            Mode::Comm => Ok(comm),
            Mode::Endpoint => Ok(Kind::Endpoint),
        }
    }
}
