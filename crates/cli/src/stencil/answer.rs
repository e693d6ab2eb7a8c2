// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a plan exchanges, as text and JSON.

use std::fmt::Write as _;

use machine_profile::Profile;
use serde_json::{Value, json};
use stencil_plan::{DIRECTIONS, Message, Plan, Share, Traffic};

use super::options::{Kind, PlanOptions};
use crate::explain::{PLACEMENT_ENTRIES, placement_curve};

/// A plan and its traffic.
pub(super) struct Row {
    kind: Kind,
    pub(super) plan: Plan,
    traffic: Traffic,
    /// Nanoseconds that the messages of the busiest rank take one after the other, by the profile.
    time_ns: Option<f64>,
}

/// Plans by some placements.
pub(super) struct Answer<'o> {
    options: &'o PlanOptions,
    pub(super) rows: Vec<Row>,
    /// The file of the profile.
    source: Option<String>,
}

impl<'o> Answer<'o> {
    /// The plans of the placements that the options name.
    ///
    /// # Errors
    /// When there is no such plan, or the profile lacks what times are made of.
    pub(super) fn new(options: &'o PlanOptions) -> Result<Self, String> {
        let profile = match options.wants_times() {
            true => Some(options.profile.load()?),
            false => None,
        };
        let rows = options.kinds().into_iter().map(|kind| {
            let plan = options.plan(kind)?;
            let traffic = plan.traffic();
            let time_ns = match &profile {
                Some(profile) => Some(slowest(&plan, options.bytes, profile)?),
                None => None,
            };
            Ok(Row {
                kind,
                plan,
                traffic,
                time_ns,
            })
        });
        Ok(Self {
            options,
            rows: rows.collect::<Result<_, String>>()?,
            source: profile.map(|profile| profile.file.display().to_string()),
        })
    }

    fn megabytes(&self, points: usize) -> f64 {
        points as f64 * self.options.bytes as f64 / 1e6
    }

    /// The text of the command.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let first = &self.rows[0].plan;
        let [x, y, z] = first.problem().grid;
        writeln!(
            text,
            "{x}x{y}x{z} points of {} bytes on {} nodes of {} ranks",
            self.options.bytes, self.options.nodes, self.options.devices
        )?;
        writeln!(
            text,
            "{:<10} {:>12} {:>14} {:>10} {:>10} {:>10} {:>9}",
            "placement", "boxes", "largest box", "own MB", "node MB", "network MB", "messages"
        )?;
        for row in &self.rows {
            let (plan, traffic) = (&row.plan, &row.traffic);
            let [nx, ny, nz] = plan.dims();
            let largest = (0..plan.ranks()).map(|rank| plan.box_of(rank).sides());
            let largest = largest.max_by_key(|sides| sides.iter().product::<usize>());
            let [sx, sy, sz] = largest.unwrap_or_default();
            writeln!(
                text,
                "{:<10} {:>12} {:>14} {:>10.3} {:>10.3} {:>10.3} {:>9}",
                row.kind.name(),
                format!("{nx}x{ny}x{nz}"),
                format!("{sx}x{sy}x{sz}"),
                self.megabytes(traffic.own),
                self.megabytes(traffic.node),
                self.megabytes(traffic.network),
                traffic.node_messages + traffic.network_messages
            )?;
        }
        if let Some(source) = &self.source {
            writeln!(
                text,
                "messages of the busiest rank one after the other, by {source}:"
            )?;
            for row in &self.rows {
                let time = row.time_ns.unwrap_or(0.0) / 1e3;
                writeln!(text, "{:<10} {time:>10.1} us", row.kind.name())?;
            }
        }
        if self.rows.len() == 1 {
            for rank in 0..first.ranks() {
                self.write_rank(text, first, rank)?;
            }
        }
        Ok(())
    }

    fn write_rank(&self, text: &mut String, plan: &Plan, rank: usize) -> std::fmt::Result {
        let own = plan.box_of(rank);
        let ranges: Vec<String> = (0..3)
            .map(|axis| format!("{}..{}", own.start[axis], own.end[axis]))
            .collect();
        writeln!(
            text,
            "rank {rank} on node {}: points {}",
            plan.nodes()[rank],
            ranges.join(" ")
        )?;
        for message in plan.messages_from(rank) {
            writeln!(
                text,
                "  to {:>5} {:<8} {:>10} bytes, {} directions",
                message.to,
                share(plan, &message),
                message.points as u64 * self.options.bytes,
                message.directions.len()
            )?;
        }
        Ok(())
    }

    /// The same as JSON, with all boxes and messages.
    pub(super) fn json(&self) -> Value {
        let rows: Vec<Value> = self.rows.iter().map(|row| self.row_as_json(row)).collect();
        json!({
            "grid": self.rows[0].plan.problem().grid,
            "nodes": self.options.nodes,
            "devices": self.options.devices,
            "bytes_of_a_point": self.options.bytes,
            "profile": self.source,
            "plans": rows,
        })
    }

    fn row_as_json(&self, row: &Row) -> Value {
        let (plan, traffic) = (&row.plan, &row.traffic);
        let bytes = |points: usize| points as u64 * self.options.bytes;
        let ranks: Vec<Value> = (0..plan.ranks())
            .map(|rank| {
                let own = plan.box_of(rank);
                let messages = plan.messages_from(rank);
                let messages: Vec<Value> = messages
                    .iter()
                    .map(|message| {
                        let steps = message.directions.iter().map(|&index| DIRECTIONS[index]);
                        json!({
                            "to": message.to,
                            "share": share(plan, message),
                            "bytes": bytes(message.points),
                            "directions": steps.collect::<Vec<_>>(),
                        })
                    })
                    .collect();
                json!({
                    "rank": rank,
                    "node": plan.nodes()[rank],
                    "start": own.start,
                    "end": own.end,
                    "messages": messages,
                })
            })
            .collect();
        json!({
            "placement": row.kind.name(),
            "boxes": plan.dims(),
            "own_bytes": bytes(traffic.own),
            "node_bytes": bytes(traffic.node),
            "network_bytes": bytes(traffic.network),
            "node_messages": traffic.node_messages,
            "network_messages": traffic.network_messages,
            "busiest_rank_ns": row.time_ns,
            "ranks": ranks,
        })
    }

    /// Bytes between all ranks of the first plan, row by row.
    pub(super) fn matrix(&self) -> Vec<Vec<Option<f64>>> {
        let plan = &self.rows[0].plan;
        let mut matrix = vec![vec![None; plan.ranks()]; plan.ranks()];
        for message in (0..plan.ranks()).flat_map(|rank| plan.messages_from(rank)) {
            let bytes = message.points as f64 * self.options.bytes as f64;
            matrix[message.from][message.to] = Some(bytes);
        }
        matrix
    }
}

fn share(plan: &Plan, message: &Message) -> &'static str {
    match plan.share(message) {
        Share::Own => "itself",
        Share::Node => "node",
        Share::Network => "network",
    }
}

/// The time of the messages of the busiest rank.
fn slowest(plan: &Plan, bytes: u64, profile: &Profile) -> Result<f64, String> {
    let traffic = plan.traffic();
    let within = (traffic.node_messages > 0)
        .then(|| placement_curve(profile, PLACEMENT_ENTRIES[0]))
        .transpose()?;
    let between = (traffic.network_messages > 0)
        .then(|| placement_curve(profile, PLACEMENT_ENTRIES[1]))
        .transpose()?;
    let time = |message: &Message| {
        let curve = match plan.share(message) {
            Share::Own => None,
            Share::Node => within.as_ref(),
            Share::Network => between.as_ref(),
        };
        curve.map_or(0.0, |curve| {
            curve.at(message.points as f64 * bytes as f64).ns
        })
    };
    let of_rank = |rank| plan.messages_from(rank).iter().map(time).sum::<f64>();
    Ok((0..plan.ranks()).map(of_rank).fold(0.0, f64::max))
}
