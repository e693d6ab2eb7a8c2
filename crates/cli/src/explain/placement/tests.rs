// SPDX-License-Identifier: MIT OR Apache-2.0
//! Outputs, and options that do not fit each other.

use std::path::PathBuf;

use clap::Parser;
use machine_profile::{Axis, Curve, Point, Profile, Sample};
use serde_json::Value;

use super::ENTRIES;
use super::options::PlacementOptions;
use super::run::output;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: PlacementOptions,
}

fn told(arguments: &str) -> Result<String, String> {
    let words = std::iter::once("placement").chain(arguments.split_whitespace());
    let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
    output(&line.options)
}

fn json(arguments: &str) -> Value {
    let text = told(&format!("{arguments} --json")).expect("an answer");
    serde_json::from_str(&text).expect("JSON")
}

/// A file of this process.
fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("rankpoint-placement-{}-{name}", std::process::id()))
}

#[test]
fn the_examples_of_the_page_are_what_is_printed() {
    let page = include_str!("../../../../../docs/topologies.md");
    let examples = page.split("$ rankpoint explain placement ").skip(1);
    let mut count = 0;
    for example in examples {
        let (arguments, rest) = example.split_once('\n').expect("a line of its own");
        let (expected, _) = rest.split_once("```").expect("an end");
        assert_eq!(told(arguments).as_deref(), Ok(expected), "{arguments}");
        count += 1;
    }
    assert!(count > 0);
}

#[test]
fn a_ring_in_order_is_kept_and_one_round_the_nodes_is_moved() {
    let ring = "--grid 8 --periodic --nodes 2 --per-node 4";
    let kept = json(ring);
    assert_eq!(
        (&kept["total"], &kept["unit"]),
        (&16.into(), &"messages".into())
    );
    assert_eq!(kept["started"][0]["between_nodes"], 4);
    assert_eq!(
        kept["reordered"][0]["process_of_rank"],
        serde_json::json!([0, 1, 2, 3, 4, 5, 6, 7])
    );
    // A neighbour is one of seven others, of which four are on the other node.
    assert_eq!(kept["random"]["between_nodes"], 9);
    assert!(
        told(ring)
            .expect("text")
            .contains("MPI_Cart_create keeps all ranks")
    );

    let moved = json(&format!("{ring} --map-by node"));
    let [order, round] = [0, 1].map(|start| &moved["started"][start]);
    assert_eq!(
        (&order["between_nodes"], &round["between_nodes"]),
        (&4.into(), &16.into())
    );
    let found = &moved["reordered"][0];
    assert_eq!(
        (&found["placement"], &found["between_nodes"]),
        (&"MPI_Cart_create".into(), &4.into())
    );
    assert_eq!(found["of_nodes"], serde_json::json!([4, 4]));
    let nodes = found["node_of_rank"].as_array().expect("a list");
    let changes = (0..8).filter(|&rank| nodes[rank] != nodes[(rank + 1) % 8]);
    assert_eq!(changes.count(), 2);
}

#[test]
fn a_grid_is_the_same_as_its_edges() {
    let name = file("edges");
    let mut lines = String::from("# both neighbours of each rank of 4 x 2\n\n");
    for rank in 0..8u32 {
        let across = rank ^ 1;
        lines += &format!("{rank} {across} 1K\n{rank} {across} 1K # also the other side\n");
        lines += &format!("{rank} {rank} 7\n");
        for to in [rank.checked_sub(2), Some(rank + 2).filter(|&to| to < 8)] {
            lines += &to.map_or_else(String::new, |to| format!("{rank} {to} 3\n"));
        }
    }
    std::fs::write(&name, lines).expect("a file");
    let nodes = "--nodes 4 --per-node 2 --map-by node";
    let edges = json(&format!("--edges {} {nodes}", name.display()));
    let grid = json(&format!("--grid 4x2 --periodic=1 --bytes 3,1K {nodes}"));
    for key in ["total", "messages", "unit", "random", "started"] {
        assert_eq!(edges[key], grid[key], "{key}");
    }
    // MPI_Cart_create knows no bytes, so that edges are another thing.
    let names = [0, 1].map(|index| &grid["reordered"][index]["placement"]);
    assert_eq!(names, ["MPI_Cart_create", "MPI_Dist_graph_create"]);
    assert_eq!(edges["reordered"][0], grid["reordered"][1]);
    assert_eq!(edges["reordered"][0]["between_nodes"], 6 * 3 * 2);
    std::fs::remove_file(name).expect("a file of our own");
}

#[test]
fn only_bytes_are_shortened() {
    let line = "--grid 8x8x4 --periodic --nodes 16 --per-node 16 --map-by node";
    let counted = told(line).expect("text");
    assert!(
        counted.contains(" 1024  66.7 %           128  round the nodes"),
        "{counted}"
    );
    let bytes = told(&format!("{line} --bytes 1")).expect("text");
    assert!(
        bytes.contains(" 1K  66.7 %           128  round the nodes"),
        "{bytes}"
    );
}

#[test]
fn equal_bytes_change_no_placement() {
    let grid = "--grid 6x4x2 --nodes 6 --per-node 8";
    let counted = json(grid);
    let bytes = json(&format!("{grid} --bytes 512"));
    let process_of = |answer: &Value| answer["reordered"][0]["process_of_rank"].clone();
    assert_eq!(process_of(&counted), process_of(&bytes));
    assert_eq!(
        bytes["total"],
        counted["total"].as_u64().expect("a number") * 512
    );
}

#[test]
fn times_are_those_of_the_profile() {
    let name = file("profile.toml");
    let mut profile = Profile::new(::scope::here());
    let line = "--grid 4 --periodic --bytes 1K --nodes 2 --per-node 2 --map-by node --profile";
    let line = format!("{line} {}", name.display());
    let point = |x, ns| Point {
        x,
        sample: Sample {
            ns,
            trimean: ns,
            mad: 1.0,
            n: 9,
            iid: true,
        },
    };
    for (entry, ns) in ENTRIES.into_iter().zip([100.0, 1000.0]) {
        profile.write(&name).expect("a file");
        let missing = told(&line).expect_err("no curve yet");
        assert!(
            missing.contains(&format!("no curve '{entry}'")),
            "{missing}"
        );
        assert!(missing.contains("rankpoint scope --hosts"), "{missing}");
        profile.curves.push(Curve {
            name: entry.to_owned(),
            axis: Axis::Bytes,
            from: None,
            to: None,
            points: vec![point(64, ns), point(1024, ns)],
        });
    }
    profile.write(&name).expect("a file");
    let all = json(&line);
    let mean = |times: &Value| times["mean_ns"].as_f64().map(f64::round);
    assert_eq!(mean(&all["started"][1]["times"]), Some(2000.0));
    assert_eq!(mean(&all["reordered"][0]["times"]), Some(1100.0));
    // Two of three other ranks are on the other node.
    assert_eq!(mean(&all["random"]), Some(1400.0));
    let text = told(&line).expect("text");
    assert!(
        text.contains("us of a rank  slowest") && text.contains("1.1      1.1"),
        "{text}"
    );
    let counted = told(&line.replace("--bytes 1K", "")).expect_err("no bytes");
    assert!(counted.contains("--times: expected bytes"), "{counted}");
    std::fs::remove_file(name).expect("a file of our own");
}

#[test]
fn wrong_options_are_named() {
    let error = |arguments: &str| told(arguments).expect_err(arguments);
    let nodes = "--nodes 2 --per-node 4";
    for (arguments, part) in [
        ("--grid 4x0", "a grid such as 8x8x4"),
        ("--grid 65536x65536", "of 1 to 16384 ranks"),
        (
            "--grid 3x3",
            "--grid 3x3: 9 ranks, expected at most 8: 2 nodes of 4",
        ),
        (
            "--grid 2x2 --periodic=2",
            "--periodic: '2': expected dimensions, 0..1",
        ),
        (
            "--grid 2x2 --bytes 1,2,3",
            "--bytes: 3 numbers, expected 1, or 2",
        ),
        ("--grid 2x2 --bytes 2G", "2147483647, the largest weight"),
        ("--grid 2x2 --times", "--times: expected bytes"),
        (
            "--edges /nonexistent/edges",
            "cannot read /nonexistent/edges",
        ),
        ("", "--grid"),
    ] {
        let told = error(&format!("{arguments} {nodes}"));
        assert!(told.contains(part), "{arguments}: {told}");
    }
    let large = error("--grid 2 --nodes 2000 --per-node 16");
    assert!(
        large.contains("--nodes 2000 --per-node 16: expected at most 16384 ranks"),
        "{large}"
    );
    let name = file("wrong-edges");
    for (lines, part) in [
        ("0 1\n0 8\n", ":2: '8': expected a rank, 0..7"),
        ("0 x 3\n", ":1: 'x': expected a rank"),
        ("0 1 2 3\n", ":1: expected source, destination and bytes"),
        ("0\n", ":1: expected source, destination and bytes"),
        ("0 1 -2\n", ":1: expected a number of bytes"),
        (
            "0 1 2\n# none\n1 2\n",
            ":3: expected bytes on all lines, or on none",
        ),
    ] {
        std::fs::write(&name, lines).expect("a file");
        let told = error(&format!("--edges {} {nodes}", name.display()));
        assert!(told.contains(part), "{lines}: {told}");
    }
    std::fs::remove_file(name).expect("a file of our own");
    assert!(told("--grid 1 --nodes 1 --per-node 1").is_ok());
}
