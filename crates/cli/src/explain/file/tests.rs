// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole outputs of `rankpoint explain file`, and options that are refused with a sentence.

use clap::Parser;

use super::options::FileOptions;
use super::run::output;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    options: FileOptions,
}

/// The output with the costs of the table.
fn explained(arguments: &[&str]) -> Result<String, String> {
    let words = ["file", "--costs", "call=400"].iter().chain(arguments);
    output(&Command::parse_from(words).options)
}

/// The rule that was taken in each of the two tables.
fn taken(arguments: &[&str]) -> Vec<String> {
    let text = explained(arguments).unwrap();
    let lines = text.lines().filter(|line| line.contains(" taken "));
    let rule = |line: &str| line.split("taken").nth(1).unwrap_or("").trim().to_owned();
    lines.map(rule).collect()
}

#[test]
fn columns_of_an_array_go_through_aggregators() {
    let view = "subarray([64,64],[64,16],[0,{rank}*16],double)";
    let text = explained(&["--view", view, "--ranks", "4", "--bytes", "8K"]).unwrap();
    assert_eq!(text, include_str!("columns.txt"));
}

#[test]
fn the_same_access_takes_other_ways_with_other_options() {
    let strided = ["--view", "resized(0,16,double)", "--disp", "{rank}*8"];
    let with = |more: &[&str]| taken(&[&strided[..], &["--ranks", "2"], more].concat());
    assert!(with(&[])[0].starts_with("list"));
    assert!(with(&["--cover"])[0].starts_with("sieve write"));
    assert!(with(&["--read"])[0].starts_with("sieve read"));
    assert!(with(&["--read", "--no-cover"])[0].starts_with("list"));
    assert!(with(&[])[1].starts_with("two-phase"));
    assert!(with(&["--protocol", "direct"])[1].starts_with("direct     a hint asks"));
    assert!(taken(&["--memory-gaps"])[0].starts_with("packed"));
    let apart = taken(&["--ranks", "2", "--disp", "{rank}*1M"]);
    assert!(apart[0].starts_with("single"));
    assert!(apart[1].contains("no rank has bytes between"), "{apart:?}");
}

#[test]
fn what_cannot_be_is_refused() {
    let wrong = |arguments: &[&str]| explained(arguments).unwrap_err();
    assert!(wrong(&["--view", "vector(1"]).contains("column"));
    assert!(wrong(&["--view", "contiguous(0,int)"]).contains("a type with bytes"));
    assert!(wrong(&["--disp", "x"]).contains("--disp 'x'"));
    assert!(wrong(&["--disp", "9223372036854775807"]).contains("2^63"));
}
