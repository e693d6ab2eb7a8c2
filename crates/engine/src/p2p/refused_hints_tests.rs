// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every refusal that hints about VCIs and wildcards can cause, with the whole sentence that tells the reason.
#![expect(unsafe_code, reason = "messages are addresses")]

use super::hints_tests::{checked, promising, receive, send};
use super::persistent::{recv_init, send_init};
use super::probe::{improbe, iprobe, mprobe, probe};
use super::{ANY_SOURCE_RANK, ANY_TAG_VALUE, Memory, Mode};
use crate::comm::{Comm, Spread, read_partition_vcis};
use crate::errors::{Error, ErrorClass, Result};

type Pairs = &'static [(&'static str, &'static str)];

const VCIS: &str = "rankpoint_num_vcis";
const BITS: &str = "rankpoint_num_tag_bits_for_vci";
const END: &str = "rankpoint_tag_bits_for_vci";
const HASH: &str = "rankpoint_tag_vci_hash";
const NO_ANY_TAG: &str = "mpi_assert_no_any_tag";
const NO_ANY_SOURCE: &str = "mpi_assert_no_any_source";

/// Values of the number of VCIs that are none, with the value that the error repeats.
const NO_NUMBERS: [&str; 6] = ["", "0", "65", "-2", "2.5", "all"];

/// Hints that are refused; the value, the key and the expectation that the error names.
const REFUSED: &[(Pairs, &str, &str, &str)] = &[
    (&[(BITS, "0")], "0", BITS, "1..15"),
    (&[(BITS, "16")], "16", BITS, "1..15"),
    (&[(BITS, "some")], "some", BITS, "1..15"),
    (&[(END, "middle")], "middle", END, "low or high"),
    (&[(END, "LOW")], "LOW", END, "low or high"),
    (&[(HASH, "md5")], "md5", HASH, "one-to-one or hash"),
    // Values that are none are refused where their key has no effect, too.
    (&[(VCIS, "1"), (END, "")], "", END, "low or high"),
    (&[(VCIS, "1"), (BITS, "99")], "99", BITS, "1..15"),
    (
        &[(VCIS, "2"), (NO_ANY_TAG, "true")],
        "2",
        VCIS,
        "a value of rankpoint_num_tag_bits_for_vci, too: which bits of a tag name its threads",
    ),
    (
        &[
            (VCIS, "2"),
            (END, "high"),
            (HASH, "hash"),
            (NO_ANY_TAG, "true"),
        ],
        "2",
        VCIS,
        "a value of rankpoint_num_tag_bits_for_vci, too: which bits of a tag name its threads",
    ),
    (
        &[(VCIS, "3"), (BITS, "1"), (NO_ANY_TAG, "true")],
        "3",
        VCIS,
        "at most 2 with 1 bits for the number of a thread",
    ),
    (
        &[
            (VCIS, "64"),
            (BITS, "5"),
            (HASH, "hash"),
            (NO_ANY_TAG, "true"),
        ],
        "64",
        VCIS,
        "at most 32 with 5 bits for the number of a thread",
    ),
    (
        &[(VCIS, "4"), (BITS, "2")],
        "4",
        VCIS,
        "mpi_assert_no_any_tag = true, too: a receive with MPI_ANY_TAG belongs to no VCI",
    ),
    (
        &[(VCIS, "4"), (BITS, "2"), (NO_ANY_TAG, "false")],
        "4",
        VCIS,
        "mpi_assert_no_any_tag = true, too: a receive with MPI_ANY_TAG belongs to no VCI",
    ),
    // The other promises do not replace it.
    (
        &[
            (VCIS, "4"),
            (BITS, "2"),
            (NO_ANY_SOURCE, "true"),
            ("mpi_assert_allow_overtaking", "true"),
        ],
        "4",
        VCIS,
        "mpi_assert_no_any_tag = true, too: a receive with MPI_ANY_TAG belongs to no VCI",
    ),
];

/// The value that a list of hints gives a key.
fn value_in(pairs: &[(&str, &str)], key: &str) -> Option<String> {
    let found = pairs.iter().find(|(known, _)| *known == key);
    found.map(|(_, value)| (*value).to_owned())
}

fn is_refused(error: &Error, (value, key, expected): (&str, &str, &str)) {
    assert_eq!(error.class(), ErrorClass::ERR_INFO_VALUE);
    let told = format!("argument 'info' is {value} for the key {key}, expected {expected}");
    assert_eq!(error.to_string(), told);
}

#[test]
fn every_combination_of_hints_that_cannot_be_kept_is_refused_with_its_reason() {
    for (pairs, value, key, expected) in REFUSED {
        let error = Spread::read(|key| value_in(pairs, key)).unwrap_err();
        is_refused(&error, (value, key, expected));
    }
    for value in NO_NUMBERS {
        let told = (value, VCIS, "1..64");
        let value_of = |key: &str| value_in(&[(VCIS, value)], key);
        is_refused(&Spread::read(value_of).unwrap_err(), told);
        is_refused(&read_partition_vcis(value_of).unwrap_err(), told);
    }
}

#[test]
fn hints_that_can_be_kept_are_not_refused() {
    let promise = (NO_ANY_TAG, "true");
    for pairs in [
        &[][..],
        &[(VCIS, "1")],
        &[(BITS, "15"), (END, "high"), (HASH, "hash")],
        &[(VCIS, "1"), (BITS, "1"), (NO_ANY_TAG, "false")],
    ] {
        let spread = Spread::read(|key| value_in(pairs, key));
        assert_eq!(spread.unwrap(), None, "{pairs:?}");
    }
    for pairs in [
        &[(VCIS, "2"), (BITS, "1"), promise][..],
        &[(VCIS, " 64 "), (BITS, "6"), (END, "high"), promise],
        &[(VCIS, "64"), (BITS, "15"), (HASH, "hash"), promise],
    ] {
        let spread = Spread::read(|key| value_in(pairs, key));
        assert!(spread.unwrap().is_some(), "{pairs:?}");
    }
    assert_eq!(read_partition_vcis(|_| None).unwrap(), 1);
    assert_eq!(read_partition_vcis(|_| Some("64".into())).unwrap(), 64);
}

/// Each call that names a source and a tag.
fn receiving_calls(comm: &Comm, source: i32, tag: i32) -> [Result<()>; 6] {
    let mut data = [0; 8];
    let memory = Memory::contiguous(data.as_mut_ptr(), data.len());
    [
        receive(comm, &mut data, source, tag).map(|_| ()),
        // SAFETY: the call fails, so no request keeps the memory.
        unsafe { recv_init(comm, memory, source, tag) }.map(|_| ()),
        probe(comm, source, tag).map(|_| ()),
        iprobe(comm, source, tag).map(|_| ()),
        mprobe(comm, source, tag).map(|_| ()),
        improbe(comm, source, tag).map(|_| ()),
    ]
}

fn are_refused(outcomes: impl IntoIterator<Item = Result<()>>, class: ErrorClass, told: &str) {
    for outcome in outcomes {
        let error = outcome.unwrap_err();
        assert_eq!((error.class(), &*error.to_string()), (class, told));
    }
}

#[test]
fn every_call_refuses_the_wildcards_that_the_program_promised_not_to_use() {
    let source = "argument 'source' is MPI_ANY_SOURCE, expected a value: the communicator has the hint \
                  mpi_assert_no_any_source: RANKPOINT_CHECK=hints";
    let tag = "argument 'tag' is MPI_ANY_TAG, expected a value: the communicator has the hint \
               mpi_assert_no_any_tag: RANKPOINT_CHECK=hints";
    checked(true, 1, |member| {
        let comm = promising(member, &[(NO_ANY_SOURCE, "true")]);
        let calls = receiving_calls(&comm, ANY_SOURCE_RANK, 0);
        are_refused(calls, ErrorClass::ERR_RANK, source);
        comm.free();
        let comm = promising(member, &[(NO_ANY_TAG, "true")]);
        let calls = receiving_calls(&comm, 0, ANY_TAG_VALUE);
        are_refused(calls, ErrorClass::ERR_TAG, tag);
        comm.free();
    });
}

#[test]
fn a_spread_communicator_always_refuses_receives_without_a_tag() {
    const SPREAD: Pairs = &[(VCIS, "3"), (BITS, "2"), (NO_ANY_TAG, "true")];
    let told = "argument 'tag' is MPI_ANY_TAG, expected a value: the communicator has the hint mpi_assert_no_any_tag";
    checked(false, 1, |member| {
        let comm = promising(member, SPREAD);
        if !comm.is_spread() {
            return;
        }
        are_refused(
            receiving_calls(&comm, 0, ANY_TAG_VALUE),
            ErrorClass::ERR_TAG,
            told,
        );
        // A promise that other messages depend on is not taken back.
        comm.hints.set(|_| Some("false".into()));
        are_refused(
            receiving_calls(&comm, 0, ANY_TAG_VALUE),
            ErrorClass::ERR_TAG,
            told,
        );
        comm.free();
    });
}

#[test]
fn every_call_refuses_a_tag_that_names_a_thread_without_a_vci() {
    const SPREAD: Pairs = &[(VCIS, "3"), (BITS, "2"), (NO_ANY_TAG, "true")];
    let told = |tag: i32, which: &str| {
        format!(
            "argument 'tag' is {tag}, which names the {which} thread 3, expected threads 0..2: the communicator has the hints \
             rankpoint_num_vcis = 3 and rankpoint_tag_vci_hash = one-to-one, which promise a VCI for each thread: \
             RANKPOINT_CHECK=hints"
        )
    };
    checked(true, 1, |member| {
        let comm = promising(member, SPREAD);
        if !comm.is_spread() {
            return;
        }
        for (tag, which) in [(0b11_00, "sending"), (0b00_11, "receiving")] {
            let told = told(tag, which);
            let calls = receiving_calls(&comm, 0, tag);
            are_refused(calls, ErrorClass::ERR_TAG, &told);
            let memory = Memory::contiguous([0u8; 8].as_mut_ptr(), 8);
            // SAFETY: the call fails, so no request keeps the memory.
            let init = unsafe { send_init(&comm, memory, 0, tag, Mode::Standard) };
            let calls = [send(&comm, 8, tag).map(|_| ()), init.map(|_| ())];
            are_refused(calls, ErrorClass::ERR_TAG, &told);
        }
        comm.free();
    });
}
