// SPDX-License-Identifier: MIT OR Apache-2.0
//! Entries of GPUs on a double of the driver, whose clock is exact: 2000 ns before a transfer and 25 bytes in each nanosecond.
#![expect(unsafe_code, reason = "the double is told how many devices it has")]
#![expect(clippy::expect_used, reason = "a failure fails the test")]

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use layout_cuda::Driver;
use machine_profile::Profile;
use scope::{Effort, Entry, Progress, Session};

const BYTES: u64 = 16_384;

struct Quiet;

impl Progress for Quiet {
    fn begin(&self, _entry: &Entry) {}
    fn end(&self, _entry: &Entry) {}
}

/// The double has one state: tests take turns.
static TURN: Mutex<()> = Mutex::new(());

/// A driver with so many devices.
fn driver(devices: usize) -> (MutexGuard<'static, ()>, &'static Driver) {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let me = std::env::current_exe().expect("a test has a file");
    let file = me.with_file_name("libcuda_double.so");
    let file = file.to_str().expect("a readable path");
    let first = Driver::open(file).expect("the double opens");
    let address = first.find("cuda_double_devices").expect("a double");
    // SAFETY: the function of the double has this type.
    let set: extern "C" fn(usize) = unsafe { std::mem::transmute(address) };
    set(devices);
    let driver = Driver::open(file).expect("the double opens");
    (turn, Box::leak(Box::new(driver)))
}

fn measured(devices: usize, is_wanted: impl Fn(&str) -> bool) -> (Vec<Entry>, Profile) {
    let (_turn, driver) = driver(devices);
    let mut session =
        Session::new(Effort::Quick, scope::places(), Vec::new()).expect("a processor");
    session.use_gpu_driver(driver).expect("GPUs");
    session.sizes = vec![4096, BYTES];
    let mut entries = scope::entries();
    entries.retain(|entry| entry.name.starts_with("gpu/") && is_wanted(&entry.name));
    let all: Vec<&Entry> = entries.iter().collect();
    let limit = Duration::from_secs(300);
    let profile = scope::measure(&mut session, scope::here(), &all, limit, &Quiet);
    (entries, profile)
}

/// Nanoseconds of a curve at an abscissa.
fn at(profile: &Profile, name: &str, x: u64) -> f64 {
    let curve = profile.curves.iter().find(|curve| curve.name == name);
    let curve = curve.expect(name);
    let point = curve.points.iter().find(|point| point.x == x);
    point.expect("the size was asked for").sample.ns
}

#[test]
fn all_transfers_and_calls_run_on_one_gpu() {
    let (entries, profile) = measured(1, |_| true);
    assert_eq!(entries.len(), 39 + 11);
    let is_for_two_cores = scope::places().len() < 2;
    for entry in &entries {
        let name = &entry.name;
        let reason = profile.skipped.iter().find(|skipped| skipped.name == *name);
        let may_lack = is_for_two_cores && name.ends_with("pageable/both");
        assert!(reason.is_none() || may_lack, "{name}: {reason:?}");
        let has_it = |found: &str| found == name || found.starts_with(&format!("{name}/"));
        let has_values = profile.costs.iter().any(|cost| has_it(&cost.name))
            || profile.curves.iter().any(|curve| has_it(&curve.name));
        assert!(has_values || may_lack, "{name}");
    }
    let inside = profile.curves.iter();
    let inside = inside
        .filter(|curve| curve.name.ends_with("/one-gpu"))
        .count();
    assert_eq!(inside, 14);
    let text = profile.to_toml();
    assert_eq!(Profile::parse(&text, "".as_ref()).as_ref(), Ok(&profile));
}

#[test]
fn gated_times_are_those_of_the_device_and_nothing_of_the_host() {
    let (_, profile) = measured(1, |name| name.contains("pinned/") || name.contains("/2d/"));
    let expected = 2000.0 + BYTES as f64 / 25.0;
    for name in [
        "gpu/pinned/h2d",
        "gpu/pinned/d2h",
        "gpu/numa-pinned/h2d/node0",
        "gpu/2d/d2h",
    ] {
        let found = at(&profile, name, BYTES);
        // Events tell milliseconds with 24 bits.
        assert!(
            (found - expected).abs() < 2.0,
            "{name}: {found}, {expected}"
        );
    }
    let both = at(&profile, "gpu/pinned/both", BYTES);
    assert!((both - expected).abs() < 2.0, "{both}: both ways overlap");
    // Without the gate, the calls between the events count.
    let old = at(&profile, "gpu/pinned/both/ungated", BYTES);
    assert!(old > both + 3000.0, "{old}");
}

#[test]
fn two_gpus_are_the_ends_of_transfers_between_gpus() {
    let (_, profile) = measured(2, |name| name.contains("peer/") || name.contains("push"));
    for name in [
        "gpu/peer/d2d",
        "gpu/no-peer/d2d-both",
        "gpu/3d-peer/d2d",
        "gpu/kernel/push",
    ] {
        assert!(at(&profile, name, BYTES) > 0.0);
    }
    assert!(profile.skipped.is_empty(), "{:?}", profile.skipped);
}

#[test]
fn a_machine_without_a_gpu_says_so() {
    if Driver::get().is_ok() {
        return;
    }
    let mut session =
        Session::new(Effort::Quick, scope::places(), Vec::new()).expect("a processor");
    let mut entries = scope::entries();
    entries.retain(|entry| entry.name.starts_with("gpu/"));
    let all: Vec<&Entry> = entries.iter().collect();
    let limit = Duration::from_secs(60);
    let profile = scope::measure(&mut session, scope::here(), &all, limit, &Quiet);
    assert_eq!(profile.skipped.len(), entries.len());
    let is_told = |reason: &str| reason.starts_with("needs an NVIDIA GPU: ");
    assert!(
        profile
            .skipped
            .iter()
            .all(|skipped| is_told(&skipped.reason))
    );
}
