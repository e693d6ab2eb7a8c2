// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which processors each rank gets.

use crate::LaunchError;
use crate::claim::{self, Claim};
use crate::plan::{Binding, CoreOrder};
use crate::settings;
use crate::topology;

/// The processors of all ranks.
#[derive(Debug)]
pub(crate) struct Places {
    /// One set a rank; empty when nothing is bound.
    pub(crate) sets: Vec<Vec<u32>>,
    /// Whether ranks share cores, and that ends when the load is uneven.
    pub(crate) loose: bool,
    /// Whether nobody asked for the binding, so that it may end ([`crate::load`]).
    pub(crate) automatic: bool,
    /// Processors that the ranks may use together.
    pub(crate) cores: u32,
    /// Claims that keep other jobs away from them.
    _claims: Vec<Claim>,
}

impl Places {
    /// The processors that ranks could use and none is bound to, if all are bound.
    pub(crate) fn spare(&self, usable: &[u32]) -> Vec<u32> {
        if self.loose || self.sets.is_empty() {
            return Vec::new();
        }
        let is_taken = |processor: &u32| self.sets.iter().any(|set| set.contains(processor));
        usable
            .iter()
            .copied()
            .filter(|processor| !is_taken(processor))
            .collect()
    }

    /// The bits of rank `rank`'s processors, as the kernel takes them.
    pub(crate) fn mask(&self, rank: u32) -> Option<Vec<u64>> {
        let set = self.sets.get(rank as usize)?;
        let last = set.iter().max()?;
        let mut words = vec![0u64; *last as usize / 64 + 1];
        for processor in set {
            words[*processor as usize / 64] |= 1 << (processor % 64);
        }
        Some(words)
    }

    /// The binding of rank `rank` as text.
    pub(crate) fn text(&self, rank: u32) -> String {
        match self.sets.get(rank as usize) {
            None => "not bound".to_owned(),
            Some(set) => {
                let numbers: Vec<_> = set.iter().map(ToString::to_string).collect();
                let end = if self.loose {
                    " while the load is even"
                } else {
                    ""
                };
                format!("bound to processor {}{end}", numbers.join(", "))
            }
        }
    }
}

/// Chooses processors for `ranks` ranks.
///
/// # Errors
/// When cores were asked for that do not exist or that the launcher may not use.
pub(crate) fn choose(
    binding: &Binding,
    order: CoreOrder,
    ranks: u32,
) -> Result<Places, LaunchError> {
    // Containers limit time as well as processors.
    let cores = sys::cores::usable_cores();
    let unbound = Places {
        sets: Vec::new(),
        loose: false,
        automatic: false,
        cores,
        _claims: Vec::new(),
    };
    match (binding, topology::may_bind()) {
        (Binding::None, _) | (Binding::Automatic { .. }, Err(_)) => Ok(unbound),
        (_, Ok(())) => choose_among_all(binding, order, ranks, unbound),
        (_, Err(error)) => Err(LaunchError::system("bind ranks to cores", &error.into())),
    }
}

/// Where ranks may be bound.
fn choose_among_all(
    binding: &Binding,
    order: CoreOrder,
    ranks: u32,
    unbound: Places,
) -> Result<Places, LaunchError> {
    let processors = topology::usable_processors();
    let ordered = |each| ordered_cores(&processors, order, each);
    let cores = unbound.cores;
    match binding {
        Binding::None => Ok(unbound),
        // One rank has nobody to keep away from its core, and may have threads that want all of them.
        Binding::Automatic { .. } if ranks == 1 => Ok(unbound),
        Binding::Automatic { cores_each } if ranks > cores => {
            let each = cores_each.or_else(settings::threads_per_rank).unwrap_or(1);
            let all = ordered(each);
            // With processors that a container gives no time for, or threads beside the ranks, the kernel knows better.
            let loose = cores as usize >= all.len() && all.len() > 1 && each == 1;
            Ok(if loose {
                Places {
                    sets: all.into_iter().cycle().take(ranks as usize).collect(),
                    loose,
                    automatic: true,
                    ..unbound
                }
            } else {
                unbound
            })
        }
        Binding::Automatic { cores_each } => {
            let each = cores_each
                .or_else(settings::threads_per_rank)
                .unwrap_or(1)
                .max(1);
            let all = ordered(each);
            // Two jobs that start at the same time must not end up on the same cores while others idle.
            let (free, claims) = claim::free_cores(all, each.saturating_mul(ranks));
            Ok(spread(&free, ranks, each).map_or(unbound, |sets| Places {
                sets,
                loose: false,
                automatic: true,
                cores,
                _claims: claims,
            }))
        }
        Binding::Core { cores_each } => {
            let all = ordered(*cores_each);
            match spread(&all, ranks, *cores_each) {
                Some(sets) => {
                    let wanted = ranks * cores_each;
                    let own = all.into_iter().take(wanted as usize).collect();
                    let (_, claims) = claim::free_cores(own, wanted);
                    Ok(Places {
                        sets,
                        loose: false,
                        automatic: false,
                        cores,
                        _claims: claims,
                    })
                }
                None => Err(LaunchError::usage(format!(
                    "--bind-to core wants {} for each of {ranks} ranks, but this process may use {}; \
                     leave the flag out to run them all the same",
                    match cores_each {
                        1 => "a core".to_owned(),
                        cores => format!("{cores} cores"),
                    },
                    match all.len() {
                        1 => "one only".to_owned(),
                        cores => cores.to_string(),
                    }
                ))),
            }
        }
        Binding::User(list) => user(list, ranks, &processors),
    }
}

/// The usable cores in the order in which ranks with `each` of them get them.
fn ordered_cores(processors: &[u32], order: CoreOrder, each: u32) -> Vec<Vec<u32>> {
    let cores = topology::usable_cores(processors);
    match order {
        CoreOrder::Filled => cores,
        CoreOrder::Sockets => topology::round_sockets(cores, each),
    }
}

/// `each` neighbouring cores for each rank, or `None` when there are not enough.
fn spread(cores: &[Vec<u32>], ranks: u32, each: u32) -> Option<Vec<Vec<u32>>> {
    let each = each as usize;
    let needed = each.checked_mul(ranks as usize)?;
    let sets = (needed <= cores.len()).then(|| cores.chunks(each).take(ranks as usize));
    sets.map(|sets| sets.map(<[Vec<u32>]>::concat).collect())
}

fn user(list: &[Vec<u32>], ranks: u32, processors: &[u32]) -> Result<Places, LaunchError> {
    if let Some(processor) = list
        .iter()
        .flatten()
        .find(|processor| !processors.contains(processor))
    {
        return Err(LaunchError::usage(format!(
            "--bind-to user names processor {processor}, which does not exist here or may not be used"
        )));
    }
    let sets: Vec<_> = list.iter().cycle().take(ranks as usize).cloned().collect();
    let mut together = sets.concat();
    together.sort_unstable();
    together.dedup();
    let cores = u32::try_from(together.len())
        .unwrap_or(u32::MAX)
        .min(sys::cores::usable_cores());
    Ok(Places {
        sets,
        loose: false,
        automatic: false,
        cores,
        _claims: Vec::new(),
    })
}

/// The list of `--bind-to user:LIST`: one entry per rank, separated by commas; `a-b` is a range, `a+b` joins.
///
/// # Errors
/// When it is no such list.
pub(crate) fn parse_list(list: &str) -> Result<Vec<Vec<u32>>, LaunchError> {
    let entries: Option<Vec<_>> = list.split(',').map(entry).collect();
    entries.ok_or_else(|| {
        LaunchError::usage(format!(
            "--bind-to user wants processor numbers such as user:0,2,4-5,6+8, but got '{list}'"
        ))
    })
}

/// Numbers such as `3`, `4-7` or `0+2`; `None` if it is none of these.
pub(crate) fn entry(text: &str) -> Option<Vec<u32>> {
    let mut set = Vec::new();
    for part in text.split('+') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= 1 << 20 {
            return None;
        }
        set.extend(first..=last);
    }
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_get_cores_while_cores_suffice() {
        let cores = [vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]];
        assert_eq!(spread(&cores, 3, 1).unwrap(), [[0, 4], [1, 5], [2, 6]]);
        assert_eq!(spread(&cores, 2, 2).unwrap(), [[0, 4, 1, 5], [2, 6, 3, 7]]);
        assert_eq!(spread(&cores, 5, 1), None);
        assert_eq!(spread(&cores, 2, 3), None);
        assert!(
            choose(&Binding::Core { cores_each: 1 }, CoreOrder::Filled, 100_000)
                .unwrap_err()
                .text
                .contains("100000 ranks")
        );
        let places = choose(&Binding::default(), CoreOrder::Filled, 100_000).unwrap();
        assert_eq!(places.loose, !places.sets.is_empty());
        if places.loose {
            assert_eq!(places.sets.len(), 100_000);
            assert_ne!(places.sets[0], places.sets[1]);
            assert!(places.text(0).ends_with("while the load is even"));
        }
    }

    #[test]
    fn user_lists_repeat_and_are_checked() {
        let list = parse_list("0,2-3,4+6").unwrap();
        assert_eq!(list, [vec![0], vec![2, 3], vec![4, 6]]);
        let places = user(&list, 4, &[0, 2, 3, 4, 6]).unwrap();
        assert_eq!(places.sets[3], [0]);
        assert_eq!(places.mask(1), Some(vec![0b1100]));
        assert_eq!(places.spare(&[0, 2, 3, 4, 5, 6, 7]), [5, 7]);
        let unbound = choose(&Binding::None, CoreOrder::Filled, 4).unwrap();
        assert!(unbound.spare(&[0, 1]).is_empty());
        assert!(user(&list, 4, &[0, 2, 3, 4]).is_err());
        for bad in ["", "x", "3-1", "1,,2", "0-99999999"] {
            assert!(parse_list(bad).is_err(), "{bad}");
        }
    }
}
