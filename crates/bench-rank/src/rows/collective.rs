// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time of a collective: blocking, nonblocking and waited for at once, or persistent.

use std::time::Instant;

use crate::mpi::Mpi;
use crate::mpi::collective::{Form, Operation, Plan};
use crate::options::RankOptions;
use crate::output::report;

/// Operation and form that a measurement's name means: `bcast`, `ibcast` or `bcast-init`.
fn find(name: &str) -> Option<(Operation, Form)> {
    let operation = |name: &str| {
        Some(match name {
            "bcast" => Operation::Bcast,
            "reduce" => Operation::Reduce,
            "allreduce" => Operation::Allreduce,
            "gather" => Operation::Gather,
            "scatter" => Operation::Scatter,
            "allgather" => Operation::Allgather,
            "alltoall" => Operation::Alltoall,
            "reduce-scatter" => Operation::ReduceScatter,
            "scan" => Operation::Scan,
            _ => return None,
        })
    };
    let nonblocking = || Some((operation(name.strip_prefix('i')?)?, Form::Nonblocking));
    let persistent = || Some((operation(name.strip_suffix("-init")?)?, Form::Persistent));
    let blocking = operation(name).map(|operation| (operation, Form::Blocking));
    blocking.or_else(nonblocking).or_else(persistent)
}

/// Measures the operation that the measurement names, at all sizes.
pub(crate) fn measure(mpi: &Mpi, options: &RankOptions) -> Result<(), String> {
    let name = options.measurement.name;
    let (operation, form) = find(name).ok_or_else(|| format!("no rank measures {name}"))?;
    for &size in &options.sizes {
        let mut plan = Plan::new(mpi, operation, form, size);
        let start = Instant::now();
        plan.run();
        mpi.barrier();
        let first = start.elapsed();
        if options.verify {
            plan.check();
        }
        let values = options.effort.measure_after(mpi, first, |iterations| {
            for _ in 0..iterations {
                plan.run();
            }
            // The slowest rank counts, not only rank 0.
            mpi.barrier();
        });
        report(mpi, options, name, size, &values)?;
    }
    Ok(())
}
