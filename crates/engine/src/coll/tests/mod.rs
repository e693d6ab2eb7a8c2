// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every collective against its definition: many rank counts, sizes on both sides of every threshold, blocking and several
//! nonblocking ones at once, strided types, operations that do not commute, all roots.
#![expect(unsafe_code, reason = "blocks are built from test buffers")]

mod background;
mod check;
mod data;
mod definitions;
mod far_offers;
mod hierarchy;
mod matrix;
mod random;
mod reproducible;
mod shared;
mod threads;
mod together;
mod transfers;

use std::future::Future;
use std::sync::Arc;

use layout::SharedLayout;

use super::*;
use crate::comm::Comm;
use crate::datatype::{Datatype, Predefined, Width, predefined};
use crate::errors::{ErrorClass, Result};
use crate::op::{Op, Operator, Reduction};
use crate::settings::{Checks, Settings};
use crate::task;
use crate::testing::{Member, endpoints_of_a_process, on_members_with, shares_memory};
use data::*;
