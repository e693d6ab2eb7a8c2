// SPDX-License-Identifier: MIT OR Apache-2.0
//! A profile and those that are shipped.

use super::read::Values;
use crate::error::Error;

/// How many objects there can be; nothing where the network interface has no such objects, or no limit is known.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Limits {
    /// UAR pages.
    pub uars: Option<usize>,
    /// Device contexts.
    pub contexts: Option<usize>,
    /// Bytes of a payload within a WQE.
    pub inline_bytes: Option<usize>,
}

/// Bytes of one object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Memory {
    /// A device context.
    pub context: usize,
    /// A protection domain.
    pub protection_domain: usize,
    /// A memory region.
    pub memory_region: usize,
    /// A queue pair.
    pub queue_pair: usize,
    /// A completion queue.
    pub completion_queue: usize,
}

impl Memory {
    /// One of each.
    pub const fn sum(&self) -> usize {
        self.context
            + self.protection_domain
            + self.memory_region
            + self.queue_pair
            + self.completion_queue
    }
}

/// Times of an emulated network interface, in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// The processor with a WQE.
    pub build: f64,
    /// The barriers of a DoorBell.
    pub barriers: f64,
    /// The copy of a WQE by BlueFlame.
    pub pio: f64,
    /// The processor with an entry of a completion queue.
    pub progress: f64,
    /// One way over the bus.
    pub pcie: f64,
    /// The store of a DoorBell.
    pub doorbell: f64,
    /// A lane with a WQE.
    pub wqe: f64,
    /// A fetch unit with a payload.
    pub fetch: f64,
    /// Units that fetch payloads; the cache line of a payload says which.
    pub fetch_units: usize,
}

/// Effects without a known cause, and what sharing costs beyond waiting for a lock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constants {
    /// Factor of an operation where more than 8 threads have neighbouring UAR pages of one context: global-array kernel.
    pub ctx_16way_kernel: f64,
    /// The same, microbenchmark.
    pub ctx_16way: f64,
    /// Factor of an operation whose UAR page another thread uses: global-array kernel.
    pub shared_uar_kernel: f64,
    /// The same, microbenchmark.
    pub shared_uar: f64,
    /// Factor of an operation on a uUAR of two queue pairs.
    pub shared_uuar: f64,
    /// Operations for which a queue pair is lost when another thread takes it.
    pub qp_handover: f64,
    /// Operations for which a shared completion queue is held for each entry.
    pub cq_shared: f64,
}

/// A network interface.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// What it is.
    pub about: String,
    /// Where its numbers are from.
    pub source: String,
    /// How many objects there can be.
    pub limits: Limits,
    /// Bytes of objects, where they are known.
    pub memory: Option<Memory>,
    /// Times of its emulation, where it can be emulated.
    pub timing: Option<Timing>,
    /// Constants of its emulation.
    pub constants: Option<Constants>,
}

/// The profiles of this crate.
const SHIPPED: [(&str, &str); 2] = [
    ("connectx4", include_str!("../../nic/connectx4.toml")),
    ("hfi160", include_str!("../../nic/hfi160.toml")),
];

impl Profile {
    /// Names of the profiles that are part of this crate.
    pub fn shipped() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// A profile of this crate.
    ///
    /// # Errors
    /// When it has none of that name.
    pub fn named(name: &str) -> Result<Self, Error> {
        let found = SHIPPED.iter().find(|(shipped, _)| *shipped == name);
        let (name, text) = found.ok_or_else(|| {
            let names: Vec<&str> = Self::shipped().collect();
            Error::unknown(
                "NIC profile",
                name,
                format!("{} or a file", names.join(", ")),
            )
        })?;
        Self::read(&format!("{name}.toml"), text)
    }

    /// A profile in the text of a file.
    ///
    /// # Errors
    /// When the text is no TOML, a key is unknown or missing, or a value is out of its range; with file, line and key.
    pub fn read(file: &str, text: &str) -> Result<Self, Error> {
        let values = Values::read(file, text)?;
        let whole = |table, name| values.number(table, name).map(|value| value as usize);
        let memory = values.has("memory").then_some(()).and_then(|()| {
            let bytes = |name| whole("memory", name);
            Some(Memory {
                context: bytes("context")?,
                protection_domain: bytes("protection_domain")?,
                memory_region: bytes("memory_region")?,
                queue_pair: bytes("queue_pair")?,
                completion_queue: bytes("completion_queue")?,
            })
        });
        let timing = || {
            let ns = |name| values.number("timing", name);
            Some(Timing {
                build: ns("build")?,
                barriers: ns("barriers")?,
                pio: ns("pio")?,
                progress: ns("progress")?,
                pcie: ns("pcie")?,
                doorbell: ns("doorbell")?,
                wqe: ns("wqe")?,
                fetch: ns("fetch")?,
                fetch_units: whole("timing", "fetch_units")?,
            })
        };
        let constants = || {
            let factor = |name| values.number("constants", name);
            Some(Constants {
                ctx_16way_kernel: factor("ctx_16way_kernel")?,
                ctx_16way: factor("ctx_16way")?,
                shared_uar_kernel: factor("shared_uar_kernel")?,
                shared_uar: factor("shared_uar")?,
                shared_uuar: factor("shared_uuar")?,
                qp_handover: factor("qp_handover")?,
                cq_shared: factor("cq_shared")?,
            })
        };
        Ok(Self {
            name: values.text("name"),
            about: values.text("about"),
            source: values.text("source"),
            limits: Limits {
                uars: whole("limits", "uars"),
                contexts: whole("limits", "contexts"),
                inline_bytes: whole("limits", "inline_bytes"),
            },
            memory,
            timing: timing(),
            constants: constants(),
        })
    }

    /// Times and constants of its emulation.
    ///
    /// # Errors
    /// When the profile has none.
    pub fn emulation(&self) -> Result<(Timing, Constants), Error> {
        let missing = |key: &str| Error::Key {
            file: self.name.clone(),
            line: None,
            key: format!("[{key}]"),
            found: "missing".to_owned(),
            expected: "a table, because an emulated NIC needs its numbers".to_owned(),
        };
        let timing = self.timing.ok_or_else(|| missing("timing"))?;
        let constants = self.constants.ok_or_else(|| missing("constants"))?;
        Ok((timing, constants))
    }
}
