// SPDX-License-Identifier: MIT OR Apache-2.0
//! The emulated network interface behaves as the measured one did.

#![expect(clippy::expect_used, reason = "a failure fails the test")]

use channels::emulated::{
    Arrangement, Features, Level, Matrices, Object, Workload, run_kernel, run_microbenchmark,
};
use channels::policy::Driver;
use channels::{Category, Profile};

fn nic() -> Profile {
    Profile::named("connectx4").expect("a shipped profile")
}

fn rate(workload: &Workload) -> f64 {
    run_microbenchmark(workload, &nic()).expect("a run").rate
}

fn shared(object: Object, ways: usize) -> Workload {
    let workload = Workload::published(16);
    let sharing = workload.sharing.with(object, ways);
    // Every other queue pair of one context, so that only the object makes a difference.
    let sharing = if object == Object::Ctx {
        sharing
    } else {
        sharing.with(Object::Ctx, 16)
    };
    Workload {
        sharing,
        is_spaced: object != Object::Ctx,
        ..workload
    }
}

fn without(name: &str, workload: Workload) -> Workload {
    let features = Features::ALL.without(name).expect("a feature");
    Workload {
        features,
        ..workload
    }
}

/// Rate with an object for each thread, over the rate with one that `ways` threads share.
fn drop_of(object: Object, ways: usize, variant: &dyn Fn(Workload) -> Workload) -> f64 {
    rate(&variant(shared(object, 1))) / rate(&variant(shared(object, ways)))
}

const WAYS: [usize; 4] = [2, 4, 8, 16];

#[test]
fn the_kernel_gives_the_published_throughput_of_each_category() {
    let expected = [100.0, 100.0, 94.0, 65.0, 64.0, 3.0];
    let run = |category| {
        let mut matrices = Matrices::new(48, 2);
        let run = run_kernel(category, Driver::Legacy, 16, &nic(), &mut matrices).expect("a run");
        assert_eq!(matrices.wrong(), 0, "{category:?}");
        assert_eq!((run.reads.0, run.writes.0), (2 * 48 * 48 * 48, 48 * 48));
        run.rate
    };
    let base = run(Category::Everywhere);
    for (category, expected) in Category::ALL.into_iter().zip(expected) {
        let found = 100.0 * run(category) / base;
        assert!((found - expected).abs() < 1.0, "{category:?}: {found}");
    }
}

#[test]
fn protection_domains_and_memory_regions_cost_nothing() {
    for object in [Object::Pd, Object::Mr] {
        for name in ["", "postlist", "inlining", "unsignaled", "blueflame"] {
            for ways in WAYS {
                let variant = |one| {
                    if name.is_empty() {
                        one
                    } else {
                        without(name, one)
                    }
                };
                let found = drop_of(object, ways, &variant);
                assert!(
                    (found - 1.0).abs() < 0.01,
                    "{object:?} {ways} {name}: {found}"
                );
            }
        }
    }
}

#[test]
fn a_buffer_is_free_if_inlined_and_its_rate_falls_otherwise() {
    let inlined = WAYS.map(|ways| drop_of(Object::Buf, ways, &|one| one));
    assert!(
        inlined.iter().all(|drop| (drop - 1.0).abs() < 0.01),
        "{inlined:?}"
    );
    let fetched = WAYS.map(|ways| drop_of(Object::Buf, ways, &|one| without("inlining", one)));
    assert!(
        fetched.windows(2).all(|pair| pair[0] <= pair[1]),
        "{fetched:?}"
    );
    assert!(fetched[3] > 2.0, "{fetched:?}");
}

#[test]
fn payloads_on_one_cache_line_are_slower_with_as_many_fetches() {
    let run = |align, variant: &dyn Fn(Workload) -> Workload| {
        let workload = variant(Workload {
            align,
            ..Workload::published(16)
        });
        run_microbenchmark(&workload, &nic()).expect("a run")
    };
    for name in ["inlining", "postlist", "unsignaled", "blueflame"] {
        let variant = |one| without(name, one);
        let (aligned, packed) = (run(64, &variant), run(2, &variant));
        assert!(aligned.rate >= packed.rate, "{name}");
        assert_eq!(aligned.fetches, packed.fetches);
    }
    let variant = |one| without("inlining", one);
    assert!(run(64, &variant).rate > 2.0 * run(2, &variant).rate);
    assert_eq!(run(64, &variant).fetches, 16 * 1024);
    assert_eq!(run(64, &|one| one).fetches, 0);
}

#[test]
fn a_context_costs_a_little_from_16_threads_and_twice_the_queue_pairs_restore_it() {
    let single = |one| without("postlist", one);
    for ways in WAYS {
        assert!((drop_of(Object::Ctx, ways, &|one| one) - 1.0).abs() < 0.01);
        let expected = if ways == 16 { 1.15 } else { 1.0 };
        let found = drop_of(Object::Ctx, ways, &single);
        assert!((found - expected).abs() < 0.01, "{ways}: {found}");
    }
    let spaced = |one| Workload {
        is_spaced: true,
        ..single(one)
    };
    assert!((drop_of(Object::Ctx, 16, &spaced) - 1.0).abs() < 0.01);
    let paired = |one| Workload {
        level: Level::SharedPage,
        ..single(one)
    };
    let found = rate(&single(shared(Object::Ctx, 16))) / rate(&paired(shared(Object::Ctx, 16)));
    assert!(found > 1.5, "a shared UAR page: {found}");
}

#[test]
fn a_completion_queue_is_worst_with_a_completion_for_each_write() {
    let each = WAYS.map(|ways| drop_of(Object::Cq, ways, &|one| without("unsignaled", one)));
    for name in ["", "postlist", "inlining", "blueflame"] {
        let variant = |one| {
            if name.is_empty() {
                one
            } else {
                without(name, one)
            }
        };
        for (ways, worst) in WAYS.into_iter().zip(each) {
            let found = drop_of(Object::Cq, ways, &variant);
            assert!(found <= worst, "{name} {ways}: {found}, {worst}");
        }
    }
    // The constant `cq_shared` is fitted to this number: what is checked is that the events give it back.
    let worst = each[3];
    assert!(
        (worst - 18.0).abs() < 0.5,
        "published: up to 18 times, {worst}"
    );
}

#[test]
fn a_queue_pair_is_worst_without_lists() {
    let rates = |variant: &dyn Fn(Workload) -> Workload| {
        WAYS.map(|ways| rate(&variant(shared(Object::Qp, ways))))
    };
    let single = rates(&|one| without("postlist", one));
    for name in ["", "inlining", "unsignaled"] {
        let others = rates(&|one| {
            if name.is_empty() {
                one
            } else {
                without(name, one)
            }
        });
        for (single, other) in single.into_iter().zip(others) {
            assert!(single < other, "{name}: {single} {other}");
        }
        assert!(
            others.windows(2).all(|pair| pair[0] >= pair[1]),
            "{name}: {others:?}"
        );
    }
    let own = rate(&shared(Object::Qp, 1));
    assert!(own > rates(&|one| one)[0]);
}

#[test]
fn objects_in_the_order_of_what_sharing_them_costs() {
    let mpi = |one| Workload {
        features: Features::MPI,
        ..one
    };
    let drops = Object::ALL.map(|object| (object, drop_of(object, 16, &mpi)));
    let of = |wanted: Object| {
        let found = drops.iter().find(|(object, _)| *object == wanted);
        found.expect("all objects").1
    };
    for free in [Object::Buf, Object::Pd, Object::Mr] {
        assert!((of(free) - 1.0).abs() < 0.01, "{drops:?}");
    }
    assert!(of(Object::Mr) < of(Object::Ctx), "{drops:?}");
    assert!(of(Object::Ctx) < of(Object::Cq), "{drops:?}");
    assert!(of(Object::Cq) < of(Object::Qp), "{drops:?}");
}

#[test]
fn objects_are_counted_as_published() {
    let uuars = |ways: usize, is_spaced, level| {
        let workload = Workload {
            is_spaced,
            level,
            ..shared(Object::Ctx, ways)
        };
        Arrangement::new(&workload.checked().expect("numbers")).uuars()
    };
    let found = [
        uuars(1, false, Level::Independent),
        uuars(16, true, Level::Independent),
        uuars(16, false, Level::Independent),
        uuars(16, false, Level::SharedPage),
    ];
    assert_eq!(found, [288, 80, 48, 32]);
}

#[test]
fn every_write_is_completed_for_all_numbers_of_threads() {
    for threads in [1, 2, 3, 8, 64] {
        for ways in [1, threads] {
            for object in Object::ALL {
                let workload = Workload::published(threads);
                let sharing = workload.sharing.with(object, ways);
                let run = run_microbenchmark(
                    &Workload {
                        sharing,
                        ..workload
                    },
                    &nic(),
                );
                let run = run.expect("a run");
                assert_eq!(run.writes, threads * 1024);
                assert_eq!(run.completions, threads * 1024 / 64);
            }
        }
    }
}

#[test]
fn numbers_that_do_not_go_together_are_refused() {
    let refused = |workload: Workload| {
        let error = run_microbenchmark(&workload, &nic()).expect_err("refused");
        error.to_string()
    };
    let base = Workload::published(16);
    let sharing = base.sharing.with(Object::Cq, 3);
    let error = refused(Workload { sharing, ..base });
    assert_eq!(error, "share cq=3: expected a divisor of 16 threads");
    let error = refused(Workload { signal: 48, ..base });
    assert!(error.contains("q 48: expected a multiple"), "{error}");
    let error = refused(Workload { depth: 100, ..base });
    assert!(
        error.contains("depth 100: expected a multiple of 64"),
        "{error}"
    );
    let messages = 1000;
    let error = refused(Workload { messages, ..base });
    assert!(
        error.contains("messages 1000: expected a multiple"),
        "{error}"
    );
    let hfi = Profile::named("hfi160").expect("a profile");
    let error = run_microbenchmark(&base, &hfi).expect_err("no times");
    assert!(error.to_string().contains("[timing]: missing"));
}
