// SPDX-License-Identifier: MIT OR Apache-2.0
//! The network stack without a network: TCP between two threads.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use machine_profile::Axis;
use measure::threads::duo;

use crate::entry::Entry;
use crate::session::{Outcome, Session, curve, time};

const SIZES: [u64; 8] = [1, 64, 1024, 8192, 65_536, 262_144, 1_048_576, 4_194_304];
const QUICK_SIZES: [u64; 3] = [64, 8192, 262_144];

/// The rows of this group.
pub(super) fn entries() -> Vec<Entry> {
    vec![
        Entry::new(
            "network/loopback",
            "TCP to 127.0.0.1 between two cores, half a round trip, over bytes",
            measure,
        )
        .quick()
        .two_ends(),
    ]
}

fn streams() -> std::io::Result<[TcpStream; 2]> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let one = TcpStream::connect(listener.local_addr()?)?;
    let (other, _) = listener.accept()?;
    one.set_nodelay(true)?;
    other.set_nodelay(true)?;
    Ok([one, other])
}

fn measure(session: &Session, name: &str) -> Outcome {
    let (places, spots) = session.two()?;
    let mut points = Vec::new();
    for bytes in session.sizes(&SIZES, &QUICK_SIZES) {
        let [mut lead, mut follow] = streams().map_err(|error| format!("127.0.0.1: {error}"))?;
        let mut room = [vec![1u8; bytes as usize], vec![1u8; bytes as usize]];
        let [mine, theirs] = &mut room;
        let plan = session.plan();
        let found = duo(
            spots,
            move |_| {
                let mut failed = None;
                let found = measure::sampling::sample(
                    &plan,
                    &mut |repetitions| {
                        time(repetitions, || {
                            let sent = lead.write_all(mine).and_then(|()| lead.read_exact(mine));
                            if let Err(error) = sent {
                                failed = Some(error);
                            }
                        }) / 2.0
                    },
                    // Both threads sleep in the kernel by design.
                    &|| 0,
                );
                // The other end reads the end of the stream.
                drop(lead);
                (found, failed)
            },
            move |_| {
                while follow.read_exact(theirs).is_ok() {
                    if follow.write_all(theirs).is_err() {
                        break;
                    }
                }
            },
        )?;
        match found {
            (found, None) => points.push((bytes, session.count(found))),
            (_, Some(error)) => return Err(format!("{bytes} bytes to 127.0.0.1: {error}")),
        }
    }
    curve(name, Axis::Bytes, Some(places), points)
}
