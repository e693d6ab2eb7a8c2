// SPDX-License-Identifier: MIT OR Apache-2.0
//! `calibrate`: measures the components of messages through shared memory, and writes them as a model.
//!
//! No experiment is one of the quantities that the model predicts: sends and receives are timed apart, on one core one after the other and on two
//! while the other side makes no call, and the way between the cores without any MPI. What is missing in the sum of these parts, because both
//! sides wait for each other or work at once, is taken from messages and windows of other sizes that a cache line answers.

use std::io::Write as _;
use std::time::Duration;

use bench_rank::{ANSWERED, DISTANCE, LINE, PARTS, PARTS_AND_QUANTITIES, WINDOWS_ANSWERED};
use measure::job::{self, RankReport};
use measure::settings;
use measure::statistics::{median, spread};
use measure::target::{self, Target};
use measure::yardstick::{SharedPage, alike, cache_line, line_stream};

use super::between_hosts;
use super::options::MeasureOptions;
use super::written::{BY_BYTES, BY_WINDOW, Measured, Point, component, curve, curve_line, quoted};

/// Sizes whose sends and receives are timed.
pub(super) const SIZES: [usize; 7] = [8, 64, 256, 1024, 4096, 8192, 16384];

/// A calibrated model and the library that it is of.
pub(super) struct Calibration {
    /// The model's file.
    pub(super) text: String,
    /// The library's version.
    pub(super) version: String,
    /// How far the cores were apart, on one host.
    pub(super) distances: Option<Distances>,
}

impl Calibration {
    /// Whether the cores stayed as far apart as they were, where that matters.
    ///
    /// # Errors
    /// What was seen instead.
    pub(super) fn expect_one_distance(&self) -> Result<(), String> {
        self.distances
            .as_ref()
            .map_or(Ok(()), Distances::expect_one)
    }
}

/// Core-to-core nanoseconds before a measurement, at times in it, and after it.
pub(super) struct Distances {
    before: f64,
    during: Vec<f64>,
    after: f64,
}

/// One of so many distances in a measurement may be another one: a probe may be interrupted.
const INTERRUPTED_ONE_IN: usize = 10;

impl Distances {
    fn all(&self) -> Vec<f64> {
        [&[self.before, self.after][..], &self.during[..]].concat()
    }

    /// Whether the cores stayed as far apart as they were.
    ///
    /// # Errors
    /// What was seen instead: what is measured at several distances belongs to no model.
    fn expect_one(&self) -> Result<(), String> {
        let usual = alike::usual(&self.all());
        let differs = |distance: f64| alike::differ(&[distance], usual);
        let moved = self.during.iter().filter(|&&distance| differs(distance));
        let is_one = !differs(self.before)
            && !differs(self.after)
            && moved.count() * INTERRUPTED_ONE_IN <= self.during.len();
        if is_one {
            return Ok(());
        }
        let limit = alike::SAME * alike::SAME;
        Err(format!(
            "the way between the cores changed while it was measured: {}, where {:.1} ns is usual; expected distances within {limit:.2} \
             times of that: run it again, on cores that stay where they are",
            self.shown(),
            usual.unwrap_or(0.0)
        ))
    }

    /// What was seen.
    pub(super) fn shown(&self) -> String {
        let least = self.during.iter().copied().min_by(f64::total_cmp);
        let most = self.during.iter().copied().max_by(f64::total_cmp);
        let between = least.zip(most).map_or(String::new(), |(least, most)| {
            format!(", {least:.1} to {most:.1} ns in between")
        });
        let (before, after) = (self.before, self.after);
        format!("{before:.1} ns before{between}, {after:.1} ns after")
    }
}

/// The library that the options name.
pub(super) fn library(options: &MeasureOptions) -> Result<Target, String> {
    if settings::is_rank() {
        return Err("model starts its jobs itself: run it without mpiexec".to_owned());
    }
    let library = target::library(options.mpiexec.as_deref(), options.library_path.as_deref())?;
    let mut library = [library];
    target::settle(&mut library, &options.hosts)?;
    let [library] = library;
    Ok(library)
}

/// Runs a job of two ranks; gives the library's version and the points.
pub(super) fn run_job(
    library: &Target,
    words: &[String],
    seconds: u64,
) -> Result<(String, Vec<Measured>), String> {
    let lines = job::run(library, 2, words, Duration::from_secs(seconds))?.lines;
    let (mut version, mut points) = (String::new(), Vec::new());
    for line in lines {
        match line {
            RankReport::Start { version: own } => version = own,
            RankReport::Skipped { skipped } => return Err(format!("{}: {skipped}", words[0])),
            RankReport::Point {
                name, size, values, ..
            } => points.push(Measured { name, size, values }),
            RankReport::Rates { .. } => {}
        }
    }
    Ok((version, points))
}

/// Measures, and makes the model's file.
///
/// # Errors
/// When a job fails, or the way between the cores changes meanwhile.
pub(super) fn calibrate(options: &MeasureOptions, library: &Target) -> Result<Calibration, String> {
    let (calibration, _) = measure(options, library, What::Parts)?;
    calibration.expect_one_distance()?;
    Ok(calibration)
}

/// What a job measures.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// The components.
    Parts,
    /// The components, and interleaved with them what the model predicts.
    PartsAndQuantities,
}

/// The same, however far the cores were apart, and what the ranks reported.
///
/// # Errors
/// When the job fails.
pub(super) fn measure(
    options: &MeasureOptions,
    library: &Target,
    what: What,
) -> Result<(Calibration, Vec<Measured>), String> {
    match options.hosts.hosts.is_empty() {
        true => on_one_host(options, library, what),
        false => between_hosts::measure(options, library, what),
    }
}

fn on_one_host(
    options: &MeasureOptions,
    library: &Target,
    what: What,
) -> Result<(Calibration, Vec<Measured>), String> {
    let two = || "calibrate needs two cores, to measure the way between them".to_owned();
    // Nothing is lost if standard error is closed.
    let _ = writeln!(
        std::io::stderr(),
        "calibrate: a job of two ranks measures the components, for {} s at most",
        options.time_limit
    );
    let before = cache_line::measure().ok_or_else(two)?;
    let stream = line_stream::measure().ok_or_else(two)?;
    let sizes: Vec<String> = SIZES.iter().map(usize::to_string).collect();
    let job = match what {
        What::Parts => PARTS,
        What::PartsAndQuantities => PARTS_AND_QUANTITIES,
    };
    let page = SharedPage::new()?;
    let words = [
        job.to_owned(),
        format!("sizes={}", sizes.join(",")),
        format!("line={}", page.path()),
    ];
    let (version, points) = run_job(library, &words, options.time_limit)?;
    let after = cache_line::measure().ok_or_else(two)?;
    let during = points.iter().find(|point| point.name == DISTANCE);
    let distances = Distances {
        before,
        during: during.map(|point| point.values.clone()).unwrap_or_default(),
        after,
    };
    let mut text = format!(
        "# Written by `rankpoint model calibrate`: messages through shared memory between two ranks of one node.\n\
         name = \"calibrated\"\nnote = {}\norigin = \"measured\"\n\n[parameter]\nbytes = 8\nW = 64 # messages in a window\n\n[component]\n",
        quoted(&version)
    );
    text += &components(&points, version.starts_with("Rankpoint"))?;
    for (name, value) in [
        ("write_line", stream.write_ns),
        ("read_line", stream.read_ns),
    ] {
        text += &component(name, value, "timer", "a stream of lines, without MPI");
    }
    text += QUANTITIES;
    let calibration = Calibration {
        text,
        version,
        distances: Some(distances),
    };
    Ok((calibration, points))
}

/// The rank, lumps and unknown components of a calibration, as lines of text.
///
/// # Errors
/// When the file is no model.
pub(super) fn determined(calibration: &Calibration) -> Result<Vec<String>, String> {
    let model = models::Model::parse("calibration", &calibration.text);
    let model = model.map_err(|error| error.to_string())?;
    Ok(super::shown::determined(&model, &model.values()))
}

/// The parts count all work of both sides and one way of a line. What they miss, such as polls and lines that the other core still reads, is
/// `exposed`; what they count twice, such as work that is done while the line travels, is `hidden`: a message that a line answers, less its
/// parts. The same of windows; a message answers them. The rank that answers a window posts the next one meanwhile: it is the bound, or the way
/// there and back is. While the sender writes a chunk, the receiver copies the one before.
const QUANTITIES: &str = r#"
exposed = { difference = "max(answered - 2 c2c - send_alone - receive_alone - send_chunk_more - max(send_more - send_chunk_more, receive_more - receive_chunk_more) - receive_chunk_more, 0)", experiment = "messages one way, answered by a line" }
hidden = { difference = "max(2 c2c + send_alone + receive_alone + send_chunk_more + max(send_more - send_chunk_more, receive_more - receive_chunk_more) + receive_chunk_more - answered, 0)", experiment = "messages one way, answered by a line" }
exposed_window = { difference = "max((windows_answered + short_answered - 2 c2c) / W - max(post + take_window + (wait + send_alone) / W, (2 c2c + send_alone + receive_alone + send_once + take_once + wait + (W - 1) * max(send_window, take_window)) / W, write_line, read_line), 0)", experiment = "windows one way, answered by a line" }
hidden_window = { difference = "max(max(post + take_window + (wait + send_alone) / W, (2 c2c + send_alone + receive_alone + send_once + take_once + wait + (W - 1) * max(send_window, take_window)) / W, write_line, read_line) - (windows_answered + short_answered - 2 c2c) / W, 0)", experiment = "windows one way, answered by a line" }

[sum]
short_message = ["send_alone", "c2c", "receive_alone"]
chunks_between = ["max(send_more - send_chunk_more, receive_more - receive_chunk_more)"]
receiver_bound = ["post + take_window + (wait + send_alone) / W"]
way_bound = ["(short_message + c2c + send_once + take_once + wait + (W - 1) * max(send_window, take_window)) / W"]

[quantity.half_round_trip]
terms = ["short_message", "send_chunk_more", "chunks_between", "receive_chunk_more", "exposed - hidden"]
experiment = "ping-pong"
note = "half of a round trip"

[quantity.rate]
terms = ["max(receiver_bound, way_bound, write_line, read_line)", "exposed_window - hidden_window"]
experiment = "windows of messages"
note = "time per message in windows of W, each answered"
"#;

/// Components that ranks measured, as lines of a model.
fn components(points: &[Measured], is_ours: bool) -> Result<String, String> {
    let mut text = String::new();
    for name in ["send", "receive"] {
        text += &curve_text(name, &more(points, name)?, is_ours);
    }
    for (name, experiment) in [
        (
            "send_alone",
            "batches of sends on the core of their receiver, one after the other",
        ),
        (
            "receive_alone",
            "batches of receives on the core of their sender, one after the other",
        ),
        (
            "send_window",
            "windows of sends whose receiver makes no call",
        ),
        ("take_window", "waits for windows that have come"),
        (
            "send_once",
            "windows of sends on the core of their receiver, one after the other",
        ),
        (
            "take_once",
            "waits for windows on the core of their sender, one after the other",
        ),
        ("post", "windows of receives before anything is sent"),
    ] {
        text += &component(name, per_message(points, name)?, "difference", experiment);
    }
    let wait = points.iter().find(|point| point.name == "wait");
    let wait = wait.ok_or("the ranks did not report wait")?;
    let value = [median(&wait.values), spread(&wait.values)];
    let experiment = "waits for receives that name no rank, of two lengths";
    text += &component("wait", value, "timer", experiment);
    text += &answered(points)?;
    Ok(text)
}

/// The way between the cores, and what a line answers, as lines of a model.
fn answered(points: &[Measured]) -> Result<String, String> {
    let (messages, windows) = (curve(points, ANSWERED)?, curve(points, WINDOWS_ANSWERED)?);
    let line = "one line there and back between both ranks, without MPI";
    let message = "messages one way, answered by a line";
    let window = "windows one way, answered by a line";
    Ok([
        component("c2c", curve(points, LINE)?[0].1, "timer", line),
        component("short_answered", messages[0].1, "timer", message),
        curve_line(ANSWERED, BY_BYTES, &messages, "timer", message),
        curve_line(WINDOWS_ANSWERED, BY_WINDOW, &windows, "timer", window),
    ]
    .concat())
}

/// The lines of a model for what more bytes cost, and for those of a chunk of each size.
fn curve_text(name: &str, curve: &[Point], is_ours: bool) -> String {
    let chunk = |bytes: usize| {
        if is_ours {
            protocols::eager_chunk_bytes(bytes).min(bytes)
        } else {
            bytes
        }
    };
    let chunks: Vec<Point> = (curve.iter())
        .map(|&(bytes, _)| (bytes, at(curve, chunk(bytes))))
        .collect();
    let rows = [
        (format!("{name}_more"), curve, "messages that are longer"),
        (
            format!("{name}_chunk_more"),
            &chunks,
            "the same, of the first or last chunk",
        ),
    ];
    let line = |(name, curve, experiment): (String, &[Point], &str)| {
        curve_line(&name, BY_BYTES, curve, "difference", experiment)
    };
    rows.map(line).concat()
}

/// The value of the largest size up to one.
fn at(curve: &[Point], bytes: usize) -> [f64; 2] {
    let below = curve.iter().rfind(|point| point.0 <= bytes);
    below.map_or([f64::NAN; 2], |point| point.1)
}

/// Nanoseconds of a message in a batch or window, and their spread: the difference between two lengths, without what all cost
/// beside their messages.
fn per_message(points: &[Measured], name: &str) -> Result<[f64; 2], String> {
    let own: Vec<_> = points.iter().filter(|point| point.name == name).collect();
    let [short, long] = own[..] else {
        return Err(format!(
            "the ranks reported {name} {} times: expected 2",
            own.len()
        ));
    };
    let messages = long.size as f64 - short.size as f64;
    let value = (median(&long.values) - median(&short.values)) / messages;
    let sd = spread(&long.values).hypot(spread(&short.values)) / messages;
    Ok([value.max(0.0), sd])
}

/// Medians by size, less that of the smallest, and their spreads: calls on two cores contain lines that the other core had last, which
/// the way between the cores is already.
fn more(points: &[Measured], name: &str) -> Result<Vec<Point>, String> {
    let own: Vec<&Measured> = points.iter().filter(|point| point.name == name).collect();
    let [first, ..] = own[..] else {
        return Err(format!("the ranks did not report {name}"));
    };
    let least = median(&first.values);
    let curve = own.iter().map(|point| {
        let ns = (median(&point.values) - least).max(0.0);
        (point.size, [ns, spread(&point.values)])
    });
    Ok(curve.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distances(before: f64, during: &[f64], after: f64) -> Distances {
        Distances {
            before,
            during: during.to_vec(),
            after,
        }
    }

    #[test]
    fn cores_that_move_apart_are_no_base_for_a_model() {
        let stay = distances(58.0, &[60.0, 63.0, 57.0, 61.0], 66.0);
        assert_eq!(stay.expect_one(), Ok(()));
        assert_eq!(distances(60.0, &[], 61.0).expect_one(), Ok(()));
        let error = distances(58.0, &[60.0, 240.0, 61.0, 59.0], 60.0).expect_one();
        let error = error.expect_err("they moved");
        assert!(
            error.starts_with(
                "the way between the cores changed while it was measured: 58.0 ns before, 59.0 to 240.0 ns in between, 60.0 ns after, \
                 where 59.0 ns is usual; expected distances within 1.56 times of that"
            ),
            "{error}"
        );
        assert!(distances(240.0, &[60.0, 61.0], 60.0).expect_one().is_err());
        assert!(distances(58.0, &[], 240.0).expect_one().is_err());
        // One of many was interrupted.
        let mut many = vec![60.0; 30];
        many[7] = 900.0;
        assert_eq!(distances(58.0, &many, 61.0).expect_one(), Ok(()));
    }

    fn point(name: &str, size: usize, values: &[f64]) -> Measured {
        Measured {
            name: name.to_owned(),
            size,
            values: values.to_vec(),
        }
    }

    /// A report of ranks whose messages of 8 bytes take 10 ns of work on each side, and 5 ns more where their receiver waits for them.
    fn reported() -> Vec<Measured> {
        let mut points = vec![point("wait", 0, &[5.0]), point(LINE, 0, &[60.0])];
        for (size, send, receive, answered) in [
            (4, 40.0, 70.0, 145.0),
            (64, 55.0, 90.0, 170.0),
            (128, 60.0, 99.0, 180.0),
        ] {
            points.push(point("send", size, &[send]));
            points.push(point("receive", size, &[receive]));
            points.push(point(ANSWERED, size, &[answered]));
        }
        for (name, each) in [
            ("send_alone", 10.0),
            ("receive_alone", 10.0),
            ("send_window", 20.0),
            ("take_window", 30.0),
            ("send_once", 12.0),
            ("take_once", 14.0),
            ("post", 15.0),
        ] {
            let batch = |size: usize| point(name, size, &[100.0 + each * size as f64]);
            points.extend([8, 32].map(batch));
        }
        for (depth, time) in [(1, 150.0), (4, 240.0), (48, 2440.0)] {
            points.push(point(WINDOWS_ANSWERED, depth, &[time]));
        }
        points
    }

    fn model(points: &[Measured]) -> models::Model {
        let head = "name = 'x'\n[parameter]\nbytes = 8\nW = 64\n[component]\n\
             write_line = { ns = 3, sd = 1, source = 'timer' }\nread_line = { ns = 3, sd = 1, source = 'timer' }\n";
        let components = components(points, true).expect("all components");
        models::Model::parse("x", &format!("{head}{components}{QUANTITIES}")).expect("a model")
    }

    #[test]
    fn a_message_takes_as_long_as_one_that_a_line_answers_less_the_line() {
        let model = model(&reported());
        let half = model.independent("half_round_trip").expect("no circle");
        let at = |name: &str, value| {
            let given = [(name.to_owned(), value)];
            model.values_given(&given).expect("a parameter")
        };
        let close = |found: f64, expected: f64| {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        };
        // Parts are 10 + 60 + 10, and 5 more are exposed.
        close(half.predict(&at("bytes", 4.0)).predicted_ns, 85.0);
        close(half.predict(&at("bytes", 64.0)).predicted_ns, 110.0);
        close(half.predict(&at("bytes", 96.0)).predicted_ns, 115.0);
        // The parts of 64 bytes are 80 + 15 + 20, which is more than they take together.
        close(
            model.value("hidden", &at("bytes", 64.0)).expect("a name"),
            5.0,
        );
        close(
            model.value("exposed", &at("bytes", 64.0)).expect("a name"),
            0.0,
        );
        let rate = model.independent("rate").expect("no circle");
        // One window and the message that answers it.
        close(
            rate.predict(&at("W", 1.0)).predicted_ns,
            150.0 - 60.0 + 85.0,
        );
        close(
            rate.predict(&at("W", 8.0)).predicted_ns,
            (440.0 - 60.0 + 85.0) / 8.0,
        );
        let long = (3240.0 - 60.0 + 85.0) / 64.0;
        close(rate.predict(&model.values()).predicted_ns, long);
    }

    #[test]
    fn a_cheaper_part_makes_the_message_cheaper() {
        let model = model(&reported());
        let gain = |change: &str, quantity: &str| {
            let change: models::Change = change.parse().expect("a change");
            let gain = model.what_if(&model.values(), quantity, &[change]);
            let gain = gain.expect("a quantity");
            gain.before_ns - gain.after_ns
        };
        assert!((gain("send_alone=4", "half_round_trip") - 6.0).abs() < 1e-9);
        assert!((gain("c2c=0.5x", "half_round_trip") - 30.0).abs() < 1e-9);
        assert!((gain("post=10", "rate") - 5.0).abs() < 1e-9);
    }

    #[test]
    fn each_component_has_an_experiment_and_a_spread() {
        let mut points = reported();
        for point in &mut points {
            if point.size == 64 && point.name == "receive" {
                point.values = vec![60.0, 80.0, 90.0, 100.0, 120.0];
            }
        }
        let model = model(&points);
        let solution = model.determined(&model.values()).solution;
        assert!(solution.is_complete() && solution.rank >= 14, "{solution}");
        let given = [("bytes".to_owned(), 64.0)];
        let half = model.independent("half_round_trip").expect("no circle");
        let long = half.predict(&model.values_given(&given).expect("a size"));
        assert!(long.sd_ns.is_some_and(|sd| sd > 0.0), "{:?}", long.sd_ns);
        let without = |name: &str| {
            let mut points = reported();
            points.retain(|point| point.name != name);
            components(&points, true).expect_err("a component is missing")
        };
        assert_eq!(
            without("post"),
            "the ranks reported post 0 times: expected 2"
        );
        assert_eq!(without(LINE), "the ranks did not report line");
    }
}
