// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traces of a bus analyser in front of a NIC, and what they say: how often messages are injected, and the components of a path.
//!
//! A trace is comma-separated text with a line of names and then a row for each packet: `time_ns,direction,packet,bytes,address`.
//! Directions are `down` (to the NIC) and `up`; packets are `MWr`, `MRd`, `CplD`, `Ack` and `UpdateFC`; addresses are hexadecimal.
//!
//! Source of the recipes: R. Zambre, *Exascalable Communication for Modern Supercomputing* (University of California, Irvine,
//! 2020), chapter 2.

use machine_profile::statistics::quantile;

use crate::Error;

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the NIC.
    Down,
    /// From the NIC.
    Up,
}

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// A posted write.
    MemoryWrite,
    /// A read request.
    MemoryRead,
    /// The data of a read.
    Completion,
    /// The acknowledgement of a packet by the link.
    Ack,
    /// Credits that are returned.
    UpdateFlowControl,
}

/// A row of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Time in nanoseconds.
    pub time_ns: f64,
    /// Where it goes.
    pub direction: Direction,
    /// What it is.
    pub packet: Packet,
    /// Bytes of payload.
    pub bytes: u64,
    /// Address; 0 for packets without.
    pub address: u64,
}

/// Statistics of times between injections.
#[derive(Clone, Debug, PartialEq)]
pub struct Injection {
    /// The gaps in nanoseconds, in order.
    pub gaps_ns: Vec<f64>,
    /// Their mean.
    pub mean_ns: f64,
    /// Standard deviation with n - 1; 0 for one gap.
    pub sd_ns: f64,
    /// The smallest.
    pub min_ns: f64,
    /// The largest.
    pub max_ns: f64,
    /// Index and size of gaps more than 1.5 interquartile ranges outside the quartiles, and more than a thousandth of the upper one. They
    /// are in all of the above.
    pub outliers: Vec<(usize, f64)>,
}

/// Ranges of a histogram.
const BINS: usize = 10;

/// A range of a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Its lower end in nanoseconds.
    pub from_ns: f64,
    /// Its upper end, which belongs to the next range but for the last.
    pub to_ns: f64,
    /// How many gaps lie in it.
    pub gaps: usize,
}

/// What the core does between a pong and the next ping, which a trace cannot tell apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoreTimes {
    /// Nanoseconds of a poll.
    pub poll_ns: f64,
    /// Nanoseconds of a post.
    pub post_ns: f64,
}

/// Components that a trace of a ping-pong gives; means over all round trips.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recovered {
    /// Bus, one way.
    pub pcie_ns: f64,
    /// NIC to NIC, with switches.
    pub network_ns: f64,
    /// From the root complex to memory.
    pub rc_to_mem_ns: f64,
}

const HEAD: &str = "time_ns,direction,packet,bytes,address";
const DIRECTIONS: [(&str, Direction); 2] = [("down", Direction::Down), ("up", Direction::Up)];
const PACKETS: [(&str, Packet); 5] = [
    ("MWr", Packet::MemoryWrite),
    ("MRd", Packet::MemoryRead),
    ("CplD", Packet::Completion),
    ("Ack", Packet::Ack),
    ("UpdateFC", Packet::UpdateFlowControl),
];

/// The rows of a text; `file` is named in errors.
///
/// # Errors
/// [`Error::Input`]: a line that is no row, or a time before that of the line above.
pub fn parse(file: &str, text: &str) -> Result<Vec<Row>, Error> {
    let wrong = |line: usize, key: &str, found: &str, expected: &str| Error::Input {
        file: file.to_owned(),
        line,
        key: key.to_owned(),
        found: found.to_owned(),
        expected: expected.to_owned(),
    };
    let mut rows: Vec<Row> = Vec::new();
    let mut lines = (1..).zip(text.lines().map(str::trim));
    match lines.next() {
        Some((_, HEAD)) => {}
        other => {
            return Err(wrong(
                1,
                "head",
                other.map_or("nothing", |(_, line)| line),
                HEAD,
            ));
        }
    }
    for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let &[time, direction, packet, bytes, address] = cells.as_slice() else {
            return Err(wrong(number, "row", line, HEAD));
        };
        let time_ns = time.parse().ok().filter(|time: &f64| time.is_finite());
        let time_ns = time_ns.ok_or_else(|| wrong(number, "time_ns", time, "nanoseconds"))?;
        if rows.last().is_some_and(|row| row.time_ns > time_ns) {
            return Err(wrong(
                number,
                "time_ns",
                time,
                "a time that is not before that of the line above",
            ));
        }
        let direction = named(&DIRECTIONS, direction)
            .ok_or_else(|| wrong(number, "direction", direction, "down or up"))?;
        let packet = named(&PACKETS, packet)
            .ok_or_else(|| wrong(number, "packet", packet, "MWr, MRd, CplD, Ack or UpdateFC"))?;
        let digits = address.strip_prefix("0x").unwrap_or(address);
        rows.push(Row {
            time_ns,
            direction,
            packet,
            bytes: bytes
                .parse()
                .map_err(|_| wrong(number, "bytes", bytes, "a number of bytes"))?,
            address: u64::from_str_radix(digits, 16)
                .map_err(|_| wrong(number, "address", address, "a hexadecimal address"))?,
        });
    }
    Ok(rows)
}

/// The text of rows, which [`parse`] reads.
#[must_use]
pub fn write(rows: &[Row]) -> String {
    let mut text = format!("{HEAD}\n");
    for row in rows {
        let direction = name(&DIRECTIONS, row.direction);
        let packet = name(&PACKETS, row.packet);
        text += &format!(
            "{},{direction},{packet},{},{:#x}\n",
            row.time_ns, row.bytes, row.address
        );
    }
    text
}

/// Gaps that differ by a smaller share count as equal: times in files are rounded.
const EQUAL: f64 = 1e-3;

/// The distribution of gaps between doorbells: writes of at least `bytes` bytes to the NIC.
#[must_use]
pub fn injection(rows: &[Row], bytes: u64) -> Option<Injection> {
    let is_doorbell = |row: &&Row| {
        row.direction == Direction::Down && row.packet == Packet::MemoryWrite && row.bytes >= bytes
    };
    let times: Vec<f64> = rows
        .iter()
        .filter(is_doorbell)
        .map(|row| row.time_ns)
        .collect();
    Injection::of(times.windows(2).map(|pair| pair[1] - pair[0]).collect())
}

impl Injection {
    /// Statistics of gaps; nothing of none.
    #[must_use]
    pub fn of(gaps_ns: Vec<f64>) -> Option<Self> {
        let mut sorted = gaps_ns.clone();
        sorted.sort_by(f64::total_cmp);
        let (&min_ns, &max_ns) = (sorted.first()?, sorted.last()?);
        let count = gaps_ns.len() as f64;
        let mean_ns = gaps_ns.iter().sum::<f64>() / count;
        let squares: f64 = gaps_ns.iter().map(|gap| (gap - mean_ns).powi(2)).sum();
        let (low, high) = (quantile(&sorted, 0.25), quantile(&sorted, 0.75));
        let reach = (1.5 * (high - low)).max(EQUAL * high);
        let outliers = gaps_ns.iter().copied().enumerate();
        let outliers = outliers.filter(|&(_, gap)| gap < low - reach || gap > high + reach);
        Some(Self {
            mean_ns,
            sd_ns: (squares / (count - 1.0).max(1.0)).sqrt(),
            min_ns,
            max_ns,
            outliers: outliers.collect(),
            gaps_ns,
        })
    }

    /// Messages a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        1e9 / self.mean_ns
    }

    /// How many gaps lie in each of up to ten equal ranges of the gaps that are no outliers, beside one range of all shorter ones and one of
    /// all longer ones where there are any. Gaps that differ by less than a thousandth are one range.
    #[must_use]
    pub fn histogram(&self) -> Vec<Range> {
        let is_outlier = |index: usize| self.outliers.iter().any(|&(at, _)| at == index);
        let usual = self.gaps_ns.iter().enumerate();
        let usual = usual.filter(|&(index, _)| !is_outlier(index));
        let (low, high) = usual.fold((f64::MAX, f64::MIN), |(low, high), (_, &gap)| {
            (low.min(gap), high.max(gap))
        });
        let bins = match high - low <= EQUAL * high {
            true => 1,
            false => BINS,
        };
        let width = (high - low) / bins as f64;
        let mut ranges: Vec<Range> = (0..bins)
            .map(|bin| Range {
                from_ns: low + width * bin as f64,
                to_ns: low + width * (bin + 1) as f64,
                gaps: 0,
            })
            .collect();
        let (mut below, mut above) = (0, 0);
        for &gap in &self.gaps_ns {
            if gap < low {
                below += 1;
            } else if gap > high {
                above += 1;
            } else {
                let bin = ((gap - low) / width) as usize;
                ranges[bin.min(bins - 1)].gaps += 1;
            }
        }
        let beyond = |from_ns, to_ns, gaps| Range {
            from_ns,
            to_ns,
            gaps,
        };
        if below > 0 {
            ranges.insert(0, beyond(self.min_ns, low, below));
        }
        if above > 0 {
            ranges.push(beyond(high, self.max_ns, above));
        }
        ranges
    }
}

/// Components of a ping-pong whose completions are written to `completions`; nothing if the trace has no whole round trip.
///
/// The bus: from a completion's write to its acknowledgement, halved. The network: from a ping to its completion, halved. The root
/// complex: from a pong to the next ping, without the bus twice and what the core does.
#[must_use]
pub fn components(rows: &[Row], completions: u64, core: CoreTimes) -> Option<Recovered> {
    let (mut pcie, mut network, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    let (mut ping, mut pong) = (None, None);
    // Writes whose acknowledgement is still to come, the oldest first.
    let mut unacknowledged = std::collections::VecDeque::new();
    for row in rows {
        match (row.direction, row.packet) {
            (Direction::Down, Packet::MemoryWrite) => {
                if let Some(start) = pong.take() {
                    memory.push(row.time_ns - start);
                }
                ping = Some(row.time_ns);
            }
            (Direction::Up, Packet::MemoryWrite) => {
                let is_completion = row.address == completions;
                unacknowledged.push_back((row.time_ns, is_completion));
                if is_completion {
                    network.extend(ping.take().map(|start: f64| (row.time_ns - start) / 2.0));
                } else {
                    pong = Some(row.time_ns);
                }
            }
            (Direction::Down, Packet::Ack) => {
                if let Some((start, true)) = unacknowledged.pop_front() {
                    pcie.push((row.time_ns - start) / 2.0);
                }
            }
            _ => {}
        }
    }
    let pcie_ns = mean(&pcie)?;
    let core = core.poll_ns + core.post_ns;
    Some(Recovered {
        pcie_ns,
        network_ns: mean(&network)?,
        rc_to_mem_ns: mean(&memory)? - 2.0 * pcie_ns - core,
    })
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn named<T: Copy>(all: &[(&str, T)], name: &str) -> Option<T> {
    all.iter()
        .find(|(own, _)| *own == name)
        .map(|(_, value)| *value)
}

fn name<T: PartialEq>(all: &[(&'static str, T)], value: T) -> &'static str {
    let row = all.iter().find(|(_, own)| *own == value);
    row.map_or("", |(name, _)| name)
}
