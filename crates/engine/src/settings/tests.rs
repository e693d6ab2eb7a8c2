// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of how settings are read.

use fabric::capacity;
use fabric::ofi::Sharing;

use super::*;

fn read(pairs: &[(&str, &str)]) -> (Settings, Vec<String>) {
    Settings::from_variables(pairs.iter().map(|&(n, v)| (n.to_owned(), v.to_owned())))
}

#[test]
fn suffixes_ranges_and_unknown_names_are_understood() {
    let (settings, warnings) = read(&[
        ("RANKPOINT_EAGER_BYTES", "8K"),
        ("PATH", "x"),
        ("RANKPOINT_JOB", "1:2:3:4"),
    ]);
    assert_eq!((settings.eager_bytes, warnings.len()), (8192, 0));
    let (settings, warnings) = read(&[("RANKPOINT_EAGER_BYTE", "8K")]);
    assert_eq!(settings.eager_bytes, 131_072);
    assert!(
        warnings[0].contains("RANKPOINT_EAGER_BYTES"),
        "{warnings:?}"
    );
    let (settings, warnings) = read(&[("RANKPOINT_CROSS_COPY", "2")]);
    assert_eq!(settings.cma, 1);
    assert!(warnings[0].contains("unknown setting"), "{warnings:?}");
    let (settings, warnings) = read(&[("RANKPOINT_CMA", "yes")]);
    assert_eq!((settings.cma, warnings.len()), (1, 1));
}

#[test]
fn the_launcher_and_the_library_reserve_room_for_as_many_processes() {
    let row = (SETTINGS.iter()).find(|row| row.name == "RANKPOINT_RESERVE_PROCESSES");
    let row = row.unwrap();
    let expected = (capacity::DEFAULT_RESERVE, capacity::MOST_RESERVE);
    assert_eq!(
        (row.default, row.max),
        (expected.0.into(), expected.1.into())
    );
}

#[test]
fn lock_models_are_read_by_their_names() {
    let (settings, warnings) = read(&[("RANKPOINT_LOCKS", "global")]);
    assert_eq!((settings.locks, warnings.len()), (LockModel::Global, 0));
    let (settings, warnings) = read(&[("RANKPOINT_LOCKS", "finer")]);
    assert_eq!((settings.locks, warnings.len()), (LockModel::Vci, 1));
    assert!(warnings[0].contains("it is left out"), "{warnings:?}");
}

#[test]
fn contexts_of_the_network_are_shared_by_word_or_number() {
    for (text, expected) in [
        ("", Sharing::Vci),
        ("vci", Sharing::Vci),
        ("process", Sharing::Process),
        (" 3 ", Sharing::AtMost(3)),
    ] {
        let (settings, warnings) = read(&[("RANKPOINT_NET_SHARING", text)]);
        assert_eq!((settings.network.sharing, warnings.len()), (expected, 0));
        assert!(settings.texts().contains(&text.trim()));
    }
    let (settings, warnings) = read(&[("RANKPOINT_NET_SHARING", "65")]);
    assert_eq!(
        (settings.network.sharing, warnings.len()),
        (Sharing::Vci, 1)
    );
    assert!(
        warnings[0].contains("a number from 1 to 64"),
        "{warnings:?}"
    );
}

#[test]
fn rendezvous_is_one_of_four_words() {
    for (text, expected) in [
        ("", Rendezvous::Auto),
        ("auto", Rendezvous::Auto),
        ("read", Rendezvous::Read),
        (" pieces ", Rendezvous::Pipeline),
        ("write", Rendezvous::Write),
    ] {
        let (settings, warnings) = read(&[("RANKPOINT_RENDEZVOUS", text)]);
        assert_eq!((settings.rendezvous, warnings.len()), (expected, 0));
        assert_eq!(Rendezvous::from_number(expected as u32), Some(expected));
    }
    let (settings, warnings) = read(&[("RANKPOINT_RENDEZVOUS", "write4")]);
    assert_eq!((settings.rendezvous, warnings.len()), (Rendezvous::Auto, 1));
    assert!(warnings[0].contains("'write4', expected auto, read, pieces, or write"));
    assert_eq!(Rendezvous::from_number(4), None);
}

#[test]
fn checks_are_a_list_of_words() {
    let (settings, warnings) = read(&[("RANKPOINT_CHECK", "collectives")]);
    assert_eq!((settings.check.collectives, warnings.len()), (true, 0));
    let (settings, warnings) = read(&[("RANKPOINT_CHECK", " nothing, collectives")]);
    assert!(settings.check.collectives);
    assert!(
        warnings[0].contains("'nothing', expected a set of"),
        "{warnings:?}"
    );
    let (settings, warnings) = read(&[("RANKPOINT_CHECK", "types,collectives")]);
    assert!(settings.check.types && settings.check.collectives && warnings.is_empty());
    assert!(!settings.check.threads && !settings.check.hints);
    let (settings, warnings) = read(&[("RANKPOINT_CHECK", "hints, threads")]);
    assert!(settings.check.threads && settings.check.hints && warnings.is_empty());
    let (settings, warnings) = read(&[("RANKPOINT_CHECK", "rma")]);
    assert!(settings.check.rma && !settings.check.gpu && warnings.is_empty());
    assert_eq!(Settings::default().check, Checks::default());
}

#[test]
fn virtual_nodes_are_a_number_or_a_list() {
    let nodes = |text| {
        let (settings, warnings) = read(&[("RANKPOINT_VIRTUAL_NODES", text)]);
        let nodes = &settings.virtual_nodes;
        let all: Vec<u32> = (0..5).map(|rank| nodes.node_of(rank, 5)).collect();
        (all, warnings.len())
    };
    assert_eq!(nodes("2"), (vec![0, 0, 0, 1, 1], 0));
    assert_eq!(nodes("7"), (vec![0, 1, 2, 4, 5], 0));
    assert_eq!(nodes("0, 1"), (vec![0, 1, 0, 1, 0], 0));
    assert_eq!(nodes("1"), (vec![0; 5], 0));
    for wrong in ["0", "x", "1,,2", "-1"] {
        assert_eq!(nodes(wrong), (vec![0; 5], 1), "{wrong}");
    }
}

#[test]
fn errors_are_strict_or_not() {
    let (settings, warnings) = read(&[("RANKPOINT_ERRORS", "strict")]);
    assert!(settings.strict_errors && warnings.is_empty());
    let (settings, warnings) = read(&[("RANKPOINT_ERRORS", "lax")]);
    assert!(!settings.strict_errors);
    assert!(warnings[0].contains("'lax', expected empty, or strict"));
}

#[test]
fn a_table_of_algorithms_comes_before_the_library_s_and_its_faults_are_named() {
    use algorithms::{Bcast, Case, Operation};
    let file = std::env::temp_dir().join(format!("rankpoint-{}.table", std::process::id()));
    std::fs::write(&file, "bcast use=chain:1K\nbcast use=walk\n").unwrap();
    let name = file.to_str().unwrap();
    let (settings, warnings) = read(&[("RANKPOINT_COLL_TABLE", name)]);
    std::fs::remove_file(&file).unwrap();
    let case = Case::new(Operation::Bcast, 4, 8, 1);
    let choice = settings.algorithms.choose::<Bcast>(&case);
    assert_eq!((choice.algorithm, choice.parameter), (Bcast::Chain, 1024));
    assert_eq!(
        settings.texts(),
        [
            "", name, "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", ""
        ]
    );
    assert_eq!(warnings.len(), 1);
    let wrong = format!("{name}, line 2, column 11: found 'walk', expected an algorithm of");
    assert!(warnings[0].starts_with(&wrong), "{warnings:?}");

    let (settings, warnings) = read(&[("RANKPOINT_COLL_TABLE", name)]);
    let choice = settings.algorithms.choose::<Bcast>(&case);
    assert_eq!(choice.algorithm, Bcast::Shared);
    assert!(warnings[0].contains("cannot be read"), "{warnings:?}");
}

#[test]
fn a_table_without_an_end_is_refused() {
    let (settings, warnings) = read(&[("RANKPOINT_COLL_TABLE", "/dev/zero")]);
    assert_eq!(settings.coll_table, "");
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("more than 1 MiB"), "{warnings:?}");
}
