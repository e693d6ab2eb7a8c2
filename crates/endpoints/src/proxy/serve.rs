// SPDX-License-Identifier: MIT OR Apache-2.0
//! The loop of the proxy, and how it waits.

use std::time::Duration;

use endpoints::area::{Job, Mapped};
use sys::cores::yield_core;
use sys::spin::cpu_relax;

use crate::LOOK;
use crate::commands::Proxy;
use crate::library::Mpi;

/// Polls without pause in between, then with the core given to others, before the proxy sleeps.
const SPINS: u32 = 200;
const YIELDS: u32 = 200;
/// Between two polls of the library by a proxy that has waited for long.
const NAP: Duration = Duration::from_micros(50);

/// Executes commands until the program's process has finished; `false` where the job ended before.
pub(crate) fn serve(job: &Job, mpi: &Mpi, mapped: Mapped) -> bool {
    let area = mapped.area();
    let mut proxy = Proxy::new(job, mpi, mapped);
    let mut idle = 0u32;
    loop {
        let mut found = false;
        while let Some(command) = area.queue.pop() {
            proxy.start(&command);
            found = true;
        }
        found |= proxy.progress();
        if found {
            idle = 0;
            continue;
        }
        if !proxy.is_round_over() {
            continue;
        }
        if area.is_finished() && proxy.is_idle() && area.queue.is_empty() {
            return true;
        }
        idle = idle.saturating_add(1);
        if idle < SPINS {
            cpu_relax();
        } else if idle < SPINS + YIELDS {
            yield_core();
        } else {
            let pause = if proxy.is_idle() { LOOK } else { NAP };
            area.queue.sleep(pause, || area.is_finished());
            if !job.goes_on() {
                return false;
            }
        }
    }
}
