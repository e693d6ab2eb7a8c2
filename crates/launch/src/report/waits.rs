// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conclusions from the state of a hanging job: ranks that wait in a cycle, or for a rank that does nothing for them.

use std::collections::BTreeMap;

use fabric::board::{kind, phase};

use super::depends;
use super::state::{RankState, belongs_to_collective, communicator_text, tag_text};

/// Sentences of each kind that are told.
const MAX_TOLD: usize = 4;

/// Conclusions from the ranks' states, one sentence each.
pub(crate) fn sentences(states: &[RankState]) -> Vec<String> {
    let mut sentences = Vec::new();
    let cycles = cycles(states);
    sentences.extend(
        cycles
            .iter()
            .take(MAX_TOLD)
            .map(|cycle| cycle_text(states, cycle)),
    );
    if cycles.iter().any(|cycle| is_collective(states, cycle)) {
        sentences.push(
            "RANKPOINT_CHECK=collectives names ranks whose collectives do not match".to_owned(),
        );
    }
    sentences.extend(waits_for_the_absent(states).take(MAX_TOLD));
    sentences.extend(needs_of_the_gone(states).take(MAX_TOLD));
    sentences.extend(mismatches(states).take(MAX_TOLD));
    let in_mpi = |state: &&RankState| {
        state.alive
            && state
                .board
                .as_ref()
                .is_some_and(|board| phase::is_in_mpi(board.phase))
    };
    let living: Vec<_> = states.iter().filter(in_mpi).collect();
    if sentences.is_empty() && living.len() > 1 && living.iter().all(|state| state.waits()) {
        sentences.push("every rank that is in MPI waits".to_owned());
    }
    sentences
}

/// Whether a rank of a cycle waits in a collective.
fn is_collective(states: &[RankState], cycle: &[usize]) -> bool {
    cycle.iter().any(|&rank| {
        depends::blocked(states, rank)
            .any(|(peer, record)| cycle.contains(&peer) && belongs_to_collective(record.match_word))
    })
}

/// Cycles of waiting ranks, each found once, starting at its lowest rank. A rank in MPI_Finalize is in none, because it
/// sends nothing more.
fn cycles(states: &[RankState]) -> Vec<Vec<usize>> {
    let mut cycles = Vec::new();
    let mut seen = vec![false; states.len()];
    for start in 0..states.len() {
        if seen[start] {
            continue;
        }
        // Depth-first, without recursion: the path, and for each of its ranks the peers still to look at.
        let active = |rank: usize| {
            let blocked = depends::blocked(states, rank).filter(|_| !states[rank].finalizes());
            peers(states, blocked.map(|(peer, _)| peer))
        };
        let mut path = vec![start];
        let mut todo = vec![active(start)];
        seen[start] = true;
        while let Some(next) = todo.last_mut().map(Vec::pop) {
            let Some(peer) = next else {
                todo.pop();
                path.pop();
                continue;
            };
            if let Some(at) = path.iter().position(|&rank| rank == peer) {
                let mut cycle = path[at..].to_vec();
                let lowest = cycle
                    .iter()
                    .enumerate()
                    .min_by_key(|&(_, &rank)| rank)
                    .map_or(0, |(index, _)| index);
                cycle.rotate_left(lowest);
                if !cycles.contains(&cycle) {
                    cycles.push(cycle);
                }
            } else if !seen[peer] {
                seen[peer] = true;
                path.push(peer);
                todo.push(active(peer));
            }
        }
    }
    cycles
}

/// Those of these ranks that there are, each once, the highest first.
fn peers(states: &[RankState], peers: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut peers: Vec<_> = peers.filter(|&peer| peer < states.len()).collect();
    peers.sort_unstable();
    peers.dedup();
    peers.reverse();
    peers
}

fn cycle_text(states: &[RankState], cycle: &[usize]) -> String {
    if let [rank] = cycle {
        return format!(
            "rank {rank} waits for itself: {}",
            step_text(states, *rank, *rank)
        );
    }
    let next = cycle.iter().cycle().skip(1);
    let steps: Vec<_> = cycle
        .iter()
        .zip(next)
        .map(|(&rank, &peer)| step_text(states, rank, peer))
        .collect();
    format!("ranks wait for each other in a cycle: {}", steps.join("; "))
}

fn step_text(states: &[RankState], rank: usize, peer: usize) -> String {
    let state = &states[rank];
    let Some((_, record)) = depends::blocked(states, rank).find(|&(to, _)| to == peer) else {
        return String::new();
    };
    let what = match record.kind {
        kind::RECEIVE_POSTED | kind::RECEIVE_ACTIVE | kind::PARTITIONED_RECEIVE | kind::PROBE => {
            "for a message from"
        }
        kind::ROUND | kind::COLLECTIVE => "for",
        _ => "to send to",
    };
    let tag = match tag_text(record.match_word).as_str() {
        "-" => String::new(),
        tag => format!(", tag {tag}"),
    };
    let communicator = communicator_text(state, record.match_word);
    let call = match depends::collective_of(state, record) {
        Some(collective) => format!("{} ({collective})", state.call()),
        None => state.call().to_owned(),
    };
    format!("{rank} waits in {call} {what} {peer} ({communicator}{tag})")
}

/// For each rank that does nothing for others: the ranks that wait for it.
fn waits_for_the_absent(states: &[RankState]) -> impl Iterator<Item = String> {
    let held_up = depends::held_up(states);
    let mut waiting: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (rank, state) in states.iter().enumerate() {
        for peer in peers(states, depends::awaited(state).map(|(peer, _)| peer)) {
            // Ranks in MPI_Finalize wait for each other until the last one comes. One that a collective keeps from coming
            // waits for a rank that is gone.
            let is_effect = state.finalizes() && (states[peer].finalizes() || held_up[peer]);
            if peer != rank && states[peer].absence().is_some() && !is_effect {
                waiting.entry(peer).or_default().push(rank);
            }
        }
    }
    waiting.into_iter().filter_map(|(peer, ranks)| {
        let how = states[peer].absence()?;
        let place = place_text(&states[ranks[0]], peer);
        let is_same = |&rank: &usize| place_text(&states[rank], peer) == place;
        let place = match ranks.iter().all(is_same) {
            true => place,
            false => String::new(),
        };
        let (ranks, verb) = ranks_text(&ranks, "waits", "wait");
        Some(format!(
            "{ranks} {verb}{place} for rank {peer}, which {how}"
        ))
    })
}

/// The call in which a rank waits for another one, and the collective whose request that call completes.
fn place_text(state: &RankState, peer: usize) -> String {
    let mut records = depends::awaited(state).filter(|&(to, _)| to == peer);
    match records.find_map(|(_, record)| depends::collective_of(state, record)) {
        Some(collective) => format!(" in {} ({collective})", state.call()),
        None => format!(" in {}", state.call()),
    }
}

/// Collectives that cannot end because a rank is gone, of ranks that test for them or compute.
fn needs_of_the_gone(states: &[RankState]) -> impl Iterator<Item = String> {
    let mut needs: BTreeMap<(usize, String), Vec<usize>> = BTreeMap::new();
    for (rank, state) in states
        .iter()
        .enumerate()
        .filter(|(_, state)| !state.waits())
    {
        for (peer, collective) in depends::collectives(state) {
            let ranks = needs.entry((peer, collective)).or_default();
            if !ranks.contains(&rank) {
                ranks.push(rank);
            }
        }
    }
    needs.into_iter().filter_map(|((peer, collective), ranks)| {
        let gone = states.get(peer).filter(|state| depends::is_gone(state))?;
        let how = gone.absence()?;
        let (ranks, verb) = ranks_text(&ranks, "needs", "need");
        Some(format!(
            "{ranks} {verb} rank {peer}, which {how}, for a collective in progress ({collective})"
        ))
    })
}

/// `rank 1` or `ranks 1, 2, 5`, and no more than a line; and the verb of one or of several.
fn ranks_text(ranks: &[usize], one: &'static str, several: &'static str) -> (String, &'static str) {
    const SHOWN: usize = 12;
    if let [rank] = ranks {
        return (format!("rank {rank}"), one);
    }
    let numbers: Vec<_> = ranks.iter().take(SHOWN).map(ToString::to_string).collect();
    let numbers = numbers.join(", ");
    let text = match ranks.len().checked_sub(SHOWN) {
        Some(more) if more > 0 => format!("ranks {numbers} and {more} more"),
        _ => format!("ranks {numbers}"),
    };
    (text, several)
}

/// Receives that wait while messages of the same sender lie there with another tag or communicator.
fn mismatches(states: &[RankState]) -> impl Iterator<Item = String> {
    states.iter().enumerate().filter_map(|(rank, state)| {
        let receives = depends::awaited(state).filter(|(_, record)| {
            matches!(record.kind, kind::RECEIVE_POSTED | kind::PROBE)
                && !belongs_to_collective(record.match_word)
        });
        let mut with_messages = receives.filter_map(|(peer, record)| {
            let sender = u32::try_from(peer).ok()?;
            state
                .unexpected
                .get(&sender)
                .map(|messages| (peer, record, messages))
        });
        with_messages.find_map(|(peer, record, messages)| {
            if messages
                .match_words
                .iter()
                .any(|&word| depends::matches(word, record.match_word))
            {
                return None;
            }
            let of_program = |word: &&u64| !belongs_to_collective(**word);
            let wanted = format!(
                "rank {rank} wants tag {} in {} from rank {peer}",
                tag_text(record.match_word),
                communicator_text(state, record.match_word),
            );
            // A message of MPI_Finalize or of a collective is told by what its sender waits for.
            let arrived = messages.match_words.iter().find(of_program)?;
            Some(format!(
                "{wanted}, but what has arrived from there has tag {} in {}",
                tag_text(*arrived),
                communicator_text(state, *arrived),
            ))
        })
    })
}
