// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulation agrees with the formulas where they hold, and its traces give back the components that they were made of.

#![expect(clippy::expect_used, reason = "a failure fails the test")]

use models::preset;
use models::simulate::{COMPLETIONS, Mode, Pingpong, Setup, shared_credits};
use models::trace::{self, CoreTimes, Direction, Injection, Packet, Row};
use models::window::Path;
use proptest::prelude::*;

const MESSAGES: u64 = 20_000;

fn published() -> Path {
    let model = preset("tx2-cx4").expect("a preset");
    let values = model.values();
    let value = |name: &str| model.value(name, &values).expect(name);
    Path {
        post_ns: value("Post"),
        progress_ns: value("Progress"),
        misc_ns: value("Misc"),
        completion_ns: value("gen_completion"),
    }
}

fn setup(path: Path, depth: u32, mode: Mode) -> Setup {
    Setup {
        path,
        depth,
        mode,
        signal_every: 1,
        busy_post_ns: 0.0,
        credits: None,
        bus_ns: 0.0,
    }
}

fn near(found: f64, expected: f64, what: &str) {
    assert!(
        (found / expected - 1.0).abs() < 1e-3,
        "{what}: {found} instead of {expected}"
    );
}

#[test]
fn rolling_windows_agree_with_the_formula() {
    let path = published();
    for depth in [1, 2, 3, 4, 5, 6, 7, 16, 64] {
        let found = setup(path, depth, Mode::Rolling).run(MESSAGES).ns;
        near(found, path.rolling(depth).ns, &format!("depth {depth}"));
    }
}

#[test]
fn filled_and_drained_queues_agree_with_the_formula() {
    let path = published();
    for posts in [1, 2, 4, 7, 8, 16, 22, 23, 32] {
        let found = setup(path, posts, Mode::FillDrain).run(MESSAGES).ns;
        near(found, path.fill_drain(posts).ns, &format!("{posts} posts"));
    }
}

proptest! {
    #[test]
    fn both_agree_for_any_times(
        post in 1.0..400.0_f64, progress in 1.0..400.0_f64, misc in 0.0..100.0_f64, completion in 0.0..5000.0_f64, depth in 1..40_u32
    ) {
        let path = Path { post_ns: post, progress_ns: progress, misc_ns: misc, completion_ns: completion };
        let rolling = setup(path, depth, Mode::Rolling).run(4000).ns;
        prop_assert!((rolling / path.rolling(depth).ns - 1.0).abs() < 1e-3, "{rolling}");
        let drained = setup(path, depth, Mode::FillDrain).run(4000).ns;
        prop_assert!((drained / path.fill_drain(depth).ns - 1.0).abs() < 1e-3, "{drained}");
    }

    #[test]
    fn shared_credits_agree_with_the_formula(cpu in 10.0..500.0_f64, cores in 1..20_u32, credits in 1..20_u32, back in 10.0..1000.0_f64) {
        let expected = (cpu / f64::from(cores)).max(back / f64::from(credits));
        // With fewer cores than credits, a core waits for nothing.
        prop_assume!(cores >= credits || back <= cpu);
        let found = shared_credits(cpu, cores, credits, back, 20_000);
        prop_assert!((found / expected - 1.0).abs() < 1e-3, "{found} instead of {expected}");
    }

    #[test]
    fn traces_give_their_components_back(
        pcie in 1.0..500.0_f64, wire in 1.0..2000.0_f64, switch in 0.0..500.0_f64, memory in 1.0..900.0_f64,
        post in 1.0..400.0_f64, poll in 1.0..100.0_f64, more in 1.0..2000.0_f64
    ) {
        let path = Pingpong {
            pcie_ns: pcie, wire_ns: wire, switch_ns: switch, rc_to_mem_ns: memory, post_ns: post, poll_ns: poll,
            // The pong passes after the completion's acknowledgement here; the order of the two does not matter to the recipes.
            other_ns: more,
        };
        let rows = path.rows(50);
        let text = trace::write(&rows);
        let read = trace::parse("trace", &text).expect("rows");
        prop_assert_eq!(&read, &rows);
        let found = trace::components(&read, COMPLETIONS, CoreTimes { poll_ns: poll, post_ns: post }).expect("round trips");
        prop_assert!((found.pcie_ns - pcie).abs() < 0.01, "PCIe {}", found.pcie_ns);
        prop_assert!((found.network_ns - wire - switch).abs() < 0.01, "network {}", found.network_ns);
        prop_assert!((found.rc_to_mem_ns - memory).abs() < 0.01, "memory {}", found.rc_to_mem_ns);
    }
}

#[test]
fn the_published_components_come_back_from_a_trace_and_the_switch_from_two() {
    let with = Pingpong {
        pcie_ns: 137.49,
        wire_ns: 274.81,
        switch_ns: 108.0,
        rc_to_mem_ns: 240.96,
        post_ns: 175.42,
        poll_ns: 61.63,
        other_ns: 890.0,
    };
    let core = CoreTimes {
        poll_ns: 61.63,
        post_ns: 175.42,
    };
    let found = |path: Pingpong| {
        trace::components(&path.rows(100), COMPLETIONS, core).expect("round trips")
    };
    let (with, without) = (
        found(with),
        found(Pingpong {
            switch_ns: 0.0,
            ..with
        }),
    );
    assert!((with.pcie_ns - 137.49).abs() < 0.01);
    assert!((without.network_ns - 274.81).abs() < 0.01);
    assert!((with.network_ns - without.network_ns - 108.0).abs() < 0.01);
    assert!((with.rc_to_mem_ns - 240.96).abs() < 0.01);
}

/// The formulas know one completion per operation; with one for several the window is refilled in bursts.
#[test]
fn fewer_signalled_completions_need_deeper_windows() {
    let path = published();
    let with = |signal_every, depth| Setup {
        signal_every,
        ..setup(path, depth, Mode::Rolling)
    };
    near(with(1, 6).run(MESSAGES).ns, 264.97, "each signalled");
    let bursts = with(6, 6).run(MESSAGES).ns;
    assert!(bursts > 1.5 * path.rolling(6).ns, "{bursts}");
    near(
        bursts,
        path.fill_drain(6).ns + 5.0 / 6.0 * path.progress_ns,
        "one completion for a whole queue",
    );
    near(
        with(64, 192).run(MESSAGES).ns,
        264.97,
        "two batches beside the one in flight",
    );
}

#[test]
fn busy_posts_cost_time_only_when_the_core_is_the_bound() {
    let path = published();
    let busy = |depth| Setup {
        busy_post_ns: 20.0,
        ..setup(path, depth, Mode::Rolling)
    };
    let waiting = busy(2).run(MESSAGES);
    near(waiting.ns, path.rolling(2).ns, "it waits anyhow");
    assert!(waiting.busy_posts > 0 && waiting.waits > 0);
    let full = busy(16).run(MESSAGES);
    near(full.ns, 264.97 + 20.0, "each post finds the queue full");
    assert_eq!(full.waits, 0);
}

#[test]
fn one_core_is_bound_by_credits_that_come_back_late() {
    let path = published();
    let one = Setup {
        credits: Some((1, 1000.0)),
        ..setup(path, 64, Mode::Rolling)
    };
    near(one.run(MESSAGES).ns, 1000.0, "one credit");
    let many = Setup {
        credits: Some((8, 274.98)),
        ..one
    };
    near(many.run(MESSAGES).ns, 264.97, "eight credits");
    near(
        shared_credits(264.97, 8, 8, 274.98, MESSAGES),
        274.98 / 8.0,
        "eight cores",
    );
    near(
        shared_credits(264.97, 7, 8, 274.98, MESSAGES),
        264.97 / 7.0,
        "seven cores",
    );
}

#[test]
fn a_simulated_trace_shows_the_injection_overhead() {
    let path = published();
    let outcome = setup(path, 64, Mode::Rolling).run(1000);
    let found = trace::injection(&outcome.rows, 64).expect("gaps");
    // The queue is empty at first, so the first posts come without progress.
    let steady = Injection::of(found.gaps_ns[100..].to_vec()).expect("gaps");
    assert!((steady.mean_ns - 264.97).abs() < 0.01, "{}", steady.mean_ns);
}

#[test]
fn the_published_gaps_have_the_published_statistics() {
    let mut time_ns = 0.0;
    let mut rows = Vec::new();
    for (index, gap) in [0.0, 264.0, 262.0, 317.0, 258.0, 264.0]
        .into_iter()
        .enumerate()
    {
        time_ns += gap;
        let address = 0x1000 + 0x100 * (index as u64 % 2);
        let row = |direction, packet, bytes| Row {
            time_ns,
            direction,
            packet,
            bytes,
            address,
        };
        rows.push(row(Direction::Down, Packet::MemoryWrite, 64));
        rows.push(row(Direction::Up, Packet::Ack, 0));
        rows.push(row(Direction::Up, Packet::MemoryWrite, 64));
    }
    let found = trace::injection(&rows, 64).expect("gaps");
    let text = format!(
        "{:.2} {} {} {:.2} {:.2}",
        found.mean_ns,
        found.min_ns,
        found.max_ns,
        found.sd_ns,
        found.rate() / 1e6
    );
    assert_eq!(text, "273.00 258 317 24.72 3.66");
    // The quartiles are 262 and 264.
    assert_eq!(found.outliers, [(2, 317.0), (3, 258.0)]);
}

#[test]
fn gaps_that_differ_by_rounding_are_no_outliers() {
    // Half of the gaps and more are the same to the last bit, so the quartiles are.
    let nearly = |index: u32| 264.97 + f64::from(index % 5 / 4) * 1e-9;
    let equal: Vec<f64> = (0..100).map(nearly).collect();
    let found = Injection::of(equal.clone()).expect("gaps");
    assert_eq!(found.outliers, []);
    let one_is_long = [equal, vec![300.0]].concat();
    let found = Injection::of(one_is_long).expect("gaps");
    assert_eq!(found.outliers, [(100, 300.0)]);
    let counts: Vec<usize> = found.histogram().iter().map(|range| range.gaps).collect();
    assert_eq!(counts, [100, 1]);
}

#[test]
fn a_histogram_has_ten_ranges_and_one_of_outliers_at_each_end() {
    let mut gaps: Vec<f64> = (0..100).map(|gap| 100.0 + f64::from(gap)).collect();
    gaps.extend([1000.0, 1.0]);
    let found = Injection::of(gaps).expect("gaps");
    let ranges = found.histogram();
    let counts: Vec<usize> = ranges.iter().map(|range| range.gaps).collect();
    assert_eq!(counts, [1, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 1]);
    let neighbours = ranges.windows(2);
    assert!(
        neighbours
            .map(|pair| pair[1].from_ns - pair[0].to_ns)
            .all(|hole| hole.abs() < 1e-9)
    );
    assert_eq!((ranges[0].from_ns, ranges[11].to_ns), (1.0, 1000.0));
}

#[test]
fn wrong_traces_are_refused_with_line_and_column() {
    let head = "time_ns,direction,packet,bytes,address\n";
    let good = "1.5,down,MWr,64,0x1000\n";
    for (text, told) in [
        (
            String::new(),
            "t:1: head: nothing: expected time_ns,direction",
        ),
        ("a,b\n".to_owned(), "t:1: head: a,b: expected time_ns,"),
        (
            format!("{head}{good}1,down\n"),
            "t:3: row: 1,down: expected time_ns,",
        ),
        (
            format!("{head}x,down,MWr,64,0\n"),
            "t:2: time_ns: x: expected nanoseconds",
        ),
        (
            format!("{head}{good}1,down,MWr,64,0\n"),
            "t:3: time_ns: 1: expected a time that is not before",
        ),
        (
            format!("{head}1,left,MWr,64,0\n"),
            "t:2: direction: left: expected down or up",
        ),
        (
            format!("{head}1,up,Foo,64,0\n"),
            "t:2: packet: Foo: expected MWr, MRd, CplD, Ack or UpdateFC",
        ),
        (
            format!("{head}1,up,MWr,-1,0\n"),
            "t:2: bytes: -1: expected a number of bytes",
        ),
        (
            format!("{head}1,up,MWr,1,0xg\n"),
            "t:2: address: 0xg: expected a hexadecimal address",
        ),
    ] {
        let error = trace::parse("t", &text).expect_err(&text).to_string();
        assert!(error.starts_with(told), "{error}");
    }
    assert_eq!(trace::parse("t", head).expect("no rows"), []);
    assert_eq!(trace::injection(&[], 64), None);
}
