// SPDX-License-Identifier: MIT OR Apache-2.0
//! The thread that does accesses while the program computes: started at first need, with all signals blocked, one in a process. Accesses
//! are done in the order in which they were submitted, so one never waits for a later one.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, PoisonError};

use sys::signals;
use sys::sync::Mutex;

use crate::fault::Fault;

type Job = Box<dyn FnOnce() + Send>;

/// Where the thread gets its work; `None` before its start.
static JOBS: Mutex<Option<Sender<Job>>> = Mutex::new(None);

/// The result of an access that the thread does, once it is there.
pub struct Ticket<T>(Arc<Mutex<Option<T>>>);

impl<T> Ticket<T> {
    /// Takes the result if it is there.
    pub fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Has the thread do something; `ring` is called there after the result was stored.
///
/// # Errors
/// When no thread can be started.
pub fn submit<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
    ring: impl FnOnce() + Send + 'static,
) -> Result<Ticket<T>, Fault> {
    let place = Arc::new(Mutex::new(None));
    let ticket = Ticket(place.clone());
    let job: Job = Box::new(move || {
        let result = work();
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        ring();
    });
    let mut jobs = JOBS.lock().unwrap_or_else(PoisonError::into_inner);
    let sender = match &mut *jobs {
        Some(sender) => sender,
        none => none.insert(start()?),
    };
    sender.send(job).map_err(|_| Fault::NO_MEMORY)?;
    Ok(ticket)
}

fn start() -> Result<Sender<Job>, Fault> {
    let (sender, jobs) = channel::<Job>();
    let thread = std::thread::Builder::new().name("rankpoint-file".to_owned());
    signals::without_signals(|| thread.spawn(move || jobs.iter().for_each(|job| job())))?;
    Ok(sender)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_there_when_the_bell_rings_and_come_in_order() {
        let (bell, rung) = channel();
        let tickets: Vec<_> = (0..100)
            .map(|number| {
                let bell = bell.clone();
                submit(move || number, move || bell.send(number).unwrap()).unwrap()
            })
            .collect();
        for (number, ticket) in tickets.iter().enumerate() {
            assert_eq!(rung.recv(), Ok(number));
            assert_eq!(ticket.take(), Some(number));
            assert_eq!(ticket.take(), None);
        }
    }
}
