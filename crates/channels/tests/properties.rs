// SPDX-License-Identifier: MIT OR Apache-2.0
//! What holds for any number of threads, queue pairs and uUARs.

#![expect(clippy::expect_used, reason = "a failure fails the test")]

use std::collections::BTreeMap;

use channels::policy::{Class, Driver, Uuar, Uuars, map};
use channels::{
    Category, DOMAIN_UARS_PER_CONTEXT, Inventory, Profile, Recommendation, Totals, Wanted,
    candidates, first_break, recommend,
};
use proptest::prelude::*;

fn drivers() -> impl Strategy<Value = Driver> {
    prop::sample::select(Driver::ALL.to_vec())
}

fn categories() -> impl Strategy<Value = Category> {
    prop::sample::select(Category::ALL.to_vec())
}

fn uuars() -> impl Strategy<Value = Uuars> {
    (1_usize..40).prop_flat_map(|pages| {
        let sizes = move |low| Uuars::new(2 * pages, low).expect("numbers");
        (0..2 * pages).prop_map(sizes)
    })
}

fn loads(rows: &[channels::policy::Row], class: Class) -> BTreeMap<Uuar, usize> {
    let mut loads = BTreeMap::new();
    for row in rows.iter().filter(|row| row.class == class) {
        *loads.entry(row.uuar).or_default() += 1;
    }
    loads
}

proptest! {
    #[test]
    fn totals_equal_the_objects_counted_one_by_one(
        category in categories(), driver in drivers(), threads in 0_usize..2100,
    ) {
        let inventory = Inventory::new(category, driver, threads);
        prop_assert_eq!(Totals::of(&inventory), Totals::new(category, driver, threads));
    }

    #[test]
    fn each_thread_has_one_queue_pair_and_no_context_has_too_many_pages(
        category in categories(), driver in drivers(), threads in 1_usize..2100,
    ) {
        let inventory = Inventory::new(category, driver, threads);
        let mut all: Vec<usize> = inventory.used().flat_map(|(_, one)| one.threads.clone()).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..threads).collect::<Vec<_>>());
        for context in &inventory.contexts {
            let fixed = if driver == Driver::Legacy { 8 } else { 1 + 8 };
            prop_assert!(context.uars <= DOMAIN_UARS_PER_CONTEXT + fixed);
        }
    }

    #[test]
    fn independent_categories_share_no_page_and_paired_ones_no_uuar(
        driver in drivers(), threads in 1_usize..600,
    ) {
        for category in [Category::Everywhere, Category::TwoDynamic, Category::Dynamic, Category::SharedDynamic] {
            let inventory = Inventory::new(category, driver, threads);
            let mut pages = BTreeMap::new();
            for (at, one) in inventory.used() {
                *pages.entry((at, one.uuar.pages, one.uuar.page)).or_insert(0) += 1;
            }
            let most = if category == Category::SharedDynamic { 2 } else { 1 };
            prop_assert!(pages.values().all(|&users| users <= most), "{:?}", category);
            prop_assert_eq!(inventory.used_uuars(), threads);
        }
    }

    #[test]
    fn uuars_of_low_latency_are_never_shared_and_others_are_evenly_loaded(
        uuars in uuars(), driver in drivers(), queue_pairs in 0_usize..200,
    ) {
        let rows = map(driver, uuars, queue_pairs, 0).queue_pairs;
        for alone in [Class::LowLatency, Class::Dedicated] {
            prop_assert!(loads(&rows, alone).values().all(|&load| load == 1));
        }
        for even in [Class::Medium, Class::Shared] {
            let loads = loads(&rows, even);
            let (least, most) = (loads.values().min(), loads.values().max());
            prop_assert!(most.unwrap_or(&0) - least.unwrap_or(&0) <= 1);
        }
        let has_medium = uuars.total() - uuars.low() > 1;
        let high = loads(&rows, Class::HighLatency);
        prop_assert!(high.is_empty() || !has_medium);
    }

    #[test]
    fn a_recommendation_gives_what_is_asked_for_and_nothing_better_does(
        threads in 1_usize..300, driver in drivers(), least in 0.0_f64..1.0, uars in 1_usize..400,
    ) {
        let nic = Profile::named("connectx4").expect("a profile");
        let (memory, constants) = (nic.memory.expect("sizes"), nic.constants.expect("constants"));
        let all = candidates(driver, threads, 1, &memory, &constants);
        let wanted = Wanted { min_throughput: Some(least), max_uars: Some(uars), max_bytes: None };
        match recommend(&all, &wanted).expect("candidates") {
            Recommendation::Found(found) => {
                prop_assert!(wanted.lack(&found).is_none());
                let better = |one: &&channels::Candidate| one.expectation.share > found.expectation.share;
                prop_assert!(all.iter().filter(better).all(|one| !wanted.lack(one).is_none()));
            }
            Recommendation::Nearest(_, lack) => {
                prop_assert!(!lack.is_none());
                prop_assert!(all.iter().all(|one| !wanted.lack(one).is_none()));
            }
        }
    }

    #[test]
    fn a_limit_breaks_at_that_number_of_threads_and_not_one_earlier(
        category in categories(), driver in drivers(), processes in 1_usize..20,
    ) {
        let nic = Profile::named("connectx4").expect("a profile");
        if let Some(found) = first_break(category, driver, processes, &nic) {
            let at = |threads| Totals::new(category, driver, threads).times(processes);
            prop_assert!(channels::exceeded(&at(found.threads), &nic).is_some());
            prop_assert!(channels::exceeded(&at(found.threads - 1), &nic).is_none());
        }
    }
}
