// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which values of a machine profile decide something, and for whom: `rankpoint info` prints them.

use algorithms::short;
use machine_profile::{Host, Profile};

use crate::{commplan, explain, tune};

/// A value of a profile that a command takes.
#[derive(serde::Serialize)]
pub(crate) struct Reading {
    /// The command.
    pub(crate) reader: &'static str,
    /// What the value is to it.
    pub(crate) what: String,
    /// The entry, and the number of bytes that is asked for; none of a single cost.
    pub(crate) entry: String,
    pub(crate) bytes: Option<f64>,
    /// The value, with how it was extrapolated, or why there is none.
    pub(crate) value: String,
}

impl Reading {
    fn of(
        profile: &Profile,
        (reader, what): (&'static str, &str),
        entry: &str,
        bytes: f64,
    ) -> Self {
        let curve = profile.curves_of(entry).next();
        let value = match curve {
            Some(curve) => curve.at(bytes).to_string(),
            None => match profile.cost(entry) {
                Ok(cost) => format!("{:.1} ns", cost.sample.ns),
                Err(error) => error.found,
            },
        };
        Self {
            reader,
            what: what.to_owned(),
            entry: entry.to_owned(),
            bytes: curve.is_some().then_some(bytes),
            value,
        }
    }

    /// The entry, with the bytes.
    pub(crate) fn entry(&self) -> String {
        match self.bytes {
            Some(bytes) => format!("{} at {} bytes", self.entry, short(bytes as u64)),
            None => self.entry.clone(),
        }
    }
}

/// All values that commands take from a profile unless they are told others.
pub(crate) fn readings(profile: &Profile) -> Vec<Reading> {
    let mut all = Vec::new();
    let face = ("commplan --times", "a message of a patch's face");
    all.push(Reading::of(
        profile,
        face,
        commplan::MESSAGES,
        commplan::FACE_BYTES,
    ));
    for entry in explain::PLACEMENT_ENTRIES {
        let face = ("explain placement --times", "a message of a patch's face");
        all.push(Reading::of(profile, face, entry, commplan::FACE_BYTES));
    }
    for (what, entry, bytes) in explain::SHM_ENTRIES {
        all.push(Reading::of(
            profile,
            ("explain message", what),
            entry,
            bytes,
        ));
    }
    // A preset of this program is a model, or a test of the crate fails.
    if let Ok(model) = models::preset("node") {
        let bytes = model.parameters().get(models::BYTES).copied();
        let rows = model.components().iter();
        let rows = rows.filter_map(|row| Some((row.name(), row.profile()?.0)));
        let reader = "model --model node";
        all.extend(rows.map(|(name, entry)| {
            Reading::of(profile, (reader, name), entry, bytes.unwrap_or(0.0))
        }));
    }
    if let Some(chunk) = tune::fastest_chunk(profile) {
        let entry = format!("double/{}K", chunk >> 10);
        all.push(Reading::of(
            profile,
            ("tune", "the chunk that it also tries"),
            &entry,
            tune::LONG_BYTES,
        ));
    }
    all
}

/// Whether some command takes a value from an entry of this name.
pub(crate) fn is_read(here: &Host, entry: &str) -> bool {
    let of_commands = readings(&Profile::new(here.clone()));
    let is_ring = entry.starts_with("double/");
    is_ring || of_commands.iter().any(|reading| reading.entry == entry)
}

#[cfg(test)]
mod tests {
    use machine_profile::{Axis, Curve, Point, Sample};

    use super::*;

    #[test]
    fn each_reader_tells_what_it_takes_or_what_is_missing() {
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
        let curve = |name: &str, points: [(u64, f64); 2]| Curve {
            name: name.to_owned(),
            axis: Axis::Bytes,
            from: Some(0),
            to: Some(1),
            points: Vec::from(points.map(|(x, ns)| Point {
                x,
                sample: Sample {
                    ns,
                    trimean: ns,
                    mad: 1.0,
                    n: 9,
                    iid: true,
                },
            })),
        };
        profile.curves = vec![
            curve("mpi/latency", [(8, 150.0), (64, 200.0)]),
            curve("double/32K", [(1 << 10, 300.0), (1 << 20, 90_000.0)]),
            curve("double/128K", [(1 << 10, 300.0), (1 << 20, 80_000.0)]),
        ];
        let all = readings(&profile);
        let found = |reader: &str, entry: &str| {
            let found = all
                .iter()
                .find(|one| one.reader == reader && one.entry() == entry);
            found.map(|one| one.value.as_str())
        };
        assert_eq!(
            found("explain message", "mpi/latency at 64 bytes"),
            Some("200 ns")
        );
        assert_eq!(found("tune", "double/128K at 1M bytes"), Some("80000 ns"));
        let missing = found("explain message", "cma/readv");
        assert_eq!(missing, Some("no cost 'cma/readv'"));
        assert!(all.iter().any(|one| one.reader == "model --model node"));
        let face = all.iter().find(|one| one.reader == "commplan --times");
        let face = face.map(|one| one.value.as_str());
        assert!(face.is_some_and(|value| value.contains("extrapolated: measured from 8 to 64")));
    }
}
