// SPDX-License-Identifier: MIT OR Apache-2.0
//! The numbers of the literature.

#![expect(clippy::expect_used, reason = "a failure fails the test")]

use channels::policy::{Class, Driver, Map, Uuars, map};
use channels::{
    Category, Inventory, Memory, Profile, Recommendation, Shares, Totals, Wanted, candidates,
    first_break, recommend, second_context, unused_by_one_thread,
};

fn nic(name: &str) -> Profile {
    Profile::named(name).expect("a shipped profile")
}

fn memory() -> Memory {
    nic("connectx4").memory.expect("sizes")
}

fn totals(threads: usize) -> [Totals; 6] {
    Category::ALL.map(|category| Totals::new(category, Driver::Legacy, threads))
}

fn kib(totals: &Totals) -> usize {
    totals.bytes(&memory()) / 1024
}

/// Two decimals, as printed.
fn percent(share: f64) -> f64 {
    (share * 1e4).round() / 100.0
}

#[test]
fn uars_uuars_and_memory_of_16_threads() {
    let found = totals(16).map(|one| (one.uars, one.uuars(), kib(&one)));
    let expected = [
        (144, 288, 5520),
        (40, 80, 3104),
        (24, 48, 1680),
        (16, 32, 1680),
        (8, 16, 1680),
        (8, 16, 345),
    ];
    assert_eq!(found, expected);
    let mib = totals(16).map(|one| (kib(&one) as f64 / 1024.0 * 100.0).round() / 100.0);
    assert_eq!(mib, [5.39, 3.03, 1.64, 1.64, 1.64, 0.34]);
}

#[test]
fn shares_of_16_threads_with_both_bases() {
    let found = Category::ALL.map(|category| {
        let shares = Shares::new(category, Driver::Legacy, 16);
        let printed = shares.printed.expect("the legacy driver");
        [printed, shares.hardware, shares.queues].map(percent)
    });
    let expected = [
        [100.0, 100.0, 100.0],
        [31.25, 27.78, 200.0],
        [18.75, 16.67, 100.0],
        [12.5, 11.11, 100.0],
        [6.25, 5.56, 100.0],
        [6.25, 5.56, 6.25],
    ];
    assert_eq!(found, expected);
}

#[test]
fn objects_of_16_threads() {
    let found = totals(16).map(|one| (one.contexts, one.queue_pairs, one.domains, one.used_uuars));
    let expected = [
        (16, 16, 16, 16),
        (1, 32, 32, 16),
        (1, 16, 16, 16),
        (1, 16, 16, 16),
        (1, 16, 0, 15),
        (1, 1, 0, 1),
    ];
    assert_eq!(found, expected);
}

#[test]
fn uars_and_memory_of_1_4_32_and_64_threads() {
    let expected = [
        (1, [(9, 345), (10, 434), (9, 345), (9, 345), (8, 345)]),
        (4, [(36, 1380), (16, 968), (12, 612), (10, 612), (8, 612)]),
        (
            32,
            [(288, 11040), (72, 5952), (40, 3104), (24, 3104), (8, 3104)],
        ),
        (
            64,
            [
                (576, 22080),
                (136, 11648),
                (72, 5952),
                (40, 5952),
                (8, 5952),
            ],
        ),
    ];
    for (threads, expected) in expected {
        let found = totals(threads).map(|one| (one.uars, kib(&one)));
        assert_eq!(found[..5], expected, "{threads} threads");
    }
}

#[test]
fn uars_of_16_threads_with_pages_on_demand() {
    let order = [
        Category::Everywhere,
        Category::TwoDynamic,
        Category::Dynamic,
        Category::SharedDynamic,
        Category::Static,
        Category::Threads,
    ];
    let all = order.map(|category| Totals::new(category, Driver::Dynamic, 16));
    assert_eq!(all.map(|one| one.uars), [32, 33, 17, 9, 9, 2]);
    assert_eq!(all.map(|one| one.domains), [16, 64, 32, 16, 0, 0]);
    let inventory = Inventory::new(Category::Static, Driver::Dynamic, 16);
    let has_lock = inventory.used().filter(|(_, one)| one.class.has_lock());
    assert_eq!((inventory.used_uuars(), has_lock.count()), (16, 12));
}

fn names(rows: &[channels::policy::Row]) -> String {
    let names: Vec<String> = rows.iter().map(|row| row.uuar.to_string()).collect();
    names.join(" ")
}

fn legacy(total: usize, low: usize, queue_pairs: usize, domains: usize) -> Map {
    let uuars = Uuars::new(total, low).expect("numbers");
    map(Driver::Legacy, uuars, queue_pairs, domains)
}

#[test]
fn maps_of_the_legacy_driver() {
    let found = legacy(16, 4, 16, 0);
    assert_eq!(
        names(&found.queue_pairs),
        "12 13 14 15 1 2 3 4 5 6 7 8 9 10 11 1"
    );
    assert_eq!(found.collisions(), [4, 15], "the 5th and the 16th");
    let found = legacy(6, 2, 7, 3);
    assert_eq!(names(&found.queue_pairs), "4 5 1 2 3 1 2");
    assert_eq!(names(&found.domains), "A.0 A.1 B.0");
    assert_eq!(names(&legacy(6, 5, 7, 0).queue_pairs), "1 2 3 4 5 0 0");
    let found = legacy(16, 15, 18, 0);
    let expected = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 0 0 0";
    assert_eq!(names(&found.queue_pairs), expected);
    assert_eq!(found.queue_pairs[17].class, Class::HighLatency);
}

#[test]
fn maps_of_pages_on_demand() {
    let found = map(Driver::Dynamic, Uuars::default(), 18, 0);
    let expected = "0.0 0.1 1.0 1.1 2.0 2.1 3.0 3.1 4.0 4.1 5.0 5.1 6.0 6.1 7.0 7.1 2.0 2.1";
    assert_eq!(names(&found.queue_pairs), expected);
    let pages = |count| map(Driver::Dynamic, Uuars::default(), count, 0).uars - 1;
    assert_eq!(
        [1, 2, 4, 5, 6, 9, 10, 16].map(pages),
        [1, 1, 2, 3, 4, 7, 8, 8]
    );
    assert!(
        map(Driver::Dynamic, Uuars::default(), 16, 0)
            .collisions()
            .is_empty()
    );
}

#[test]
fn ratios() {
    assert_eq!(percent(unused_by_one_thread()), 93.75);
    let one = Totals::new(Category::Everywhere, Driver::Legacy, 1);
    assert_eq!((one.uars, one.uuars()), (9, 18));
    assert_eq!((one.waste() * 1e3).round() / 10.0, 94.4);
    let uuars = totals(16).map(|one| one.uuars());
    assert_eq!(uuars[..4], [288, 80, 48, 32]);
    assert_eq!((uuars[0] / uuars[2], uuars[0] / uuars[3]), (6, 9));

    let memory = memory();
    assert_eq!(memory.sum() / 1024, 345);
    // The published sum rounds to KB, which leaves the small objects out.
    let printed = memory.context + memory.queue_pair + memory.completion_queue;
    let share = memory.context as f64 / printed as f64;
    assert_eq!((share * 1e3).round() / 10.0, 74.2);
    let queues = |pairs: usize, completion: usize| {
        (pairs * memory.queue_pair + completion * memory.completion_queue) / 1024
    };
    assert_eq!((queues(1, 1), queues(16, 16)), (89, 1424));
    let all = Totals::new(Category::Everywhere, Driver::Legacy, 16);
    assert_eq!(all.queue_bytes(&memory) / 1024, 1424);
    assert_eq!(queues(16, 1), 1289);
    let saved = queues(16, 16) as f64 / queues(16, 1) as f64;
    assert_eq!((saved * 100.0).round() / 100.0, 1.10);
    assert_eq!(queues(16, 16) / queues(1, 1), 16);
    let whole = |one: usize| kib(&totals(16)[one]) as f64;
    let ratio = |other| (whole(0) / whole(other) * 100.0).round() / 100.0;
    assert_eq!((ratio(2), ratio(1)), (3.29, 1.78));
}

fn advice(min_throughput: Option<f64>, max_uars: Option<usize>, max_kib: Option<usize>) -> String {
    let constants = nic("connectx4").constants.expect("constants");
    let all = candidates(Driver::Legacy, 16, 1, &memory(), &constants);
    let wanted = Wanted {
        min_throughput,
        max_uars,
        max_bytes: max_kib.map(|kib| kib * 1024),
    };
    match recommend(&all, &wanted).expect("candidates") {
        Recommendation::Found(one) => format!("{} {}", one.category.name(), one.totals.uars),
        Recommendation::Nearest(one, lack) => {
            format!("none, {} lacks {}", one.category.name(), lack.uars)
        }
    }
}

#[test]
fn recommendations_for_16_threads() {
    assert_eq!(advice(None, None, None), "2xDynamic 40");
    assert_eq!(advice(None, Some(32), None), "Dynamic 24");
    let none = advice(Some(0.95), Some(32), None);
    assert_eq!(none, "none, 2xDynamic lacks 8");
    assert_eq!(advice(Some(0.9), None, Some(2048)), "Dynamic 24");
    assert_eq!(advice(None, Some(16), None), "Shared Dynamic 16");
    assert_eq!(advice(None, Some(8), None), "Static 8");
    assert_eq!(advice(None, None, Some(1000)), "MPI+threads 8");
}

#[test]
fn limits_of_network_interfaces() {
    let cx4 = nic("connectx4");
    let found = first_break(Category::Everywhere, Driver::Legacy, 1, &cx4).expect("a limit");
    assert_eq!((found.threads, found.what), (911, "UAR pages"));
    assert_eq!((found.needed, found.available), (8199, 8192));
    let second = [
        Category::TwoDynamic,
        Category::Dynamic,
        Category::SharedDynamic,
    ];
    assert_eq!(
        second.map(second_context),
        [Some(257), Some(513), Some(1025)]
    );
    let contexts = |threads| Totals::new(Category::TwoDynamic, Driver::Legacy, threads).contexts;
    assert_eq!((contexts(256), contexts(257)), (1, 2));
    let hfi = nic("hfi160");
    let found = first_break(Category::Everywhere, Driver::Legacy, 1, &hfi).expect("a limit");
    assert_eq!(
        (found.threads, found.what, found.needed),
        (161, "contexts", 161)
    );
    let processes = first_break(Category::Threads, Driver::Legacy, 161, &hfi).expect("a limit");
    assert_eq!((processes.threads, processes.needed), (1, 161));
    assert_eq!(first_break(Category::Static, Driver::Legacy, 1, &hfi), None);
}
