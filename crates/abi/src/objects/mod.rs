// SPDX-License-Identifier: MIT OR Apache-2.0
//! The objects with handles that only the C library has; all others are the engine's.

mod error_handler;
mod info;
mod session;

pub(crate) use error_handler::{Action, ErrorHandler, HandlerOf};
pub(crate) use info::Info;
pub(crate) use session::Session;
