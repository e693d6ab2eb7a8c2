// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a process finds its job: by `mpiexec`, by another launcher, or as a singleton.

use std::time::Duration;

use bootstrap::Member;
use fabric::board::{JOB_VARIABLE, phase};
use fabric::node::NodeHandle;
use fabric::segment::{self, SegmentPlan};
use sys::cores;
use sys::sync::Ordering;

use crate::errors::{self, Error, ErrorClass};
use crate::identity::PeerIndex;
use crate::settings::{self, Assigned, Assignment, Foreign, Rendezvous, Settings};

/// What a launcher assigns to this process, or a job of its own for a singleton; with what connects it with another launcher than ours.
pub(super) fn assign(
    settings: &Settings,
    warnings: &mut Vec<String>,
) -> Result<(Assigned, Option<&'static Member>), String> {
    let limit = Duration::from_secs(settings.bootstrap_timeout_s);
    match settings::job_from_environment()? {
        Assignment::Rank(assigned) => return Ok((assigned, None)),
        Assignment::StartedByRank(notice) => warnings.push(notice),
        Assignment::None => match settings::foreign_launcher()? {
            Foreign::Rank(access, is_only) => {
                let reserve = reserve(settings);
                match Member::join(&access, &settings.pmix_library, limit, reserve) {
                    Ok((member, file)) => {
                        // It stays until the process has ended: a launcher takes the end of the connection for a crash.
                        let member: &'static Member = Box::leak(Box::new(member));
                        let (rank, size) = (member.rank(), member.size());
                        let assigned = Assigned {
                            file,
                            rank,
                            size,
                            first: 0,
                        };
                        return Ok((assigned, Some(member)));
                    }
                    // The only process loses nothing.
                    Err(why) if is_only => warnings.push(format!("{why}; it runs as a singleton")),
                    Err(why) => return Err(why),
                }
            }
            Foreign::Singleton(warning) => warnings.push(warning),
            Foreign::Refused(why) => return Err(why),
            Foreign::None => {}
        },
    }
    singleton(settings).map(|assigned| (assigned, None))
}

fn singleton(settings: &Settings) -> Result<Assigned, String> {
    let plan = SegmentPlan {
        local_ranks: 1,
        job_ranks: 1,
        reserve: reserve(settings),
        cores: cores::usable_cores(),
        launcher_pid: 0,
    };
    Ok(Assigned {
        file: segment::create(&plan).map_err(|error| error.to_string())?,
        rank: 0,
        size: 1,
        first: 0,
    })
}

/// Processes that can be added to a job whose node segment this process makes.
fn reserve(settings: &Settings) -> u32 {
    u32::try_from(settings.reserve_processes).unwrap_or(u32::MAX)
}

/// Claims the board of the process that this one is.
///
/// # Errors
/// When the job has no such process, or another process is it.
pub(super) fn claim_board(
    node: &NodeHandle,
    first: u32,
    rank: u32,
    size: u32,
) -> errors::Result<PeerIndex> {
    let refuse = |text| Err(Error::new(ErrorClass::ERR_OTHER, text));
    let end = u64::from(first) + u64::from(size);
    if end > u64::from(node.processes()) {
        return refuse(format!(
            "this process belongs to processes {first}..{end} of a job of {}",
            node.processes()
        ));
    }
    let me = PeerIndex::new(first + rank);
    let (taken, pid) = (&node.board(me).pid, std::process::id());
    match taken.compare_exchange(0, pid, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => {
            let phase = &node.board(me).phase;
            phase.store(phase::INITIALIZING, Ordering::Relaxed);
            Ok(me)
        }
        Err(_) => refuse(format!(
            "rank {rank} of this job is another process already ({JOB_VARIABLE} says that it is this one)"
        )),
    }
}

/// Refuses a rank that starts long messages in another way than the other ranks of its node.
pub(super) fn agree_on_rendezvous(
    node: &NodeHandle,
    rank: PeerIndex,
    settings: &Settings,
) -> errors::Result<()> {
    let own = settings.rendezvous;
    let Err((other, value)) = node.header().agree(rank, own as u32) else {
        return Ok(());
    };
    let value = Rendezvous::from_number(value).map_or("damaged", Rendezvous::name);
    Err(Error::new(
        ErrorClass::ERR_OTHER,
        format!(
            "RANKPOINT_RENDEZVOUS is '{}' for rank {rank} and '{value}' for rank {other}, expected the same for all ranks",
            own.name()
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_with_another_setting_for_long_messages_than_the_first_is_refused_and_both_are_named()
    {
        let plan = SegmentPlan {
            local_ranks: 3,
            job_ranks: 3,
            reserve: 0,
            cores: 2,
            launcher_pid: 0,
        };
        let node = NodeHandle::attach(segment::create(&plan).unwrap()).unwrap();
        let agree = |rank, rendezvous| {
            let settings = Settings {
                rendezvous,
                ..Settings::default()
            };
            agree_on_rendezvous(&node, PeerIndex::new(rank), &settings)
        };
        assert!(agree(1, Rendezvous::Write).is_ok());
        assert!(agree(0, Rendezvous::Write).is_ok());
        for (rendezvous, name) in [(Rendezvous::Auto, "auto"), (Rendezvous::Read, "read")] {
            let text = agree(2, rendezvous).unwrap_err().to_string();
            let own = format!("'{name}' for rank 2");
            assert!(
                text.contains(&own) && text.contains("'write' for rank 1"),
                "{text}"
            );
        }
    }
}
