// SPDX-License-Identifier: MIT OR Apache-2.0
//! The assignment of all queue pairs of a context.

use std::str::FromStr;

use super::legacy::Legacy;
use super::on_demand::OnDemand;
use super::total::Uuars;
use super::uuar::{Class, Uuar};
use crate::error::Error;

/// Which driver assigns uUARs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Driver {
    /// Static pages, assigned by the kernel: the published policy.
    Legacy,
    /// Pages on demand, assigned by rdma-core since 2020.
    Dynamic,
}

impl Driver {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Legacy, Self::Dynamic];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Dynamic => "dynamic",
        }
    }
}

impl FromStr for Driver {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|driver| driver.name() == text);
        found.ok_or_else(|| Error::unknown("driver", text, "legacy or dynamic"))
    }
}

/// A queue pair or thread domain and its uUAR.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Row {
    /// Its uUAR.
    pub uuar: Uuar,
    /// What the uUAR is for.
    pub class: Class,
}

/// The assignment of a context.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Map {
    /// Queue pairs without a thread domain, in the order of their creation.
    pub queue_pairs: Vec<Row>,
    /// Thread domains, in the order of their creation.
    pub domains: Vec<Row>,
    /// UAR pages of the context in the end.
    pub uars: usize,
}

/// The assignment of queue pairs without thread domains, and of thread domains, in a new context.
pub fn map(driver: Driver, uuars: Uuars, queue_pairs: usize, domains: usize) -> Map {
    let domain = |uuar| Row {
        uuar,
        class: Class::Domain,
    };
    let row = |(uuar, class)| Row { uuar, class };
    match driver {
        Driver::Legacy => {
            let mut context = Legacy::new(uuars);
            Map {
                queue_pairs: (0..queue_pairs).map(|_| row(context.add())).collect(),
                domains: (0..domains).map(|_| domain(context.add_domain())).collect(),
                uars: context.uars(),
            }
        }
        Driver::Dynamic => {
            let mut context = OnDemand::new(uuars);
            Map {
                queue_pairs: (0..queue_pairs).map(|_| row(context.add())).collect(),
                domains: (0..domains).map(|_| domain(context.add_domain())).collect(),
                uars: context.uars(),
            }
        }
    }
}

impl Map {
    /// Queue pairs that share their uUAR with others.
    pub fn collisions(&self) -> Vec<usize> {
        let shares = |&index: &usize| {
            let own = self.queue_pairs[index].uuar;
            let same = self.queue_pairs.iter().filter(|row| row.uuar == own);
            same.count() > 1
        };
        (0..self.queue_pairs.len()).filter(shares).collect()
    }
}
