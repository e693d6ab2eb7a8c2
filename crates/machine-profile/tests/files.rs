// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole files: what is written is read back, and what is wrong is named with file, line, key and what was expected.

use machine_profile::{
    Axis, Control, Cost, Curve, Error, Foreign, Host, Kind, Matrix, Place, PlaceKind, Point,
    Profile, Sample, Skipped, Surface, Unit,
};
use proptest::prelude::*;

fn host() -> Host {
    Host {
        cpu: "Example \"9000\" \\ 2".to_owned(),
        architecture: "x86_64".to_owned(),
        cores: 2,
        l3_bytes: 32 << 20,
        numa_nodes: 1,
        page_bytes: 4096,
        is_virtual: true,
        kernel: "6.8.0".to_owned(),
    }
}

fn sample(ns: f64) -> Sample {
    Sample {
        ns,
        trimean: ns * 1.01,
        mad: ns / 50.0,
        n: 40,
        iid: ns < 1000.0,
    }
}

fn core(index: u64) -> Place {
    Place {
        name: format!("core {index}"),
        kind: PlaceKind::Core,
        index,
        l3: Some(0),
        numa: None,
    }
}

fn profile() -> Profile {
    let point = |x: u64| Point {
        x,
        sample: sample(10.0 + x as f64 / 7.0),
    };
    let mut profile = Profile::new(host());
    profile.created = "2026-01-31T12:00:00Z".to_owned();
    profile.tool = "rankpoint 0.1.0".to_owned();
    profile.mode = "quick".to_owned();
    profile.controls = vec![Control {
        name: "governor".to_owned(),
        asked: "performance".to_owned(),
        held: "powersave: no permission".to_owned(),
    }];
    profile.places = vec![core(0), core(1)];
    profile.costs = vec![Cost {
        name: "call/syscall".to_owned(),
        sample: sample(55.5),
    }];
    profile.curves = vec![Curve {
        name: "copy/memcpy".to_owned(),
        axis: Axis::Bytes,
        from: Some(0),
        to: Some(1),
        points: vec![point(64), point(4096), point(1 << 20)],
    }];
    profile.surfaces = vec![Surface {
        name: "pack/rows".to_owned(),
        axes: [Axis::Bytes, Axis::Run],
        x: vec![64, 4096],
        y: vec![1, 8, 64],
        ns: vec![vec![100.0, 20.0, 8.25], vec![4000.0, 900.0, 400.0]],
        mad: vec![vec![1.0; 3]; 2],
    }];
    profile.matrices = vec![Matrix {
        name: "line".to_owned(),
        unit: Unit::Ns,
        places: vec![0, 1],
        values: vec![vec![Some(0.0), Some(58.1)], vec![None, Some(0.0)]],
        mad: vec![vec![Some(0.0), Some(1.5)], vec![None, Some(0.0)]],
    }];
    profile.skipped = vec![Skipped {
        name: "double/cma".to_owned(),
        reason: "process_vm_readv: Operation not permitted".to_owned(),
    }];
    profile
}

/// The error of a text that must have one.
fn refused(text: &str) -> Option<Error> {
    Profile::parse(text, "p.toml".as_ref()).err()
}

/// The text of the profile with a line replaced.
fn with(old: &str, new: &str) -> String {
    let text = profile().to_toml();
    assert!(text.contains(old), "{old} is not in\n{text}");
    text.replacen(old, new, 1)
}

#[test]
fn what_is_written_is_read_back() {
    let written = profile();
    let mut read = Profile::parse(&written.to_toml(), "p.toml".as_ref()).unwrap();
    assert_eq!(read.file.as_os_str(), "p.toml");
    read.file = written.file.clone();
    assert_eq!(read, written);
}

#[test]
fn files_are_replaced_in_one_step() {
    let folder = std::env::temp_dir().join(format!("machine-profile-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("p.toml");
    std::fs::write(&file, "old").unwrap();
    profile().write(&file).unwrap();
    assert_eq!(Profile::read(&file).unwrap().places.len(), 2);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    std::fs::remove_dir_all(&folder).unwrap();
    let gone = Profile::read(&file).unwrap_err();
    assert_eq!(gone.kind, Kind::File);
    assert!(
        gone.to_string().ends_with("`rankpoint scope` writes one"),
        "{gone}"
    );
    assert_eq!(profile().write(&file).unwrap_err().kind, Kind::File);
}

#[test]
fn unknown_keys_are_ignored() {
    let text = with(
        "mode = \"quick\"",
        "mode = \"quick\"\nlater = [1, { a = 2 }]",
    );
    assert_eq!(
        Profile::parse(&text, "p.toml".as_ref()).unwrap().mode,
        "quick"
    );
}

#[test]
fn newer_files_are_refused() {
    let error = refused(&with("schema = 1", "schema = 2")).unwrap();
    assert_eq!(error.kind, Kind::Newer);
    let told = "p.toml:1: schema: 2, expected 1, the newest that this version reads";
    assert_eq!(error.to_string(), told);
}

#[test]
fn texts_that_are_no_toml_are_refused_with_the_line() {
    let error = refused("schema = 1\ncreated = \"\nmode = 2\n").unwrap();
    assert_eq!((error.kind, error.line), (Kind::Syntax, Some(2)));
    assert!(error.to_string().starts_with("p.toml:2: "), "{error}");
}

/// A text in the file, what stands there instead, and the begin of the error.
const DAMAGED: [(&str, &str, &str); 17] = [
    (
        "mode = \"quick\"\n",
        "",
        "mode: missing, expected a text in quotes",
    ),
    (
        "cores = 2",
        "cores = \"two\"",
        "host.cores: the text \"two\", expected a whole number, 0 or larger",
    ),
    (
        "cores = 2",
        "cores = 0",
        "host.cores: 0, expected a whole number, 1 or larger",
    ),
    ("l3_bytes = 33554432", "l3_bytes = 1", "host.fingerprint: '"),
    (
        "virtual = true",
        "virtual = 1",
        "host.virtual: 1, expected true or false",
    ),
    (
        "kind = \"core\"",
        "kind = \"disk\"",
        "places[0].kind: 'disk', expected one of core, numa, gpu, host",
    ),
    (
        "from = 0",
        "from = 2",
        "curves[0].from: 2, expected a position among the 2 [[places]]",
    ),
    (
        "{ x = 4096",
        "{ x = 64",
        "curves[0].points[1].x: 64, expected more than 64, the point before",
    ),
    (
        "n = 40,",
        "n = 0,",
        "curves[0].points[0].n: 0, expected a whole number, 1 or larger",
    ),
    (
        "ns = 55.5",
        "ns = -55.5",
        "costs[0].ns: -55.5, expected a finite number, 0 or larger",
    ),
    (
        "ns = 55.5",
        "ns = inf",
        "costs[0].ns: inf, expected a finite number, 0 or larger",
    ),
    (
        "places = [0, 1]",
        "places = [0, 0]",
        "matrices[0].places: 0, expected positions among the 2 [[places]], each once",
    ),
    (
        "  [nan, 0.0],\n",
        "",
        "matrices[0].values: rows of lengths [2], expected 2 rows of 2 numbers",
    ),
    (
        "y = [1, 8, 64]",
        "y = [1, 64, 8]",
        "surfaces[0].y: [1, 64, 8], expected at least one number",
    ),
    (
        "[100.0, 20.0, 8.25]",
        "[100.0, 20.0, nan]",
        "surfaces[0].ns: nan, expected a number in each place",
    ),
    ("[[skipped]]", "[[matrices]]", "matrices[1]."),
    (
        "[host]",
        "[[host]]",
        "host: an array, expected a table [host]",
    ),
];

#[test]
fn damaged_values_are_named_with_line_key_and_expectation() {
    for (old, new, told) in DAMAGED {
        let text = with(old, new);
        let error = refused(&text).unwrap();
        assert_eq!(error.kind, Kind::Value, "{error}");
        let start = format!("p.toml:{}: {told}", error.line.unwrap());
        assert!(
            error.to_string().starts_with(&start),
            "{error}\nand not {start}"
        );
        let line = text.lines().nth(error.line.unwrap() - 1).unwrap();
        let last = error
            .key
            .rsplit('.')
            .next()
            .unwrap()
            .split('[')
            .next()
            .unwrap();
        let is_there = line.contains(last) || error.found == "missing" || line.contains("[[");
        assert!(is_there, "{error}: not in line '{line}'");
    }
}

#[test]
fn two_entries_with_one_name_are_refused() {
    let mut twice = profile();
    twice.curves.push(twice.curves[0].clone());
    let error = refused(&twice.to_toml()).unwrap();
    assert!(
        error
            .to_string()
            .contains("curves[1].name: 'copy/memcpy', expected another name")
    );
}

#[test]
fn profiles_of_other_machines_and_kernels_are_refused_unless_allowed() {
    let text = profile().to_toml();
    let profile = Profile::parse(&text, "p.toml".as_ref()).unwrap();
    let line_of = |key: &str| {
        let (_, host) = text.split_once("[host]").unwrap();
        let before = text.len() - host.len() + host.find(key).unwrap();
        1 + text[..before].matches('\n').count()
    };
    profile.check_host(&host(), Foreign::Refuse).unwrap();
    let mut here = host();
    here.kernel = "7.0".to_owned();
    let error = profile.check_host(&here, Foreign::Refuse).unwrap_err();
    assert_eq!(error.kind, Kind::Stale);
    let told = format!(
        "p.toml:{}: host.kernel: measured under kernel 6.8.0, and this is 7.0, expected this kernel's: `rankpoint scope` measures anew",
        line_of("kernel = ")
    );
    assert!(error.to_string().starts_with(&told), "{error}");
    here.cores = 64;
    let error = profile.check_host(&here, Foreign::Refuse).unwrap_err();
    assert_eq!(error.kind, Kind::Foreign);
    let told = format!(
        "p.toml:{}: host.cores: the profile of another machine ({} there, {} here: cores: 2, 64), expected this machine's",
        line_of("cores = "),
        host().fingerprint(),
        here.fingerprint()
    );
    assert!(error.to_string().starts_with(&told), "{error}");
    profile.check_host(&here, Foreign::Allow).unwrap();
}

#[test]
fn missing_entries_say_why() {
    let profile = profile();
    let skipped = profile.curve("double/cma", Some(0), Some(1)).unwrap_err();
    let told = "the profile: no curve 'double/cma' from core 0 to core 1, because it was skipped: process_vm_readv: Operation not permitted";
    assert_eq!(skipped.to_string(), told);
    let other = profile.curve("copy/memcpy", None, None).unwrap_err();
    assert!(
        other
            .to_string()
            .contains("`rankpoint scope --only '^copy/memcpy'` measures it")
    );
    assert_eq!(
        profile
            .curve("copy/memcpy", Some(0), Some(1))
            .unwrap()
            .points
            .len(),
        3
    );
    assert_eq!(profile.curves_of("copy/memcpy").count(), 1);
    assert_eq!(
        profile.surface("pack/list").unwrap_err().kind,
        Kind::Missing
    );
    assert_eq!(profile.cost("call/syscall").unwrap().sample.ns, 55.5);
    let matrix = profile.matrix("line").unwrap();
    assert_eq!(
        (matrix.between(0, 1), matrix.between(1, 0)),
        (Some(58.1), None)
    );
    assert_eq!(matrix.range(), Some((58.1, 58.1)));
    assert_eq!((profile.core(1), profile.core(2)), (Some(1), None));
}

proptest! {
    #[test]
    fn any_values_and_texts_survive(
        text in "\\PC*|[\\x00-\\x1f\"\\\\]*",
        values in proptest::collection::vec((0.0..1e12f64, 0..1u64 << 60), 1..20),
    ) {
        let mut written = profile();
        written.mode = text.clone();
        written.skipped[0].reason = text;
        written.costs = values.iter().enumerate().map(|(index, &(ns, n))| Cost {
            name: format!("cost {index}"),
            sample: Sample { n: n + 1, ..sample(ns) },
        }).collect();
        let mut read = Profile::parse(&written.to_toml(), "p.toml".as_ref()).unwrap();
        read.file = written.file.clone();
        prop_assert_eq!(read, written);
    }

    #[test]
    fn estimates_lie_between_their_neighbours_and_are_marked_outside(x in 1.0..1e9f64) {
        let here = profile();
        let curve = here.curve("copy/memcpy", Some(0), Some(1)).unwrap();
        let found = curve.at(x);
        let (first, last) = curve.measured().unwrap();
        prop_assert_eq!(found.is_extrapolated(), x < first as f64 || x > last as f64);
        let above = curve.points.iter().find(|point| point.x as f64 >= x);
        let below = curve.points.iter().rev().find(|point| point.x as f64 <= x);
        if let (Some(above), Some(below)) = (above, below) {
            prop_assert!(found.ns >= below.sample.ns * 0.999_999);
            prop_assert!(found.ns <= above.sample.ns * 1.000_001);
        }
        prop_assert_eq!(found.to_string().contains("extrapolated"), found.is_extrapolated());
    }
}
