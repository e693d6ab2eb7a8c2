// SPDX-License-Identifier: MIT OR Apache-2.0
//! `calibrate`: measures the components of messages through shared memory, and writes them as a model.
//!
//! No experiment is one of the quantities that the model predicts: sends and receives are timed apart, each while the other side
//! makes no call, and the way between the cores without any MPI.

use std::fmt::Write as _;
use std::time::Duration;

use super::options::MeasureOptions;
use crate::bench::alike;
use crate::bench::job::{self, RankReport};
use crate::bench::page::SharedPage;
use crate::bench::results::median;
use crate::bench::target::{self, Target};
use crate::bench::{DISTANCE, PARTS, cache_line, line_stream};
use crate::settings;

/// Sizes whose sends and receives are timed.
pub(super) const SIZES: [usize; 7] = [8, 64, 256, 1024, 4096, 8192, 16384];

/// A calibrated model and the library that it is of.
pub(super) struct Calibration {
    /// The model's file.
    pub(super) text: String,
    /// The library's version.
    pub(super) version: String,
    /// How far the cores were apart.
    pub(super) distances: Distances,
}

/// Values of a point.
pub(super) struct Measured {
    pub(super) name: String,
    pub(super) size: usize,
    pub(super) values: Vec<f64>,
    /// Core-to-core nanoseconds around the values.
    met: Vec<f64>,
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

    /// The same, and what later jobs met.
    pub(super) fn with(&self, points: &[Measured]) -> Self {
        let later = points.iter().flat_map(|point| &point.met);
        Self {
            during: self.during.iter().chain(later).copied().collect(),
            ..*self
        }
    }

    /// Whether the cores stayed as far apart as they were.
    ///
    /// # Errors
    /// What was seen instead: what is measured at several distances belongs to no model.
    pub(super) fn expect_one(&self) -> Result<(), String> {
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
    target::library(options.mpiexec.as_deref(), options.library_path.as_deref())
}

/// Runs a job of two ranks; gives the library's version and the points.
pub(super) fn run_job(
    library: &Target,
    words: &[&str],
    seconds: u64,
) -> Result<(String, Vec<Measured>), String> {
    let mut words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    let page = SharedPage::new()?;
    words.push(format!("line={}", page.path()));
    let lines = job::run(library, 2, &words, Duration::from_secs(seconds))?.lines;
    let (mut version, mut points) = (String::new(), Vec::new());
    for line in lines {
        match line {
            RankReport::Start { version: own } => version = own,
            RankReport::Skipped { skipped } => return Err(format!("{}: {skipped}", words[0])),
            RankReport::Point {
                name,
                size,
                values,
                distances,
                ..
            } => points.push(Measured {
                name,
                size,
                values,
                met: distances.concat(),
            }),
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
    let calibration = measure(options, library)?;
    calibration.distances.expect_one()?;
    Ok(calibration)
}

/// The same, however far the cores were apart.
///
/// # Errors
/// When a job fails.
pub(super) fn measure(options: &MeasureOptions, library: &Target) -> Result<Calibration, String> {
    let two = || "calibrate needs two cores, to measure the way between them".to_owned();
    let before = cache_line::measure().ok_or_else(two)?;
    let stream = line_stream::measure().ok_or_else(two)?;
    let sizes: Vec<String> = SIZES.iter().map(usize::to_string).collect();
    let sizes = format!("sizes={}", sizes.join(","));
    let (version, points) = run_job(library, &[PARTS, &sizes], options.time_limit)?;
    let after = cache_line::measure().ok_or_else(two)?;
    let during = points.iter().find(|point| point.name == DISTANCE);
    let distances = Distances {
        before,
        during: during.map(|point| point.values.clone()).unwrap_or_default(),
        after,
    };
    let all = distances.all();
    let (c2c, sd) = (median(&all), spread(&all));
    let mut text = format!(
        "# Written by `rankpoint model calibrate`: messages through shared memory between two ranks of one node.\n\
         name = \"calibrated\"\nnote = {}\norigin = \"measured\"\n\n[parameter]\nbytes = 8\nW = 64 # messages in a window\n\n[component]\n",
        quoted(&version)
    );
    let timer = "source = \"timer\"";
    let is_ours = version.starts_with("Rankpoint");
    for name in ["send", "receive"] {
        text += &curve_text(name, &curve(&points, name)?, is_ours);
    }
    for name in ["send_window", "receive_window"] {
        let [value, sd] = per_message(&points, name)?;
        text += &format!(
            "{name} = {{ ns = {value:.2}, sd = {sd:.2}, source = \"difference\", experiment = \"windows whose other side makes no call\" }}\n"
        );
    }
    text += &format!(
        "c2c = {{ ns = {c2c:.2}, sd = {sd:.2}, {timer}, experiment = \"one line there and back, without MPI\" }}\n"
    );
    for (name, value) in [
        ("write_line", stream.write_ns),
        ("read_line", stream.read_ns),
    ] {
        text += &format!(
            "{name} = {{ ns = {value:.2}, {timer}, experiment = \"a stream of lines, without MPI\" }}\n"
        );
    }
    text += QUANTITIES;
    Ok(Calibration {
        text,
        version,
        distances,
    })
}

/// One line of a send and one of a receive are in the way between the cores already. While the sender writes a chunk, the receiver copies
/// the one before.
const QUANTITIES: &str = r#"
[sum]
first_chunk = ["send_chunk - min(send_chunk, write_line)"]
last_chunk = ["receive_chunk - min(receive_chunk, read_line)"]
chunks_between = ["max(send - send_chunk, receive - receive_chunk)"]

[quantity.half_round_trip]
terms = ["first_chunk", "c2c", "chunks_between", "last_chunk"]
experiment = "ping-pong"
note = "half of a round trip"

[quantity.rate]
terms = ["max(send_window, receive_window)", "(c2c + min(send_window, receive_window) + half_round_trip) / W"]
experiment = "windows of messages"
note = "time per message in windows of W, each answered"
"#;

/// The lines of a model for times by size, and for those of a chunk of each size.
fn curve_text(name: &str, curve: &[(usize, f64)], is_ours: bool) -> String {
    let chunks: Vec<(usize, f64)> = curve
        .iter()
        .map(|&(bytes, _)| {
            let chunk = if is_ours {
                protocols::eager_chunk_bytes(bytes).min(bytes)
            } else {
                bytes
            };
            (bytes, time_at(curve, chunk))
        })
        .collect();
    let rows = [
        (
            name.to_owned(),
            curve,
            "messages whose other side makes no call",
        ),
        (
            format!("{name}_chunk"),
            &chunks,
            "the same, of the first or last chunk",
        ),
    ];
    let list = |curve: &[(usize, f64)], pick: fn(&(usize, f64)) -> String| {
        curve.iter().map(pick).collect::<Vec<_>>().join(", ")
    };
    let line = |(name, curve, experiment): (String, &[(usize, f64)], &str)| {
        let bytes = list(curve, |point| point.0.to_string());
        let values = list(curve, |point| format!("{:.2}", point.1));
        format!(
            "{name} = {{ bytes = [{bytes}], ns = [{values}], source = \"timer\", experiment = \"{experiment}\" }}\n"
        )
    };
    rows.map(line).concat()
}

/// The time of a measured size.
fn time_at(curve: &[(usize, f64)], bytes: usize) -> f64 {
    let below = curve.iter().rfind(|point| point.0 <= bytes);
    below.map_or(f64::NAN, |point| point.1)
}

/// Nanoseconds of a message in a window, and their spread: the difference between windows of two lengths, without what a window costs
/// beside its messages.
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

/// Medians by size.
fn curve(points: &[Measured], name: &str) -> Result<Vec<(usize, f64)>, String> {
    let own = points.iter().filter(|point| point.name == name);
    let curve: Vec<(usize, f64)> = own
        .map(|point| (point.size, median(&point.values)))
        .collect();
    match curve.len() {
        0 => Err(format!("the ranks did not report {name}")),
        _ => Ok(curve),
    }
}

/// Standard deviation of the middle half, scaled to that of a normal distribution: other programs' interruptions are outside.
fn spread(values: &[f64]) -> f64 {
    let middle = median(values);
    let away: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    1.4826 * median(&away)
}

/// A text as TOML has it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => drop(write!(out, "\\{letter}")),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out + "\""
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

    #[test]
    fn what_is_measured_makes_a_model_that_predicts_other_quantities() {
        let head = "name = 'x'\n[parameter]\nbytes = 8\nW = 64\n[component]\n\
             send = { bytes = [8, 64], ns = [40, 60], experiment = 'a' }\nreceive = { bytes = [8, 64], ns = [50, 80], experiment = 'a' }\n\
             send_chunk = { bytes = [8, 64], ns = [40, 55], experiment = 'a' }\nreceive_chunk = { bytes = [8, 64], ns = [50, 70], experiment = 'a' }\n\
             send_window = { ns = 30, experiment = 'b' }\nreceive_window = { ns = 45, experiment = 'b' }\n\
             c2c = { ns = 60 }\nwrite_line = { ns = 10 }\nread_line = { ns = 15 }\n";
        let model = models::Model::parse("x", &format!("{head}{QUANTITIES}")).expect("a model");
        let half = model.independent("half_round_trip").expect("no circle");
        assert_eq!(
            half.predict(&model.values()).predicted_ns,
            30.0 + 60.0 + 35.0
        );
        let given = [("bytes".to_owned(), 64.0)];
        let in_chunks = half.predict(&model.values_given(&given).expect("a size"));
        assert_eq!(in_chunks.predicted_ns, 45.0 + 60.0 + 10.0 + 55.0);
        let rate = model.independent("rate").expect("no circle");
        assert_eq!(
            rate.predict(&model.values()).predicted_ns,
            45.0 + (60.0 + 30.0 + 125.0) / 64.0
        );
    }

    #[test]
    fn texts_are_quoted_and_one_outlier_does_not_change_the_spread() {
        assert_eq!(quoted("a \"b\" \\ \n"), "\"a \\\"b\\\" \\\\  \"");
        assert!(spread(&[10.0, 11.0, 12.0, 13.0, 1e6]) < 2.0);
    }
}
