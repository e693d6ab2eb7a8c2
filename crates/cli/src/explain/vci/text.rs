// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reports of all ranks as tables.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use measure::columns::table;

use super::super::ranges::ranges;
use super::advice::{advice, percent};
use super::report::{Communicators, RankReport, missing};

/// The reports as `rankpoint explain vci` prints them.
pub(super) fn text(reports: &[RankReport]) -> String {
    let mut text = String::new();
    head(&mut text, reports);
    communicators(&mut text, reports);
    costs(&mut text, reports);
    let advice = advice(reports);
    if !advice.is_empty() {
        text.push_str("\nAdvice (docs/threads.md)\n");
    }
    for sentence in advice {
        let _ = writeln!(text, "  {sentence}");
    }
    text
}

fn head(text: &mut String, reports: &[RankReport]) {
    let Some(first) = reports.first() else {
        return;
    };
    let mut counts: Vec<u32> = reports.iter().map(|report| report.vci_count).collect();
    counts.sort_unstable();
    counts.dedup();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{} of {} ranks reported. VCIs for communicators: {}. Locks: {}. Progress: {}",
        reports.len(),
        first.size,
        ranges(counts),
        first.locks,
        first.progress
    );
    if reports.iter().any(|report| !report.is_multiple) {
        text.push_str(
            "Without MPI_THREAD_MULTIPLE a rank has one VCI for its communicators and takes no locks\n",
        );
    }
    let missing = missing(reports);
    if !missing.is_empty() {
        let _ = writeln!(
            text,
            "No report of ranks {}: they did not finalize MPI",
            ranges(missing)
        );
    }
}

/// How many contexts of libfabric the ranks opened, and why not more; empty for a job of one node.
pub(super) fn network(reports: &[RankReport]) -> String {
    let mut text = String::new();
    let mut alike: Vec<(String, Vec<u32>)> = Vec::new();
    for report in reports {
        let Some(contexts) = &report.network else {
            continue;
        };
        let mut told = format!(
            "opened {} of {} contexts",
            contexts.opened, contexts.planned
        );
        if let Some(refusal) = &contexts.refusal {
            told = format!("{told}; context 0 stands in for others ({refusal})");
        }
        match alike.iter_mut().find(|(known, _)| *known == told) {
            Some((_, ranks)) => ranks.push(report.rank),
            None => alike.push((told, vec![report.rank])),
        }
    }
    for (told, ranks) in alike {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  Ranks {}: {told}", ranges(ranks));
    }
    text
}

/// Which VCIs each communicator used.
fn communicators(text: &mut String, reports: &[RankReport]) {
    text.push_str("\nWhich VCIs communicators used\n");
    let mut rows: Vec<(&Communicators, String, Vec<u32>)> = Vec::new();
    for report in reports {
        for (one, vcis) in joined(report) {
            let vcis = ranges(vcis);
            let known = rows.iter_mut().find(|(known, known_vcis, _)| {
                (&known.contexts, known.describe(), known_vcis)
                    == (&one.contexts, one.describe(), &vcis)
            });
            match known {
                Some((_, _, ranks)) => ranks.push(report.rank),
                None => rows.push((one, vcis, vec![report.rank])),
            }
        }
    }
    let rows = rows.into_iter().map(|(one, vcis, ranks)| {
        let contexts: Vec<String> = one.contexts.iter().map(u32::to_string).collect();
        let more = if one.count > one.contexts.len() as u64 {
            ", ..."
        } else {
            ""
        };
        let contexts = format!("{}{more}", contexts.join(", "));
        [ranges(ranks), vcis, contexts, one.describe()]
    });
    let head = ["ranks", "VCIs", "context", "communicator"].map(str::to_owned);
    table(text, 0, std::iter::once(head).chain(rows).collect());
}

/// The communicators of a rank and their VCIs; the endpoints of a communicator are one.
fn joined(report: &RankReport) -> Vec<(&Communicators, Vec<u32>)> {
    let mut joined: Vec<(&Communicators, Vec<u32>)> = Vec::new();
    for one in &report.communicators {
        let vcis = one.vcis.iter().map(|&vci| u32::from(vci));
        let known = joined.iter_mut().find(|(known, _)| {
            one.is_endpoint && known.is_endpoint && known.contexts == one.contexts
        });
        match known {
            Some((_, known)) => known.extend(vcis),
            None => joined.push((one, vcis.collect())),
        }
    }
    for (_, vcis) in &mut joined {
        vcis.sort_unstable();
        vcis.dedup();
    }
    joined
}

/// What each VCI cost.
fn costs(text: &mut String, reports: &[RankReport]) {
    text.push_str("\nWhat each VCI did\n");
    let head = [
        "rank",
        "VCI",
        "locks taken",
        "failed tries",
        "",
        "global rounds",
        "sent",
        "received",
        "communicators",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    for report in reports {
        let mut users: BTreeMap<u8, u64> = BTreeMap::new();
        for one in &report.communicators {
            for &vci in &one.vcis {
                *users.entry(vci).or_default() += one.count;
            }
        }
        for vci in &report.vcis {
            let (taken, failed) = (vci.locks_taken(), vci.locks_failed());
            let share = match failed {
                0 => String::new(),
                _ => percent(failed, failed + taken),
            };
            let users = users.get(&vci.index).copied().unwrap_or(0);
            rows.push([
                report.rank.to_string(),
                vci.index.to_string(),
                taken.to_string(),
                failed.to_string(),
                share,
                vci.global_rounds().to_string(),
                vci.sent().to_string(),
                vci.received().to_string(),
                users.to_string(),
            ]);
        }
    }
    table(text, usize::MAX, rows);
}

#[cfg(test)]
mod tests {
    use super::super::report::Contexts;
    use super::super::report::tests::{communicator, report};
    use super::*;

    #[test]
    fn tables_name_communicators_and_costs() {
        let mut endpoints =
            [2, 3].map(|vci| communicator("create_endpoints of MPI_COMM_WORLD", 5, &[vci]));
        for (one, count) in endpoints.iter_mut().zip([1, 1]) {
            (one.is_endpoint, one.is_freed, one.count) = (true, true, count);
        }
        let mut dups = communicator("dup of MPI_COMM_WORLD, 2 ranks", 1, &[1]);
        (dups.count, dups.is_freed) = (3, true);
        let mut all = vec![communicator("MPI_COMM_WORLD", 0, &[0]), dups];
        all.extend(endpoints);
        let vcis = [(0, [1000, 0, 0]), (1, [1500, 500, 12])];
        let text = text(&[report(0, 2, &vcis, all)]);
        let expected = "\
1 of 2 ranks reported. VCIs for communicators: 2. Locks: vci. Progress: hybrid
No report of ranks 1: they did not finalize MPI

Which VCIs communicators used
  ranks  VCIs  context  communicator
  0      0     0        MPI_COMM_WORLD
  0      1     6, ...   3 x dup of MPI_COMM_WORLD, 2 ranks (freed)
  0      2, 3  14       create_endpoints of MPI_COMM_WORLD (freed)

What each VCI did
  rank  VCI  locks taken  failed tries          global rounds  sent  received  communicators
     0    0         1000             0                      0    14         7              1
     0    1         1500           500  25.0 %             12    14         7              3

Advice (docs/threads.md)
  VCI 1 of rank 0: threads found its lock taken in 25.0 % of 2000 tries. 3 communicators share it: \
3 x dup of MPI_COMM_WORLD, 2 ranks (freed). Give each thread a communicator or an endpoint of its own
";
        assert_eq!(text, expected);
    }

    #[test]
    fn contexts_of_ranks_that_are_alike_share_a_line() {
        let of = |rank, opened, refusal: Option<&str>| {
            let mut report = report(rank, 2, &[], Vec::new());
            report.network = Some(Contexts {
                planned: 64,
                opened,
                refusal: refusal.map(str::to_owned),
            });
            report
        };
        let alone = report(3, 2, &[], Vec::new());
        let text = network(&[
            of(0, 3, None),
            of(1, 3, None),
            of(2, 1, Some("no files")),
            alone,
        ]);
        let expected = "  Ranks 0, 1: opened 3 of 64 contexts\n  \
                        Ranks 2: opened 1 of 64 contexts; context 0 stands in for others (no files)\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn ranks_that_are_alike_share_a_row() {
        let all = || vec![communicator("MPI_COMM_WORLD", 0, &[0])];
        let mut funneled = report(1, 1, &[(0, [0; 3])], all());
        funneled.is_multiple = false;
        let text = text(&[report(0, 1, &[(0, [0; 3])], all()), funneled]);
        assert!(
            text.contains("\n  0, 1   0     0        MPI_COMM_WORLD\n"),
            "{text}"
        );
        assert!(text.contains("Without MPI_THREAD_MULTIPLE"), "{text}");
        assert!(!text.contains("Advice"), "{text}");
    }
}
