// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operations that a device performs later: timed by its own events, behind a gate.
//!
//! The device first waits busily (the gate) while the host queues everything; the events around the operations then have nothing
//! between them but the operations. A gate that opened before all was queued is too short: its time includes the host's calls.

/// Cycles that the first gate waits.
pub const FIRST_WAIT_CYCLES: u64 = 4096;
/// Longest gate: some tenths of a second on any device, longer than any host needs to queue calls that return at once.
const MOST_CYCLES: u64 = 1 << 28;

/// What a gated measurement needs of a device.
pub trait Device {
    /// Why it fails.
    type Error;

    /// Queues a busy wait of so many cycles, the event *start*, the operations, and the event *stop*.
    ///
    /// # Errors
    /// The device's errors, as for all the following.
    fn queue(&mut self, wait_cycles: u64) -> Result<(), Self::Error>;

    /// Whether the event *start* has fired.
    ///
    /// # Errors
    /// As above.
    fn has_started(&mut self) -> Result<bool, Self::Error>;

    /// Waits for the event *stop* and gives the nanoseconds between both.
    ///
    /// # Errors
    /// As above.
    fn finish(&mut self) -> Result<f64, Self::Error>;
}

/// A time behind a gate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gated {
    /// Nanoseconds between the events.
    pub ns: f64,
    /// Measurements that were discarded because the gate had been too short.
    pub discarded: u32,
    /// Cycles of the gate that was long enough; the next measurement begins with it.
    pub wait_cycles: u64,
    /// Whether the gate held. A device that starts in no time for any gate gives false.
    pub held: bool,
}

/// Times what the device queues, behind a gate of at least `wait_cycles`, which is doubled until it holds.
///
/// # Errors
/// The device's errors.
pub fn gated<D: Device>(device: &mut D, wait_cycles: u64) -> Result<Gated, D::Error> {
    let mut gated = Gated {
        ns: 0.0,
        discarded: 0,
        wait_cycles: wait_cycles.max(1),
        held: false,
    };
    loop {
        device.queue(gated.wait_cycles)?;
        gated.held = !device.has_started()?;
        gated.ns = device.finish()?;
        if gated.held || gated.wait_cycles >= MOST_CYCLES {
            return Ok(gated);
        }
        gated.discarded += 1;
        gated.wait_cycles *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device of one cycle a nanosecond whose host needs some time to queue.
    struct Simulated {
        queueing_ns: f64,
        operation_ns: f64,
        wait: f64,
    }

    impl Device for Simulated {
        type Error = std::convert::Infallible;

        fn queue(&mut self, wait_cycles: u64) -> Result<(), Self::Error> {
            self.wait = wait_cycles as f64;
            Ok(())
        }

        fn has_started(&mut self) -> Result<bool, Self::Error> {
            Ok(self.wait < self.queueing_ns)
        }

        fn finish(&mut self) -> Result<f64, Self::Error> {
            Ok(self.operation_ns + (self.queueing_ns - self.wait).max(0.0))
        }
    }

    #[test]
    fn a_gate_that_was_too_short_is_doubled_and_its_time_discarded() {
        let mut device = Simulated {
            queueing_ns: 20_000.0,
            operation_ns: 500.0,
            wait: 0.0,
        };
        let time = gated(&mut device, FIRST_WAIT_CYCLES).unwrap();
        assert_eq!(
            (time.ns, time.discarded, time.wait_cycles),
            (500.0, 3, 32_768)
        );
        assert!(time.held);
        let again = gated(&mut device, time.wait_cycles).unwrap();
        assert_eq!((again.ns, again.discarded), (500.0, 0));
    }

    #[test]
    fn a_device_that_never_waits_is_told() {
        let mut device = Simulated {
            queueing_ns: f64::INFINITY,
            operation_ns: 1.0,
            wait: 0.0,
        };
        assert!(!gated(&mut device, FIRST_WAIT_CYCLES).unwrap().held);
    }
}
