// SPDX-License-Identifier: MIT OR Apache-2.0
//! The answers are those of the files in `golden`, and wrong options are refused with a sentence.

use std::ffi::OsString;

use clap::Parser;

use super::answer::Answer;
use super::options::{MessageOptions, fabric, signed_ns};
use super::text;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    options: MessageOptions,
}

fn answer(arguments: &str) -> Answer {
    let words = std::iter::once("message").chain(arguments.split_whitespace());
    Answer::new(&Command::parse_from(words).options)
}

/// Compares an answer with its file; with `RANKPOINT_TEST_GOLDEN=write` in the environment it writes the file.
fn compare(name: &str, arguments: &str) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/explain/message/golden");
    let file = format!("{folder}/{name}.txt");
    let text = text::text(&answer(arguments));
    let is_asked =
        |(name, value): (OsString, OsString)| name == "RANKPOINT_TEST_GOLDEN" && value == "write";
    if std::env::vars_os().any(is_asked) {
        std::fs::write(&file, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
}

macro_rules! golden {
    ($($name:ident: $arguments:literal,)*) => {
        $(
            #[test]
            fn $name() {
                compare(stringify!($name), $arguments);
            }
        )*
    };
}

golden! {
    receiver_first: "--bytes 1M --capacity 2M --skew 3us --rendezvous write",
    auto_receiver_first: "--bytes 1M --capacity 2M --skew 3us",
    sender_first: "--bytes 1M --skew -3us",
    crossing: "--bytes 1M --skew 100ns --rendezvous write",
    any_source: "--bytes 1M --source any --skew 3us",
    any_tag: "--bytes 1M --tag any --skew 3us --rendezvous write",
    truncated: "--bytes 2M --capacity 1M --skew 3us --rendezvous write",
    tcp: "--bytes 1M --skew 20us --fabric tcp",
    tcp_write: "--bytes 1M --skew 20us --fabric tcp --rendezvous write",
    auto_away: "--bytes 1M --skew 3us --work 200us",
    auto_short_work: "--bytes 1M --skew 3us --work 40us",
    auto_reads: "--bytes 1M --fabric shm:p=5",
    write_away: "--bytes 1M --work 200us --rendezvous write",
    emulated: "--bytes 64K --eager-bytes 40 --skew 3us --fabric emulated:c=1us,r=1us --rendezvous write",
    pieces: "--bytes 1M --rendezvous pieces",
    short_receive: "--bytes 1M --capacity 4K --skew 3us",
    eager: "--bytes 64K",
    inject: "--bytes 8",
}

#[test]
fn json_says_the_same() {
    let answer = answer("--bytes 1M --capacity 2M --skew 3us --rendezvous write");
    let json = text::json(&answer);
    assert_eq!(json["path"], "write");
    assert_eq!(json["variants"].as_array().unwrap().len(), 8);
    let read = &json["variants"][0];
    assert_eq!(
        (&read["variant"], &read["predicted"]["control_messages"]),
        (&"read".into(), &2.into())
    );
    let names: Vec<&str> = json["time_line"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "receive",
            "RTR",
            "send",
            "data",
            "LANDED",
            "send complete",
            "receive complete"
        ]
    );
}

#[test]
fn no_setting_offers_a_receive_between_nodes() {
    for setting in ["auto", "read", "pieces", "write"] {
        let answer = answer(&format!("--bytes 1M --fabric tcp --rendezvous {setting}"));
        assert_eq!(text::json(&answer)["path"], "put", "{setting}");
    }
}

#[test]
fn work_of_the_receiver_decides_whether_auto_offers() {
    let path = |arguments: &str| text::json(&answer(arguments))["path"].clone();
    assert_eq!(path("--bytes 1M --skew 1us"), "pieces");
    assert_eq!(path("--bytes 1M --skew 1us --work 60us"), "pieces");
    assert_eq!(path("--bytes 1M --skew 1us --work 80us"), "write");
    // The offer comes too late.
    assert_eq!(path("--bytes 1M --work 80us"), "pieces");
    assert_eq!(path("--bytes 1M --work 200us --skew 150us"), "pieces");
    assert_eq!(path("--bytes 1M --fabric shm:p=5"), "read");
}

#[test]
fn wrong_fabrics_and_times_are_named() {
    for (text, part) in [
        ("ib", "not \"ib\""),
        ("shm:c", "not \"c\""),
        ("shm:x=1us", "not \"x=1us\""),
        ("shm:c=-1us", "not \"-1us\""),
        ("tcp:b=0", "not \"0\""),
        ("shm:p=x", "not \"x\""),
        ("tcp:r=1", "not \"1\""),
    ] {
        let error = fabric(text).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(signed_ns("-1.5us"), Ok(-1500));
    assert!(signed_ns("5").is_err() && signed_ns("1e300s").is_err());
}

#[test]
fn the_example_of_the_page_is_what_is_printed() {
    let page = include_str!("../../../../../docs/rendezvous.md");
    let arguments = "--bytes 1M --capacity 2M --skew 3us --rendezvous write";
    let example = format!(
        "$ rankpoint explain message {arguments}\n{}",
        text::text(&answer(arguments))
    );
    assert!(page.contains(&example), "{example}");
}
