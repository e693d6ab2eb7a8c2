// SPDX-License-Identifier: MIT OR Apache-2.0
//! The published system: every number of the publication that the model reproduces, as printed there.

#![expect(clippy::expect_used, reason = "a failure fails the test")]

use models::window::{Bound, Path, Shared};
use models::{Model, Need, Values, preset};

fn published() -> (Model, Values) {
    let model = preset("tx2-cx4").expect("a preset");
    let values = model.values();
    (model, values)
}

/// A value equals a printed one to all digits that are printed; a half rounds up, as on paper.
fn same(value: f64, printed: &str, what: &str) {
    let digits = printed
        .split_once('.')
        .map_or(0, |(_, digits)| digits.len());
    let scale = 10_f64.powi(i32::try_from(digits).expect("few digits"));
    let rounded = (value * scale + 1e-6).round() / scale;
    assert_eq!(format!("{rounded:.digits$}"), printed, "{what}: {value}");
}

fn value(name: &str) -> f64 {
    let (model, values) = published();
    model.value(name, &values).expect(name)
}

fn gain(quantity: &str, change: &str) -> (f64, f64) {
    let (model, values) = published();
    let changes: Vec<_> = change
        .split(' ')
        .map(|one| one.parse().expect(change))
        .collect();
    let gain = model.what_if(&values, quantity, &changes).expect(change);
    (gain.after_ns, gain.percent())
}

fn path(llp_only: bool) -> Path {
    let (progress, misc) = if llp_only {
        ("LLP_prog", "Misc_LLP")
    } else {
        ("Progress", "Misc")
    };
    Path {
        post_ns: value(if llp_only { "LLP_post" } else { "Post" }),
        progress_ns: value(progress),
        misc_ns: value(misc),
        completion_ns: value("gen_completion"),
    }
}

#[test]
fn derived_values_are_those_of_the_golden_table() {
    for (name, printed) in [
        ("LLP_post", "175.42"),
        ("LLP_prog", "61.63"),
        ("HLP_post", "26.56"),
        ("Post", "201.98"),
        ("HLP_rx_prog", "224.66"),
        ("Wait", "443.80"),
        ("Progress", "59.82"),
        ("message_llp", "433.22"),
        ("message", "402.46"),
        ("injection_llp", "295.73"),
        ("injection", "264.97"),
        ("latency_llp", "1135.80"),
        ("latency", "1387.02"),
        ("gen_completion", "1281.56"),
        ("CPU", "488.27"),
        ("IO", "515.94"),
        ("Network", "382.81"),
        ("On_node", "1004.21"),
        ("Initiator", "339.47"),
        ("Target", "664.74"),
    ] {
        same(value(name), printed, name);
    }
}

#[test]
fn rates_and_errors_are_the_printed_ones_and_the_printed_claims_hold() {
    let (model, values) = published();
    let rows = [
        ("injection_llp", "4.75", 5.0, "3.38", "3.54"),
        ("injection", "0.40", 1.0, "3.77", "3.79"),
        ("latency_llp", "-4.57", 5.0, "", ""),
        ("latency", "3.82", 4.0, "", ""),
    ];
    for (name, printed, claim, rate, observed_rate) in rows {
        let answer = model.independent(name).expect(name).predict(&values);
        let residual = answer.residual_percent().expect("an observation");
        same(residual, printed, name);
        assert!(residual.abs() <= claim, "{name}: {residual}");
        if !rate.is_empty() {
            same(1e3 / answer.predicted_ns, rate, name);
            same(
                1e3 / answer.observed_ns.expect("an observation"),
                observed_rate,
                name,
            );
        }
    }
}

#[test]
fn shares_are_the_printed_ones() {
    let (model, values) = published();
    let share = |table: &str, part: &str| {
        let shares = model
            .shares()
            .iter()
            .find(|row| row.name() == table)
            .expect(table);
        let (_, term) = shares
            .parts()
            .iter()
            .find(|(name, _)| name == part)
            .expect(part);
        100.0 * model.term(term, &values) / model.term(shares.of(), &values)
    };
    let rows = "injection_llp/LLP_post 59.32 injection_llp/LLP_prog 20.84 injection_llp/Misc 19.84 \
         LLP_post/MD 15.84 LLP_post/MD_barrier 9.88 LLP_post/counter_barrier 12.01 LLP_post/PIO 53.73 LLP_post/other 8.55 \
         Isend/MPICH 91.75 Isend/UCP 8.25 Wait/MPICH 66.09 Wait/UCP 33.91 \
         injection/LLP_post 66.20 injection/HLP_post 10.02 injection/Progress 22.58 injection/Misc 1.20 injection/Post 76.23 \
         initiation/LLP 86.85 initiation/HLP 13.15 receive_progress/HLP 78.47 receive_progress/LLP 21.53 \
         latency/HLP_post 1.91 latency/LLP_post 12.65 latency/PCIe,_first 9.91 latency/PCIe,_second 9.91 latency/Wire 19.81 \
         latency/Switch 7.79 latency/RC_to_MEM 17.37 latency/LLP_prog 4.44 latency/HLP_rx_prog 16.20 \
         latency_categories/CPU 35.20 latency_categories/I|O 37.20 latency_categories/Network 27.60 latency_categories/on_node 72.40 \
         CPU/HLP 51.45 CPU/LLP 48.55 I|O/2_PCIe 53.30 I|O/RC_to_MEM 46.70 Network/Wire 71.79 Network/Switch 28.21 \
         on_node/initiator 33.80 on_node/target 66.20 initiator/software 59.50 target/I|O 56.93 target_IO/RC_to_MEM 63.67";
    let words: Vec<&str> = rows.split_whitespace().collect();
    for row in words.chunks(2) {
        let (table, part) = row[0].split_once('/').expect(row[0]);
        let table = table.replace('|', "/");
        // Blanks and slashes of names stand as other letters in the list above.
        let exact = model
            .shares()
            .iter()
            .find(|row| row.name() == table)
            .expect(row[0]);
        let spelled = part.replace('|', "/");
        let has = exact.parts().iter().any(|(name, _)| *name == spelled);
        let name = if has {
            spelled
        } else {
            spelled.replace('_', " ")
        };
        same(share(&table, &name), row[1], row[0]);
    }
    let ratio = value("Receive_progress") / value("Progress");
    same(ratio, "4.79", "receive to send progress");
}

/// The source calls the halves of CPU and of I/O equal within 4 %: that holds of their shares of latency, and of I/O's own not.
#[test]
fn halves_of_cpu_and_io_are_near_in_shares_of_latency_only() {
    let latency = value("latency");
    let halves = |a: f64, b: f64, whole: f64| 100.0 * (a - b).abs() / whole;
    let hlp = value("HLP_post") + value("HLP_rx_prog");
    same(halves(hlp, value("LLP"), latency), "1.02", "CPU");
    let pcie = 2.0 * value("PCIe");
    same(halves(pcie, value("RC_to_MEM"), latency), "2.45", "I/O");
    assert!(halves(pcie, value("RC_to_MEM"), value("IO")) > 4.0);
}

#[test]
fn the_what_if_grids_are_the_printed_ones() {
    let (model, values) = published();
    let grids = [
        ("injection", "PIO 3.56 10.67 17.79 24.90 32.01"),
        ("injection", "LLP_post 6.62 19.86 33.10 46.34 59.58"),
        ("injection", "LLP 6.66 19.97 33.28 46.60 59.91"),
        ("injection", "HLP_post 1.00 3.01 5.01 7.02 9.02"),
        ("injection", "HLP_tx_prog 2.22 6.66 11.11 15.55 19.99"),
        ("injection", "HLP 3.22 9.67 16.12 22.57 29.01"),
        ("latency", "PIO 0.68 2.04 3.40 4.76 6.12"),
        ("latency", "LLP_post 1.26 3.79 6.32 8.85 11.38"),
        ("latency", "LLP 1.71 5.13 8.55 11.96 15.38"),
        ("latency", "HLP_rx_prog 1.62 4.86 8.10 11.34 14.58"),
        ("latency", "HLP 1.81 5.43 9.06 12.68 16.30"),
        ("latency", "IO 3.72 11.16 18.60 26.04 33.48"),
        ("latency", "PCIe 1.98 5.95 9.91 13.88 17.84"),
        ("latency", "RC_to_MEM 1.74 5.21 8.69 12.16 15.64"),
        ("latency", "Wire 1.98 5.94 9.91 13.87 17.83"),
        ("latency", "Switch 0.78 2.34 3.89 5.45 7.01"),
    ];
    for (quantity, row) in grids {
        let words: Vec<&str> = row.split(' ').collect();
        let gains = model.sweep(&values, quantity, words[0], &[10.0, 30.0, 50.0, 70.0, 90.0]);
        for (gain, printed) in gains.expect(row).iter().zip(&words[1..]) {
            same(*gain, printed, row);
        }
    }
}

#[test]
fn printed_statements_about_changes_hold() {
    let (after, percent) = gain("latency", "PCIe=0.5x");
    same(after, "1249.53", "latency");
    same(percent, "9.91", "latency");
    same(gain("injection", "PCIe=0.5x").0, "264.97", "injection");
    same(gain("message", "PCIe=0.5x").0, "333.715", "message");
    same(gain("latency", "PIO=15").0, "1307.77", "latency");
    same(gain("injection", "PIO=15").0, "185.72", "injection");
    same(gain("injection", "PIO=15").1, "29.91", "injection");
    same(gain("latency", "PIO=15").1, "5.71", "latency");
    same(100.0 * (1.0 - 15.0 / 94.25), "84.08", "PIO");
    let (after, percent) = gain("latency", "PIO=15 Switch=30");
    same(after, "1229.77", "latency");
    same(percent, "11.34", "latency");
    let (after, percent) = gain("latency", "IO=0.5x");
    same(after, "1129.05", "latency");
    same(percent, "18.60", "latency");
    same(gain("latency", "LLP=-20%").1, "3.42", "latency");
    same(gain("latency", "HLP=-20%").1, "3.62", "latency");
    same(gain("latency", "Switch=30").1, "5.62", "latency");
    same(100.0 * (1.0 - 30.0 / 108.0), "72.22", "Switch");
}

/// The source prints 13.33 and 6.44 % for software that is 20 % cheaper. Its components give 13.31 and 6.45; the printed pair needs
/// an LLP share of progress of 1.125 ns, which is more than the 0.96 ns of LLP_prog / 64.
#[test]
fn the_printed_pair_of_software_gains_needs_another_share_of_progress() {
    same(gain("injection", "LLP=-20%").1, "13.31", "LLP");
    same(gain("injection", "HLP=-20%").1, "6.45", "HLP");
    let (model, _) = published();
    let given = [("c".to_owned(), 61.63 / 1.125)];
    let values = model.values_given(&given).expect("a parameter");
    let gain = |part: &str| {
        model
            .sweep(&values, "injection", part, &[20.0])
            .expect(part)[0]
    };
    same(gain("LLP"), "13.33", "LLP");
    same(gain("HLP"), "6.44", "HLP");
    same(
        model.value("injection", &values).expect("it"),
        "264.97",
        "injection",
    );
}

#[test]
fn latency_without_the_switch_is_further_from_the_observation() {
    let (after, _) = gain("latency_llp", "Switch=0");
    same(after, "1027.80", "latency_llp");
    same(100.0 * (after - 1190.25) / 1190.25, "-13.65", "latency_llp");
}

#[test]
fn needs_are_the_printed_ones() {
    let (model, values) = published();
    let need = |quantity: &str, gain: f64, part: &str| model.need(&values, quantity, gain, part);
    let reduction = |quantity: &str, gain: f64, part: &str, printed: &str| {
        let Ok(Need::Reduction(percent)) = need(quantity, gain, part) else {
            panic!("{part} can");
        };
        same(percent, printed, part);
    };
    reduction("injection", 10.0, "PIO", "28.11");
    reduction("latency", 5.0, "Switch", "64.21");
    reduction("latency", 5.0, "PIO", "73.58");
    let Ok(Need::Cannot(Some(percent))) = need("latency", 5.0, "LLP_prog") else {
        panic!("LLP_prog cannot");
    };
    same(percent, "112.53", "LLP_prog");
    assert_eq!(need("latency", 5.0, "Misc"), Ok(Need::Cannot(None)));
}

#[test]
fn windows_are_those_of_the_formulas() {
    let full = path(false);
    let printed = "1546.53 773.265 515.51 386.63 309.31 264.97 264.97";
    for (depth, printed) in (1..).zip(printed.split(' ')) {
        same(full.rolling(depth).ns, printed, "rolling");
    }
    same(full.rolling_depth(), "6", "rolling");
    assert_eq!(full.rolling(5).bound, Bound::Completion);
    assert_eq!(full.rolling(6).bound, Bound::Cpu);
    let llp = path(true);
    for (depth, printed) in [(1, "1577.29"), (5, "315.46"), (6, "295.73")] {
        same(llp.rolling(depth).ns, printed, "rolling, LLP");
    }
    same(llp.rolling_depth(), "6", "rolling, LLP");
    let rows = "1 1546.53 2 875.84 4 540.50 7 396.78 8 372.82 16 288.99 23 264.97";
    let words: Vec<&str> = rows.split(' ').collect();
    for row in words.chunks(2) {
        same(
            full.fill_drain(row[0].parse().expect("posts")).ns,
            row[1],
            "fill and drain",
        );
    }
    same(full.fill_drain_posts(), "23", "fill and drain");
    same(llp.fill_drain_posts(), "22", "fill and drain, LLP");
    same(llp.posts_between_polls(), "8", "2.2");
    same(full.posts_between_polls(), "7", "2.2");
    let lost = 100.0 * (full.fill_drain(7).ns / full.cpu_ns() - 1.0);
    same(lost, "50", "7 posts leave 50 % on the table");
}

#[test]
fn eight_threads_use_up_eight_credits() {
    let full = path(false);
    let return_ns = 2.0 * value("PCIe");
    same(return_ns, "274.98", "return of a credit");
    let shared = Shared {
        credits: Some((8.0, return_ns)),
        ..Shared::default()
    };
    same(full.cores_of_credits(8.0, return_ns), "7.71", "cores");
    let all = full.threads(8, &shared);
    assert_eq!(all.bound, Bound::Credits);
    same(all.rate() / 1e6, "29.09", "rate");
    assert_eq!(full.threads(7, &shared).bound, Bound::Cpu);
    same(
        full.threads(1, &shared).rate() / 1e6,
        "3.77",
        "rate of a core",
    );
}

#[test]
fn a_lock_or_the_nic_bounds_threads() {
    let full = path(false);
    let shared = Shared {
        lock_hold_ns: Some(100.0),
        nic_ns: Some(50.0),
        credits: None,
    };
    assert_eq!(full.threads(2, &shared).bound, Bound::Cpu);
    assert_eq!(full.threads(3, &shared).bound, Bound::Lock);
    let nic = Shared {
        lock_hold_ns: Some(10.0),
        ..shared
    };
    assert_eq!(full.threads(16, &nic).bound, Bound::Nic);
}
