// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages and windows of messages whose answer is a cache line, for `rankpoint model`: what they take one way while their receiver waits.
//!
//! Neither of them is what the model predicts, ping-pongs and windows that a message answers. All sizes, lengths and, for `check`,
//! the quantities themselves take turns, repetition by repetition, so that all meet the machine in the same state.

use crate::distance::DistanceProbe;
use crate::mpi::{Mpi, Tags, WINDOW_TAG, Window};
use crate::options::RankOptions;
use crate::output::report;

const TAG: i32 = 1;
/// Bytes of messages whose answer is a line: not those that `check` predicts, but on both sides of each. The first one is as long as the
/// answer of a window.
const ANSWERED_SIZES: [usize; 8] = [4, 16, 56, 128, 768, 1536, 8192, 24576];
/// Windows whose answer is a line. One message by itself is one of them, because longer windows do not tell what the first message waits for.
const ANSWERED_DEPTHS: [usize; 8] = [1, 2, 4, 6, 10, 16, 24, 48];
/// Bytes and windows of the quantities.
const SIZES: [usize; 4] = [8, 64, 1024, 16384];
const DEPTHS: [usize; 3] = [1, 8, 64];
/// Bytes of each message of a window.
const WINDOW_BYTES: usize = 8;
/// Values of each; their medians count.
const REPETITIONS: u64 = 11;

/// Name of the point of half a round trip of a line.
pub const LINE: &str = "line";
/// Name of the points of messages that a line answers: they contain one way of a line.
pub const ANSWERED: &str = "answered";
/// The same of windows of messages.
pub const WINDOWS_ANSWERED: &str = "windows_answered";
/// Name of the points of half a round trip of a message.
pub const HALVES: &str = "half_round_trip";
/// Name of the points of windows of messages, by message.
pub const WINDOWS: &str = "window";

/// The exchange that ranks 0 and 1 repeat.
#[derive(Clone, Copy)]
enum Exchange {
    /// A line there and back.
    Line,
    /// A message and a line back, then a line and a message back.
    Answered(usize),
    /// A window of messages and a line back.
    WindowAnswered(usize),
    /// A message there and back.
    RoundTrip(usize),
    /// A window of messages and a message back.
    Window(usize),
}

impl Exchange {
    /// All, with the quantities if they are asked for.
    fn all(with_quantities: bool) -> Vec<Self> {
        let mut all = vec![Self::Line];
        all.extend(ANSWERED_SIZES.map(Self::Answered));
        all.extend(ANSWERED_DEPTHS.map(Self::WindowAnswered));
        if with_quantities {
            all.extend(SIZES.map(Self::RoundTrip));
            all.extend(DEPTHS.map(Self::Window));
        }
        all
    }

    /// Name and size of the point, and by what the time of an iteration is divided.
    const fn point(self) -> (&'static str, usize, usize) {
        match self {
            Self::Line => (LINE, 0, 2),
            Self::Answered(size) => (ANSWERED, size, 2),
            Self::WindowAnswered(depth) => (WINDOWS_ANSWERED, depth, 1),
            Self::RoundTrip(size) => (HALVES, size, 2),
            Self::Window(depth) => (WINDOWS, depth, depth),
        }
    }
}

/// Reports all points, and gives the distances between the cores meanwhile.
pub(crate) fn measure(
    mpi: &Mpi,
    options: &RankOptions,
    with_quantities: bool,
) -> Result<Vec<f64>, String> {
    let line = options.effort.line;
    let line = line.ok_or("ranks have no line between them: expected a page that both map")?;
    let all = Exchange::all(with_quantities);
    let mut ends = Ends::new();
    let mut effort = options.effort;
    effort.budget.repetitions = REPETITIONS;
    let values = effort.measure_batches_in_turns(mpi, all.len(), |which, iterations| {
        ends.run(mpi, line, all[which], iterations);
    });
    let distances = line.all_met();
    for (exchange, values) in all.iter().zip(values) {
        let (name, size, divisor) = exchange.point();
        let each: Vec<f64> = values.iter().map(|time| time / divisor as f64).collect();
        report(mpi, options, name, size, &each)?;
    }
    Ok(distances)
}

/// The memory of both ends.
struct Ends {
    data: Vec<u8>,
    room: Vec<u8>,
    windows: Vec<Window>,
}

impl Ends {
    fn new() -> Self {
        let longest = ANSWERED_SIZES.iter().chain(&SIZES).max().copied();
        let deepest = ANSWERED_DEPTHS.iter().chain(&DEPTHS).max().copied();
        let (longest, deepest) = (longest.unwrap_or(0), deepest.unwrap_or(0));
        Self {
            data: vec![1; longest],
            room: vec![2; longest.max(deepest * WINDOW_BYTES)],
            windows: (0..=deepest).map(Window::new).collect(),
        }
    }

    fn run(&mut self, mpi: &Mpi, line: &DistanceProbe, exchange: Exchange, iterations: u64) {
        let is_first = mpi.rank == 0;
        let (data, room) = (&self.data[..], &mut self.room[..]);
        match exchange {
            Exchange::Line if is_first => repeat(iterations, || {
                line.ask();
                line.await_reply();
            }),
            Exchange::Line => repeat(iterations, || {
                line.await_ask();
                line.reply();
            }),
            Exchange::Answered(size) if is_first => repeat(iterations, || {
                mpi.send(&data[..size], 1, TAG);
                line.await_reply();
                line.ask();
                mpi.receive(&mut room[..size], 1, TAG);
            }),
            Exchange::Answered(size) => repeat(iterations, || {
                mpi.receive(&mut room[..size], 0, TAG);
                line.reply();
                line.await_ask();
                mpi.send(&data[..size], 0, TAG);
            }),
            Exchange::RoundTrip(size) if is_first => repeat(iterations, || {
                mpi.send(&data[..size], 1, TAG);
                mpi.receive(&mut room[..size], 1, TAG);
            }),
            Exchange::RoundTrip(size) => repeat(iterations, || {
                mpi.receive(&mut room[..size], 0, TAG);
                mpi.send(&data[..size], 0, TAG);
            }),
            Exchange::WindowAnswered(depth) => {
                let window = &mut self.windows[depth];
                let answer = || match is_first {
                    true => line.await_reply(),
                    false => line.reply(),
                };
                repeat(iterations, || move_window(mpi, data, room, window, answer));
            }
            Exchange::Window(depth) => {
                let window = &mut self.windows[depth];
                let mut answer = [0_u8; 4];
                let mut answer = || match is_first {
                    true => mpi.receive(&mut answer, 1, TAG),
                    false => mpi.send(&answer, 0, TAG),
                };
                repeat(iterations, || {
                    move_window(mpi, data, room, window, &mut answer);
                });
            }
        }
    }
}

fn repeat(iterations: u64, mut action: impl FnMut()) {
    for _ in 0..iterations {
        action();
    }
}

/// A window from rank 0 to rank 1, then the answer.
fn move_window(
    mpi: &Mpi,
    data: &[u8],
    room: &mut [u8],
    window: &mut Window,
    answer: impl FnOnce(),
) {
    let tags = Tags::same(WINDOW_TAG);
    if mpi.rank == 0 {
        mpi.send_window(&data[..WINDOW_BYTES], 1, tags, window);
    } else {
        mpi.receive_window(room, WINDOW_BYTES, 0, tags, window);
    }
    answer();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_predicted_lies_between_what_was_measured_and_is_not_among_it() {
        let between = |measured: &[usize], asked: usize| {
            !measured.contains(&asked)
                && measured.iter().any(|&one| one < asked)
                && measured.iter().any(|&one| one > asked)
        };
        assert!(SIZES.iter().all(|&size| between(&ANSWERED_SIZES, size)));
        assert!(between(&ANSWERED_DEPTHS, 8) && !ANSWERED_DEPTHS.contains(&64));
        let names = |with| -> Vec<&str> {
            let all = Exchange::all(with).into_iter();
            all.map(|exchange| exchange.point().0).collect()
        };
        assert!(!names(false).contains(&HALVES) && !names(false).contains(&WINDOWS));
        assert_eq!(
            names(true).len(),
            names(false).len() + SIZES.len() + DEPTHS.len()
        );
    }
}
