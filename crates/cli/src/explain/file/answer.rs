// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way of an access through the tables.

use file_plan::{
    Access, Action, Collective, Costs, Division, PATHS, PROTOCOLS, Protocol, Summary, choose, path,
};

use super::options::FileOptions;
use super::pattern;

/// A row of a table, for an access.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) rule: &'static str,
    /// Whether the access may use it.
    pub(super) fits: bool,
    /// Whether it is the first that fits.
    pub(super) is_chosen: bool,
    pub(super) ps: u64,
}

/// The rounds of the aggregators in a two-phase access.
pub(super) struct Rounds {
    pub(super) rounds: u64,
    /// The part of the first aggregator in the first round.
    pub(super) window_bytes: u64,
    /// Bytes of the buffers of all aggregators.
    pub(super) buffers: u64,
}

/// The answer of `rankpoint explain file` for an access.
pub(super) struct Answer {
    pub(super) action: Action,
    pub(super) ranks: Vec<Summary>,
    pub(super) division: Division,
    pub(super) costs: Costs,
    /// Where the costs come from.
    pub(super) source: String,
    /// The access of rank 0 by itself.
    pub(super) access: Access,
    pub(super) paths: Vec<Row>,
    pub(super) protocols: Vec<Row>,
    pub(super) rounds: Rounds,
}

impl Answer {
    /// The answer to the options.
    ///
    /// # Errors
    /// When they do not fit each other, or a view is no type.
    pub(super) fn new(options: &FileOptions) -> Result<Self, String> {
        let action = match options.read {
            true => Action::Read,
            false => Action::Write,
        };
        let ranks = (0..options.ranks).map(|rank| pattern::of_rank(options, rank));
        let ranks = ranks.collect::<Result<Vec<_>, _>>()?;
        let (costs, source) = costs(options)?;
        let standard = Division::of_ranks(options.ranks, options.nodes.min(options.ranks));
        let wanted = options.cb_nodes.map(|nodes| nodes.min(options.ranks));
        let division = Division {
            aggregators: wanted.unwrap_or(standard.aggregators),
            buffer: options.cb_buffer_size.unwrap_or(standard.buffer),
            alignment: options.cb_block_size.unwrap_or(standard.alignment),
            ..standard
        };
        let all = Collective {
            action,
            ranks: &ranks,
            preference: options.protocol.preference(),
            is_atomic: options.atomic,
            division,
            costs,
        };
        let first = ranks.first().copied().unwrap_or_default();
        let access = Access {
            is_contiguous: !options.memory_gaps,
            ..first.access(action)
        };
        Ok(Self {
            action,
            division,
            costs,
            source,
            access,
            paths: paths(&access, &costs),
            protocols: protocols(&all),
            rounds: rounds(&all),
            ranks,
        })
    }
}

/// The costs that decide, and where they come from.
fn costs(options: &FileOptions) -> Result<(Costs, String), String> {
    if let Some(list) = &options.costs {
        let costs = Costs::default().parsed(list);
        let costs = costs.map_err(|why| format!("--costs: {why}"))?;
        return Ok((costs, "as given".to_owned()));
    }
    let folder = options.folder.display();
    Ok(match storage::measure(&options.folder) {
        Ok(found) => (
            Costs::measured(found.all()),
            format!("measured in {folder}; that of a message by the table"),
        ),
        Err(fault) => (
            Costs::default(),
            format!("by the table: cannot measure in {folder}: {fault}"),
        ),
    })
}

fn paths(access: &Access, costs: &Costs) -> Vec<Row> {
    let chosen = path(access, costs).path;
    let row = |row: &file_plan::PathRow| Row {
        name: row.name,
        rule: row.rule,
        fits: (row.fits)(access, costs),
        is_chosen: row.path == chosen,
        ps: row.path.ps(access, costs),
    };
    PATHS.iter().map(row).collect()
}

fn protocols(all: &Collective<'_>) -> Vec<Row> {
    let chosen = choose(all).rule;
    let mut is_over = false;
    let rows = PROTOCOLS.iter().map(|row| {
        let is_chosen = !is_over && row.rule == chosen && (row.fits)(all);
        is_over |= is_chosen;
        Row {
            name: row.name,
            rule: row.rule,
            fits: (row.fits)(all),
            is_chosen,
            ps: all.ps(row.protocol),
        }
    });
    rows.collect()
}

fn rounds(all: &Collective<'_>) -> Rounds {
    let domains = all.domains();
    let window = domains.window(0, 0);
    let window_bytes = window.end - window.start;
    Rounds {
        rounds: domains.rounds(),
        window_bytes,
        buffers: window_bytes.saturating_mul(all.division.aggregators.into()),
    }
}

impl Answer {
    /// Whether aggregators do the collective access.
    pub(super) fn has_aggregators(&self) -> bool {
        let two_phase = PROTOCOLS
            .iter()
            .find(|row| row.protocol == Protocol::TwoPhase);
        let chosen = self.protocols.iter().find(|row| row.is_chosen);
        two_phase.map(|row| row.name) == chosen.map(|row| row.name)
    }
}
