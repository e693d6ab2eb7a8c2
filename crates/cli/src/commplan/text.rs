// SPDX-License-Identifier: MIT OR Apache-2.0
//! The answer as text.

use std::fmt::Write as _;

use commplan::{ByClass, Checked, Grid, Kind, MAX_CHECKED, Spread, TagLayout};

use super::answer::{Answer, Row, float};

impl Answer {
    pub(super) fn text(&self) -> String {
        let mut text = heading(&self.grid);
        self.messages(&mut text);
        self.plans(&mut text);
        self.volume(&mut text);
        if let Some(times) = &self.times {
            times.text(&self.rows, &mut text);
        }
        text
    }

    fn messages(&self, text: &mut String) {
        let grid = &self.grid;
        let has_edges = grid.stencil().axes() == 3;
        let edges = |value: &str| match has_edges {
            true => format!("{value:>9}"),
            false => String::new(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "\nMessages of an interior process\n{:<20}{:>9}{}{:>9}{:>9}",
            "",
            "faces",
            edges("edges"),
            "corners",
            "all"
        );
        let mut line = |name: &str, counts: ByClass| {
            let _ = writeln!(
                text,
                "{name:<20}{:>9}{}{:>9}{:>9}",
                counts.faces,
                edges(&counts.edges.to_string()),
                counts.corners,
                counts.all()
            );
        };
        line("  of all threads", grid.interior_volume().all);
        line("  to others", grid.leaving());
        if let Some(printed) = self.printed() {
            line("  published formula", printed);
        }
        let _ = writeln!(
            text,
            "{} of {} threads send to other processes. If no two share a communicator, they need at least {}.",
            grid.border_threads(),
            grid.thread_count(),
            grid.lower_bound()
        );
        if let (Some(printed), Some(contexts)) = (self.printed(), self.contexts) {
            let on_contexts = |counts: ByClass| {
                let all = usize::try_from(counts.all()).unwrap_or(usize::MAX);
                let ratio = float(all as u128) / float(contexts as u128);
                let spread = Spread::round_robin(all, contexts);
                format!("{spread} ({ratio:.2} times as many)")
            };
            let _ = writeln!(
                text,
                "On {contexts} contexts the published number is {}, that of messages {}.",
                on_contexts(printed),
                on_contexts(grid.leaving())
            );
        }
    }

    fn plans(&self, text: &mut String) {
        let on = self
            .contexts
            .map(|contexts| format!("on {contexts} contexts"));
        let contexts = |first: &str, second: &str| match on {
            Some(_) => format!("  {first:<24}{second:>12}"),
            None => String::new(),
        };
        let heads = contexts(on.as_deref().unwrap_or(""), "threads");
        let _ = writeln!(
            text,
            "\n{:<10}{:>8}{:>8}{:>18}{heads}  both ends",
            "plan", "used", "in all", "exposed"
        );
        for row in &self.rows {
            let exposed = row.exposed.map_or("-".to_owned(), |one| one.to_string());
            let spread = row.spread.as_ref().map_or(String::new(), Spread::to_string);
            let most = row.threads.as_ref().map_or(0, Spread::most);
            let columns = contexts(&spread, &format!("up to {most}"));
            let _ = writeln!(
                text,
                "{:<10}{:>8}{:>8}{exposed:>18}{columns}  {}",
                row.kind.name(),
                row.used,
                row.objects,
                agreement(row)
            );
        }
        for (kind, why) in &self.refused {
            let _ = writeln!(text, "{}: {why}", kind.name());
        }
        if self.rows.iter().any(|row| row.kind == Kind::Tag) {
            let layout = TagLayout::of(&self.grid);
            let _ = writeln!(
                text,
                "tag: {} bits: {} for the direction, {} for the sender, {} for the receiver; MPI_TAG_UB is {}",
                layout.bits(),
                layout.direction_bits,
                layout.thread_bits,
                layout.thread_bits,
                self.tag_ub
            );
        }
    }

    fn volume(&self, text: &mut String) {
        let heads = self
            .sizes
            .iter()
            .map(|size| format!("{:>9}", format!("n = {size}")));
        let _ = writeln!(
            text,
            "\nShare that stays within a process, of messages and of cells in patches of n cells along each axis\n{:<20}{:>20}{:>9}{}",
            "",
            "messages",
            "",
            heads.collect::<String>()
        );
        for (name, volume) in self.volumes() {
            let (all, inside) = (volume.all.all(), volume.inside.all());
            let cells = self.sizes.iter().map(|&size| share(volume.cells(size)));
            let _ = writeln!(
                text,
                "  {name:<18}{:>20}{}{}",
                format!("{inside} of {all}"),
                share((all.into(), inside.into())),
                cells.collect::<String>()
            );
        }
    }
}

fn heading(grid: &Grid) -> String {
    let axes = grid.stencil().axes();
    let list = |extents: [usize; 3]| {
        let extents = extents[..axes].iter().map(usize::to_string);
        extents.collect::<Vec<_>>().join(",")
    };
    let names = (0..axes).filter(|&axis| grid.is_periodic(axis));
    let names: Vec<&str> = names.map(|axis| ["x", "y", "z"][axis]).collect();
    let border = match names.is_empty() {
        true => "not periodic".to_owned(),
        false => format!("periodic along {}", names.join(", ")),
    };
    format!(
        "{}-point stencil, [{}] threads in each of [{}] processes, {border}\n",
        grid.stencil().points(),
        list(grid.threads()),
        list(grid.processes())
    )
}

fn agreement(row: &Row) -> String {
    let Some(checked) = row.checked else {
        return format!("not checked: more than {MAX_CHECKED} messages");
    };
    let Checked {
        messages,
        disagreements,
        ambiguous,
        shared,
    } = checked;
    let found = match (checked.agrees(), shared) {
        (false, _) => format!("{disagreements} DISAGREE, {ambiguous} AMBIGUOUS"),
        (true, 0) => "agree".to_owned(),
        (true, _) => "agree, threads share".to_owned(),
    };
    format!("{found} ({messages} messages)")
}

fn share((all, inside): (u128, u128)) -> String {
    match all {
        0 => format!("{:>9}", "-"),
        _ => format!("{:>7.2} %", 100.0 * float(inside) / float(all)),
    }
}
