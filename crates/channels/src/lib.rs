// SPDX-License-Identifier: MIT OR Apache-2.0
//! What sharing the resources of a network interface between threads costs, and what not sharing them takes.
//!
//! | module | contents |
//! |---|---|
//! | [`policy`] | which uUAR a driver gives to a queue pair |
//! | [`Category`], [`Inventory`], [`Totals`], [`Shares`] | six ways for threads to have objects, counted by formula and one by one |
//! | [`Profile`] | limits, memory and times of a network interface, as TOML |
//! | [`Interface`], [`probe()`] | objects of any network interface; a category that is built, used and taken down |
//! | [`emulated`] | an emulated network interface, with a virtual clock and in real time: a microbenchmark and a kernel |
//! | [`Expectation`], [`recommend()`] | throughput with its origin; the category that suits limits |
//! | [`VciPlan`] | how VCIs could use libfabric, by the limits of a provider |
//! | [`verbs`] | real objects of an RDMA device, by a library that is opened at run time |
//!
//! No MPI; only [`verbs`] and [`emulated::wall`] know the operating system. Tests of the published numbers are in `tests/`.
//!
//! Source: R. Zambre, *Exascalable Communication for Modern Supercomputing* (University of California, Irvine, 2020), chapter 3 and
//! appendices A and B; R. Zambre, A. Chandramowlishwaran, P. Balaji, *Scalable Communication Endpoints for MPI+Threads Applications*
//! (ICPADS 2018).

#![deny(unsafe_code)]

mod account;
mod category;
pub mod emulated;
mod error;
mod expectation;
mod interface;
mod inventory;
mod nic;
pub mod policy;
mod probe;
mod recommend;
mod vci_plan;
pub mod verbs;

pub use account::{
    Break, Shares, Totals, exceeded, first_break, second_context, unused_by_one_thread,
};
pub use category::Category;
pub use error::Error;
pub use expectation::{Expectation, Origin};
pub use interface::{Completions, Interface, Page, Pair, Pollers, Region};
pub use inventory::{Context, DOMAIN_UARS_PER_CONTEXT, Inventory, QueuePair, threads_per_context};
pub use nic::{Constants, Limits, Memory, Profile, Timing};
pub use probe::{Probed, probe};
pub use recommend::{Candidate, Lack, Recommendation, Wanted, candidates, recommend};
pub use vci_plan::{
    ProviderLimits, Refusal, Threading, VciObjects, VciPlan, VciVerdict, choose_vci_plan,
    vci_plan_in_use, vci_plans,
};
