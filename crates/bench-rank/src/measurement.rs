// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measurements: one row each. Options, ranks, tables and plots read it from here.

/// Which end of the scale is the good one; decides which of several libraries is the best.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Better {
    /// Times and memory.
    Lower,
    /// Rates.
    Higher,
}

/// The unit of a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unit {
    /// Of time.
    Nanoseconds,
    /// Of data.
    BytesPerSecond,
    /// Of messages.
    MessagesPerSecond,
    /// Of memory.
    Bytes,
    /// Of what it is a part of.
    Percent,
    /// A number of something for each message.
    PerMessage,
}

/// The parameter that differs between the points of one measurement.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Axis {
    /// Message sizes from the options.
    Sizes,
    /// The numbers of ranks of the row.
    Ranks,
    /// The numbers of ranks of the row, and the sizes of blocks from the options.
    Blocks,
    /// The numbers of ranks of the row, and of the message sizes from the options the long ones.
    Long,
    /// By how much the receive is posted before the send; one size, the largest of the options up to 1 MiB.
    Skew,
}

/// The process that takes the time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Clock {
    /// The ranks.
    Rank,
    /// The command that starts the job: the whole job is measured.
    Job,
}

/// One measurement.
#[derive(Debug)]
pub struct Measurement {
    /// Name on command lines and in JSON.
    pub name: &'static str,
    /// Title in tables.
    pub title: &'static str,
    /// What is measured, in a sentence.
    pub text: &'static str,
    /// Unit of its values.
    pub unit: Unit,
    /// Which values are good.
    pub better: Better,
    /// What differs between its points.
    pub axis: Axis,
    /// Numbers of ranks.
    pub ranks: &'static [u32],
    /// Who takes the time.
    pub clock: Clock,
    /// Measured only when it is asked for by name.
    pub on_request: bool,
}

macro_rules! measurements {
    ($($name:literal, $title:literal, $unit:ident, $better:ident, $axis:ident, $ranks:expr, $clock:ident, $text:literal;)*
     one-sided $($rma:literal, $rma_title:literal, $rma_unit:ident, $rma_better:ident, $rma_axis:ident, $rma_ranks:expr, $rma_text:literal;)*
     rendezvous $($rendezvous:literal, $rendezvous_title:literal, $rendezvous_unit:ident, $rendezvous_axis:ident, $rendezvous_ranks:expr, $rendezvous_text:literal;)*
     orders $($order:literal $posts:literal),*;
     collectives $($collective:literal $call:literal),*;
     overlap $($started:literal $operation:literal),*;
     packing $($pack:literal $data:literal),*;) => {
        /// All measurements, in the order in which they run.
        pub const MEASUREMENTS: &[Measurement] = &[
            $(Measurement {
                name: $name, title: $title, text: $text, unit: Unit::$unit, better: Better::$better, axis: Axis::$axis,
                ranks: &$ranks, clock: Clock::$clock, on_request: false,
            },)*
            $(Measurement {
                name: $rma, title: $rma_title, text: $rma_text, unit: Unit::$rma_unit, better: Better::$rma_better,
                axis: Axis::$rma_axis, ranks: &$rma_ranks, clock: Clock::Rank, on_request: true,
            },)*
            $(
                rendezvous(concat!("rendezvous-", $order), concat!("Long message, ", $posts), Unit::Nanoseconds,
                    "from the later post until the receive is complete"),
                rendezvous(concat!("rendezvous-", $order, "-sent"), concat!("Long message, ", $posts, ": sent"), Unit::Nanoseconds,
                    "from the later post until the send is complete"),
                rendezvous(concat!("rendezvous-", $order, "-control"), concat!("Long message, ", $posts, ": control messages"), Unit::PerMessage,
                    "control messages of both ranks for each message: RTS, CTS, FIN and offers"),
                rendezvous(concat!("rendezvous-", $order, "-switches"), concat!("Long message, ", $posts, ": context switches"), Unit::PerMessage,
                    "context switches of both ranks for each message"),
            )*
            $(Measurement {
                unit: Unit::$rendezvous_unit, axis: Axis::$rendezvous_axis, ranks: &$rendezvous_ranks,
                better: if matches!(Unit::$rendezvous_unit, Unit::Percent) { Better::Higher } else { Better::Lower },
                ..rendezvous($rendezvous, $rendezvous_title, Unit::Nanoseconds, $rendezvous_text)
            },)*
            $(collective($collective, $call, "time of the blocking call; bytes of one rank's vector or block"),)*
            $(Measurement {
                on_request: true,
                ..collective(concat!("i", $collective), concat!("I", $call), "time of the nonblocking call and its wait")
            },)*
            $(Measurement {
                on_request: true,
                ..collective(concat!($collective, "-init"), concat!("Persistent ", $call), "time of a start and its wait")
            },)*
            $(overlap(concat!("overlap-", $started), concat!("Overlap of ", $operation), "part of the operation that work of the same length hides"),)*
            $(overlap(
                concat!("overlap-", $started, "-test"), concat!("Overlap of ", $operation, " and 16 MPI_Test"),
                "part of the operation that work of the same length hides, which is interrupted by 16 tests"
            ),)*
            $(packing(concat!("pack-", $pack), concat!("Pack ", $data)),)*
            $(packing(concat!("unpack-", $pack), concat!("Unpack ", $data)),)*
        ];
    };
}

const fn collective(name: &'static str, title: &'static str, text: &'static str) -> Measurement {
    Measurement {
        name,
        title,
        text,
        unit: Unit::Nanoseconds,
        better: Better::Lower,
        axis: Axis::Blocks,
        ranks: &[2, 8, 16],
        clock: Clock::Rank,
        on_request: false,
    }
}

const fn overlap(name: &'static str, title: &'static str, text: &'static str) -> Measurement {
    Measurement {
        unit: Unit::Percent,
        better: Better::Higher,
        ranks: &[2],
        on_request: true,
        ..collective(name, title, text)
    }
}

const fn rendezvous(
    name: &'static str,
    title: &'static str,
    unit: Unit,
    text: &'static str,
) -> Measurement {
    Measurement {
        unit,
        axis: Axis::Long,
        ranks: &[2],
        on_request: true,
        ..collective(name, title, text)
    }
}

const fn packing(name: &'static str, title: &'static str) -> Measurement {
    Measurement {
        name,
        title,
        text: "packed bytes per second, one rank",
        unit: Unit::BytesPerSecond,
        better: Better::Higher,
        axis: Axis::Ranks,
        ranks: &[1],
        clock: Clock::Rank,
        on_request: false,
    }
}

measurements! {
    "latency", "Latency", Nanoseconds, Lower, Sizes, [2], Rank,
        "half the time of a message there and one back";
    "bandwidth", "Bandwidth", BytesPerSecond, Higher, Sizes, [2], Rank,
        "windows of 64 messages one way, each window answered by one short message";
    "bidirectional", "Bidirectional bandwidth", BytesPerSecond, Higher, Sizes, [2], Rank,
        "windows of 64 messages both ways at once; the bytes of both count";
    "rate", "Message rate", MessagesPerSecond, Higher, Ranks, [2], Rank,
        "messages of 8 bytes one way in windows of 64";
    "unexpected", "Matching, unexpected messages", Nanoseconds, Lower, Ranks, [2], Rank,
        "4000 messages that have arrived are received in reverse order; time of each";
    "posted", "Matching, posted receives", Nanoseconds, Lower, Ranks, [2], Rank,
        "4000 receives are met by messages in reverse order; time of each";
    "ring", "Ring of pairs", Nanoseconds, Lower, Ranks, [8, 16], Rank,
        "8 bytes between neighbours of a ring, all pairs at once, then the other pairs; half a round trip";
    "ring-tests", "Ring of pairs, by MPI_Test", Nanoseconds, Lower, Ranks, [8, 16], Rank,
        "the same, where each receive is started and then tested until it is complete";
    "exchange", "Exchange with both neighbours of a ring", Nanoseconds, Lower, Blocks, [2, 8, 16], Rank,
        "two MPI_Irecv, two MPI_Isend and MPI_Waitall, on all ranks at once; bytes of each of the four messages";
    "barrier", "Barrier", Nanoseconds, Lower, Ranks, [2, 8, 16], Rank,
        "time of a barrier";
    "startup", "Start-up", Nanoseconds, Lower, Ranks, [2, 32], Job,
        "the launcher starts a program that initialises and finalises MPI, until all has ended";
    "commit", "Make and commit a subarray", Nanoseconds, Lower, Ranks, [1], Rank,
        "time of MPI_Type_create_subarray, commit and free";
    "commit-vector", "of a vector", Nanoseconds, Lower, Ranks, [1], Rank,
        "time of MPI_Type_vector, commit and free";
    "commit-struct", "of a resized struct", Nanoseconds, Lower, Ranks, [1], Rank,
        "time of MPI_Type_create_struct of three parts, MPI_Type_create_resized, commit and two frees";
    "commit-indexed", "of 20,000 irregular blocks", Nanoseconds, Lower, Ranks, [1], Rank,
        "time of MPI_Type_create_indexed_block, commit and free";
    "vector", "Vector of 8-byte blocks, 1 MiB", Nanoseconds, Lower, Ranks, [2], Rank,
        "half the time of 131,072 doubles at even places there and one back to the same";
    "copy-limit", "Limit: 64 KiB copied by memcpy", BytesPerSecond, Higher, Ranks, [1], Rank,
        "memcpy of 64 KiB in the memory of the rows of packing blocks; it reads half as many lines as they do";
    "lines-limit", "Limit: 64 KiB from all lines of 128 KiB by a loop", BytesPerSecond, Higher, Ranks, [1], Rank,
        "a loop of the benchmark that copies one half of each cache line, as packing short blocks must read them all; the library is not used";
    "face-limit", "Limit: one line of each row of a face by a loop", BytesPerSecond, Higher, Ranks, [1], Rank,
        "a loop of the benchmark that adds one double of each row of the face, as bytes of the face; the library is not used";
    "gather-limit", "Limit: 20,000 doubles gathered by a loop", BytesPerSecond, Higher, Ranks, [1], Rank,
        "a loop of the benchmark over the irregular offsets of the row of packing; the library is not used";
    "box-spread", "Spread of a box's descriptions", Percent, Lower, Ranks, [1], Rank,
        "how much longer than the fastest of the five descriptions of one box the slowest takes to pack";
    "private-memory", "Private memory of a rank", Bytes, Lower, Ranks, [2, 64], Rank,
        "resident after initialisation, the largest of all ranks";
    "shared-memory", "Shared memory of all ranks", Bytes, Lower, Ranks, [2, 64], Rank,
        "resident after initialisation, counted once for all ranks of the node";
    one-sided
    "rma-put", "MPI_Put and flush", Nanoseconds, Lower, Sizes, [2],
        "one put into memory of MPI_Win_allocate and MPI_Win_flush";
    "rma-get", "MPI_Get and flush", Nanoseconds, Lower, Sizes, [2],
        "one get from memory of MPI_Win_allocate and MPI_Win_flush";
    "rma-put-private", "MPI_Put and flush, private memory", Nanoseconds, Lower, Sizes, [2],
        "one put into memory of the program (MPI_Win_create) and MPI_Win_flush";
    "rma-get-private", "MPI_Get and flush, private memory", Nanoseconds, Lower, Sizes, [2],
        "one get from memory of the program (MPI_Win_create) and MPI_Win_flush";
    "rma-put-strided", "MPI_Put and flush of 4 KiB into blocks of 16 bytes", Nanoseconds, Lower, Ranks, [2],
        "one put of 4 KiB into 256 blocks of 16 bytes, 32 bytes apart, and MPI_Win_flush";
    "rma-bandwidth", "Bandwidth of MPI_Put", BytesPerSecond, Higher, Sizes, [2],
        "64 puts and one MPI_Win_flush";
    "rma-rate", "Rate of MPI_Put", MessagesPerSecond, Higher, Ranks, [2],
        "64 puts of 8 bytes and one MPI_Win_flush";
    "rma-accumulate", "MPI_Accumulate and flush", Nanoseconds, Lower, Blocks, [2],
        "sums of 64-bit integers, and MPI_Win_flush";
    "rma-fetch-and-op", "MPI_Fetch_and_op and flush", Nanoseconds, Lower, Ranks, [2],
        "a sum of 64-bit integers, and MPI_Win_flush";
    "rma-compare-and-swap", "MPI_Compare_and_swap and flush", Nanoseconds, Lower, Ranks, [2],
        "of a 64-bit integer, which matches, and MPI_Win_flush";
    "rma-lock", "Exclusive lock, put, unlock", Nanoseconds, Lower, Ranks, [2],
        "MPI_Win_lock, a put of 8 bytes and MPI_Win_unlock, without contention";
    "rma-lock-contended", "Contended exclusive lock", Nanoseconds, Lower, Ranks, [2, 16],
        "all ranks lock rank 0, put 8 bytes and unlock; time of each";
    "rma-fence", "MPI_Win_fence", Nanoseconds, Lower, Ranks, [2, 8, 16],
        "time of a fence without operations";
    "rma-pscw", "Post, start, put, complete, wait", Nanoseconds, Lower, Ranks, [2],
        "both ranks, 8 bytes each way";
    rendezvous
    "rendezvous-skew", "Long message by skew", Nanoseconds, Skew, [2],
        "from the later post until the receive is complete, where the receive is posted by so much before the send";
    "rendezvous-skew-sent", "Long message by skew: sent", Nanoseconds, Skew, [2],
        "from the later post until the send is complete, where the receive is posted by so much before the send";
    "rendezvous-control-time", "Control message", Nanoseconds, Skew, [2],
        "the way of a control message, for the predicted curves: half the time of 8 bytes there and back";
    "rendezvous-overlap-receive", "Overlap of the receive of a long message", Percent, Long, [2],
        "MPI_Irecv, then MPI_Send on the other rank, then work as long as three copies of 10 bytes/ns, or as the receive alone, then MPI_Wait: the part that the work hides";
    "rendezvous-overlap-start", "Overlap of a persistent receive of a long message", Percent, Long, [2],
        "the same with MPI_Start of a persistent receive";
    "rendezvous-overlap-send", "Overlap of the send of a long message", Percent, Long, [2],
        "MPI_Isend, then MPI_Recv on the other rank, then work as long as three copies of 10 bytes/ns, or as the send alone, then MPI_Wait: the part that the work hides";
    "rendezvous-oversubscribed", "Long messages, more ranks than cores", Nanoseconds, Long, [4, 8],
        "half a round trip of a long message between the two ranks of each pair, all pairs at once";
    "rendezvous-oversubscribed-control", "Long messages, more ranks than cores: control messages", PerMessage, Long, [4, 8],
        "control messages of all ranks for each message: RTS, CTS, FIN and offers";
    "rendezvous-oversubscribed-switches", "Long messages, more ranks than cores: context switches", PerMessage, Long, [4, 8],
        "context switches of all ranks for each message";
    orders "receiver-first" "receive posted first", "sender-first" "send posted first", "together" "both posted at once";
    collectives "bcast" "bcast", "reduce" "reduce", "allreduce" "allreduce", "gather" "gather", "scatter" "scatter",
        "allgather" "allgather", "alltoall" "alltoall", "reduce-scatter" "reduce_scatter_block", "scan" "scan";
    overlap "isend" "MPI_Isend and MPI_Irecv", "ibcast" "MPI_Ibcast", "iallreduce" "MPI_Iallreduce", "ialltoall" "MPI_Ialltoall";
    packing "1" "64 KiB in blocks of 1 byte", "4" "in blocks of 4 bytes", "8" "in blocks of 8 bytes",
        "16" "in blocks of 16 bytes", "64" "in blocks of 64 bytes", "face" "a face of 24-byte rows",
        "transpose" "a transpose of 256 x 256 doubles", "irregular" "20,000 doubles at irregular offsets",
        "regular" "20,000 doubles listed at regular offsets", "struct" "20,000 structs of int, double, char[6]",
        "box-subarray" "a box of 24^3 doubles as subarray", "box-vectors" "the box as nested vectors",
        "box-rows" "the box as a list of rows", "box-planes" "the box as a struct of planes", "box-elements" "the box as a list of elements";
}

/// Messages of a window.
pub(crate) const WINDOW: usize = 64;
/// Shortest message of the rows of long messages.
const SHORTEST_LONG: usize = 64 << 10;
/// Ends of the names of rows whose values come with those of another one.
const BESIDE: [&str; 3] = ["-sent", "-control", "-switches"];
/// Messages of a deep queue.
pub(crate) const DEPTH: usize = 4000;

impl Measurement {
    /// The row with a name.
    pub fn find(name: &str) -> Option<&'static Self> {
        MEASUREMENTS.iter().find(|row| row.name == name)
    }

    /// The row whose job measures this one: one job gives both rows of memory, and one all of packing.
    pub fn job(&self) -> &'static str {
        match self.name {
            "shared-memory" => "private-memory",
            "box-spread" => "pack-1",
            "rendezvous-control-time" => "rendezvous-skew",
            name if name.starts_with("rendezvous-") => {
                let mut parts = BESIDE.iter().filter_map(|part| name.strip_suffix(part));
                parts.next().unwrap_or(name)
            }
            name if name.ends_with("-limit") => "pack-1",
            name if name.starts_with("commit") => "pack-1",
            name if name.starts_with("pack-") || name.starts_with("unpack-") => "pack-1",
            name => name,
        }
    }

    /// Whether this row, or a group that it belongs to, has a name.
    pub fn is_called(&self, name: &str) -> bool {
        let group = match (self.axis, self.on_request) {
            _ if self.name.starts_with("rendezvous-") => "rendezvous",
            _ if self.job() == "pack-1" || self.name == "vector" => "pack",
            _ if self.unit == Unit::Percent => "overlap",
            _ if self.name.starts_with("rma-") => "rma",
            _ if self.name == "exchange" => self.name,
            (Axis::Blocks, false) => "collectives",
            (Axis::Blocks, true) if self.name.ends_with("-init") => "persistent",
            (Axis::Blocks, true) => "nonblocking",
            _ => self.name,
        };
        // Without the way of a control message nothing is predicted of skews.
        let is_needed = self.name == "rendezvous-control-time" && name == "rendezvous-skew";
        name == self.name || name == group || is_needed
    }

    /// The shortest messages that can be measured: none of no bytes where a rate is, and no short one in rows of long messages.
    pub fn least_bytes(&self) -> usize {
        match self.axis {
            Axis::Long | Axis::Skew => SHORTEST_LONG,
            _ => usize::from(self.unit == Unit::BytesPerSecond),
        }
    }
}

impl PartialEq for Measurement {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Measurement {}

impl Unit {
    /// A value with three significant digits and the unit that fits it.
    pub fn show(self, value: f64) -> String {
        const MEBI: f64 = 1_048_576.0;
        let steps: &[(f64, &str)] = match self {
            Self::Nanoseconds => &[(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")],
            Self::BytesPerSecond => &[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")],
            Self::MessagesPerSecond => &[(1e6, "M/s"), (1e3, "k/s"), (1.0, "/s")],
            Self::Percent => &[(1.0, "%")],
            Self::PerMessage => return format!("{value:.2}"),
            Self::Bytes => &[(MEBI, "MiB"), (1024.0, "KiB"), (1.0, "B")],
        };
        let fitting = steps.iter().find(|(step, _)| value >= *step);
        let &(step, name) = fitting.unwrap_or(&steps[steps.len() - 1]);
        let value = value / step;
        let digits = match value {
            value if value < 9.995 => 2,
            value if value < 99.95 => 1,
            _ => 0,
        };
        format!("{value:.digits$} {name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = MEASUREMENTS.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), MEASUREMENTS.len());
    }

    #[test]
    fn a_row_that_comes_with_another_one_names_its_job() {
        for (name, job) in [
            ("rendezvous-together-sent", "rendezvous-together"),
            ("rendezvous-skew-sent", "rendezvous-skew"),
            ("rendezvous-control-time", "rendezvous-skew"),
            ("rendezvous-overlap-send", "rendezvous-overlap-send"),
            (
                "rendezvous-oversubscribed-control",
                "rendezvous-oversubscribed",
            ),
        ] {
            assert_eq!(Measurement::find(name).unwrap().job(), job);
        }
        let long = MEASUREMENTS
            .iter()
            .filter(|row| row.is_called("rendezvous"));
        assert!(long.clone().count() == 21 && long.clone().all(|row| row.on_request));
        let of_skews = MEASUREMENTS
            .iter()
            .filter(|row| row.is_called("rendezvous-skew"));
        let names: Vec<&str> = of_skews.map(|row| row.name).collect();
        assert_eq!(names, ["rendezvous-skew", "rendezvous-control-time"]);
        assert!(
            !MEASUREMENTS
                .iter()
                .any(|row| row.is_called("rendezvous") && row.is_called("overlap"))
        );
    }

    #[test]
    fn values_have_three_digits_and_a_fitting_unit() {
        assert_eq!(Unit::Nanoseconds.show(103.4), "103 ns");
        assert_eq!(Unit::Nanoseconds.show(1034.0), "1.03 us");
        assert_eq!(Unit::BytesPerSecond.show(29.04e9), "29.0 GB/s");
        assert_eq!(Unit::Bytes.show(0.0), "0.00 B");
        assert_eq!(Unit::Percent.show(100.0), "100 %");
        assert_eq!(Unit::PerMessage.show(2.0), "2.00");
    }
}
