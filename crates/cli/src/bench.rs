// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rankpoint bench`: latency, bandwidth, message rate and matching between two ranks. Medians of repetitions.

use std::io::Write as _;
use std::time::Instant;

use clap::Args;
use serde_json::json;

use crate::mpi::Mpi;

const WINDOW: usize = 64;
const QUEUE: usize = 4000;

/// What and how long to measure.
#[derive(Args)]
pub(crate) struct Options {
    /// Message sizes in bytes
    #[arg(long, value_delimiter = ',', default_values_t = [0, 1, 8, 64, 512, 4096, 16384, 65536, 262_144, 1_048_576, 4_194_304])]
    sizes: Vec<usize>,
    /// Repetitions of each measurement; the median counts
    #[arg(long, default_value_t = 5)]
    repetitions: usize,
    /// A few seconds instead of a minute
    #[arg(long)]
    quick: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Check the contents of every message first
    #[arg(long)]
    verify: bool,
}

struct Row {
    bytes: usize,
    latency_us: f64,
    megabytes_per_second: f64,
}

/// Runs under `mpiexec -n 2`.
pub(crate) fn run(options: &Options, library: &str) -> Result<(), String> {
    let mpi = Mpi::start(library)?;
    if mpi.size != 2 {
        return Err(format!(
            "bench measures between 2 ranks, not {}; start it as: mpiexec -n 2 rankpoint bench",
            mpi.size
        ));
    }
    let repetitions = if options.quick {
        3
    } else {
        options.repetitions.max(1)
    };
    let largest = options.sizes.iter().copied().max().unwrap_or(0);
    let mut memory = vec![1u8; largest.max(8) * WINDOW.min((256 << 20) / largest.max(8)).max(1)];
    if options.verify {
        verify(&mpi, &options.sizes)?;
    }
    let mut rows = Vec::new();
    for &bytes in &options.sizes {
        let work = if options.quick { 1 } else { 4 };
        let rounds = (work * 20_000_000 / (bytes + 1000)).clamp(20, 50_000);
        let window = WINDOW.min(memory.len() / bytes.max(1)).max(1);
        let latency = median(repetitions, || latency(&mpi, &mut memory[..bytes], rounds));
        let bandwidth = median(repetitions, || {
            bandwidth(&mpi, &mut memory, bytes, window, (rounds / 64).max(5))
        });
        rows.push(Row {
            bytes,
            latency_us: latency * 1e6,
            megabytes_per_second: bandwidth / 1e6,
        });
    }
    let rate = median(repetitions, || {
        message_rate(&mpi, &mut memory, if options.quick { 2000 } else { 10_000 })
    });
    let unexpected = median(repetitions, || reversed(&mpi, &mut memory, true));
    let posted = median(repetitions, || reversed(&mpi, &mut memory, false));
    if mpi.rank == 0 {
        let text = if options.json {
            as_json(&rows, rate, unexpected, posted)
        } else {
            as_table(&rows, rate, unexpected, posted)
        };
        std::io::stdout()
            .lock()
            .write_all(text.as_bytes())
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn as_json(rows: &[Row], rate: f64, unexpected: f64, posted: f64) -> String {
    let sizes: Vec<_> = rows
        .iter()
        .map(|row| json!({"bytes": row.bytes, "latency_us": row.latency_us, "megabytes_per_second": row.megabytes_per_second}))
        .collect();
    let all = json!({
        "sizes": sizes, "rate_8_bytes_per_second": rate,
        "unexpected_reversed_ns": unexpected * 1e9, "posted_reversed_ns": posted * 1e9,
    });
    format!("{all}\n")
}

fn as_table(rows: &[Row], rate: f64, unexpected: f64, posted: f64) -> String {
    let mut text = format!("{:>10} {:>14} {:>14}\n", "bytes", "latency/us", "MB/s");
    for row in rows {
        text.push_str(&format!(
            "{:>10} {:>14.3} {:>14.1}\n",
            row.bytes, row.latency_us, row.megabytes_per_second
        ));
    }
    text.push_str(&format!(
        "8-byte messages, window {WINDOW}: {:.2} million/s\n{QUEUE} messages matched in reverse: {:.1} ns each unexpected, {:.1} ns each posted\n",
        rate / 1e6, unexpected * 1e9, posted * 1e9
    ));
    text
}

fn median(repetitions: usize, mut measure: impl FnMut() -> f64) -> f64 {
    let mut values: Vec<f64> = (0..repetitions).map(|_| measure()).collect();
    values.sort_by(f64::total_cmp);
    values[repetitions / 2]
}

/// Half the round trip in seconds.
fn latency(mpi: &Mpi, data: &mut [u8], rounds: usize) -> f64 {
    let ping = |data: &mut [u8], rounds: usize| {
        for _ in 0..rounds {
            if mpi.rank == 0 {
                mpi.send(data, 1, 0);
                mpi.receive(data, 1, 0);
            } else {
                mpi.receive(data, 0, 0);
                mpi.send(data, 0, 0);
            }
        }
    };
    ping(data, rounds / 10 + 1);
    mpi.barrier();
    let start = Instant::now();
    ping(data, rounds);
    start.elapsed().as_secs_f64() / rounds as f64 / 2.0
}

/// Windows of messages from rank 0 to rank 1, each answered by an empty one; returns seconds a window.
fn windows(mpi: &Mpi, memory: &mut [u8], bytes: usize, window: usize, rounds: usize) -> f64 {
    let tags = vec![0; window];
    let mut requests = Vec::new();
    let mut go = |memory: &mut [u8], rounds: usize| {
        for _ in 0..rounds {
            if mpi.rank == 0 {
                mpi.send_window(&memory[..bytes], 1, &tags, &mut requests);
                mpi.receive(&mut [], 1, 1);
            } else {
                mpi.start_receives(memory, bytes, 0, &tags, &mut requests);
                mpi.wait_all(&mut requests);
                mpi.send(&[], 0, 1);
            }
        }
    };
    go(memory, rounds / 10 + 1);
    mpi.barrier();
    let start = Instant::now();
    go(memory, rounds);
    start.elapsed().as_secs_f64() / rounds as f64
}

/// Bytes a second.
fn bandwidth(mpi: &Mpi, memory: &mut [u8], bytes: usize, window: usize, rounds: usize) -> f64 {
    (bytes * window) as f64 / windows(mpi, memory, bytes, window, rounds)
}

/// Messages of 8 bytes a second.
fn message_rate(mpi: &Mpi, memory: &mut [u8], rounds: usize) -> f64 {
    WINDOW as f64 / windows(mpi, memory, 8, WINDOW, rounds)
}

/// Seconds to match each of many messages in the reverse order of their sending: receives posted after all have arrived
/// (`unexpected`), or before.
fn reversed(mpi: &Mpi, memory: &mut [u8], unexpected: bool) -> f64 {
    let forwards: Vec<i32> = (0..QUEUE as i32).collect();
    let backwards: Vec<i32> = forwards.iter().rev().copied().collect();
    let mut requests = Vec::new();
    let mut buffer = vec![0u8; QUEUE * 8];
    if mpi.rank == 0 {
        if !unexpected {
            mpi.barrier();
        }
        let start = Instant::now();
        mpi.send_window(&memory[..8], 1, &forwards, &mut requests);
        if unexpected {
            mpi.barrier();
        }
        mpi.receive(&mut memory[..8], 1, QUEUE as i32);
        return if unexpected {
            f64::from_ne_bytes(eight(memory))
        } else {
            start.elapsed().as_secs_f64() / QUEUE as f64
        };
    }
    if unexpected {
        mpi.barrier();
    }
    let start = Instant::now();
    mpi.start_receives(&mut buffer, 8, 0, &backwards, &mut requests);
    if !unexpected {
        mpi.barrier();
    }
    mpi.wait_all(&mut requests);
    let each = start.elapsed().as_secs_f64() / QUEUE as f64;
    mpi.send(&each.to_ne_bytes(), 0, QUEUE as i32);
    each
}

fn eight(memory: &[u8]) -> [u8; 8] {
    let mut bytes = [0u8; 8];
    bytes.copy_from_slice(&memory[..8]);
    bytes
}

/// Sends a pattern of every size there and back and compares.
fn verify(mpi: &Mpi, sizes: &[usize]) -> Result<(), String> {
    for &bytes in sizes {
        let pattern: Vec<u8> = (0..bytes).map(|index| (index * 31 + bytes) as u8).collect();
        let mut data = vec![0u8; bytes];
        if mpi.rank == 0 {
            mpi.send(&pattern, 1, 7);
            mpi.receive(&mut data, 1, 7);
            if data != pattern {
                return Err(format!("a message of {bytes} bytes came back changed"));
            }
        } else {
            mpi.receive(&mut data, 0, 7);
            mpi.send(&data, 0, 7);
        }
    }
    Ok(())
}
