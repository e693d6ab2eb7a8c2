// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of control messages, every cell of it.

use super::counts::{Case, Column, Count, count};

use Count::{Illegal as X, Messages as M, Unsaid as U};

/// Rows as the specification has them: read, write1, write2, write3 (and write3c), optimistic, Rankpoint's read, pieces and write; then
/// write between nodes.
const TABLE: &[(Case, [Count; 9])] = &[
    (
        Case::SenderFirst,
        [M(3), M(2), M(2), M(2), M(1), M(2), M(2), M(2), M(2)],
    ),
    (
        Case::ReceiverFirst,
        [M(3), M(2), M(1), M(1), M(1), M(2), M(2), M(1), M(1)],
    ),
    (
        Case::Crossing,
        [M(3), M(2), M(2), M(2), M(1), M(2), M(2), M(2), M(3)],
    ),
    (
        Case::CrossingRevoked,
        [M(3), M(2), M(2), M(2), M(1), M(2), M(2), M(3), M(3)],
    ),
    (
        Case::AfterTheSend,
        [M(3), M(1), M(0), M(0), M(0), M(2), M(2), M(0), M(0)],
    ),
    (
        Case::EagerSenderFirst,
        [M(1), M(2), M(2), M(1), M(1), M(1), M(1), M(1), M(1)],
    ),
    (
        Case::EagerReceiverFirst,
        [M(1), M(2), M(2), M(1), M(1), M(1), M(1), M(1), M(1)],
    ),
    (
        Case::LongReceiveEagerReceiverFirst,
        [M(1), M(2), M(2), M(2), X, M(1), M(1), M(2), M(2)],
    ),
    (
        Case::LongReceiveEagerSenderFirst,
        [M(1), M(2), M(2), M(1), X, M(1), M(1), M(1), M(1)],
    ),
    (
        Case::AnySourceReceiverFirst,
        [M(3), M(2), M(2), M(2), X, M(2), M(2), M(2), M(2)],
    ),
    (
        Case::AnySourceSenderFirst,
        [M(3), M(2), M(2), M(2), X, M(2), M(2), M(2), M(2)],
    ),
    (
        Case::AnyTagReceiverFirst,
        [M(3), M(2), M(1), M(2), M(1), M(2), M(2), M(2), M(2)],
    ),
    (
        Case::SynchronousSenderFirst,
        [U, M(2), M(2), M(2), U, M(2), M(2), M(2), M(2)],
    ),
];

#[test]
fn every_cell_of_the_table_of_counts() {
    let mut cells = 0;
    for (case, row) in TABLE {
        for (column, expected) in Column::ALL.into_iter().zip(row) {
            let counted = count(*case, column);
            assert_eq!(counted, *expected, "{case:?}, {}", column.name());
            cells += 1;
        }
    }
    assert_eq!(TABLE.len(), Case::ALL.len());
    println!("{cells} cells");
}

#[test]
fn counters_send_what_tickets_send() {
    for case in Case::ALL {
        assert_eq!(count(case, Column::Write3c), count(case, Column::Write3));
    }
}

#[test]
fn the_page_has_the_table() {
    let page = include_str!("../../../../docs/rendezvous.md");
    let table = super::counts::table();
    assert!(page.contains(&table), "{table}");
}
