// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options of `rankpoint resources bench`.

use std::path::PathBuf;

use channels::emulated::{Features, Level, Object, Sharing, Workload};
use clap::{Args, ValueEnum};

use super::options::count;

/// Most threads of a run.
const MOST_THREADS: usize = 64;

/// Completion queues with and without a lock.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum CqKind {
    /// ibv_create_cq: a lock for each poll
    Default,
    /// ibv_create_cq_ex with IBV_CREATE_CQ_ATTR_SINGLE_THREADED: no lock
    Extended,
}

/// Whose time counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Clock {
    /// Discrete events with the times of the profile: the same everywhere
    Virtual,
    /// Threads of this node on a network interface in memory, without a bus or a device
    Wall,
}

/// Options of `rankpoint resources bench`.
#[derive(Args)]
pub(crate) struct BenchOptions {
    /// Threads, 1 to 64
    #[arg(long, default_value = "16", value_parser = threads)]
    pub(super) threads: usize,
    /// How many threads share one object, such as ctx=16,cq=4; of buf, ctx, pd, mr, cq and qp
    #[arg(long, value_delimiter = ',', value_parser = share, value_name = "OBJECT=X")]
    share: Vec<(Object, usize)>,
    /// Leave features out: postlist, inlining, unsignaled, blueflame
    #[arg(long, value_delimiter = ',', value_name = "FEATURE")]
    without: Vec<String>,
    /// Bytes of a write
    #[arg(long, default_value = "2", value_parser = count)]
    size: usize,
    /// WQEs of a queue pair
    #[arg(long, default_value = "128", value_parser = count)]
    depth: usize,
    /// WQEs of a post
    #[arg(long = "p", default_value = "32", value_parser = count)]
    list: usize,
    /// WQEs for each completion
    #[arg(long = "q", default_value = "64", value_parser = count)]
    signal: usize,
    /// Writes of each thread
    #[arg(long, default_value = "1024", value_parser = count)]
    messages: usize,
    /// What thread domains share: 1 nothing, 2 a UAR page
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    level: u8,
    /// Twice the queue pairs, of which every other one is used
    #[arg(long)]
    spaced: bool,
    /// The clock: that of discrete events, or real time
    #[arg(long, value_enum, default_value = "virtual", conflicts_with = "kernel")]
    pub(super) clock: Clock,
    /// Kind of completion queues
    #[arg(long, value_enum, default_value = "default")]
    cq: CqKind,
    /// Bytes from a thread's payload to the next one's
    #[arg(long, default_value = "64", value_parser = count)]
    align: usize,
    /// For each object in turn, x = 1, 2, 4, ... threads that share it
    #[arg(long, conflicts_with_all = ["share", "kernel"])]
    pub(super) sweep: bool,
    /// Instead, a product of matrices in a global array, in each category
    #[arg(long, conflicts_with = "share")]
    pub(super) kernel: bool,
    /// The kernel by gets and puts of an MPI library, beside the emulation
    #[arg(long, requires = "kernel")]
    pub(super) mpi: bool,
    /// Launcher of another MPI library, with its flags
    #[arg(long, requires = "mpi")]
    pub(super) mpiexec: Option<String>,
    /// Folder of the library
    #[arg(long, requires = "mpi")]
    pub(super) library_path: Option<PathBuf>,
    /// A profile with the sections timing and constants
    #[arg(long, default_value = "connectx4", value_name = "NAME|FILE")]
    pub(super) nic: String,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

fn threads(text: &str) -> Result<usize, String> {
    let found = count(text).ok().filter(|&threads| threads <= MOST_THREADS);
    found.ok_or_else(|| format!("expected a whole number from 1 to {MOST_THREADS}"))
}

fn share(text: &str) -> Result<(Object, usize), String> {
    let (object, ways) = text
        .split_once('=')
        .ok_or("expected OBJECT=X, such as cq=4")?;
    let object = object
        .parse::<Object>()
        .map_err(|error| error.to_string())?;
    Ok((object, count(ways)?))
}

impl BenchOptions {
    /// The workload that is asked for.
    pub(super) fn workload(&self) -> Result<Workload, String> {
        let features = self
            .without
            .iter()
            .try_fold(Features::ALL, |features, name| {
                features.without(name).map_err(|error| error.to_string())
            })?;
        let add = |sharing: Sharing, &(object, ways): &(Object, usize)| sharing.with(object, ways);
        let sharing = self.share.iter().fold(Sharing::default(), add);
        let is_extended = self.cq == CqKind::Extended;
        if is_extended && sharing.closed().of(Object::Cq) > 1 {
            return Err("--cq extended: expected cq=1 and qp=1, because such a queue has no lock for several threads".to_owned());
        }
        Ok(Workload {
            threads: self.threads,
            messages: self.messages,
            size: self.size,
            depth: self.depth,
            list: self.list,
            signal: self.signal,
            align: self.align,
            features,
            sharing,
            level: match self.level {
                1 => Level::Independent,
                _ => Level::SharedPage,
            },
            is_spaced: self.spaced,
            is_extended,
        })
    }
}
