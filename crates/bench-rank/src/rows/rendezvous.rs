// SPDX-License-Identifier: MIT OR Apache-2.0
//! Long messages in an order that is forced, with the control messages and context switches that they cost.
//!
//! Rank 0 receives, rank 1 sends. Before each message both ranks agree on the moment of each post, by the clock that all processes of a node
//! share, and wait for it. Times count from the later of both moments; of the messages of a repetition the median is the value, so a rank that
//! came late to one of them changes nothing.

use fabric::counters::Counter;
use measure::statistics::median;
use sys::clock::monotonic_ns;
use sys::cores::context_switches;

use crate::mpi::{Mpi, PersistentReceive, Tags, Window};
use crate::options::RankOptions;
use crate::output::{report, report_together};
use crate::pattern::{check, fill};
use crate::rows::many::SPAN;
use crate::rows::overlap::{steps_per_ns, work};

const TAG: i32 = 4;
const RECEIVER: i32 = 0;
const SENDER: i32 = 1;
/// Both ranks are ready so long before the first post.
const LEAD_NS: u64 = 5_000;
/// By how much one post is first where an order is forced: longer than any control message takes.
const FIRST_NS: i64 = 20_000;
/// Messages that are verified before the clock starts.
const CHECKED: u64 = 2;
/// The skews around zero, where control messages matter.
const SMALL_SKEWS_NS: [i64; 4] = [250, 500, 1_000, 2_000];
/// The others, in parts of the time in which [`COPY_BYTES_PER_NS`] copies the message.
const LARGE_SKEWS: [f64; 4] = [0.25, 0.5, 1.0, 2.0];
/// A rate of copies from which skews follow, so that they are the same for all libraries.
const COPY_BYTES_PER_NS: f64 = 10.0;
/// Least work that hides a message, in copies at that rate: longer than a transfer by any protocol, so that all hide behind the same work.
const WORK_COPIES: f64 = 3.0;
/// What counts as control messages of long messages.
const CONTROL: [Counter; 4] = [
    Counter::Requests,
    Counter::Pulls,
    Counter::Dones,
    Counter::OffersSent,
];

/// What both ranks do in a batch.
#[derive(Clone, Copy, Default)]
struct Trial {
    /// By how much the receive is posted before the send; negative where it is posted after it.
    skew_ns: i64,
    /// Steps of work between the start of the operation and its wait on a rank, from the later post on.
    work: Option<(i32, u64)>,
    /// Only the work is done.
    is_silent: bool,
}

/// The messages of a point: their bytes at this rank, and how it receives or sends them.
struct Messages<'a> {
    data: Vec<u8>,
    window: Window,
    /// The receiver's, if receives are persistent.
    persistent: Option<PersistentReceive<'a>>,
}

/// What a rank has counted.
#[derive(Clone, Copy)]
struct Counts {
    /// `None` of a library that does not tell.
    control: Option<u64>,
    switches: u64,
}

/// What messages took: of one rank, or of all.
#[derive(Clone, Copy, Default)]
struct Observed {
    received_ns: f64,
    sent_ns: f64,
    /// Control messages of a message; not a number of a library that does not tell.
    control: f64,
    /// Context switches of a message.
    switches: f64,
}

/// Measures the row's messages, at all sizes.
pub(crate) fn measure(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    let skew_ns = match options.measurement.job() {
        "rendezvous-skew" => return skews(mpi, options),
        "rendezvous-oversubscribed" => return oversubscribed(mpi, options),
        "rendezvous-overlap-receive" | "rendezvous-overlap-start" => {
            return overlap(mpi, options, RECEIVER);
        }
        "rendezvous-overlap-send" => return overlap(mpi, options, SENDER),
        "rendezvous-receiver-first" => FIRST_NS,
        "rendezvous-sender-first" => -FIRST_NS,
        "rendezvous-together" => 0,
        name => return Err(format!("no rank measures {name}")),
    };
    let trial = Trial {
        skew_ns,
        ..Trial::default()
    };
    for &size in &options.sizes {
        let mut messages = Messages::new(mpi, options, size);
        verify(mpi, options, &mut messages, trial);
        let all = observe(mpi, options, &mut messages, trial);
        let name = options.measurement.name;
        let rows = [
            (name.to_owned(), pick(&all, |one| one.received_ns)),
            (format!("{name}-sent"), pick(&all, |one| one.sent_ns)),
            (format!("{name}-control"), pick(&all, |one| one.control)),
            (format!("{name}-switches"), pick(&all, |one| one.switches)),
        ];
        report_together(mpi, options, (size, 0), &rows)?;
    }
    Ok(())
}

impl<'a> Messages<'a> {
    /// Of so many bytes.
    fn new(mpi: &'a Mpi, options: &RankOptions, size: usize) -> Self {
        let is_persistent = options.measurement.name == "rendezvous-overlap-start";
        let receive = || PersistentReceive::new(mpi, size, SENDER, TAG);
        Self {
            data: vec![1; size],
            window: Window::new(1),
            persistent: (is_persistent && mpi.rank == RECEIVER).then(receive),
        }
    }

    /// The last message that was received.
    fn received(&self) -> &[u8] {
        let persistent = self.persistent.as_ref();
        persistent.map_or(&self.data, PersistentReceive::data)
    }
}

/// One value of each repetition; none if the library does not tell it.
fn pick(all: &[Observed], value: impl Fn(&Observed) -> f64) -> Vec<f64> {
    let values: Vec<f64> = all.iter().map(value).collect();
    match values.iter().any(|value| value.is_nan()) {
        true => Vec::new(),
        false => values,
    }
}

/// The skews that are measured of a message, ascending.
fn skews_of(size: usize) -> Vec<i64> {
    let copy_ns = size as f64 / COPY_BYTES_PER_NS;
    let large = LARGE_SKEWS.iter().map(|part| (part * copy_ns) as i64);
    let all: Vec<i64> = SMALL_SKEWS_NS.into_iter().chain(large).collect();
    let mut skews: Vec<i64> = all.iter().map(|skew| -skew).chain([0]).collect();
    skews.extend(&all);
    skews.sort_unstable();
    skews.dedup();
    skews
}

/// The message by skew, and the way of a control message, which the predicted curves need.
fn skews(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    for &size in &options.sizes {
        let mut messages = Messages::new(mpi, options, size);
        let (mut out, mut back) = ([1_u8; 8], [0_u8; 8]);
        let trips = options.effort.measure(mpi, |iterations| {
            for _ in 0..iterations {
                if mpi.rank == RECEIVER {
                    mpi.send(&out, SENDER, TAG);
                    mpi.receive(&mut back, SENDER, TAG);
                } else {
                    mpi.receive(&mut back, RECEIVER, TAG);
                    mpi.send(&out, RECEIVER, TAG);
                }
                out[0] = out[0].wrapping_add(1);
            }
        });
        let ways: Vec<f64> = trips.iter().map(|time| time / 2.0).collect();
        report(mpi, options, "rendezvous-control-time", size, &ways)?;
        for skew_ns in skews_of(size) {
            let trial = Trial {
                skew_ns,
                ..Trial::default()
            };
            verify(mpi, options, &mut messages, trial);
            let all = observe(mpi, options, &mut messages, trial);
            let name = options.measurement.job();
            let rows = [
                (name.to_owned(), pick(&all, |one| one.received_ns)),
                (format!("{name}-sent"), pick(&all, |one| one.sent_ns)),
            ];
            report_together(mpi, options, (size, skew_ns), &rows)?;
        }
    }
    Ok(())
}

/// Nanoseconds of work behind which a message is to hide that takes so long alone. Work that ends with the copy of the fastest protocol is
/// too short for the others: a receiver that `auto` serves by chunks of both sides would be measured with half the work of one that is
/// written to, and no offer could pay.
fn work_ns(size: usize, alone_ns: f64) -> f64 {
    alone_ns.max(WORK_COPIES * size as f64 / COPY_BYTES_PER_NS)
}

/// How much of the operation of one side is hidden behind its work, while the other side is in its call: `1 - (together - work) / alone`.
fn overlap(mpi: &Mpi, options: &RankOptions, side: i32) -> Result<(), String> {
    let is_receiver = side == RECEIVER;
    let skew_ns = if is_receiver { FIRST_NS } else { -FIRST_NS };
    let time = |one: &Observed| match is_receiver {
        true => one.received_ns,
        false => one.sent_ns,
    };
    let alone = Trial {
        skew_ns,
        ..Trial::default()
    };
    for &size in &options.sizes {
        let mut messages = Messages::new(mpi, options, size);
        verify(mpi, options, &mut messages, alone);
        let alone_ns = median(&pick(&observe(mpi, options, &mut messages, alone), time));
        let mut steps = (work_ns(size, alone_ns) * steps_per_ns()) as i64;
        mpi.broadcast(&mut steps);
        let together = Trial {
            work: Some((side, steps.unsigned_abs())),
            ..alone
        };
        let silent = Trial {
            is_silent: true,
            ..together
        };
        let work_ns = median(&pick(&observe(mpi, options, &mut messages, silent), time));
        verify(mpi, options, &mut messages, together);
        let values = pick(&observe(mpi, options, &mut messages, together), time);
        let hidden = |time: &f64| 100.0 * (1.0 - (time - work_ns) / alone_ns).clamp(0.0, 1.0);
        let values: Vec<f64> = values.iter().map(hidden).collect();
        report(mpi, options, options.measurement.name, size, &values)?;
    }
    Ok(())
}

/// Messages there and back between the ranks of each pair, all pairs at once.
fn oversubscribed(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    if mpi.size % 2 != 0 {
        let size = mpi.size;
        return Err(format!("pairs need an even number of ranks, not {size}"));
    }
    let (peer, leads) = (mpi.rank ^ 1, mpi.rank % 2 == 0);
    // Ranks share cores in time slices of milliseconds; a run has to span many of them.
    let mut effort = options.effort;
    effort.budget.each = effort.budget.each.max(SPAN);
    for &size in &options.sizes {
        let mut data = vec![1_u8; size];
        let mut turn = |message: Option<u64>| {
            for sends in [leads, !leads] {
                if sends {
                    message.into_iter().for_each(|it| fill(&mut data, it));
                    mpi.send(&data, peer, TAG);
                } else {
                    mpi.receive(&mut data, peer, TAG);
                    message.into_iter().for_each(|it| check(mpi, &data, it));
                }
            }
        };
        (0..if options.verify { CHECKED } else { 0 }).for_each(|it| turn(Some(it)));
        let mut all = Vec::new();
        let times = effort.measure(mpi, |iterations| {
            let before = count(mpi);
            for _ in 0..iterations {
                turn(None);
            }
            // The slowest pair counts, not only that of rank 0.
            mpi.barrier();
            let messages = iterations as f64 * f64::from(mpi.size);
            let own = before.until(count(mpi), messages);
            all.push(gather(mpi, own));
        });
        let all = all.split_off(all.len() - times.len());
        let halves: Vec<f64> = times.iter().map(|time| time / 2.0).collect();
        let name = options.measurement.job();
        let rows = [
            (name.to_owned(), halves),
            (format!("{name}-control"), pick(&all, |one| one.control)),
            (format!("{name}-switches"), pick(&all, |one| one.switches)),
        ];
        report_together(mpi, options, (size, 0), &rows)?;
    }
    Ok(())
}

/// Has some messages arrive whole before the clock starts, if that is wanted.
fn verify(mpi: &Mpi, options: &RankOptions, messages: &mut Messages<'_>, trial: Trial) {
    for message in 0..if options.verify { CHECKED } else { 0 } {
        if mpi.rank == SENDER {
            fill(&mut messages.data, message);
        }
        let _ = transfer(mpi, messages, trial);
        if mpi.rank == RECEIVER {
            check(mpi, messages.received(), message);
        }
    }
}

/// What each repetition gave, on rank 0; nothing on others.
fn observe(
    mpi: &Mpi,
    options: &RankOptions,
    messages: &mut Messages<'_>,
    trial: Trial,
) -> Vec<Observed> {
    let mut all = Vec::new();
    let values = options.effort.measure(mpi, |iterations| {
        all.push(batch(mpi, messages, trial, iterations))
    });
    // The first ones were for warming up.
    all.split_off(all.len() - values.len())
}

/// Transfers so many messages; gives on rank 0 what both ranks saw, else what this one did.
fn batch(mpi: &Mpi, messages: &mut Messages<'_>, trial: Trial, iterations: u64) -> Observed {
    let before = count(mpi);
    let times = (0..iterations).map(|_| transfer(mpi, messages, trial));
    let times: Vec<f64> = times.collect();
    let mut own = before.until(count(mpi), iterations as f64);
    match mpi.rank {
        RECEIVER => own.received_ns = median(&times),
        _ => own.sent_ns = median(&times),
    }
    gather(mpi, own)
}

/// Transfers one message; gives the nanoseconds from the later post until this rank's operation is complete.
fn transfer(mpi: &Mpi, messages: &mut Messages<'_>, trial: Trial) -> f64 {
    mpi.barrier();
    let mut start = (monotonic_ns() + LEAD_NS).cast_signed();
    mpi.broadcast(&mut start);
    let receive_at = start + (-trial.skew_ns).max(0);
    let send_at = start + trial.skew_ns.max(0);
    let later = receive_at.max(send_at);
    let is_receiver = mpi.rank == RECEIVER;
    wait_until(if is_receiver { receive_at } else { send_at });
    let steps = trial.work.filter(|(rank, _)| *rank == mpi.rank);
    let meanwhile = |_: &Mpi| {
        wait_until(later);
        work(steps.map_or(0, |(_, steps)| steps));
    };
    let Messages {
        data,
        window,
        persistent,
    } = messages;
    let (tags, size) = (Tags::same(TAG), data.len());
    match (is_receiver, steps.is_some(), persistent) {
        _ if trial.is_silent => meanwhile(mpi),
        (true, _, Some(receive)) => receive.receive_while(meanwhile),
        (true, false, None) => mpi.receive(data, SENDER, TAG),
        (true, true, None) => {
            mpi.receive_window_while(data, size, SENDER, tags, window, meanwhile);
        }
        (false, false, _) => mpi.send(data, RECEIVER, TAG),
        (false, true, _) => mpi.send_window_while(data, RECEIVER, tags, window, meanwhile),
    }
    (monotonic_ns().cast_signed() - later) as f64
}

fn wait_until(moment: i64) {
    while monotonic_ns().cast_signed() < moment {
        std::hint::spin_loop();
    }
}

fn count(mpi: &Mpi) -> Counts {
    let names = CONTROL.map(|counter| fabric::counters::COUNTERS[counter as usize].name);
    Counts {
        control: mpi.counted(&names),
        switches: context_switches(),
    }
}

impl Counts {
    /// What was counted until then, for each of so many messages.
    fn until(self, then: Self, messages: f64) -> Observed {
        let control = self.control.zip(then.control);
        let control = control.map_or(f64::NAN, |(before, after)| (after - before) as f64);
        Observed {
            control: control / messages,
            switches: (then.switches - self.switches) as f64 / messages,
            ..Observed::default()
        }
    }
}

impl Observed {
    const BYTES: usize = 4 * size_of::<f64>();

    fn to_bytes(self) -> Vec<u8> {
        let values = [self.received_ns, self.sent_ns, self.control, self.switches];
        values.into_iter().flat_map(f64::to_le_bytes).collect()
    }

    fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let (values, _) = bytes.as_chunks();
        let [received_ns, sent_ns, control, switches] =
            std::array::from_fn(|index| f64::from_le_bytes(values[index]));
        Self {
            received_ns,
            sent_ns,
            control,
            switches,
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            received_ns: self.received_ns + other.received_ns,
            sent_ns: self.sent_ns + other.sent_ns,
            control: self.control + other.control,
            switches: self.switches + other.switches,
        }
    }
}

/// The sums over all ranks, on rank 0.
fn gather(mpi: &Mpi, own: Observed) -> Observed {
    if mpi.rank != 0 {
        mpi.send(&own.to_bytes(), 0, TAG);
        return own;
    }
    (1..mpi.size).fold(own, |sum, rank| {
        let mut bytes = [0; Observed::BYTES];
        mpi.receive(&mut bytes, rank, TAG);
        sum.plus(Observed::from_bytes(&bytes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::MEASUREMENTS;

    #[test]
    fn skews_are_symmetric_and_reach_twice_the_copy() {
        let skews = skews_of(1 << 20);
        assert_eq!(skews.len(), 17);
        assert!(
            skews
                .iter()
                .zip(skews.iter().rev())
                .all(|(low, high)| *low == -high)
        );
        assert_eq!((skews[8], skews[16]), (0, 209_715));
        // A short copy takes as long as small skews, which are listed once.
        let few = skews_of(80_000);
        assert!(few.windows(2).all(|two| two[0] < two[1]) && few.len() < 17);
    }

    #[test]
    fn protocols_hide_behind_the_same_work_unless_one_takes_longer() {
        assert_eq!(
            [0.0, 40_000.0].map(|alone| work_ns(1 << 20, alone)),
            [314_572.8; 2]
        );
        assert_eq!(work_ns(1 << 20, 500_000.0), 500_000.0);
    }

    #[test]
    fn what_a_rank_counted_survives_its_way() {
        let own = Observed {
            received_ns: 1.5,
            sent_ns: 2.5,
            control: 2.0,
            switches: 0.25,
        };
        let sum = own.plus(Observed::from_bytes(own.to_bytes()[..].try_into().unwrap()));
        assert_eq!(
            [sum.received_ns, sum.sent_ns, sum.control, sum.switches],
            [3.0, 5.0, 4.0, 0.5]
        );
    }

    #[test]
    fn a_library_without_counters_has_no_control_messages_but_switches() {
        let at = |control, switches| Counts { control, switches };
        let told = at(Some(4), 10).until(at(Some(24), 15), 10.0);
        assert_eq!((told.control, told.switches), (2.0, 0.5));
        let all = [at(None, 10).until(at(None, 15), 10.0)];
        assert!(pick(&all, |one| one.control).is_empty());
        assert_eq!(pick(&all, |one| one.switches), [0.5]);
    }

    #[test]
    fn values_of_a_job_belong_to_rows() {
        for order in ["receiver-first", "sender-first", "together"] {
            for end in ["", "-sent", "-control", "-switches"] {
                let name = format!("rendezvous-{order}{end}");
                let row = MEASUREMENTS.iter().find(|row| row.name == name);
                assert_eq!(
                    row.map(|row| row.job()),
                    Some(&*format!("rendezvous-{order}"))
                );
            }
        }
    }
}
