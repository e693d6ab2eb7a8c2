// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machine profiles: what a machine's communication costs, as `rankpoint scope` measured it. No measurements here, and no knowledge
//! of the machine that runs: a program passes its own [`Host`].
//!
//! A [`Profile`] is one TOML file. It says on which [`Host`] and under which [`Control`]s its values were measured, names the
//! [`Place`]s between which something moves (cores, GPUs, other hosts), and has five kinds of values, all with a name such as
//! `copy/memcpy`:
//!
//! | kind | values | read by |
//! |---|---|---|
//! | [`Cost`] | one time | [`Profile::cost`] |
//! | [`Curve`] | times over one quantity, mostly bytes | [`Profile::curve`], then [`Curve::at`] |
//! | [`Surface`] | times over two quantities | [`Profile::surface`], then [`Surface::at`] |
//! | [`Matrix`] | one value for each pair of places | [`Profile::matrix`], then [`Matrix::between`] |
//! | [`Skipped`] | none, and the reason | the error of the four calls above |
//!
//! Every time is a [`Sample`]: median, trimean, median absolute deviation, how many values, and whether they passed the checks of
//! independence. Between measured points [`Curve::at`] and [`Surface::at`] interpolate linearly in the logarithms of both axes.
//! Beyond them they go on with the last slope, and the [`Estimate`] says so ([`Origin::Extrapolated`]), also when it is displayed.
//!
//! ```
//! use machine_profile::{Foreign, Host, Profile};
//!
//! let text = r#"
//! schema = 1
//! created = "2026-01-31T12:00:00Z"
//! tool = "rankpoint 0.1.0"
//! mode = "quick"
//!
//! [host]
//! cpu = "Example 9000"
//! architecture = "x86_64"
//! cores = 2
//! l3_bytes = 33554432
//! numa_nodes = 1
//! page_bytes = 4096
//! virtual = true
//! kernel = "6.8.0"
//! fingerprint = "3e6ef2c17f6a3ac0"
//!
//! [[places]]
//! name = "core 0"
//! kind = "core"
//! index = 0
//!
//! [[curves]]
//! name = "copy/memcpy"
//! axis = "bytes"
//! from = 0
//! to = 0
//! points = [
//!   { x = 1024, ns = 20.0, trimean = 20.5, mad = 0.5, n = 64, iid = true },
//!   { x = 4096, ns = 80.0, trimean = 80.0, mad = 2.0, n = 64, iid = true },
//! ]
//! "#;
//! let profile = Profile::parse(text, "profile.toml".as_ref())?;
//!
//! // A program passes the host that it runs on; here it is the profile's own.
//! let here: Host = profile.host.clone();
//! profile.check_host(&here, Foreign::Refuse)?;
//!
//! let curve = profile.curve("copy/memcpy", Some(0), Some(0))?;
//! assert_eq!(curve.at(2048.0).to_string(), "40.0 ns");
//! assert_eq!(
//!     curve.at(8192.0).to_string(),
//!     "160 ns (extrapolated: measured from 1024 to 4096 bytes)"
//! );
//!
//! let missing = profile.cost("syscall").unwrap_err();
//! assert_eq!(
//!     missing.to_string(),
//!     "profile.toml: no cost 'syscall', expected one: `rankpoint scope --only '^syscall'` measures it"
//! );
//! # Ok::<(), machine_profile::Error>(())
//! ```
//!
//! [`Profile::read`] and [`Profile::write`] are the same with a file. [`Section`] reads TOML with errors that name file, line, key
//! and what was expected; other crates with files of their own use it too.
//!
//! Tests of whole files are in `tests/`.

#![forbid(unsafe_code)]

mod axis;
mod control;
mod cost;
mod curve;
mod error;
mod estimate;
mod host;
mod line;
mod matrix;
mod place;
mod profile;
mod read;
mod sample;
mod section;
pub mod statistics;
mod surface;
mod write;

pub use axis::{Axis, Unit};
pub use control::{Control, Skipped};
pub use cost::Cost;
pub use curve::{Curve, Point};
pub use error::{Error, Kind};
pub use estimate::{Estimate, Origin};
pub use host::{Foreign, Host};
pub use matrix::Matrix;
pub use place::{Place, PlaceKind};
pub use profile::{Profile, SCHEMA};
pub use sample::Sample;
pub use section::{Document, Section, Spot};
pub use surface::Surface;
