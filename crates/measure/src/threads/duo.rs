// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two threads on two cores.

use super::line::CacheLine;
use crate::sampling::{Plan, Sampled, disturbance, sample};

/// A core that a thread is bound to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Spot {
    /// The system's number of the processor.
    pub core: u32,
}

/// Binds the calling thread.
///
/// # Errors
/// When the system refuses.
pub fn bind(core: u32) -> Result<(), String> {
    if sys::cores::run_on(&[core]) {
        Ok(())
    } else {
        Err(format!(
            "the system refuses to bind a thread to core {core}"
        ))
    }
}

/// Runs `lead` on one core and `follow` on another, both at the same time; gives what `lead` gives. When `lead` has ended, the line
/// `ends[0]` ends, by which `follow` knows that it is over; a follower that ends early ends `ends[1]`.
pub fn duo<T: Send>(
    [lead_spot, follow_spot]: [Spot; 2],
    lead: impl FnOnce(&[CacheLine; 2]) -> T + Send,
    follow: impl FnOnce(&[CacheLine; 2]) + Send,
) -> Result<T, String> {
    let ends = [CacheLine::default(), CacheLine::default()];
    let lines = &ends;
    std::thread::scope(|scope| {
        let follower = scope.spawn(move || {
            let bound = bind(follow_spot.core);
            if bound.is_ok() {
                lines[1].publish(1);
                follow(lines);
            }
            lines[1].end();
            bound
        });
        let leader = scope.spawn(move || {
            let bound = bind(lead_spot.core);
            let found = match (bound, lines[1].next(0)) {
                (Ok(()), Ok(_)) => Ok(lead(lines)),
                (Err(refused), _) => Err(refused),
                (_, Err(_)) => Err("the other thread has ended".to_owned()),
            };
            lines[0].end();
            found
        });
        let found = joined(leader.join())?;
        joined(follower.join())?;
        Ok(found)
    })
}

/// Samples on a thread of a pair; a value around which the system took the core away, moved the thread or gave it pages is dropped.
pub fn sample_here(plan: &Plan, mut timed: impl FnMut(u64) -> f64) -> Sampled {
    sample(plan, &mut timed, &disturbance)
}

/// What a thread gave.
fn joined<T>(outcome: std::thread::Result<Result<T, String>>) -> Result<T, String> {
    outcome.unwrap_or_else(|_| Err("a measuring thread ended early".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_meet_and_the_follower_ends_with_the_leader() {
        let core = sys::cores::usable_processors()[0];
        let spots = [Spot { core }; 2];
        let found = duo(
            spots,
            |[to, from]| {
                to.publish(7);
                from.wait_for(8);
                5
            },
            |[from, to]| {
                let mut last = 0;
                while let Ok(number) = from.next(last) {
                    last = number;
                    to.publish(number + 1);
                }
            },
        );
        assert_eq!(found, Ok(5));
    }

    #[test]
    fn cores_that_do_not_exist_are_named() {
        let first = sys::cores::usable_processors()[0];
        let spots = [Spot { core: first }, Spot { core: 8000 }];
        let refused = duo(spots, |_| (), |_| ());
        assert!(refused.is_err());
        let refused = duo([spots[1], spots[0]], |_| (), |_| ());
        assert!(refused.unwrap_err().contains("core 8000"));
    }
}
