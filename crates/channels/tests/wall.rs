// SPDX-License-Identifier: MIT OR Apache-2.0
//! The emulated network interface in real time does every write once and in the order of its queue pair. Times are not asserted.

use channels::emulated::wall::{WallNic, run_wall};
use channels::emulated::{Features, Level, Object, Workload};
use channels::policy::Driver;
use channels::{Category, Completions, Interface, Pair, Pollers, Region, probe};

const INLINE_BYTES: usize = 60;
const UNITS: usize = 32;

#[test]
fn each_category_does_every_write_once() {
    for driver in [Driver::Legacy, Driver::Dynamic] {
        for category in Category::ALL {
            let nic = WallNic::new(driver, UNITS, true, 1);
            let found = probe(&nic, category, driver, 4, 2000).expect("objects");
            assert_eq!((found.verified, found.wrong), (8000, 0), "{category:?}");
            let has_domains = !matches!(category, Category::Static | Category::Threads);
            assert_eq!(found.domains > 0, has_domains, "{category:?}");
        }
    }
}

/// A million writes through all kinds of sharing.
#[test]
fn writes_come_in_the_order_of_their_queue_pair_whatever_is_shared() {
    let threads = 4;
    let (mut writes, mut runs) = (0, 0);
    let features = ["", "postlist", "inlining", "unsignaled", "blueflame"];
    for object in Object::ALL {
        for ways in [1, 2, threads] {
            for name in features {
                let mut workload = Workload {
                    messages: 3072,
                    ..Workload::published(threads)
                };
                workload.sharing = workload.sharing.with(object, ways);
                if !name.is_empty() {
                    workload.features = Features::ALL.without(name).expect("a feature");
                }
                workload.level = match runs % 2 {
                    0 => Level::Independent,
                    _ => Level::SharedPage,
                };
                let found = run_wall(&workload, INLINE_BYTES, UNITS, &[]).expect("a run");
                let all = (threads * workload.messages) as u64;
                assert_eq!(found.writes, all, "{object:?} {ways} {name}");
                assert_eq!(found.completions, all / workload.signaled() as u64);
                assert_eq!((found.disordered, found.wrong), (0, 0));
                let fetches = if name == "inlining" { all } else { 0 };
                assert_eq!(found.fetches, fetches);
                writes += found.writes;
                runs += 1;
            }
        }
    }
    assert!(writes > 1_000_000, "{writes}");
}

#[test]
fn a_full_queue_pair_says_so_and_goes_on_when_completions_are_read() {
    let nic = WallNic::new(Driver::Legacy, 1, false, 1);
    let context = nic.context().expect("a context");
    let domain = nic.protection_domain(&context).expect("a domain");
    let queue = nic.completions(&context, 2, Pollers::One).expect("a queue");
    let pair = nic.pair(&domain, &queue, None, 2).expect("a pair");
    let [from, to] = [(), ()].map(|()| nic.region(&domain, 1).expect("memory"));
    for (value, is_posted) in [(1, true), (2, true), (3, false)] {
        from.set(0, value);
        let posted = pair.post(value, (&from, 0), (&to, 0)).expect("a post");
        assert_eq!(posted, is_posted);
    }
    assert_eq!((queue.poll(), to.get(0)), (Ok(Some(1)), 2));
    assert_eq!(pair.post(3, (&from, 0), (&to, 0)), Ok(true));
    assert_eq!(
        [queue.poll(), queue.poll(), queue.poll()],
        [Ok(Some(2)), Ok(Some(3)), Ok(None)]
    );
    let error = nic
        .pair(&domain, &queue, None, 2)
        .map(|_| ())
        .expect_err("no room");
    let told = "create_qp: a completion queue of 2 entries, expected at least 4";
    assert_eq!(error.to_string(), told);
}
