// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is told of a grid and its plans.

use commplan::{
    ByClass, Checked, Error, Exposed, Grid, Kind, Plan, Spread, Stencil, TagLayout, Volume,
    printed_formula,
};
use serde_json::{Value, json};

use super::options::CommplanOptions;
use super::times::Times;

/// What is told of a plan.
pub(super) struct Row {
    pub(super) kind: Kind,
    /// Objects that an interior process uses.
    pub(super) used: usize,
    /// Objects to create in the domain.
    pub(super) objects: usize,
    pub(super) exposed: Option<Exposed>,
    /// Objects of an interior process on contexts.
    pub(super) spread: Option<Spread>,
    /// Threads of an interior process on contexts.
    pub(super) threads: Option<Spread>,
    /// Nothing when there are too many messages.
    pub(super) checked: Option<Checked>,
}

/// All that is told.
pub(super) struct Answer {
    pub(super) grid: Grid,
    pub(super) contexts: Option<usize>,
    pub(super) sizes: Vec<u64>,
    pub(super) tag_ub: i32,
    pub(super) rows: Vec<Row>,
    /// Plans that there are not, and why.
    pub(super) refused: Vec<(Kind, Error)>,
    pub(super) times: Option<Times>,
}

impl Answer {
    /// Plans that nobody named may be refused; what is wrong with the grid is an error.
    pub(super) fn new(grid: &Grid, options: &CommplanOptions) -> Result<Self, String> {
        let contexts = options.contexts.map(|contexts| contexts as usize);
        let (mut rows, mut refused) = (Vec::new(), Vec::new());
        for kind in options.kinds() {
            match Plan::new(grid, kind, options.tag_ub) {
                Ok(plan) => rows.push(row(&plan, contexts).map_err(|error| error.to_string())?),
                Err(error @ (Error::NoPlan { .. } | Error::TagBits { .. }))
                    if options.plan.is_none() =>
                {
                    refused.push((kind, error));
                }
                Err(error @ Error::OddPeriodic { .. }) => {
                    return Err(format!("{error} (--third-class)"));
                }
                Err(error) => return Err(error.to_string()),
            }
        }
        let times = match options.wants_times() {
            false => None,
            true => {
                let profile = options.profile.load()?;
                let times = Times::of(&profile, grid, &options.size, options.cell_bytes);
                Some(times?)
            }
        };
        Ok(Self {
            times,
            grid: grid.clone(),
            contexts,
            sizes: options.size.clone(),
            tag_ub: options.tag_ub,
            rows,
            refused,
        })
    }

    /// The published number of communicators, which is for one stencil.
    pub(super) fn printed(&self) -> Option<ByClass> {
        let is_published = self.grid.stencil() == Stencil::TwentySeven;
        is_published.then(|| printed_formula(self.grid.threads()))
    }

    /// The volumes that are told, with their names.
    pub(super) fn volumes(&self) -> [(&'static str, Volume); 2] {
        let grid = &self.grid;
        [
            ("interior process", grid.interior_volume()),
            ("this domain", grid.domain_volume()),
        ]
    }

    pub(super) fn json(&self) -> Value {
        let grid = &self.grid;
        let axes = grid.stencil().axes();
        let layout = TagLayout::of(grid);
        let volumes = self.volumes().map(|(name, volume)| {
            let cells = self.sizes.iter().map(|&size| {
                let (all, inside) = volume.cells(size);
                json!({ "size": size, "all": float(all), "inside": float(inside) })
            });
            json!({
                "of": name, "messages": volume.all.all(), "inside": volume.inside.all(),
                "cells": cells.collect::<Vec<_>>(),
            })
        });
        let refused = self.refused.iter();
        let refused =
            refused.map(|(kind, error)| json!({ "plan": kind.name(), "why": error.to_string() }));
        json!({
            "stencil": grid.stencil().points(),
            "threads": grid.threads()[..axes],
            "processes": grid.processes()[..axes],
            "periodic": (0..axes).map(|axis| grid.is_periodic(axis)).collect::<Vec<_>>(),
            "contexts": self.contexts,
            "leaving": classes(grid.leaving()),
            "printed_formula": self.printed().map(classes),
            "border_threads": grid.border_threads(),
            "lower_bound": grid.lower_bound(),
            "volumes": volumes,
            "tag": {
                "direction_bits": layout.direction_bits, "thread_bits": layout.thread_bits, "bits": layout.bits(),
                "tag_ub": self.tag_ub, "fits": TagLayout::within(grid, self.tag_ub).is_ok(),
            },
            "plans": self.rows.iter().map(Row::json).collect::<Vec<_>>(),
            "refused": refused.collect::<Vec<_>>(),
            "times": self.times.as_ref().map(|times| times.json(&self.rows)),
        })
    }
}

impl Row {
    fn json(&self) -> Value {
        let spread = |spread: &Spread| {
            let rows = spread.0.iter();
            let rows = rows.map(|(contexts, each)| json!({ "contexts": contexts, "each": each }));
            rows.collect::<Vec<_>>()
        };
        let exposed = |exposed: Exposed| json!({ "independent": exposed.independent, "threads": exposed.threads, "exact": exposed.is_exact });
        let checked = |checked: Checked| {
            json!({
                "messages": checked.messages, "disagreements": checked.disagreements,
                "ambiguous": checked.ambiguous, "shared": checked.shared,
            })
        };
        json!({
            "plan": self.kind.name(), "used": self.used, "objects": self.objects,
            "exposed": self.exposed.map(exposed),
            "objects_on_contexts": self.spread.as_ref().map(spread),
            "threads_on_contexts": self.threads.as_ref().map(spread),
            "checked": self.checked.map(checked),
        })
    }
}

fn row(plan: &Plan, contexts: Option<usize>) -> Result<Row, Error> {
    let interior = Plan::new(&plan.grid().interior(), plan.kind(), i32::MAX)?;
    let process = [0; 3];
    let used = interior.objects_of(process).len();
    let uses = interior.uses_of(process);
    let own = || uses.iter().map(|&(thread, _)| (thread, thread));
    // Tags select VCIs by thread, so a thread is what falls on a context.
    let is_tag = plan.kind() == Kind::Tag;
    let things = if is_tag {
        plan.grid().thread_count()
    } else {
        used
    };
    let threads = contexts.map(|contexts| match is_tag {
        true => Spread::of_threads(own(), contexts),
        false => Spread::of_threads(uses.iter().copied(), contexts),
    });
    Ok(Row {
        kind: plan.kind(),
        used,
        objects: plan.objects(),
        exposed: Exposed::of(plan)?,
        spread: contexts.map(|contexts| Spread::round_robin(things, contexts)),
        threads,
        checked: plan.check(),
    })
}

fn classes(counts: ByClass) -> Value {
    json!({ "faces": counts.faces, "edges": counts.edges, "corners": counts.corners, "all": counts.all() })
}

/// Cells as JSON has numbers.
pub(super) const fn float(cells: u128) -> f64 {
    cells as f64
}
