// SPDX-License-Identifier: MIT OR Apache-2.0
//! The environment variables of this library: one table.

use std::ffi::OsString;
use std::path::PathBuf;

/// How data of derived types travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// As it is faster.
    Auto,
    /// The library packs.
    System,
    /// This library packs whatever it can.
    Pack,
    /// Data in the memory of a GPU are packed into pinned memory of the host; others as with `Auto`.
    Oneshot,
    /// They are packed into memory of the GPU, if the library takes that; others as with `Auto`.
    Device,
}

/// Which process gets which rank of a communicator with a topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// So that little crosses nodes.
    Partition,
    /// Any, for comparison.
    Random,
}

/// The nodes of the ranks of MPI_COMM_WORLD, instead of the real ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Nodes {
    /// So many nodes, each with about as many neighbouring ranks.
    Blocks(u32),
    /// The node of each rank, repeated at the end of the list.
    List(Vec<u32>),
}

impl Nodes {
    /// Nodes by the words of a setting.
    fn parse(words: &[String]) -> Option<Self> {
        let numbers: Result<Vec<u32>, _> = words.iter().map(|word| word.parse()).collect();
        match numbers.ok()?[..] {
            [] | [0] => None,
            [blocks] => Some(Self::Blocks(blocks)),
            ref list => Some(Self::List(list.to_vec())),
        }
    }

    /// The node of one of `size` ranks.
    pub(crate) fn of(&self, rank: u32, size: u32) -> u32 {
        match self {
            Self::Blocks(count) => {
                let node = u64::from(rank) * u64::from(*count) / u64::from(size.max(1));
                node as u32
            }
            Self::List(list) => list[rank as usize % list.len()],
        }
    }
}

/// Settings of the environment.
pub(crate) struct Settings {
    /// Names of the layers.
    pub(crate) layers: Vec<String>,
    /// How data of derived types travel.
    pub(crate) path: Path,
    /// Whether contiguous data in the memory of a GPU go through the host, too.
    pub(crate) stages_contiguous: bool,
    /// Whether the MPI library takes memory of a GPU; `None` asks it.
    pub(crate) takes_device: Option<bool>,
    /// The machine profile by which ways of data are chosen.
    pub(crate) profile: Option<PathBuf>,
    /// Whether collectives move packed data.
    pub(crate) collectives: bool,
    /// Most bytes that the layer for datatypes keeps for the next messages, of each kind of memory.
    pub(crate) pool_limit: usize,
    /// How the layer for placement works; `None` leaves it out.
    pub(crate) placement: Option<Method>,
    /// Where that assumes the ranks to be.
    pub(crate) nodes: Option<Nodes>,
    /// Memory file of the job, where proxies serve endpoints.
    pub(crate) proxies: Option<PathBuf>,
    /// Whether proxies serve endpoints though the library has endpoints itself.
    pub(crate) are_proxies_forced: bool,
    /// Profiling tools, the one that the program calls first.
    pub(crate) tools: Vec<PathBuf>,
    /// The MPI library, instead of the one that the program would have had.
    pub(crate) library: Option<PathBuf>,
    /// Where statistics go: each rank writes this file with `.` and its rank behind.
    pub(crate) statistics: Option<PathBuf>,
    /// Whether the start is described on standard error.
    pub(crate) verbose: bool,
}

/// The value of a variable, unless it is unset or empty.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the file that may read the environment"
)]
fn value(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The choice that a variable names; the first one where it is unset.
///
/// # Errors
/// The variable, its value and the words that it may have.
fn choice<T: Copy>(name: &str, choices: &[(&str, T)]) -> Result<T, String> {
    let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
    let Some(value) = value(name) else {
        return Ok(choices[0].1);
    };
    let found = choices.iter().find(|(word, _)| value == *word);
    found.map(|(_, choice)| *choice).ok_or_else(|| {
        let (value, words) = (value.display(), words.join(", "));
        format!("{name}={value} is not one of {words}")
    })
}

/// The words of a variable, with commas between them.
///
/// # Errors
/// The variable, if it is not a text.
fn list(name: &str) -> Result<Vec<String>, String> {
    let text = value(name).unwrap_or_default().into_string();
    let text = text.map_err(|text| format!("{name}={} is not a text", text.display()))?;
    let words = text
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty());
    Ok(words.map(str::to_owned).collect())
}

/// The number of bytes that a variable names, with K, M or G behind it or without.
///
/// # Errors
/// The variable, its value and what was expected.
fn bytes(name: &str, default: usize) -> Result<usize, String> {
    let Some(value) = value(name) else {
        return Ok(default);
    };
    let text = value.to_string_lossy();
    let digits = text.trim_end_matches(['K', 'M', 'G']);
    let shift = match &text[digits.len()..] {
        "" => Some(0),
        "K" => Some(10),
        "M" => Some(20),
        "G" => Some(30),
        _ => None,
    };
    let number = digits.parse::<usize>().ok().zip(shift);
    let number = number.and_then(|(number, shift)| number.checked_mul(1 << shift));
    number.ok_or_else(|| format!("{name}={text} is not a number of bytes, such as 64M"))
}

/// The nodes that a variable names.
///
/// # Errors
/// The variable, its value and what was expected.
fn nodes(name: &str) -> Result<Option<Nodes>, String> {
    let words = list(name)?;
    if words.is_empty() {
        return Ok(None);
    }
    let nodes = Nodes::parse(&words).ok_or_else(|| {
        let text = words.join(",");
        format!(
            "{name}={text} is not a number of nodes, or the node of each rank, such as 2 or 0,0,1"
        )
    });
    nodes.map(Some)
}

impl Settings {
    /// Reads the environment.
    ///
    /// # Errors
    /// The variable, its value and what was expected.
    pub(crate) fn read() -> Result<Self, String> {
        let path = [
            ("auto", Path::Auto),
            ("system", Path::System),
            ("pack", Path::Pack),
            ("oneshot", Path::Oneshot),
            ("device", Path::Device),
        ];
        let placement = [
            ("partition", Some(Method::Partition)),
            ("random", Some(Method::Random)),
            ("off", None),
        ];
        let settings = Self {
            layers: list("RANKPOINT_INTERPOSE")?,
            path: choice("RANKPOINT_INTERPOSE_PATH", &path)?,
            stages_contiguous: choice(
                "RANKPOINT_INTERPOSE_CONTIGUOUS",
                &[("0", false), ("1", true)],
            )?,
            takes_device: choice(
                "RANKPOINT_INTERPOSE_DEVICE_MEMORY",
                &[("auto", None), ("0", Some(false)), ("1", Some(true))],
            )?,
            profile: value("RANKPOINT_INTERPOSE_PROFILE").map(PathBuf::from),
            collectives: choice(
                "RANKPOINT_INTERPOSE_COLLECTIVES",
                &[("0", false), ("1", true)],
            )?,
            pool_limit: bytes("RANKPOINT_INTERPOSE_POOL_LIMIT", 1 << 30)?,
            placement: choice("RANKPOINT_INTERPOSE_PLACEMENT", &placement)?,
            nodes: nodes("RANKPOINT_INTERPOSE_NODES")?,
            proxies: value(endpoints::area::VARIABLE).map(PathBuf::from),
            are_proxies_forced: choice(
                "RANKPOINT_INTERPOSE_ENDPOINTS",
                &[("auto", false), ("proxies", true)],
            )?,
            tools: list("RANKPOINT_TOOLS")?
                .into_iter()
                .map(PathBuf::from)
                .collect(),
            library: value("RANKPOINT_INTERPOSE_LIBRARY").map(PathBuf::from),
            statistics: value("RANKPOINT_INTERPOSE_STATS").map(PathBuf::from),
            verbose: choice("RANKPOINT_INTERPOSE_VERBOSE", &[("0", false), ("1", true)])?,
        };
        // SAFETY: MPI's first call; the standard lets no other thread call MPI before it, and a program that changes its environment
        // in another thread meanwhile races with every library that reads it.
        unsafe { libc::unsetenv(c"RANKPOINT_TOOLS".as_ptr()) };
        Ok(settings)
    }

    /// Whether the environment asks for layers, tools or statistics.
    pub(crate) fn asks_for_something() -> bool {
        let names = [
            "RANKPOINT_INTERPOSE",
            "RANKPOINT_TOOLS",
            "RANKPOINT_INTERPOSE_STATS",
        ];
        names.iter().any(|name| value(name).is_some())
    }
}
