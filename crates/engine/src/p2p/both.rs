// SPDX-License-Identifier: MIT OR Apache-2.0
//! A send and a receive as one request.

use super::receive::irecv;
use super::send::{Mode, isend};
use crate::comm::Comm;
use crate::completion;
use crate::datatype::Memory;
use crate::errors::Result;
use crate::request::RequestId;
use crate::task::{self, Completion};

/// Starts a send and a receive as one request (MPI_Isendrecv); `owned` is kept until both are complete. The request's status is
/// the receive's.
///
/// # Errors
/// As for [`isend`] and [`irecv`].
///
/// # Safety
/// As for [`isend`] and [`irecv`].
pub unsafe fn isendrecv(
    comm: &'static Comm,
    send: (Memory<'_>, i32, i32),
    receive: (Memory<'_>, i32, i32),
    owned: Vec<u8>,
) -> Result<RequestId> {
    // SAFETY: the caller's promise.
    let arrival = unsafe { irecv(comm, receive.0, receive.1, receive.2) }?;
    // SAFETY: the caller's promise.
    let departure = match unsafe { isend(comm, send.0, send.1, send.2, Mode::Standard) } {
        Ok(id) => id,
        Err(error) => {
            completion::cancel_receive(comm.vci(), arrival)?;
            completion::let_go(comm.vci(), &mut { arrival })?;
            return Err(error);
        }
    };
    task::spawn(comm, async move {
        let status = Completion::new(comm.vci(), arrival).await;
        Completion::new(comm.vci(), departure).await?;
        drop(owned);
        status
    })
}
