// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times of a fabric from the machine profile.

use machine_profile::{Estimate, Profile};

use super::options::{FabricChoice, Kind};

/// Bytes of a control message: one ring cell.
const CONTROL_BYTES: f64 = 64.0;
/// What is taken between ranks of a node, where one side copies by cross-memory attach: what it is, the entry, and its bytes; those of a copy are
/// the message's, which here are those of a long one.
pub(crate) const SHM_ENTRIES: [(&str, &str, f64); 3] = [
    ("a control message", "mpi/latency", CONTROL_BYTES),
    ("a copy of no bytes", "cma/readv", 1.0),
    ("the copy of a message", "cma/readv", (1 << 20) as f64),
];

/// Takes the times that the user did not give from a profile. Gives sentences that tell which, and how sure they are.
pub(super) fn settle(choice: &mut FabricChoice, bytes: u64, profile: &Profile) -> Vec<String> {
    let [control, startup, rate] = match choice.kind {
        Kind::Shm => SHM_ENTRIES.map(|(_, entry, _)| entry),
        Kind::Tcp => ["network/mpi/latency", "", "network/mpi/window"],
        Kind::Emulated | Kind::Published => return Vec::new(),
    };
    let mut told = Vec::new();
    let mut take = |entry: &str, at: f64, what: &str| {
        let found = estimate(profile, entry, at)?;
        told.push(format!("{what}: {entry} at {at} bytes, {found}"));
        Some(found.ns)
    };
    let [has_control, has_read, has_startup, has_rate] = choice.is_given;
    let times = &mut choice.times;
    if !has_control && let Some(ns) = take(control, CONTROL_BYTES, "control message") {
        times.control_ns = ns;
        // A read reaches its source as a control message does, where it is no call of the kernel.
        if choice.kind == Kind::Tcp && !has_read {
            times.read_ns = ns;
        }
    }
    if !has_startup && let Some(ns) = take(startup, 1.0, "copy of no bytes") {
        times.startup_ns = ns;
    }
    let whole = bytes.max(1) as f64;
    if !has_rate && let Some(ns) = take(rate, whole, "copy") {
        // The rate is that of the bytes without what the copy takes in any case.
        let of_bytes = match choice.kind {
            Kind::Shm => ns - times.startup_ns,
            Kind::Tcp | Kind::Emulated | Kind::Published => ns,
        };
        if of_bytes > 0.0 {
            // As many digits as a reader takes in.
            times.bytes_per_ns = (whole / of_bytes * 100.0).round().max(1.0) / 100.0;
        }
    }
    told
}

fn estimate(profile: &Profile, entry: &str, bytes: f64) -> Option<Estimate> {
    profile.curves_of(entry).next().map(|curve| curve.at(bytes))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use machine_profile::{Axis, Curve, Host, Point, Sample};

    use super::super::options::fabric;
    use super::*;

    fn profile() -> Profile {
        let host = Host {
            cpu: "x".to_owned(),
            architecture: "x86_64".to_owned(),
            cores: 2,
            l3_bytes: 0,
            numa_nodes: 1,
            page_bytes: 4096,
            is_virtual: false,
            kernel: "6.1".to_owned(),
        };
        let mut profile = Profile::new(host);
        let curves = HashMap::from([
            ("mpi/latency", [(64, 120.0), (4096, 900.0)]),
            ("cma/readv", [(1, 500.0), (1 << 20, 500.0 + 65_536.0)]),
        ]);
        for (name, points) in curves {
            let point = |(x, ns)| Point {
                x,
                sample: Sample {
                    ns,
                    trimean: ns,
                    mad: 1.0,
                    n: 9,
                    iid: true,
                },
            };
            profile.curves.push(Curve {
                name: name.to_owned(),
                axis: Axis::Bytes,
                from: Some(0),
                to: Some(1),
                points: points.map(point).to_vec(),
            });
        }
        profile
    }

    #[test]
    fn times_are_those_of_the_profile_unless_the_user_gave_them() {
        let mut choice = fabric("shm").unwrap();
        let told = settle(&mut choice, 1 << 20, &profile());
        assert_eq!(
            (choice.times.control_ns, choice.times.startup_ns),
            (120.0, 500.0)
        );
        assert!((choice.times.bytes_per_ns - 16.0).abs() < 1e-9);
        assert_eq!(told.len(), 3);
        assert_eq!(told[0], "control message: mpi/latency at 64 bytes, 120 ns");
        let mut choice = fabric("shm:c=1us,b=2").unwrap();
        let told = settle(&mut choice, 4 << 20, &profile());
        assert_eq!(
            (choice.times.control_ns, choice.times.bytes_per_ns),
            (1000.0, 2.0)
        );
        assert_eq!(told.len(), 1);
    }

    #[test]
    fn what_was_not_measured_is_assumed_or_marked() {
        let mut choice = fabric("tcp").unwrap();
        assert!(settle(&mut choice, 1 << 20, &profile()).is_empty());
        assert_eq!(choice, fabric("tcp").unwrap());
        let mut choice = fabric("shm").unwrap();
        let told = settle(&mut choice, 4 << 20, &profile());
        assert!(told[2].contains("extrapolated"), "{told:?}");
    }
}
