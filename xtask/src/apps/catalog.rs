// SPDX-License-Identifier: MIT OR Apache-2.0
//! All apps that the command compares.

/// An app, and what is measured of it.
#[derive(Debug)]
pub(super) struct App {
    /// Its name, also that of its program.
    pub(super) name: &'static str,
    /// What it does, in a sentence.
    pub(super) about: &'static str,
    /// What the publication says that the better modes gain.
    pub(super) published: &'static str,
    pub(super) program: Program,
    /// What its JSON holds.
    pub(super) values: Values,
    /// The option that takes a mode.
    pub(super) option: &'static str,
    /// The first one is what the others are compared with.
    pub(super) modes: &'static [Mode],
    pub(super) ranks: Ranks,
    /// Arguments of a run, with `{threads}` where a number of threads of a rank stands.
    pub(super) arguments: &'static [&'static str],
    /// Arguments of a run that only shows that all works.
    pub(super) quick: &'static [&'static str],
}

/// A mode, and whether libraries without Rankpoint's extensions have it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mode {
    pub(super) name: &'static str,
    pub(super) is_everywhere: bool,
}

/// What a program is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// A source in C, which is compiled for each library.
    C(&'static str),
    /// A program of `examples/apps`, which is part of Rankpoint.
    Rust,
}

/// What a run prints as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// `rows` with `per_rank`, `seconds` and `mpi_share`, for a sweep of sizes: what is counted there, and what takes the time.
    Sweep {
        counted: &'static str,
        turn: &'static str,
    },
    /// `real_s` with the time of each phase; some are not MPI's.
    Phases,
}

/// On how many ranks an app runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ranks {
    /// As many as there are cores.
    Most,
    /// 1, 2, 4 and so on, up to that.
    Powers,
    /// Two, with threads that share the cores.
    Two,
}

const CALLS: &[Mode] = &[everywhere("ordinary"), ours("promises")];
const THREADS: &[Mode] = &[
    everywhere("serial"),
    everywhere("comm"),
    everywhere("tag"),
    ours("endpoint"),
];
const WINDOWS: &[Mode] = &[everywhere("serial"), everywhere("window"), ours("endpoint")];

pub(super) const APPS: &[App] = &[
    App {
        name: "mass_cg",
        about: "Conjugate gradients with a mass matrix: a message to each neighbour and two sums of 8 bytes an iteration",
        published: "1.2 to 1.25 times as fast at 100 to 1000 points a rank (Raffenetti et al., SC'17: Nek5000, 16384 ranks of BG/Q, the shorter path of MPICH/CH4 against MPICH before)",
        program: Program::C("examples/shortest-path/mass_cg.c"),
        values: Values::Sweep {
            counted: "points",
            turn: "an iteration",
        },
        option: "--calls",
        modes: CALLS,
        ranks: Ranks::Most,
        arguments: &["--budget-ms", "100"],
        quick: &["--elements", "16,4,2,1", "--budget-ms", "1"],
    },
    App {
        name: "lennard_jones",
        about: "A Lennard-Jones liquid with strong scaling: six messages a step",
        published: "faster at every scale, and more so the fewer atoms a rank has (Raffenetti et al., SC'17: LAMMPS, 3 million atoms, without a number)",
        program: Program::C("examples/shortest-path/lennard_jones.c"),
        values: Values::Sweep {
            counted: "atoms",
            turn: "a step",
        },
        option: "--calls",
        modes: CALLS,
        ranks: Ranks::Powers,
        arguments: &[
            "--atoms",
            "8000,4096,2197,1331,729,343,216",
            "--steps",
            "100",
        ],
        quick: &["--atoms", "2197,1331,729,343", "--steps", "20"],
    },
    App {
        name: "uintah",
        about: "A solver with a 27-point stencil and a sum over all cells in each step",
        published: "tags and hints 2.23 times as fast as serial on average (Zambre 2020: Uintah with hypre)",
        program: Program::Rust,
        values: Values::Phases,
        option: "--mode",
        modes: THREADS,
        ranks: Ranks::Two,
        arguments: &[
            "--procs",
            "2,1,1",
            "--threads",
            "{threads},1,1",
            "--size",
            "8",
            "--steps",
            "200",
            "--verify",
            "false",
        ],
        quick: &[
            "--procs",
            "2,1,1",
            "--threads",
            "2,1,1",
            "--size",
            "4",
            "--steps",
            "5",
        ],
    },
    App {
        name: "bspmm",
        about: "A product of block-sparse matrices by one-sided operations",
        published: "no number: gets as processes, flushes slower, accumulates without an order similar (Zambre 2020: NWChem)",
        program: Program::Rust,
        values: Values::Phases,
        option: "--mode",
        modes: WINDOWS,
        ranks: Ranks::Two,
        arguments: &[
            "--threads",
            "{threads}",
            "--tiles",
            "24",
            "--band",
            "4",
            "--edge",
            "16",
        ],
        quick: &["--threads", "2"],
    },
    App {
        name: "ga-dgemm",
        about: "A product of matrices in global arrays on a server: gets of rows and columns, puts of tiles",
        published: "no number for MPI: messages a second of endpoints that share fewer resources (Zambre 2020: global arrays)",
        program: Program::Rust,
        values: Values::Phases,
        option: "--mode",
        modes: WINDOWS,
        ranks: Ranks::Two,
        arguments: &[
            "--threads",
            "{threads}",
            "--tiles",
            "24",
            "--edge",
            "16",
            "--verify",
            "false",
        ],
        quick: &["--threads", "2", "--tiles", "4"],
    },
    App {
        name: "ebms",
        about: "Energy bands of a Monte Carlo code: workers of a node get the parts of other nodes and flush",
        published: "gets as fast with windows, tags or endpoints, flushes slower where the target helps (Zambre 2020: EBMS)",
        program: Program::Rust,
        values: Values::Phases,
        option: "--mode",
        modes: WINDOWS,
        ranks: Ranks::Two,
        arguments: &[
            "--workers",
            "{threads}",
            "--bands",
            "200",
            "--verify",
            "false",
        ],
        quick: &["--workers", "2", "--bands", "4"],
    },
    App {
        name: "mailbox",
        about: "A halo of 27 points by put, get, put",
        published: "time in MPI less than a tenth of serial, throughput 13 % above serial (Zambre 2020: WOMBAT, 32^3 cells)",
        program: Program::Rust,
        values: Values::Phases,
        option: "--mode",
        modes: WINDOWS,
        ranks: Ranks::Two,
        arguments: &[
            "--procs",
            "2,1,1",
            "--threads",
            "{threads},1,1",
            "--size",
            "16",
            "--steps",
            "100",
            "--verify",
            "false",
        ],
        quick: &[
            "--procs",
            "2,1,1",
            "--threads",
            "2,1,1",
            "--size",
            "4",
            "--steps",
            "5",
        ],
    },
    App {
        name: "circuit",
        about: "Active messages that a polling thread of each process receives",
        published: "2.62 times as fast as serial on average, tags and endpoints alike (Zambre 2020: Legion)",
        program: Program::Rust,
        values: Values::Phases,
        option: "--mode",
        modes: THREADS,
        ranks: Ranks::Two,
        arguments: &[
            "--tasks",
            "{threads}",
            "--nodes",
            "512",
            "--wires",
            "4096",
            "--steps",
            "100",
            "--verify",
            "false",
        ],
        quick: &["--tasks", "1", "--steps", "3"],
    },
];

const fn everywhere(name: &'static str) -> Mode {
    Mode {
        name,
        is_everywhere: true,
    }
}

const fn ours(name: &'static str) -> Mode {
    Mode {
        name,
        is_everywhere: false,
    }
}

impl Ranks {
    /// The numbers of ranks on so many cores.
    pub(super) fn numbers(self, cores: usize) -> Vec<usize> {
        let most = cores.max(2);
        match self {
            Self::Most => vec![most],
            Self::Two => vec![2],
            Self::Powers => {
                let powers = std::iter::successors(Some(1), |it| Some(2 * it));
                powers.take_while(|&it| it <= most).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_have_a_core_each_where_there_are_two() {
        assert_eq!(Ranks::Most.numbers(16), [16]);
        assert_eq!(Ranks::Powers.numbers(12), [1, 2, 4, 8]);
        assert_eq!(Ranks::Two.numbers(16), [2]);
        assert_eq!(Ranks::Powers.numbers(1), [1, 2]);
    }

    #[test]
    fn sources_of_apps_exist() {
        for app in APPS {
            let source = match app.program {
                Program::C(source) => source.to_owned(),
                Program::Rust => format!("examples/apps/src/bin/{}.rs", app.name),
            };
            assert!(crate::shell::root().join(&source).exists(), "{source}");
        }
    }
}
