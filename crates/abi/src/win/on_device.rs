// SPDX-License-Identifier: MIT OR Apache-2.0
//! Buffers of one-sided calls in the memory of a GPU. The operation works on a copy on the host and is complete here when the call returns:
//! nothing of it is left for the call that ends the epoch.

use engine::datatype::Memory;
use engine::device::{Device, Form, HostCopy};
use engine::op::Operator;
use engine::request::RequestId;
use engine::rma::{self, Elements, Remote, Window};
use engine::{Result, completion};
use mpi_abi_sys::constants::MPI_PROC_NULL;

use crate::state::require_process;

/// Memory of a call, and the GPU that it belongs to.
pub(super) type Located<'a> = (Memory<'a>, Option<Device>);

/// A buffer that an operation works on: the program's, or a copy.
struct Side<'a> {
    memory: Memory<'a>,
    copy: Option<HostCopy>,
}

impl<'a> Side<'a> {
    /// A buffer that the operation writes.
    fn written((memory, device): Located<'a>, form: Form) -> Result<Self> {
        let elements = device.zip(memory.layout);
        let copy = elements
            .map(|(device, elements)| HostCopy::new(device, memory.base, elements, form))
            .transpose()?;
        Ok(Self { memory, copy })
    }

    /// A buffer that the operation reads.
    fn read(located: Located<'a>, form: Form) -> Result<Self> {
        let mut side = Self::written(located, form)?;
        if let Some(copy) = &mut side.copy {
            copy.load()?;
        }
        Ok(side)
    }

    /// The memory that the operation gets.
    fn memory(&mut self) -> Memory<'_> {
        match &mut self.copy {
            Some(copy) => copy.memory(),
            None => self.memory,
        }
    }

    /// Puts what was written into the program's buffer. Nothing comes from MPI_PROC_NULL.
    fn store(mut self, remote: &Remote<'_>) -> Result<()> {
        match &mut self.copy {
            Some(copy) if remote.rank != MPI_PROC_NULL => copy.store(),
            _ => Ok(()),
        }
    }
}

/// Waits until an operation is complete here.
fn wait(started: Result<RequestId>, call: &'static str) -> Result<()> {
    let mut id = started?;
    completion::wait(require_process()?.vci(), &mut id, call).map(drop)
}

/// MPI_Put of memory of a GPU.
#[cold]
pub(super) fn put(
    window: &Window,
    origin: Located<'_>,
    remote: &Remote<'_>,
    call: &'static str,
) -> Result<()> {
    let mut origin = Side::read(origin, Form::Packed)?;
    // SAFETY: the copy lives until the operation is complete here.
    wait(unsafe { rma::rput(window, &origin.memory(), remote) }, call)
}

/// MPI_Get into memory of a GPU.
#[cold]
pub(super) fn get(
    window: &Window,
    origin: Located<'_>,
    remote: &Remote<'_>,
    call: &'static str,
) -> Result<()> {
    let mut origin = Side::written(origin, Form::Packed)?;
    // SAFETY: as in `put`.
    wait(unsafe { rma::rget(window, &origin.memory(), remote) }, call)?;
    origin.store(remote)
}

/// Elements of a call, and the GPU that they belong to.
#[derive(Clone, Copy)]
pub(super) struct LocatedElements<'a> {
    pub(super) elements: Elements<'a>,
    pub(super) device: Option<Device>,
}

impl<'a> LocatedElements<'a> {
    const fn located(&self) -> Located<'a> {
        (self.elements.memory, self.device)
    }
}

/// MPI_Accumulate of memory of a GPU.
#[cold]
pub(super) fn accumulate(
    window: &Window,
    origin: &LocatedElements<'_>,
    remote: &Remote<'_>,
    operator: Operator,
    call: &'static str,
) -> Result<()> {
    let mut given = Side::read(origin.located(), Form::LaidOut)?;
    let memory = given.memory();
    let origin = Elements {
        memory,
        ..origin.elements
    };
    // SAFETY: as in `put`.
    wait(
        unsafe { rma::raccumulate(window, &origin, remote, operator) },
        call,
    )
}

/// MPI_Get_accumulate where one of the buffers is in the memory of a GPU.
#[cold]
pub(super) fn get_accumulate(
    window: &Window,
    [origin, result]: [&LocatedElements<'_>; 2],
    remote: &Remote<'_>,
    operator: Operator,
    call: &'static str,
) -> Result<()> {
    let mut given = Side::read(origin.located(), Form::LaidOut)?;
    let mut got = Side::written(result.located(), Form::LaidOut)?;
    let origin = Elements {
        memory: given.memory(),
        ..origin.elements
    };
    let result = Elements {
        memory: got.memory(),
        ..result.elements
    };
    // SAFETY: as in `put`.
    let started = unsafe { rma::rget_accumulate(window, &origin, &result, remote, operator) };
    wait(started, call)?;
    got.store(remote)
}

/// MPI_Fetch_and_op where one of the elements is in the memory of a GPU. There is no origin for MPI_NO_OP.
#[cold]
pub(super) fn fetch_and_op(
    window: &Window,
    origin: Option<Located<'_>>,
    result: Located<'_>,
    remote: &Remote<'_>,
    operator: Operator,
    call: &'static str,
) -> Result<()> {
    let mut given = origin
        .map(|origin| Side::read(origin, Form::LaidOut))
        .transpose()?;
    let mut got = Side::written(result, Form::LaidOut)?;
    let from = given.as_mut().map(|given| given.memory().base);
    let elements = [from.unwrap_or(std::ptr::null_mut()), got.memory().base];
    // SAFETY: as in `put`.
    let started = unsafe { rma::rfetch_and_op(window, elements, remote, operator) };
    wait(started, call)?;
    got.store(remote)
}

/// MPI_Compare_and_swap where one of the elements is in the memory of a GPU.
#[cold]
pub(super) fn compare_and_swap(
    window: &Window,
    [origin, compare, result]: [Located<'_>; 3],
    remote: &Remote<'_>,
    call: &'static str,
) -> Result<()> {
    let mut given = Side::read(origin, Form::LaidOut)?;
    let mut compared = Side::read(compare, Form::LaidOut)?;
    let mut got = Side::written(result, Form::LaidOut)?;
    let operands = [given.memory().base, compared.memory().base].map(<*mut u8>::cast_const);
    let result = got.memory().base;
    // SAFETY: as in `put`.
    let started = unsafe { rma::rcompare_and_swap(window, operands, result, remote) };
    wait(started, call)?;
    got.store(remote)
}
