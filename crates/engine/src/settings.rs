// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every setting of the engine: one row each, read from `RANKPOINT_*` once at start.
//!
//! The table is the only place that knows a setting's name, type, default, range, unit and text; `rankpoint info`, the
//! documentation and MPI_T read it from here.

mod launchers;

use std::sync::Arc;

use algorithms::Table;
use fabric::board::SPARE_VARIABLE;

/// One setting as `rankpoint info` shows it.
#[derive(Clone, Debug)]
pub struct SettingRow {
    /// Name of the environment variable.
    pub name: &'static str,
    /// Value when nothing is set.
    pub default: u64,
    /// Smallest allowed value.
    pub min: u64,
    /// Largest allowed value.
    pub max: u64,
    /// Unit of the value.
    pub unit: &'static str,
    /// What it does.
    pub text: &'static str,
}

/// A setting whose value is text.
#[derive(Clone, Debug)]
pub struct TextRow {
    /// Name of the environment variable.
    pub name: &'static str,
    /// What the value is.
    pub unit: &'static str,
    /// What it does.
    pub text: &'static str,
}

/// The settings whose value is text; all are empty by default.
pub const TEXTS: &[TextRow] = &[
    TextRow {
        name: "RANKPOINT_CHECK",
        unit: "set of collectives, types",
        text: "what is checked at a cost, separated by commas: `collectives` has the ranks of each collective compare operation, root, reduction, counts and types, and name those that disagree; `types` compares the basic types of each message with those of its receive",
    },
    TextRow {
        name: "RANKPOINT_COLL_TABLE",
        unit: "file",
        text: "rules that decide, before those of the library, which algorithm a collective uses; the same for all ranks (docs/collectives.md)",
    },
    TextRow {
        name: "RANKPOINT_VIRTUAL_NODES",
        unit: "number, or list",
        text: "for tests: collectives take the ranks of this machine for those of so many machines, neighbours on the same one, or of the machines that a list names, rank by rank and starting over at its end; the same for all ranks",
    },
];

/// Machines that the ranks of this one are taken to be on (`RANKPOINT_VIRTUAL_NODES`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum VirtualNodes {
    /// They are on one.
    #[default]
    One,
    /// About as many neighbours on each of so many.
    Blocks(u32),
    /// The numbers of the machines, rank by rank, starting over at the end.
    List(Arc<[u32]>),
}

impl VirtualNodes {
    fn of(text: &str) -> Option<Self> {
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

    /// The machine of one of `size` ranks.
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

/// What is checked at a cost (`RANKPOINT_CHECK`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// The members of each collective compare what they are about to do.
    pub collectives: bool,
    /// Each receive is compared with the basic types of its message.
    pub types: bool,
}

impl Checks {
    /// The checks of a list, and the words of it that are none.
    fn of(list: &str) -> (Self, Vec<&str>) {
        let (mut checks, mut unknown) = (Self::default(), Vec::new());
        for word in list.split(',').map(str::trim) {
            match word {
                "" => {}
                "collectives" => checks.collectives = true,
                "types" => checks.types = true,
                _ => unknown.push(word),
            }
        }
        (checks, unknown)
    }
}

macro_rules! settings {
    ($($field:ident, $name:literal, $default:literal, $min:literal ..= $max:literal, $unit:literal, $text:literal;)*) => {
        /// Values of all settings.
        #[derive(Clone, Debug)]
        pub struct Settings {
            $(#[doc = $text] pub $field: u64,)*
            /// What is checked at a cost.
            pub check: Checks,
            /// The list that was given for `check`.
            pub check_list: String,
            /// The file of rules that was named; empty for none.
            pub coll_table: String,
            /// Machines that ranks are taken to be on.
            pub virtual_nodes: VirtualNodes,
            /// The text that was given for them.
            pub virtual_nodes_text: String,
            /// Processors that no rank is bound to, if all are.
            pub spare: Vec<u32>,
            /// The rules in force: which algorithm a collective uses.
            pub algorithms: Arc<Table>,
        }

        impl Default for Settings {
            fn default() -> Self {
                Self {
                    $($field: $default,)*
                    check: Checks::default(),
                    check_list: String::new(),
                    coll_table: String::new(),
                    virtual_nodes: VirtualNodes::One,
                    virtual_nodes_text: String::new(),
                    spare: Vec::new(),
                    algorithms: Arc::new(Table::builtin().clone()),
                }
            }
        }

        /// The table of settings.
        pub const SETTINGS: &[SettingRow] = &[$(SettingRow {
            name: concat!("RANKPOINT_", $name), default: $default, min: $min, max: $max, unit: $unit, text: $text,
        },)*];

        impl Settings {
            fn set(&mut self, index: usize, value: u64) {
                let fields = [$(&mut self.$field),*];
                for (position, field) in fields.into_iter().enumerate() {
                    if position == index {
                        *field = value;
                    }
                }
            }

            /// Current values in the order of the table.
            pub fn values(&self) -> Vec<u64> {
                vec![$(self.$field),*]
            }
        }
    };
}

settings! {
    eager_bytes, "EAGER_BYTES", 131072, 48..=1048576, "bytes",
        "largest message that is sent without asking the receiver first; twice that where ranks outnumber cores, because each question costs a switch between ranks there (bounded by a ring's payload area)";
    fragment_bytes, "FRAGMENT_BYTES", 32768, 4096..=65536, "bytes",
        "piece in which a large message is copied through the ring when it cannot be copied in one go";
    cross_copy, "CROSS_COPY", 1, 0..=2, "choice",
        "whether messages are read straight out of the sender's memory: 0 never, 1 where that has turned out faster than copying through the ring, and where ranks, or threads that wait at once, outnumber cores, 2 always (falls back silently where the kernel forbids it)";
    cross_copy_bytes, "CROSS_COPY_BYTES", 8192, 0..=9223372036854775807, "bytes",
        "smallest message that is read out of the sender's memory";
    shared_copy_bytes, "SHARED_COPY_BYTES", 786432, 0..=9223372036854775807, "bytes",
        "largest message that its receiver alone copies out of memory of MPI_Alloc_mem; longer ones go through the ring, which uses two cores, unless ranks, or threads that wait at once, outnumber cores";
    unexpected_bytes, "UNEXPECTED_BYTES", 4194304, 0..=9223372036854775807, "bytes per sender",
        "unexpected data held for one sender before it is asked to describe messages instead of sending them";
    operations, "OPERATIONS", 1048576, 1024..=16777216, "operations",
        "pending operations and unexpected messages that a rank can have at once (address space only until used)";
    spin_polls, "SPIN_POLLS", 6000, 0..=1000000000, "polls",
        "fruitless polls before a waiting rank starts to yield its core, when ranks do not outnumber cores";
    crowded_spin_polls, "CROWDED_SPIN_POLLS", 60, 0..=1000000000, "polls",
        "the same when ranks outnumber cores: about as long as an answer takes that is being given on another core";
    yields, "YIELDS", 250000, 0..=1000000000, "yields",
        "fruitless yields before a waiting rank sleeps, when ranks do not outnumber cores: some tens of milliseconds, of which a wake-up (30 to 80 us) is little; where another program wants the core a few are enough";
    crowded_yields, "CROWDED_YIELDS", 40, 0..=1000000000, "yields",
        "the same when ranks outnumber cores";
    shared_collectives, "SHARED_COLLECTIVES", 1, 0..=1, "switch",
        "whether collectives of ranks of one node go through memory that they share instead of messages where that is faster";
    reproducible, "REPRODUCIBLE", 0, 0..=1, "switch",
        "whether reductions give the same bits whichever algorithm is chosen: operands are combined from the last rank down, one after the other";
    progress_thread, "PROGRESS_THREAD", 0, 0..=1, "switch",
        "whether a thread of each process makes progress while the program computes; calls then cost the locks of MPI_THREAD_MULTIPLE";
    gpu, "GPU", 1, 0..=2, "choice",
        "whether buffers may be in the memory of a GPU: 0 never, 1 if the process has loaded the driver before it initialises MPI, 2 always, and no GPU is an error (docs/gpu.md)";
    initial_errhandler, "INITIAL_ERRHANDLER", 0, 0..=2, "choice",
        "error handler that MPI_COMM_WORLD and MPI_COMM_SELF begin with, as of mpiexec's --initial-errhandler: 0 mpi_errors_are_fatal, 1 mpi_errors_abort, 2 mpi_errors_return";
    sleep_limit_ms, "SLEEP_LIMIT_MS", 100, 1..=60000, "ms",
        "longest time that a sleeping rank trusts to be woken before it looks by itself";
}

/// Names with the settings' prefix that other parts of the system read.
const FOREIGN: &[&str] = &["RANKPOINT_JOB"];
const FOREIGN_PREFIXES: &[&str] = &["RANKPOINT_LAUNCH_", "RANKPOINT_TEST_", "RANKPOINT_BENCH_"];

impl Settings {
    /// The settings of this process's environment, and a warning for each name or value that is not understood.
    pub fn from_environment() -> (Self, Vec<String>) {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((
                name.into_string().ok()?,
                value.to_string_lossy().into_owned(),
            ))
        });
        Self::from_variables(variables)
    }

    /// As [`Self::from_environment`], from any list of names and values.
    pub fn from_variables(
        variables: impl Iterator<Item = (String, String)>,
    ) -> (Self, Vec<String>) {
        let mut settings = Self::default();
        let mut warnings = Vec::new();
        for (name, value) in variables.filter(|(name, _)| name.starts_with("RANKPOINT_")) {
            if name == SPARE_VARIABLE {
                // The launcher's, and so without warnings.
                settings.spare = value.split(',').filter_map(|it| it.parse().ok()).collect();
                continue;
            }
            if FOREIGN.contains(&name.as_str())
                || FOREIGN_PREFIXES
                    .iter()
                    .any(|prefix| name.starts_with(prefix))
            {
                continue;
            }
            if let Some(position) = TEXTS.iter().position(|row| row.name == name) {
                warnings.extend(match position {
                    0 => settings.read_checks(value),
                    1 => settings.read_table(value),
                    _ => settings.read_nodes(value),
                });
                continue;
            }
            let Some(index) = SETTINGS.iter().position(|row| row.name == name) else {
                warnings.push(format!(
                    "unknown setting {name}; the nearest name is {}",
                    nearest(&name)
                ));
                continue;
            };
            let row = &SETTINGS[index];
            match algorithms::number(value.trim())
                .filter(|number| (row.min..=row.max).contains(number))
            {
                Some(number) => settings.set(index, number),
                None => warnings.push(format!(
                    "setting {name} is '{value}', expected {}..{} {}; the default {} is used",
                    row.min, row.max, row.unit, row.default
                )),
            }
        }
        (settings, warnings)
    }

    fn read_checks(&mut self, list: String) -> Vec<String> {
        let (checks, unknown) = Checks::of(&list);
        self.check = checks;
        let warnings = unknown.iter().map(|word| {
            let row = &TEXTS[0];
            format!(
                "setting {} holds '{word}', expected a {}; it is left out",
                row.name, row.unit
            )
        });
        let warnings = warnings.collect();
        self.check_list = list;
        warnings
    }

    /// Puts the rules of a file before those of the library; says what is wrong with it.
    fn read_table(&mut self, file: String) -> Vec<String> {
        if file.is_empty() {
            return Vec::new();
        }
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) => {
                return vec![format!(
                    "{} names {file}, which cannot be read ({error}); the library's own rules are used",
                    TEXTS[1].name
                )];
            }
        };
        let (table, problems) = Table::with(&file, &text);
        self.algorithms = Arc::new(table);
        let warnings = problems.iter().map(|problem| {
            format!("{file}, {problem}; the line is left out and the library's own rules stay")
        });
        let warnings = warnings.collect();
        self.coll_table = file;
        warnings
    }

    fn read_nodes(&mut self, text: String) -> Vec<String> {
        let Some(nodes) = VirtualNodes::of(&text) else {
            let row = &TEXTS[2];
            return vec![format!(
                "setting {} is '{text}', expected a {} such as 2 or 0,0,1; it is left out",
                row.name, row.unit
            )];
        };
        self.virtual_nodes = nodes;
        self.virtual_nodes_text = text;
        Vec::new()
    }

    /// Current values of [`TEXTS`].
    pub fn texts(&self) -> [&str; TEXTS.len()] {
        [&self.check_list, &self.coll_table, &self.virtual_nodes_text]
    }
}

/// What the launcher says about this process's place, if there is one.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the file that may read the environment"
)]
pub(crate) fn job_from_environment() -> Option<String> {
    std::env::var(fabric::board::JOB_VARIABLE).ok()
}

/// Why this process must not run as a job of its own, if another launcher started it.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the file that may read the environment"
)]
pub(crate) fn refusal_to_run_alone() -> Option<String> {
    launchers::refusal(|name| std::env::var(name).ok())
}

fn nearest(name: &str) -> &'static str {
    let numbers = SETTINGS.iter().map(|row| row.name);
    numbers
        .chain(TEXTS.iter().map(|row| row.name))
        .min_by_key(|known| edit_distance(name, known))
        .unwrap_or("")
}

/// Number of single-character changes between two names.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_settings_holds_every_row_and_no_other() {
        let page = include_str!("../../../docs/settings.md");
        let (settings, counters) = page.split_once("## Counters").unwrap();
        for row in SETTINGS {
            let line = format!(
                "| `{}` | {} | {}..={} | {} | {} |\n",
                row.name, row.default, row.min, row.max, row.unit, row.text
            );
            assert!(settings.contains(&line), "docs/settings.md lacks {line}");
        }
        for row in fabric::counters::COUNTERS {
            let line = format!("| `{}` | {} | {} |\n", row.name, row.unit, row.text);
            assert!(counters.contains(&line), "docs/settings.md lacks {line}");
        }
        for row in TEXTS {
            let line = format!("| `{}` | | | {} | {} |\n", row.name, row.unit, row.text);
            assert!(settings.contains(&line), "docs/settings.md lacks {line}");
        }
        let rows = SETTINGS.len() + TEXTS.len();
        assert_eq!(settings.matches("\n| `").count(), rows);
        assert_eq!(
            counters.matches("\n| `").count(),
            fabric::counters::COUNTERS.len()
        );
    }

    fn read(pairs: &[(&str, &str)]) -> (Settings, Vec<String>) {
        Settings::from_variables(pairs.iter().map(|&(n, v)| (n.to_owned(), v.to_owned())))
    }

    #[test]
    fn suffixes_ranges_and_unknown_names_are_understood() {
        let (settings, warnings) = read(&[
            ("RANKPOINT_EAGER_BYTES", "8K"),
            ("PATH", "x"),
            ("RANKPOINT_JOB", "1:2:3:4"),
        ]);
        assert_eq!((settings.eager_bytes, warnings.len()), (8192, 0));
        let (settings, warnings) = read(&[("RANKPOINT_EAGER_BYTE", "8K")]);
        assert_eq!(settings.eager_bytes, 131_072);
        assert!(
            warnings[0].contains("RANKPOINT_EAGER_BYTES"),
            "{warnings:?}"
        );
        let (settings, warnings) = read(&[("RANKPOINT_CROSS_COPY", "yes")]);
        assert_eq!((settings.cross_copy, warnings.len()), (1, 1));
    }

    #[test]
    fn checks_are_a_list_of_words() {
        let (settings, warnings) = read(&[("RANKPOINT_CHECK", "collectives")]);
        assert_eq!((settings.check.collectives, warnings.len()), (true, 0));
        let (settings, warnings) = read(&[("RANKPOINT_CHECK", " nothing, collectives")]);
        assert!(settings.check.collectives);
        assert!(
            warnings[0].contains("'nothing', expected a set of"),
            "{warnings:?}"
        );
        let (settings, warnings) = read(&[("RANKPOINT_CHECK", "types,collectives")]);
        assert!(settings.check.types && settings.check.collectives && warnings.is_empty());
        assert_eq!(Settings::default().check, Checks::default());
    }

    #[test]
    fn virtual_nodes_are_a_number_or_a_list() {
        let nodes = |text| {
            let (settings, warnings) = read(&[("RANKPOINT_VIRTUAL_NODES", text)]);
            let nodes = &settings.virtual_nodes;
            let all: Vec<u32> = (0..5).map(|rank| nodes.node_of(rank, 5)).collect();
            (all, warnings.len())
        };
        assert_eq!(nodes("2"), (vec![0, 0, 0, 1, 1], 0));
        assert_eq!(nodes("7"), (vec![0, 1, 2, 4, 5], 0));
        assert_eq!(nodes("0, 1"), (vec![0, 1, 0, 1, 0], 0));
        assert_eq!(nodes("1"), (vec![0; 5], 0));
        for wrong in ["0", "x", "1,,2", "-1"] {
            assert_eq!(nodes(wrong), (vec![0; 5], 1), "{wrong}");
        }
    }

    #[test]
    fn a_table_of_algorithms_comes_before_the_library_s_and_its_faults_are_named() {
        use algorithms::{Bcast, Case, Operation};
        let file = std::env::temp_dir().join(format!("rankpoint-{}.table", std::process::id()));
        std::fs::write(&file, "bcast use=chain:1K\nbcast use=walk\n").unwrap();
        let name = file.to_str().unwrap();
        let (settings, warnings) = read(&[("RANKPOINT_COLL_TABLE", name)]);
        std::fs::remove_file(&file).unwrap();
        let case = Case::new(Operation::Bcast, 4, 8, 1);
        let choice = settings.algorithms.choose::<Bcast>(&case);
        assert_eq!((choice.algorithm, choice.parameter), (Bcast::Chain, 1024));
        assert_eq!(settings.texts(), ["", name, ""]);
        assert_eq!(warnings.len(), 1);
        let wrong = format!("{name}, line 2, column 11: found 'walk', expected an algorithm of");
        assert!(warnings[0].starts_with(&wrong), "{warnings:?}");

        let (settings, warnings) = read(&[("RANKPOINT_COLL_TABLE", name)]);
        let choice = settings.algorithms.choose::<Bcast>(&case);
        assert_eq!(choice.algorithm, Bcast::Shared);
        assert!(warnings[0].contains("cannot be read"), "{warnings:?}");
    }
}
