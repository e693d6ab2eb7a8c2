// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of `rankpoint explain message`.

use clap::{Args, ValueEnum};
use measure::sizes::bytes;
use protocols::cost::Times;
use protocols::{Fabric, Reads};

use crate::profile::ProfileOptions;

/// Options of `rankpoint explain message`.
#[derive(Args, Clone)]
#[command(
    after_help = "Fabrics: shm, tcp, emulated or published, with times if they are known:\n  \
        shm:c=300ns,r=0,a=200ns,b=10   within a node: rings, and cross-memory attach\n  \
        tcp:c=5.4us,r=5.4us,a=0,b=1.2  between nodes: one ordered endpoint, whose card reads and writes\n  \
        emulated:c=1us,r=1us           separate channels for control messages and for data\n  \
        published:c=1us,r=1us          the same, and a read is a control message to an agent, which writes the data\n\
        c: a control message with its handling; r: until a read reaches its source; a: a copy of no bytes;\n\
        b: bytes per nanosecond; p: the same of chunks that both sides copy at once (twice b within a node).\n\
        Times that are not given come from the machine profile where it has them; the others are assumed.\n\n\
        Example: rankpoint explain message --bytes 1M --capacity 2M --skew 3us"
)]
pub(crate) struct MessageOptions {
    /// Length of the message; takes K, M, G
    #[arg(long, value_parser = bytes::<u64>)]
    pub(super) bytes: u64,
    /// Bytes that the receive holds (default: the length of the message)
    #[arg(long, value_parser = bytes::<u64>)]
    pub(super) capacity: Option<u64>,
    /// Sender that the receive names
    #[arg(long, value_enum, default_value_t = Wildcard::Exact)]
    pub(super) source: Wildcard,
    /// Tag that the receive names
    #[arg(long, value_enum, default_value_t = Wildcard::Exact)]
    pub(super) tag: Wildcard,
    /// By how much the receive is posted before the send, such as 3us; negative where the send is first
    #[arg(long, default_value = "0", value_parser = signed_ns, allow_hyphen_values = true)]
    pub(super) skew: i64,
    /// For how long the receiver computes between the post of the receive and its wait, such as 200us
    #[arg(long, default_value = "0", value_parser = work_ns)]
    pub(super) work: u64,
    /// shm, tcp, emulated or published, with times such as emulated:c=1us,r=1us
    #[arg(long, default_value = "shm", value_parser = fabric)]
    pub(super) fabric: FabricChoice,
    /// As with RANKPOINT_RENDEZVOUS
    #[arg(long, value_enum, default_value_t = Setting::Auto)]
    pub(super) rendezvous: Setting,
    /// As with RANKPOINT_EAGER_BYTES
    #[arg(long, default_value = "128K", value_parser = bytes::<u64>)]
    pub(super) eager_bytes: u64,
    #[command(flatten)]
    pub(super) profile: ProfileOptions,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Whether a receive names something.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Wildcard {
    /// It names one
    Exact,
    /// It takes any
    Any,
}

/// Values of `RANKPOINT_RENDEZVOUS` that a job may have.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Setting {
    /// The variant that pays
    Auto,
    /// The receiver reads
    Read,
    /// Both copy, chunk by chunk
    Pieces,
    /// Every receive that may be offered is
    Write,
}

/// A kind of fabric.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Shm,
    Tcp,
    Emulated,
    Published,
}

/// A fabric and its times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FabricChoice {
    pub(super) kind: Kind,
    pub(super) fabric: Fabric,
    pub(super) times: Times,
    /// Rate of chunks that both sides copy, in bytes per nanosecond, if the user gave one.
    pub(super) chunks_per_ns: Option<f64>,
    /// Times that the user gave: of a control message, of a read, of a copy of no bytes, and the rate.
    pub(super) is_given: [bool; 4],
}

impl Kind {
    const ALL: [Self; 4] = [Self::Shm, Self::Tcp, Self::Emulated, Self::Published];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Shm => "shm",
            Self::Tcp => "tcp",
            Self::Emulated => "emulated",
            Self::Published => "published",
        }
    }

    /// What is assumed unless a user knows better.
    const fn choice(self) -> FabricChoice {
        let (fabric, [control_ns, read_ns, startup_ns, bytes_per_ns]) = match self {
            Self::Shm => (Fabric::RINGS, [300.0, 0.0, 200.0, 10.0]),
            Self::Tcp => (Fabric::RINGS, [5400.0, 5400.0, 0.0, 1.2]),
            Self::Emulated => (
                Fabric {
                    ordered: false,
                    reads: Reads::Direct,
                },
                [1300.0, 1300.0, 0.0, 1.2],
            ),
            Self::Published => (Fabric::PUBLISHED, [1300.0, 1300.0, 0.0, 1.2]),
        };
        FabricChoice {
            kind: self,
            fabric,
            times: Times {
                control_ns,
                read_ns,
                startup_ns,
                bytes_per_ns,
            },
            chunks_per_ns: None,
            is_given: [false; 4],
        }
    }
}

impl FabricChoice {
    /// The times of chunks that both sides copy. Within a node two processors take half the time, unless the user knows better.
    pub(super) fn times_of_chunks(&self) -> Times {
        let alone = self.times.bytes_per_ns;
        let usual = match self.kind {
            Kind::Shm => 2.0 * alone,
            Kind::Tcp | Kind::Emulated | Kind::Published => alone,
        };
        Times {
            bytes_per_ns: self.chunks_per_ns.unwrap_or(usual),
            ..self.times
        }
    }
}

/// `shm`, or `shm:c=300ns,b=10`.
pub(super) fn fabric(text: &str) -> Result<FabricChoice, String> {
    let (name, times) = text.split_once(':').unwrap_or((text, ""));
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name);
    let kind = kind.ok_or_else(|| {
        format!(
            "expected shm, tcp, emulated or published, perhaps with times such as :c=1us,r=1us, not {name:?}"
        )
    })?;
    let mut choice = kind.choice();
    for part in times.split(',').filter(|part| !part.is_empty()) {
        let wrong =
            || format!("expected c=, r=, a= with a time or b=, p= with a rate, not {part:?}");
        let (name, value) = part.split_once('=').ok_or_else(wrong)?;
        let times = &mut choice.times;
        match name {
            "c" => times.control_ns = unsigned_ns(value)?,
            "r" => times.read_ns = unsigned_ns(value)?,
            "a" => times.startup_ns = unsigned_ns(value)?,
            "b" => times.bytes_per_ns = rate(value)?,
            "p" => choice.chunks_per_ns = Some(rate(value)?),
            _ => return Err(wrong()),
        }
        for (is_given, own) in choice.is_given.iter_mut().zip(["c", "r", "a", "b"]) {
            *is_given |= name == own;
        }
    }
    Ok(choice)
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok();
    let rate = rate.filter(|rate: &f64| *rate > 0.0 && rate.is_finite());
    rate.ok_or_else(|| format!("expected a rate in bytes per nanosecond above 0, not {text:?}"))
}

/// Longest time that an option takes: a minute.
const MOST_NS: f64 = 60e9;

fn unsigned_ns(text: &str) -> Result<f64, String> {
    let time = time_ns(text).filter(|time| *time >= 0.0);
    time.ok_or_else(|| format!("expected a time such as 300ns, 1.3us or 2ms, not {text:?}"))
}

fn work_ns(text: &str) -> Result<u64, String> {
    let time = time_ns(text).filter(|time| *time >= 0.0);
    time.map(|time| time.round() as u64)
        .ok_or_else(|| "expected a time such as 200us or 0".to_owned())
}

pub(super) fn signed_ns(text: &str) -> Result<i64, String> {
    let time = time_ns(text).map(|time| time.round() as i64);
    time.ok_or_else(|| "expected a time such as 3us, -500ns or 0".to_owned())
}

fn time_ns(text: &str) -> Option<f64> {
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let with_unit = units
        .into_iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    // Only nothing has no unit.
    let (number, factor) = with_unit.or_else(|| (text == "0").then_some((text, 1.0)))?;
    let time = number.parse::<f64>().ok()? * factor;
    (time.is_finite() && time.abs() <= MOST_NS).then_some(time)
}
