// SPDX-License-Identifier: MIT OR Apache-2.0
//! What to do about a VCI whose lock threads waited for.

use std::collections::BTreeMap;

use super::super::ranges::ranges;
use super::report::{Communicators, RankReport, Vci};

/// Failed tries below which nothing is said.
const FEW: u64 = 100;
/// One failed try of so many is noticeable.
const NOTICEABLE: u64 = 100;
/// Most VCIs of a process (`RANKPOINT_VCIS`).
const MOST_VCIS: u32 = 64;

/// The ranks whose VCI with one index has the same trouble.
#[derive(Default)]
struct Trouble {
    ranks: Vec<u32>,
    failed: u64,
    tries: u64,
}

/// One sentence for each VCI whose lock threads found taken noticeably often.
pub(super) fn advice(reports: &[RankReport]) -> Vec<String> {
    let mut troubles: BTreeMap<(u8, String), Trouble> = BTreeMap::new();
    for report in reports {
        for vci in report.vcis.iter().filter(|vci| is_noticeable(vci)) {
            let remedy = remedy(report, vci);
            let trouble = troubles.entry((vci.index, remedy)).or_default();
            trouble.ranks.push(report.rank);
            trouble.failed += vci.locks_failed();
            trouble.tries += vci.locks_failed() + vci.locks_taken();
        }
    }
    let sentences = troubles.into_iter().map(|((index, remedy), trouble)| {
        let plural = if trouble.ranks.len() == 1 { "" } else { "s" };
        format!(
            "VCI {index} of rank{plural} {}: threads found its lock taken in {} of {} tries. {remedy}",
            ranges(trouble.ranks),
            percent(trouble.failed, trouble.tries),
            trouble.tries,
        )
    });
    sentences.collect()
}

fn is_noticeable(vci: &Vci) -> bool {
    let (failed, taken) = (vci.locks_failed(), vci.locks_taken());
    failed >= FEW && failed.saturating_mul(NOTICEABLE) >= failed + taken
}

/// A share of a whole.
pub(super) fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", part as f64 / whole.max(1) as f64 * 100.0)
}

fn remedy(report: &RankReport, vci: &Vci) -> String {
    if report.locks == "global" {
        return "The process has one lock: without RANKPOINT_LOCKS=global new communicators have VCIs of their own".to_owned();
    }
    let uses = |one: &&Communicators| one.vcis.contains(&vci.index) && !one.is_itself();
    let users: Vec<&Communicators> = report.communicators.iter().filter(uses).collect();
    let count: u64 = users.iter().map(|one| one.count).sum();
    let others = report.vcis.iter().filter(|one| one.index != vci.index);
    let visits: u64 = others.map(Vci::global_rounds).sum();
    let of_processes = report.communicators.iter().filter(|one| !one.is_endpoint);
    let needed = 1 + of_processes.map(|one| one.ordinal).max().unwrap_or(0);
    let whole = || {
        let names: Vec<String> = users.iter().map(|one| one.describe()).collect();
        names.join("; ")
    };
    if visits >= vci.locks_failed() {
        return format!(
            "Threads that wait on other VCIs advanced this one {visits} times: a larger RANKPOINT_GLOBAL_PROGRESS_POLLS lets them do so less often"
        );
    }
    match count {
        0 => "No communicator of the program uses it".to_owned(),
        1 => format!(
            "One communicator uses it: {}. Give each thread a communicator or an endpoint of its own",
            whole()
        ),
        _ if users.iter().all(|one| one.is_endpoint) => format!(
            "{count} communicators of endpoints share it: {}. Let one thread use all communicators of an endpoint, and make no more than {MOST_VCIS} endpoints",
            whole()
        ),
        _ if needed > MOST_VCIS => format!(
            "{count} communicators share it: {}. The program makes {} of them: make those of its threads one after the other, or use endpoints",
            whole(),
            needed - 1
        ),
        _ if needed > report.vci_count => format!(
            "{count} communicators share it: {}. RANKPOINT_VCIS={needed} gives each a VCI of its own",
            whole()
        ),
        _ => format!(
            "{count} communicators share it: {}. Give each thread a communicator or an endpoint of its own",
            whole()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::{communicator, report};
    use super::*;

    const WORLD: &str = "MPI_COMM_WORLD";

    #[test]
    fn communicators_that_share_a_contended_vci_are_told_how_many_vcis_they_need() {
        let communicators = || {
            vec![
                communicator(WORLD, 0, &[0]),
                communicator("left", 1, &[1]),
                communicator("right", 3, &[1]),
            ]
        };
        let vcis = [(0, [1000, 0, 0]), (1, [9000, 1000, 3])];
        let ranks = [0, 1].map(|rank| report(rank, 2, &vcis, communicators()));
        let expected = "VCI 1 of ranks 0, 1: threads found its lock taken in 10.0 % of 20000 tries. \
                        2 communicators share it: left; right. RANKPOINT_VCIS=4 gives each a VCI of its own";
        assert_eq!(advice(&ranks), [expected]);
    }

    #[test]
    fn locks_that_hardly_fail_are_no_trouble() {
        let communicators = vec![communicator(WORLD, 0, &[0]), communicator("a", 1, &[0])];
        for calm in [[1000, 99, 0], [100_000, 900, 0]] {
            assert!(advice(&[report(0, 1, &[(0, calm)], communicators.clone())]).is_empty());
        }
    }

    #[test]
    fn each_cause_has_its_remedy() {
        let busy = [9000, 1000, 0];
        let told = |report: RankReport| advice(&[report]).concat();
        let alone = report(0, 4, &[(0, busy)], vec![communicator(WORLD, 0, &[0])]);
        assert!(
            told(alone.clone()).contains("One communicator uses it: MPI_COMM_WORLD. Give each")
        );
        let mut global = alone.clone();
        global.locks = "global".to_owned();
        assert!(told(global).contains("without RANKPOINT_LOCKS=global"));
        let visited = report(
            0,
            4,
            &[(0, busy), (1, [10, 0, 5000])],
            alone.communicators.clone(),
        );
        assert!(told(visited).contains("RANKPOINT_GLOBAL_PROGRESS_POLLS"));
        let many = vec![communicator("a", 1, &[1]), communicator("b", 65, &[1])];
        let many = report(0, 64, &[(1, busy)], many);
        assert!(told(many).contains("makes 65 of them"));
        let mut endpoints = vec![communicator("e", 0, &[9]), communicator("f", 0, &[9])];
        endpoints.iter_mut().for_each(|one| one.is_endpoint = true);
        let endpoints = report(0, 4, &[(9, busy)], endpoints);
        assert!(told(endpoints).contains("2 communicators of endpoints share it: e; f."));
    }
}
