// SPDX-License-Identifier: MIT OR Apache-2.0
//! Endpoints: threads as ranks.

use engine::{Result, create};

use crate::Communicator;
use crate::threads::{AnyThread, OwnThread};

/// A rank of a communicator whose ranks are threads of its processes. It can be sent to the thread that is to use it; two threads
/// cannot use it at once. It has all calls of a [`Communicator`], and its messages share nothing with those of other endpoints.
///
/// ```compile_fail,E0277
/// use rankpoint::Universe;
///
/// # let universe = Universe::init_threaded()?;
/// let endpoints = universe.world().endpoints(1)?;
/// std::thread::scope(|scope| {
///     // Only the endpoint itself can go to a thread, not a reference to it.
///     scope.spawn(|| endpoints[0].barrier());
/// });
/// # Ok::<(), rankpoint::Error>(())
/// ```
pub type Endpoint<'u> = Communicator<'u, OwnThread>;

impl<'u> Communicator<'u, AnyThread> {
    /// A communicator in which this process has `count` ranks, and each other process as many as it asks for: one endpoint for each of
    /// these ranks, in rank order. Ranks are numbered process by process. Called by one thread of each rank.
    ///
    /// ```
    /// use rankpoint::Universe;
    ///
    /// let universe = Universe::init_threaded()?;
    /// let endpoints = universe.world().endpoints(4)?;
    /// std::thread::scope(|scope| {
    ///     for endpoint in endpoints {
    ///         scope.spawn(move || {
    ///             let size = endpoint.size();
    ///             let right = (endpoint.rank() + 1) % size;
    ///             let left = (endpoint.rank() + size - 1) % size;
    ///             let mut token = 0;
    ///             endpoint.send_recv(&endpoint.rank(), right, 0, &mut token, left, 0)?;
    ///             assert_eq!(token, left);
    ///             endpoint.barrier()
    ///         });
    ///     }
    /// });
    /// # Ok::<(), rankpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a rank asks for more than 64, this is a communicator of two groups, or no context or memory is free.
    pub fn endpoints(&self, count: usize) -> Result<Vec<Endpoint<'u>>> {
        const CALL: &str = "Communicator::endpoints";
        self.run(CALL, |this| {
            // A number that is too large for the engine is wrong for it, too, and all ranks learn that.
            let number = i32::try_from(count).unwrap_or(i32::MAX);
            let made = create::create_endpoints(this.shared(), number, CALL)?;
            Ok(made.into_iter().map(Endpoint::owned).collect())
        })
    }
}
