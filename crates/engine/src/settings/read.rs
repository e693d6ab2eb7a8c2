// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads the settings from the environment, and says what is wrong with them.

use std::sync::Arc;

use algorithms::Table;
use fabric::board::SPARE_VARIABLE;
use fabric::ofi::Sharing;
use file_plan::Costs;

use super::table::{NULL, STRICT};
use super::{
    Checks, LockModel, ProgressModel, Rendezvous, RmaPath, SETTINGS, SettingRow, Settings, TEXTS,
    TextRow, VirtualNodes,
};

/// Names with the settings' prefix that other parts of the system read.
const FOREIGN: &[&str] = &["RANKPOINT_INTERPOSE", "RANKPOINT_JOB", "RANKPOINT_TOOLS"];
const FOREIGN_PREFIXES: &[&str] = &[
    "RANKPOINT_LAUNCH_",
    "RANKPOINT_TEST_",
    "RANKPOINT_BENCH_",
    "RANKPOINT_INTERPOSE_",
];

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
        let ours = variables.filter(|(name, _)| name.starts_with("RANKPOINT_"));
        for (name, value) in ours {
            let name = name.as_str();
            if name == SPARE_VARIABLE {
                // Written by the launcher, and therefore read without warnings.
                settings.spare = value.split(',').filter_map(|it| it.parse().ok()).collect();
            } else if is_foreign(name) {
                // Another part of the system reads it.
            } else if let Some(row) = TEXTS.iter().find(|row| row.name == name) {
                warnings.extend((row.read)(&mut settings, row, value));
            } else if let Some(index) = SETTINGS.iter().position(|row| row.name == name) {
                warnings.extend(settings.read_number(index, name, &value));
            } else {
                warnings.push(format!(
                    "unknown setting {name}; the nearest name is {}",
                    nearest(name)
                ));
            }
        }
        (settings, warnings)
    }

    fn read_number(&mut self, index: usize, name: &str, value: &str) -> Option<String> {
        let row: &SettingRow = &SETTINGS[index];
        let number = algorithms::number(value.trim());
        if let Some(number) = number.filter(|it| (row.min..=row.max).contains(it)) {
            self.set(index, number);
            return None;
        }
        Some(format!(
            "setting {name} is '{value}', expected {}..{} {}; the default {} is used",
            row.min, row.max, row.unit, row.default
        ))
    }

    pub(super) fn read_checks(&mut self, row: &TextRow, list: String) -> Vec<String> {
        let (checks, unknown) = Checks::parse(&list);
        self.check = checks;
        let warnings = unknown.iter().map(|word| {
            format!(
                "setting {} holds '{word}', expected a {}; it is left out",
                row.name, row.unit
            )
        });
        let warnings = warnings.collect();
        self.check_list = list;
        warnings
    }

    /// Puts the rules of a file before the built-in ones; returns what is wrong with the file.
    pub(super) fn read_table(&mut self, row: &TextRow, file: String) -> Vec<String> {
        if file.is_empty() {
            return Vec::new();
        }
        let text = match sys::files::read_text(&file) {
            Ok(text) => text,
            Err(error) => {
                return vec![format!(
                    "{} names {file}, which cannot be read ({error}); the built-in rules are used",
                    row.name
                )];
            }
        };
        let (table, problems) = Table::with(&file, &text);
        self.algorithms = Arc::new(table);
        let warnings = problems.iter().map(|problem| {
            format!("{file}, {problem}; the line is left out and the built-in rules stay")
        });
        let warnings = warnings.collect();
        self.coll_table = file;
        warnings
    }

    pub(super) fn read_nodes(&mut self, row: &TextRow, text: String) -> Vec<String> {
        let Some(nodes) = VirtualNodes::parse(&text) else {
            return vec![format!(
                "setting {} is '{text}', expected a {} such as 2 or 0,0,1; it is left out",
                row.name, row.unit
            )];
        };
        self.virtual_nodes = nodes;
        self.virtual_nodes_text = text;
        Vec::new()
    }

    pub(super) fn read_fabric(&mut self, row: &TextRow, text: String) -> Vec<String> {
        self.null_fabric = text.trim() == NULL;
        let is_known = self.null_fabric || matches!(text.trim(), "" | "shm");
        not_understood(row, &text, is_known)
    }

    pub(super) fn read_provider(&mut self, _: &TextRow, text: String) -> Vec<String> {
        text.trim().clone_into(&mut self.network.provider);
        Vec::new()
    }

    pub(super) fn read_interface(&mut self, _: &TextRow, text: String) -> Vec<String> {
        text.trim().clone_into(&mut self.network.interface);
        Vec::new()
    }

    pub(super) fn read_libpmix(&mut self, _: &TextRow, text: String) -> Vec<String> {
        self.pmix_library = text;
        Vec::new()
    }

    pub(super) fn read_libfabric(&mut self, _: &TextRow, text: String) -> Vec<String> {
        self.network.library = text;
        Vec::new()
    }

    pub(super) fn read_sharing(&mut self, row: &TextRow, text: String) -> Vec<String> {
        let sharing = Sharing::parse(&text);
        self.network.sharing = sharing.unwrap_or_default();
        let warnings = not_understood(row, &text, sharing.is_some());
        if warnings.is_empty() {
            text.trim().clone_into(&mut self.network.sharing_text);
        }
        warnings
    }

    pub(super) fn read_locks(&mut self, row: &TextRow, text: String) -> Vec<String> {
        let model = LockModel::parse(&text);
        self.locks = model.unwrap_or_default();
        not_understood(row, &text, model.is_some())
    }

    pub(super) fn read_progress(&mut self, row: &TextRow, text: String) -> Vec<String> {
        let model = ProgressModel::parse(&text);
        self.progress = model.unwrap_or_default();
        not_understood(row, &text, model.is_some())
    }

    pub(super) fn read_rendezvous(&mut self, row: &TextRow, text: String) -> Vec<String> {
        let named = match text.trim() {
            "" => Some(Rendezvous::Auto),
            name => Rendezvous::parse(name),
        };
        self.rendezvous = named.unwrap_or_default();
        not_understood(row, &text, named.is_some())
    }

    pub(super) fn read_rma(&mut self, row: &TextRow, text: String) -> Vec<String> {
        let path = RmaPath::parse(&text);
        self.rma_path = path.unwrap_or_default();
        not_understood(row, &text, path.is_some())
    }

    pub(super) fn read_file_costs(&mut self, row: &TextRow, text: String) -> Vec<String> {
        if text.trim().is_empty() {
            return Vec::new();
        }
        match Costs::default().parsed(&text) {
            Ok(costs) => {
                (self.file_costs, self.file_costs_text) = (Some(costs), text);
                Vec::new()
            }
            Err(why) => vec![format!("setting {}: {why}; it is left out", row.name)],
        }
    }

    pub(super) fn read_memory_kinds(&mut self, _: &TextRow, list: String) -> Vec<String> {
        self.memory_kinds = Some(list);
        Vec::new()
    }

    pub(super) fn read_file_report(&mut self, _: &TextRow, folder: String) -> Vec<String> {
        self.file_report = folder;
        Vec::new()
    }

    pub(super) fn read_vci_report(&mut self, _: &TextRow, folder: String) -> Vec<String> {
        self.vci_report = folder;
        Vec::new()
    }

    pub(super) fn read_trace(&mut self, _: &TextRow, target: String) -> Vec<String> {
        target.trim().clone_into(&mut self.trace);
        Vec::new()
    }

    /// Whether what happens to messages is recorded.
    pub(crate) const fn traces(&self) -> bool {
        !self.trace.is_empty()
    }

    /// Whether each collective call has to be seen.
    pub(crate) const fn watches_collectives(&self) -> bool {
        self.check.watches_collectives() || self.traces()
    }

    pub(super) fn read_errors(&mut self, row: &TextRow, text: String) -> Vec<String> {
        self.strict_errors = text.trim() == STRICT;
        not_understood(row, &text, self.strict_errors || text.trim().is_empty())
    }
}

/// The warning for a value of which nothing is understood.
fn not_understood(row: &TextRow, text: &str, is_known: bool) -> Vec<String> {
    if is_known {
        return Vec::new();
    }
    vec![format!(
        "setting {} is '{text}', expected {}; it is left out",
        row.name, row.unit
    )]
}

/// The simulated network that tests run on (`RANKPOINT_TEST_SIM`): its settings, or `default`; `None` for shared memory.
///
/// # Panics
/// When the value is no list of settings.
#[cfg(test)]
pub(crate) fn simulated_network() -> Option<fabric::sim::SimSettings> {
    let value = std::env::vars_os()
        .find(|(name, _)| name == "RANKPOINT_TEST_SIM")?
        .1;
    let text = value.to_str().unwrap();
    let text = if text == "default" { "" } else { text };
    Some(text.parse().unwrap())
}

/// Nodes that in-process tests divide the ranks among (`RANKPOINT_TEST_NODES`), connected by libfabric on the loopback interface.
///
/// # Panics
/// When the value is no number.
#[cfg(test)]
pub(crate) fn test_nodes() -> Option<u32> {
    let (_, value) = std::env::vars_os().find(|(name, _)| name == "RANKPOINT_TEST_NODES")?;
    Some(value.to_str().unwrap().parse().unwrap())
}

/// Endpoints of each process that the ranks of in-process tests are (`RANKPOINT_TEST_ENDPOINTS`); `None` for processes.
///
/// # Panics
/// When the value is no number above 0.
#[cfg(test)]
pub(crate) fn test_endpoints() -> Option<u32> {
    let (_, value) = std::env::vars_os().find(|(name, _)| name == "RANKPOINT_TEST_ENDPOINTS")?;
    let count = value.to_str().unwrap().parse().unwrap();
    assert!(count > 0, "RANKPOINT_TEST_ENDPOINTS is 0");
    Some(count)
}

/// Whether tests do all that they can rather than what takes seconds (`RANKPOINT_TEST_SCOPE`).
#[cfg(test)]
pub(crate) fn is_thorough() -> bool {
    std::env::vars_os().any(|(name, value)| name == "RANKPOINT_TEST_SCOPE" && value == "thorough")
}

fn is_foreign(name: &str) -> bool {
    FOREIGN.contains(&name)
        || FOREIGN_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
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
