// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of the launcher's own streams the ranks write to through the launcher, so that lines stay whole.
//!
//! The C library writes to a pipe or a file in blocks that end anywhere, so lines of ranks that share one are torn. The
//! launcher passes on whole lines. A terminal gets each line at once; there the ranks write themselves.

use rustix::fs::{FileType, fstat};

use crate::plan::Routes;

/// The streams of ranks that pass through the launcher though they have no label.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct WholeLines {
    through: [bool; 2],
    /// Standard error goes with standard output, because both are the same pipe or file: their order stays.
    pub(crate) together: bool,
}

/// Properties of one of the launcher's own streams.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Stream {
    takes_blocks: bool,
    /// Device and number of the file.
    file: (u64, u64),
}

impl WholeLines {
    /// For the launcher's standard output and error, and so many ranks.
    pub(crate) fn of(routes: &Routes, ranks: u32) -> Self {
        let (out, error) = (std::io::stdout(), std::io::stderr());
        let streams = [fstat(out), fstat(error)].map(|stat| {
            let stat = stat.ok()?;
            let kind = FileType::from_raw_mode(stat.st_mode);
            Some(Stream {
                takes_blocks: matches!(
                    kind,
                    FileType::Fifo | FileType::Socket | FileType::RegularFile
                ),
                file: (stat.st_dev, stat.st_ino),
            })
        });
        Self::choose(streams, routes, ranks)
    }

    fn choose(streams: [Option<Stream>; 2], routes: &Routes, ranks: u32) -> Self {
        if ranks < 2 || routes.label.is_some() {
            return Self::default();
        }
        let own = [0, 1].map(|which| streams[which].filter(|_| routes.files[which].is_none()));
        let through = own.map(|stream| stream.is_some_and(|stream| stream.takes_blocks));
        Self {
            through,
            together: through == [true; 2] && own[0] == own[1],
        }
    }

    /// Whether any stream does.
    pub(crate) fn is_wanted(self) -> bool {
        self.through.contains(&true)
    }

    /// Whether standard output (0) or error (1) does.
    pub(crate) const fn passes(self, which: usize) -> bool {
        self.through[which]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_and_files_that_several_ranks_share_get_whole_lines() {
        let stream = |takes_blocks, number| {
            Some(Stream {
                takes_blocks,
                file: (1, number),
            })
        };
        let routes = Routes::default();
        let choose = |streams, ranks| WholeLines::choose(streams, &routes, ranks);
        let terminal = stream(false, 7);
        assert!(!choose([terminal; 2], 8).is_wanted());
        assert!(!choose([stream(true, 7); 2], 1).is_wanted());
        assert!(!choose([None; 2], 8).is_wanted());
        let piped = choose([stream(true, 7), terminal], 2);
        assert_eq!((piped.through, piped.together), ([true, false], false));
        let apart = choose([stream(true, 7), stream(true, 8)], 2);
        assert_eq!((apart.through, apart.together), ([true, true], false));
        assert!(choose([stream(true, 7); 2], 2).together);
    }
}
