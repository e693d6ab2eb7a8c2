// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams, events and graphs.
//!
//! # Safety
//! As in [`crate::driver`].

use std::ffi::{c_int, c_uint, c_ulonglong};

use crate::driver::{INVALID_VALUE, NOT_READY, State, driver, give, inside};

/// When an event fires.
fn time(state: &State, event: usize) -> Result<f64, (c_int, String)> {
    let known = event
        .checked_sub(1)
        .and_then(|index| state.timeline.events.get(index));
    let time = known.copied().flatten();
    time.ok_or_else(|| (INVALID_VALUE, format!("event {event} was never recorded")))
}

driver! {
    /// A stream.
    fn cuStreamCreate(stream: *mut usize, _flags: c_uint) {
        // SAFETY: the caller's.
        inside(|state| unsafe { give(stream, state.timeline.stream()) })
    }

    /// Forgets a stream.
    fn cuStreamDestroy_v2(_stream: usize) {
        inside(|_| Ok(()))
    }

    /// The host waits for a stream.
    fn cuStreamSynchronize(stream: usize) {
        inside(|state| {
            let end = state.timeline.end(stream);
            state.timeline.wait(end);
            Ok(())
        })
    }

    /// The host waits for all streams.
    fn cuCtxSynchronize() {
        inside(|state| {
            state.timeline.wait_for_all();
            state.finish()
        })
    }

    /// A stream waits for an event.
    fn cuStreamWaitEvent(stream: usize, event: usize, _flags: c_uint) {
        inside(|state| {
            let time = time(state, event)?;
            state.timeline.hold(stream, time);
            Ok(())
        })
    }

    /// An event.
    fn cuEventCreate(event: *mut usize, _flags: c_uint) {
        inside(|state| {
            state.timeline.events.push(None);
            // SAFETY: the caller's.
            unsafe { give(event, state.timeline.events.len()) }
        })
    }

    /// Forgets an event.
    fn cuEventDestroy_v2(_event: usize) {
        inside(|_| Ok(()))
    }

    /// The event fires when the stream has come so far.
    fn cuEventRecord(event: usize, stream: usize) {
        inside(|state| {
            let end = state.timeline.end(stream);
            let known = event.checked_sub(1).and_then(|index| state.timeline.events.get_mut(index));
            let known = known.ok_or_else(|| (INVALID_VALUE, format!("no event {event}")))?;
            *known = Some(end);
            Ok(())
        })
    }

    /// Whether an event has fired.
    fn cuEventQuery(event: usize) {
        inside(|state| if state.timeline.is_over(time(state, event)?) {
            Ok(())
        } else {
            Err((NOT_READY, format!("event {event} has not fired")))
        })
    }

    /// The host waits for an event.
    fn cuEventSynchronize(event: usize) {
        inside(|state| {
            let time = time(state, event)?;
            state.timeline.wait(time);
            Ok(())
        })
    }

    /// Milliseconds between two events.
    fn cuEventElapsedTime(elapsed: *mut f32, start: usize, end: usize) {
        inside(|state| {
            let ns = time(state, end)? - time(state, start)?;
            // SAFETY: the caller's.
            unsafe { give(elapsed, (ns / 1e6) as f32) }
        })
    }

    /// Keeps the kernels that a stream is given.
    fn cuStreamBeginCapture_v2(stream: usize, _mode: c_int) {
        inside(|state| if state.timeline.capture(stream) {
            Ok(())
        } else {
            Err((INVALID_VALUE, format!("stream {stream} is captured already")))
        })
    }

    /// What was kept, as a graph.
    fn cuStreamEndCapture(stream: usize, graph: *mut usize) {
        inside(|state| {
            let kept = state.timeline.end_capture(stream);
            let kept = kept.ok_or_else(|| (INVALID_VALUE, format!("stream {stream} is not captured")))?;
            state.timeline.graphs.push(kept);
            // SAFETY: the caller's.
            unsafe { give(graph, state.timeline.graphs.len()) }
        })
    }

    /// A graph that can be launched.
    fn cuGraphInstantiateWithFlags(executable: *mut usize, graph: usize, _flags: c_ulonglong) {
        inside(|state| if (1..=state.timeline.graphs.len()).contains(&graph) {
            // SAFETY: the caller's.
            unsafe { give(executable, graph) }
        } else {
            Err((INVALID_VALUE, format!("no graph {graph}")))
        })
    }

    /// Runs the kernels of a graph.
    fn cuGraphLaunch(executable: usize, stream: usize) {
        inside(|state| {
            let graph = executable.checked_sub(1).and_then(|index| state.timeline.graphs.get(index));
            let graph = graph.cloned().ok_or_else(|| (INVALID_VALUE, format!("no graph {executable}")))?;
            graph.iter().try_for_each(|launch| state.run(launch, stream))
        })
    }

    /// Forgets it.
    fn cuGraphExecDestroy(_executable: usize) {
        inside(|_| Ok(()))
    }

    /// Forgets it.
    fn cuGraphDestroy(_graph: usize) {
        inside(|_| Ok(()))
    }
}
