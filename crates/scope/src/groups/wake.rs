// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waking a thread that waits in the kernel.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use measure::threads::{CacheLine, Spot, duo, sample_here};
use rustix::event::{EventfdFlags, eventfd};

use crate::entry::Entry;
use crate::session::{Outcome, Session, cost, time};
use crate::sync::{AtomicU32, Ordering};

/// Longest sleep without a wake-up; a lost one would be a fault of the kernel, and this bounds it.
const LONG: Duration = Duration::from_secs(1);
/// How long a core sleeps before it is woken in the entries `idle`.
const IDLE: Duration = Duration::from_millis(1);

/// What a thread waits on, in one direction.
trait Bell: Send + Sync + Sized {
    fn new() -> io::Result<Self>;
    fn ring(&self);
    /// Waits for a ring that was not waited for yet.
    fn wait(&self);
}

struct Futex(AtomicU32);

impl Bell for Futex {
    fn new() -> io::Result<Self> {
        Ok(Self(AtomicU32::new(0)))
    }

    fn ring(&self) {
        // PAIRS: scope_wake.rung
        self.0.store(1, Ordering::Release);
        sys::futex::wake_all(&self.0);
    }

    fn wait(&self) {
        // PAIRS: scope_wake.rung
        while self.0.load(Ordering::Acquire) == 0 {
            sys::futex::wait(&self.0, 0, LONG);
        }
        self.0.store(0, Ordering::Relaxed);
    }
}

struct Event(OwnedFd);

impl Bell for Event {
    fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC)?))
    }

    fn ring(&self) {
        // A counter takes every small number, so this cannot fail.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    fn wait(&self) {
        let _ = rustix::io::read(&self.0, &mut [0u8; 8]);
    }
}

/// Two ends of a byte stream: where bytes are read, and where they are written.
struct Stream(OwnedFd, OwnedFd);

impl Stream {
    fn ring(&self) {
        // One byte always has room; an end that is gone is noticed by the other thread's end.
        let _ = rustix::io::write(&self.1, &[1]);
    }

    fn wait(&self) {
        let _ = rustix::io::read(&self.0, &mut [0u8; 1]);
    }
}

struct Pipe(Stream);

impl Bell for Pipe {
    fn new() -> io::Result<Self> {
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        Ok(Self(Stream(read, write)))
    }

    fn ring(&self) {
        self.0.ring();
    }

    fn wait(&self) {
        self.0.wait();
    }
}

struct Sockets(Stream);

impl Bell for Sockets {
    fn new() -> io::Result<Self> {
        let (one, other) = std::os::unix::net::UnixStream::pair()?;
        Ok(Self(Stream(one.into(), other.into())))
    }

    fn ring(&self) {
        self.0.ring();
    }

    fn wait(&self) {
        self.0.wait();
    }
}

struct Condition(Mutex<bool>, Condvar);

impl Bell for Condition {
    fn new() -> io::Result<Self> {
        Ok(Self(Mutex::new(false), Condvar::new()))
    }

    fn ring(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.1.notify_one();
    }

    fn wait(&self) {
        let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let woken = self.1.wait_while(guard, |rung| !*rung);
        *woken.unwrap_or_else(PoisonError::into_inner) = false;
    }
}

/// The rows of this group.
pub(super) fn entries() -> Vec<Entry> {
    let mut entries = Vec::new();
    rows::<Futex>(&mut entries, "futex", true);
    rows::<Event>(&mut entries, "eventfd", false);
    rows::<Pipe>(&mut entries, "pipe", false);
    rows::<Sockets>(&mut entries, "socketpair", false);
    rows::<Condition>(&mut entries, "condvar", false);
    entries.push(
        Entry::new(
            "wake/yield",
            "sched_yield with nobody to yield to",
            |session, name| {
                let sample = session.sample(&session.plan(), |repetitions| {
                    time(repetitions, sys::cores::yield_core)
                });
                Ok(vec![cost(name, sample)])
            },
        )
        .quick(),
    );
    entries.push(Entry::new(
        "wake/yield-to",
        "sched_yield between two threads of one core, half a round trip",
        yield_to,
    ));
    entries.push(Entry::new(
        "wake/membarrier",
        "a barrier in all threads",
        |session, name| {
            if !sys::barrier::register() {
                return Err("the kernel has no membarrier".to_owned());
            }
            let sample = session.sample(&session.plan(), |repetitions| {
                time(repetitions, || {
                    let _ = sys::barrier::everywhere();
                })
            });
            Ok(vec![cost(name, sample)])
        },
    ));
    entries
}

fn rows<B: Bell + 'static>(entries: &mut Vec<Entry>, kind: &str, is_quick: bool) {
    let other = Entry::new(
        format!("wake/{kind}/other-core"),
        format!("{kind}: half a round trip between two cores"),
        |session, name| {
            let (_, spots) = session.two()?;
            round_trip::<B>(session, name, spots)
        },
    );
    let same = Entry::new(
        format!("wake/{kind}/same-core"),
        format!("{kind}: half a round trip between two threads of one core"),
        |session, name| {
            let core = session.cores()[0];
            round_trip::<B>(session, name, [Spot { core }; 2])
        },
    );
    let idle = Entry::new(
        format!("wake/{kind}/idle-core"),
        format!(
            "{kind}: waking a thread on another core that has slept for a millisecond, one way"
        ),
        idle::<B>,
    );
    entries.push(other.quick_if(is_quick).two_ends());
    entries.push(same.quick_if(is_quick));
    entries.push(idle.quick_if(is_quick).two_ends());
}

fn bells<B: Bell>() -> Result<[B; 2], String> {
    let bell = || B::new().map_err(|error| error.to_string());
    Ok([bell()?, bell()?])
}

fn round_trip<B: Bell>(session: &Session, name: &str, spots: [Spot; 2]) -> Outcome {
    let [there, back] = bells::<B>()?;
    let (there, back) = (&there, &back);
    let plan = session.plan();
    let found = duo(
        spots,
        |[to, _]| {
            let found = measure::sampling::sample(
                &plan,
                &mut |repetitions| {
                    time(repetitions, || {
                        there.ring();
                        back.wait();
                    }) / 2.0
                },
                // Two threads of one core take it from each other by design.
                &|| 0,
            );
            to.end();
            there.ring();
            found
        },
        |[from, _]| {
            loop {
                there.wait();
                if from.has_ended() {
                    return;
                }
                back.ring();
            }
        },
    )?;
    Ok(vec![cost(name, session.count(found))])
}

fn idle<B: Bell>(session: &Session, name: &str) -> Outcome {
    let (_, spots) = session.two()?;
    let [there, back] = bells::<B>()?;
    let (there, back) = (&there, &back);
    let base = Instant::now();
    let woken = CacheLine::default();
    let woken = &woken;
    let mut plan = session.plan();
    // Each repetition sleeps for a millisecond, so a value has one.
    plan.value_ns = 1.0;
    plan.most = plan.most.min(100);
    let found = duo(
        spots,
        |[to, _]| {
            let found = measure::sampling::sample(
                &plan,
                &mut |repetitions| {
                    let mut whole = 0.0;
                    for _ in 0..repetitions {
                        std::thread::sleep(IDLE);
                        let start = base.elapsed().as_nanos() as u64;
                        there.ring();
                        back.wait();
                        whole += woken.number().saturating_sub(start) as f64;
                    }
                    whole.max(1.0)
                },
                &|| 0,
            );
            to.end();
            there.ring();
            found
        },
        |[from, _]| {
            loop {
                there.wait();
                woken.publish(base.elapsed().as_nanos() as u64);
                if from.has_ended() {
                    return;
                }
                back.ring();
            }
        },
    )?;
    Ok(vec![cost(name, session.count(found))])
}

fn yield_to(session: &Session, name: &str) -> Outcome {
    let core = session.cores()[0];
    let found = duo(
        [Spot { core }; 2],
        |[to, from]| {
            let mut number = 1;
            let plan = session.plan();
            sample_here(&plan, |repetitions| {
                time(repetitions, || {
                    number += 1;
                    to.publish(number);
                    while from.number() != number {
                        sys::cores::yield_core();
                    }
                }) / 2.0
            })
        },
        |[from, to]| {
            while !from.has_ended() {
                // Nothing before the first number: the leader may not have seen yet that this thread is there.
                if from.number() != 0 {
                    to.publish(from.number());
                }
                sys::cores::yield_core();
            }
        },
    )?;
    Ok(vec![cost(name, session.count(found))])
}
