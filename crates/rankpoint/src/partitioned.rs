// SPDX-License-Identifier: MIT OR Apache-2.0
//! Partitioned sends and receives (MPI-5.0, chapter 4): a slice whose parts threads make ready one by one, and that arrives so.
//!
//! # Safety
//! The requests belong to a [`Scope`], which borrows the slice for its whole life, waits at its end for what they started, and frees
//! them. The slice is reached by its address only, from which each loan is made: of all of it after having waited for the round, of a
//! partition of a send until it is ready, of a partition of a receive from its arrival on.
#![expect(unsafe_code, reason = "the engine takes addresses")]

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;

use engine::comm::{Comm, read_partition_vcis};
use engine::completion;
use engine::p2p::{partitioned, persistent};
use engine::request::RequestId;
use engine::{Error, ErrorClass, Result};

use crate::buffer::Region;
use crate::data::Datatype;
use crate::envelope::rank_code;
use crate::errors::report;
use crate::scope::{complete_planned, make_rest_ready};
use crate::threads::Threads;
use crate::{Scope, Status};

impl<'scope, T: Threads> Scope<'scope, '_, T> {
    /// Describes a send of a slice in equal partitions, which threads make ready one by one (MPI_Psend_init). A partition travels as
    /// soon as it is ready. The receiver may divide the data otherwise.
    ///
    /// ```
    /// use std::thread;
    ///
    /// let universe = rankpoint::Universe::init_threaded()?;
    /// let world = universe.world();
    /// let (mut out, mut into) = (vec![0u64; 4000], vec![0u64; 4000]);
    /// world.scope(|scope| {
    ///     let mut send = scope.partitioned_send_init(&mut out, 4, world.rank(), 0)?;
    ///     let mut receive = scope.partitioned_recv_init(&mut into, 2, world.rank(), 0)?;
    ///     for round in 1..=3 {
    ///         let arrival = receive.start()?;
    ///         let mut departure = send.start()?;
    ///         thread::scope(|threads| {
    ///             for mut partition in departure.partitions() {
    ///                 threads.spawn(move || {
    ///                     partition.fill(round);
    ///                     partition.ready()
    ///                 });
    ///             }
    ///         });
    ///         while arrival.arrived(0)?.is_none() {}
    ///         assert_eq!(arrival.arrived(0)?, Some(&[round; 2000][..]));
    ///         arrival.wait()?;
    ///         departure.wait()?;
    ///     }
    ///     Ok(())
    /// })?;
    /// assert_eq!(into, [3; 4000]);
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// A partition that is ready cannot be written:
    ///
    /// ```compile_fail,E0382
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// # let mut out = [0u64; 4];
    /// world.scope(|scope| {
    ///     let mut send = scope.partitioned_send_init(&mut out, 4, 0, 0)?;
    ///     let mut departure = send.start()?;
    ///     for mut partition in departure.partitions() {
    ///         partition.ready()?;
    ///         partition[0] = 1;
    ///     }
    ///     departure.wait()
    /// })?;
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// nor can the slice before the round has been waited for, nor can that happen while a thread may write a partition:
    ///
    /// ```compile_fail,E0499
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// # let mut out = [0u64; 4];
    /// world.scope(|scope| {
    ///     let mut send = scope.partitioned_send_init(&mut out, 4, 0, 0)?;
    ///     let departure = send.start()?;
    ///     send.buffer()?.fill(1);
    ///     departure.wait()
    /// })?;
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// ```compile_fail,E0505
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// # let mut out = [0u64; 4];
    /// world.scope(|scope| {
    ///     let mut send = scope.partitioned_send_init(&mut out, 4, 0, 0)?;
    ///     let mut departure = send.start()?;
    ///     let mut partitions = departure.partitions();
    ///     departure.wait()?;
    ///     partitions[0].fill(1);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// Partitions can be given to other threads only if these may use MPI ([`Universe::init_threaded`](crate::Universe::init_threaded)):
    ///
    /// ```compile_fail,E0277
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// # let mut out = [0u64; 4];
    /// world.scope(|scope| {
    ///     let mut send = scope.partitioned_send_init(&mut out, 4, 0, 0)?;
    ///     let mut departure = send.start()?;
    ///     std::thread::scope(|threads| {
    ///         for partition in departure.partitions() {
    ///             threads.spawn(move || partition.ready());
    ///         }
    ///     });
    ///     departure.wait()
    /// })?;
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no rank `dest`, the tag is negative, or `partitions` does not divide the length of the slice.
    pub fn partitioned_send_init<E: Datatype>(
        &'scope self,
        data: &'scope mut [E],
        partitions: usize,
        dest: usize,
        tag: i32,
    ) -> Result<PartitionedSend<'scope, E, T>> {
        self.init_send(data, partitions, dest, tag, 1)
    }

    /// As [`Self::partitioned_send_init`], with the partitions spread over `vcis` VCIs, or fewer if there are fewer partitions. Threads
    /// that make partitions of different VCIs ready share no lock. Each VCI has a block of neighbouring partitions; as many VCIs as
    /// threads serve best when each thread has such a block. Has no effect without `MPI_THREAD_MULTIPLE`, and on endpoints.
    ///
    /// ```
    /// let universe = rankpoint::Universe::init_threaded()?;
    /// let world = universe.world();
    /// let (mut out, mut into) = (vec![0u64; 4000], vec![0u64; 4000]);
    /// world.scope(|scope| {
    ///     let mut send = scope.partitioned_send_init_spread(&mut out, 4, world.rank(), 0, 4)?;
    ///     let mut receive = scope.partitioned_recv_init(&mut into, 2, world.rank(), 0)?;
    ///     let arrival = receive.start()?;
    ///     send.buffer()?.fill(7);
    ///     send.start()?.wait()?;
    ///     arrival.wait()
    /// })?;
    /// assert_eq!(into, [7; 4000]);
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// As there, and when `vcis` is not 1 to 64.
    pub fn partitioned_send_init_spread<E: Datatype>(
        &'scope self,
        data: &'scope mut [E],
        partitions: usize,
        dest: usize,
        tag: i32,
        vcis: usize,
    ) -> Result<PartitionedSend<'scope, E, T>> {
        self.init_send(data, partitions, dest, tag, vcis)
    }

    fn init_send<E: Datatype>(
        &'scope self,
        data: &'scope mut [E],
        partitions: usize,
        dest: usize,
        tag: i32,
        vcis: usize,
    ) -> Result<PartitionedSend<'scope, E, T>> {
        const CALL: &str = "Scope::partitioned_send_init";
        let parts = Parts::of(data, partitions);
        let planned = parts.and_then(|(parts, count)| {
            let vcis = check_partition_vcis(vcis)?;
            let region = parts.region()?;
            let (comm, dest) = (self.comm.comm(), rank_code(dest));
            // SAFETY: the memory is borrowed exclusively for the scope, which outlasts the request, and lent as the file's head says.
            let id =
                unsafe { partitioned::send_init(comm, region.memory(), count, dest, tag, vcis) }?;
            Ok((id, parts))
        });
        Ok(PartitionedSend(self.keep_partitioned(CALL, planned)?))
    }

    /// Describes a receive of a slice in equal partitions, which can be used one by one as they arrive (MPI_Precv_init). The sender
    /// may divide the data otherwise; see [`Self::partitioned_send_init`].
    ///
    /// ```compile_fail,E0499
    /// # let universe = rankpoint::Universe::init()?;
    /// # let world = universe.world();
    /// # let mut into = [0u64; 4];
    /// world.scope(|scope| {
    ///     let mut receive = scope.partitioned_recv_init(&mut into, 4, 0, 0)?;
    ///     let arrival = receive.start()?;
    ///     let all = receive.buffer()?;
    ///     arrival.wait()?;
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such rank, the tag is negative, or `partitions` does not divide the length of the slice.
    pub fn partitioned_recv_init<E: Datatype>(
        &'scope self,
        into: &'scope mut [E],
        partitions: usize,
        source: usize,
        tag: i32,
    ) -> Result<PartitionedReceive<'scope, E, T>> {
        const CALL: &str = "Scope::partitioned_recv_init";
        let parts = Parts::of(into, partitions);
        let planned = parts.and_then(|(parts, count)| {
            let region = parts.region()?;
            let (comm, source) = (self.comm.comm(), rank_code(source));
            // SAFETY: as in `partitioned_send_init`.
            let id = unsafe { partitioned::recv_init(comm, region.memory(), count, source, tag) }?;
            Ok((id, parts))
        });
        Ok(PartitionedReceive(self.keep_partitioned(CALL, planned)?))
    }

    fn keep_partitioned<E>(
        &'scope self,
        call: &'static str,
        planned: Result<(RequestId, Parts<E>)>,
    ) -> Result<Planned<'scope, E, T>> {
        let (id, parts) = self.comm.run(call, |_| planned)?;
        let mut ids = self.planned.borrow_mut();
        ids.push(id);
        Ok(Planned {
            comm: self.comm.comm(),
            ids: &self.planned,
            index: ids.len() - 1,
            is_active: false,
            parts,
            scope: PhantomData,
        })
    }
}

fn check_partition_vcis(vcis: usize) -> Result<u32> {
    read_partition_vcis(|_| Some(vcis.to_string())).map_err(|error| error.renamed(|_| "vcis"))
}

/// The memory of a request: so many values at an address, in partitions of one length.
struct Parts<E> {
    base: NonNull<E>,
    length: usize,
    part: usize,
}

impl<E> Clone for Parts<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Parts<E> {}

impl<E: Datatype> Parts<E> {
    /// The partitions of a slice, and their number.
    fn of(data: &mut [E], partitions: usize) -> Result<(Self, i32)> {
        let length = data.len();
        let count = i32::try_from(partitions).ok();
        let Some(count) = count.filter(|&it| it > 0 && length.is_multiple_of(partitions)) else {
            let expected = format!(
                "a number up to {} that divides the {length} values",
                i32::MAX
            );
            let class = ErrorClass::ERR_ARG;
            return Err(Error::argument(class, "partitions", partitions, expected));
        };
        let parts = Self {
            base: NonNull::from(data).cast(),
            length,
            part: length / partitions,
        };
        Ok((parts, count))
    }

    fn region(self) -> Result<Region> {
        Region::values(self.base.as_ptr(), self.length)
    }
}

impl<E> Parts<E> {
    /// The first value of a partition, if there is one with this number.
    fn first(self, number: usize) -> Option<*mut E> {
        let start = number.checked_mul(self.part)?;
        let end = start.checked_add(self.part)?;
        (end <= self.length).then(|| self.base.as_ptr().wrapping_add(start))
    }
}

/// The fields that sends and receives have in common.
struct Planned<'scope, E, T> {
    comm: &'scope Comm,
    ids: &'scope RefCell<Vec<RequestId>>,
    index: usize,
    /// Whether it was started, and nobody has waited for it.
    is_active: bool,
    parts: Parts<E>,
    scope: PhantomData<(&'scope mut [E], T)>,
}

impl<E, T> Planned<'_, E, T> {
    fn id(&self) -> RequestId {
        self.ids.borrow()[self.index]
    }

    fn start(&mut self, call: &'static str) -> Result<()> {
        self.settle(call)?;
        persistent::start(self.comm.vci(), self.id())
            .map_err(|error| report(self.comm, call, error))?;
        self.is_active = true;
        Ok(())
    }

    /// Waits for the round that was started, if one was. All partitions of a send are sent.
    fn settle(&mut self, call: &'static str) -> Result<Status> {
        if !self.is_active {
            return Ok(Status(engine::request::Status::EMPTY));
        }
        // When this fails the round is complete all the same.
        self.is_active = false;
        let rest = make_rest_ready(self.comm, self.id());
        let outcome = complete_planned(self.comm, self.id(), call);
        rest.and(outcome)
            .map_err(|error| report(self.comm, call, error))
    }

    fn buffer(&mut self, call: &'static str) -> Result<&mut [E]> {
        self.settle(call)?;
        let (base, length) = (self.parts.base.as_ptr(), self.parts.length);
        // SAFETY: the values are borrowed exclusively (file head), and no round is under way.
        Ok(unsafe { slice::from_raw_parts_mut(base, length) })
    }
}

impl<E, T> Drop for Planned<'_, E, T> {
    fn drop(&mut self) {
        if !self.is_active {
            // The scope frees what cannot be freed here.
            let _ = completion::let_go(self.comm.vci(), &mut self.ids.borrow_mut()[self.index]);
        }
    }
}

/// A partitioned send, to be started again and again, and its slice. It ends with its scope, or when it is dropped.
pub struct PartitionedSend<'scope, E, T: Threads>(Planned<'scope, E, T>);

impl<'scope, E, T: Threads> PartitionedSend<'scope, E, T> {
    /// Starts a round (MPI_Start): partitions travel as soon as they are ready. A round before, whose [`SendRound`] was dropped, is
    /// waited for.
    ///
    /// # Errors
    /// When it cannot be started, or that of the round that was waited for.
    pub fn start(&mut self) -> Result<SendRound<'_, 'scope, E, T>> {
        self.0.start("PartitionedSend::start")?;
        Ok(SendRound { request: self })
    }

    /// The slice, between two rounds. A round whose [`SendRound`] was dropped is waited for.
    ///
    /// # Errors
    /// That of the round that was waited for.
    pub fn buffer(&mut self) -> Result<&mut [E]> {
        self.0.buffer("PartitionedSend::buffer")
    }
}

/// A round of a [`PartitionedSend`]. Dropping it leaves it to the request.
#[must_use = "wait for it to know that it is complete"]
pub struct SendRound<'r, 'scope, E, T: Threads> {
    request: &'r mut PartitionedSend<'scope, E, T>,
}

impl<E, T: Threads> SendRound<'_, '_, E, T> {
    /// The partitions that are not ready, in their order: all of them, when this is called for the first time. Each can be filled and
    /// made ready by a thread of its own.
    pub fn partitions(&mut self) -> Vec<Partition<'_, E, T>> {
        let planned = &self.request.0;
        let (comm, id) = (planned.comm, planned.id());
        let numbers = partitioned::not_ready(comm.vci(), id);
        let partition = |(id, number): (RequestId, i32)| {
            let first = planned.parts.first(number as usize)?;
            // SAFETY: the values are borrowed exclusively (file head). Those of this partition are lent to nobody else: each number
            // occurs once, `self` is borrowed as long as the partitions are, and MPI reads the values of ready ones only.
            let data = unsafe { slice::from_raw_parts_mut(first, planned.parts.part) };
            Some(Partition {
                comm,
                id,
                number,
                data,
                threads: PhantomData,
            })
        };
        numbers.into_iter().filter_map(partition).collect()
    }

    /// Waits until the slice can be written again (MPI_Wait). Partitions that are not ready are sent as they are.
    ///
    /// # Errors
    /// The send's error.
    pub fn wait(self) -> Result<()> {
        self.request.0.settle("SendRound::wait").map(drop)
    }
}

/// A partition of a send that is not ready yet: its values, to be written.
pub struct Partition<'g, E, T: Threads> {
    comm: &'g Comm,
    /// The send, or its lane on the VCI of this partition.
    id: RequestId,
    number: i32,
    data: &'g mut [E],
    /// Only threads that may use the communicator at any time can have it.
    threads: PhantomData<&'g T>,
}

impl<E, T: Threads> Partition<'_, E, T> {
    /// The number of the partition, from 0.
    pub const fn index(&self) -> usize {
        self.number as usize
    }

    /// Sends the partition (MPI_Pready).
    ///
    /// # Errors
    /// Those of the transport.
    pub fn ready(self) -> Result<()> {
        partitioned::ready(self.comm.vci(), self.id, self.number)
            .map_err(|error| report(self.comm, "Partition::ready", error))
    }
}

impl<E, T: Threads> Deref for Partition<'_, E, T> {
    type Target = [E];

    fn deref(&self) -> &[E] {
        self.data
    }
}

impl<E, T: Threads> DerefMut for Partition<'_, E, T> {
    fn deref_mut(&mut self) -> &mut [E] {
        self.data
    }
}

/// A partitioned receive, to be started again and again, and its slice. It ends with its scope, or when it is dropped.
pub struct PartitionedReceive<'scope, E, T: Threads>(Planned<'scope, E, T>);

impl<'scope, E, T: Threads> PartitionedReceive<'scope, E, T> {
    /// Starts a round (MPI_Start). A round before, whose [`ReceiveRound`] was dropped, is waited for.
    ///
    /// # Errors
    /// When it cannot be started, or that of the round that was waited for.
    pub fn start(&mut self) -> Result<ReceiveRound<'_, 'scope, E, T>> {
        self.0.start("PartitionedReceive::start")?;
        Ok(ReceiveRound { request: self })
    }

    /// The slice, between two rounds. A round whose [`ReceiveRound`] was dropped is waited for.
    ///
    /// # Errors
    /// That of the round that was waited for.
    pub fn buffer(&mut self) -> Result<&mut [E]> {
        self.0.buffer("PartitionedReceive::buffer")
    }
}

/// A round of a [`PartitionedReceive`]. Dropping it leaves it to the request.
#[must_use = "wait for it to know that it is complete"]
pub struct ReceiveRound<'r, 'scope, E, T: Threads> {
    request: &'r mut PartitionedReceive<'scope, E, T>,
}

impl<E, T: Threads> ReceiveRound<'_, '_, E, T> {
    /// The values of a partition if they have arrived (MPI_Parrived).
    ///
    /// # Errors
    /// When there is no such partition.
    pub fn arrived(&self, partition: usize) -> Result<Option<&[E]>> {
        self.arrivals().arrived(partition)
    }

    /// The same for several threads.
    pub fn arrivals(&self) -> Arrivals<'_, E, T> {
        let planned = &self.request.0;
        Arrivals {
            comm: planned.comm,
            id: planned.id(),
            parts: planned.parts,
            round: PhantomData,
        }
    }

    /// Waits for all partitions (MPI_Wait).
    ///
    /// # Errors
    /// The receive's error, e.g. that the sender has more data.
    pub fn wait(self) -> Result<Status> {
        self.request.0.settle("ReceiveRound::wait")
    }
}

/// The arrived partitions of a round, for threads.
pub struct Arrivals<'g, E, T: Threads> {
    comm: &'g Comm,
    id: RequestId,
    parts: Parts<E>,
    round: PhantomData<(&'g [E], T)>,
}

// SAFETY: it gives shared references to values, which other threads may have if E is Sync, and calls MPI, which they may if T is Sync.
unsafe impl<E: Sync, T: Threads + Sync> Sync for Arrivals<'_, E, T> {}
// SAFETY: as for Sync; nothing in it belongs to a thread.
unsafe impl<E: Sync, T: Threads + Sync> Send for Arrivals<'_, E, T> {}

impl<E, T: Threads> Clone for Arrivals<'_, E, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E, T: Threads> Copy for Arrivals<'_, E, T> {}

impl<'g, E, T: Threads> Arrivals<'g, E, T> {
    /// The values of a partition if they have arrived (MPI_Parrived).
    ///
    /// # Errors
    /// When there is no such partition.
    pub fn arrived(&self, partition: usize) -> Result<Option<&'g [E]>> {
        let number = rank_code(partition);
        let found = partitioned::arrived(self.comm.vci(), self.id, number)
            .map_err(|error| report(self.comm, "Arrivals::arrived", error))?;
        let first = self.parts.first(partition).filter(|_| found);
        // SAFETY: MPI writes nothing to a partition that has arrived until the next start, for which the round must have ended.
        Ok(first.map(|first| unsafe { slice::from_raw_parts(first, self.parts.part) }))
    }
}

/// Tells a request by its number.
fn write_id(f: &mut fmt::Formatter<'_>, name: &str, id: RequestId) -> fmt::Result {
    write!(f, "{name}({:#x})", id.0)
}

impl<E, T: Threads> fmt::Debug for PartitionedSend<'_, E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_id(f, "PartitionedSend", self.0.id())
    }
}

impl<E, T: Threads> fmt::Debug for PartitionedReceive<'_, E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_id(f, "PartitionedReceive", self.0.id())
    }
}

impl<E, T: Threads> fmt::Debug for SendRound<'_, '_, E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_id(f, "SendRound", self.request.0.id())
    }
}

impl<E, T: Threads> fmt::Debug for ReceiveRound<'_, '_, E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_id(f, "ReceiveRound", self.request.0.id())
    }
}

impl<E, T: Threads> fmt::Debug for Partition<'_, E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_id(f, "Partition", self.id)
    }
}

impl<E, T: Threads> fmt::Debug for Arrivals<'_, E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_id(f, "Arrivals", self.id)
    }
}
