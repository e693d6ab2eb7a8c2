// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `cargo xtask instructions` prints, and the counts that `cargo xtask test` compares with the budgets.

use std::path::Path;

use super::callgrind::{self, Costs, Library};
use super::calls::{self, MODES, ROWS};
use super::{accounts, collectives, fortran, interposed, nulls, profiles, promises, windows};
use crate::install::{self, Profile};
use crate::{shell, tools};

const USAGE: &str = "instructions takes --fast, --peers, --collectives, --windows, --promises, --nulls, --fortran, --interposed, --account, --write, --profiles and --prefix DIR";

/// A count: the call's name, instructions, how many are allowed, and whether more fail.
pub(crate) struct Count {
    pub(crate) call: String,
    pub(crate) profile: Profile,
    pub(crate) instructions: f64,
    pub(crate) budget: f64,
    pub(crate) fails: bool,
}

/// Prints the counts of Rankpoint, with `--prefix` of one that is installed, with `--fast` also those of the library without
/// checks, with `--peers` those of others, with `--collectives` those of collectives, with `--windows` those
/// of one-sided operations, with `--promises` those of the calls of `mpi_rankpoint.h`, with `--nulls` those of each null request of an array,
/// with `--fortran` what calls take more from Fortran than from C, with `--interposed` what the interposing library adds, with `--account` what `rankpoint account` says,
/// with `--profiles` those of each build profile. With `--write` it only writes what `rankpoint account` says into its page.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let (mut fast, mut peers, mut prefix) = (false, false, None);
    let (mut collectives, mut windows, mut promises, mut nulls) = (false, false, false, false);
    let (mut fortran, mut interposed) = (false, false);
    let (mut account, mut write, mut all_profiles) = (false, false, false);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--fast" => fast = true,
            "--peers" => peers = true,
            "--collectives" => collectives = true,
            "--windows" => windows = true,
            "--promises" => promises = true,
            "--nulls" => nulls = true,
            "--fortran" => fortran = true,
            "--interposed" => interposed = true,
            "--account" => account = true,
            "--write" => write = true,
            "--profiles" => all_profiles = true,
            "--prefix" => prefix = Some(words.next().ok_or(USAGE)?),
            _ => return Err(format!("{word} is not understood: {USAGE}")),
        }
    }
    tools::need(&[tools::CC, tools::VALGRIND])?;
    if write {
        return accounts::write();
    }
    let library = match prefix {
        Some(prefix) => callgrind::installed(Path::new(prefix), prefix, calls::SOURCE)?,
        None => callgrind::rankpoint(Profile::Release, calls::SOURCE)?,
    };
    print(&library, true)?;
    if fast {
        let library = callgrind::rankpoint(Profile::ReleaseFast, calls::SOURCE)?;
        print_unchecked(&library)?;
    }
    if peers {
        for library in callgrind::peers(&install::into_target()?, calls::SOURCE)? {
            print(&library, false)?;
        }
    }
    if collectives {
        collectives::print()?;
    }
    if windows {
        windows::print()?;
    }
    if promises {
        promises::print()?;
    }
    if nulls {
        nulls::print(prefix.map(String::as_str))?;
    }
    if fortran {
        fortran::print(prefix.map(String::as_str))?;
    }
    if interposed {
        interposed::print(prefix.map(String::as_str))?;
    }
    if account {
        accounts::print()?;
    }
    if all_profiles {
        profiles::print()?;
    }
    Ok(())
}

/// Prints a row for each call and a column for each mode: the count, and the budget where there is one.
fn print(library: &Library, ours: bool) -> Result<(), String> {
    // Others have no such setting.
    let modes = || {
        let columns = MODES.iter().enumerate();
        columns.filter(|(_, mode)| ours || !mode.has_setting())
    };
    let names: String = modes()
        .map(|(_, mode)| format!("{:>23}", mode.name))
        .collect();
    shell::say(&format!("\n{:<24}{names}", library.name));
    let costs: Result<Vec<(usize, Costs)>, String> = modes()
        .map(|(column, mode)| Ok((column, calls::costs(library, mode)?)))
        .collect();
    let costs = costs?;
    let (_, costs_of_first) = &costs[0];
    let mut wrong = 0;
    for row in &ROWS {
        let mut line = format!("{:<24}", row.name());
        for (column, costs) in &costs {
            let count = row.of(costs)?;
            let cell = if ours {
                let budget = row.budget(*column, costs_of_first)?;
                let mark = match (count > budget.most, budget.fails) {
                    (false, _) => ' ',
                    (true, true) => {
                        wrong += 1;
                        '!'
                    }
                    (true, false) => '*',
                };
                format!("{count:.1} of {:.0} {mark}", budget.most)
            } else {
                format!("{count:.1}")
            };
            line += &format!("{cell:>23}");
        }
        shell::say(&line);
    }
    if ours {
        shell::say("! is over budget, * over a budget that does not fail yet");
    }
    match wrong {
        0 => Ok(()),
        _ => Err(format!("{wrong} counts are over budget")),
    }
}

fn print_unchecked(library: &Library) -> Result<(), String> {
    shell::say(&format!("\n{:<24}{:>23}", library.name, MODES[0].name));
    let costs = calls::costs(library, &MODES[0])?;
    for row in &ROWS {
        let budget = row
            .unchecked
            .map_or(String::new(), |most| format!(" of {most:.1}"));
        let cell = format!("{:.1}{budget}", row.of(&costs)?);
        shell::say(&format!("{:<24}{cell:>23}", row.name()));
    }
    Ok(())
}

/// The counts of the library, one for each budget; with `all` those of every build profile, and of the Rust API.
pub(crate) fn count(all: bool) -> Result<Vec<Count>, String> {
    let mut counts = Vec::new();
    let profiles: &[Profile] = match all {
        false => &[Profile::Release],
        true => &[
            Profile::Release,
            Profile::ReleaseFast,
            Profile::ReleaseSingle,
        ],
    };
    for &profile in profiles {
        let library = callgrind::rankpoint(profile, calls::SOURCE)?;
        counts.extend(least(|| calls::count(&library, profile))?);
    }
    counts.extend(least(collectives::count)?);
    counts.extend(least(windows::count)?);
    counts.extend(least(promises::count)?);
    counts.extend(least(nulls::count)?);
    counts.extend(least(fortran::count)?);
    counts.extend(least(interposed::count)?);
    counts.extend(least(accounts::count)?);
    if all {
        counts.extend(least(profiles::count)?);
    }
    Ok(counts)
}

/// How often counts over their budgets are taken again.
const MORE: usize = 2;

/// The least counts of several measurements, the later ones made while some are over their budgets: where other programs take the
/// cores, ranks look for messages more often and find rings full, and both add instructions.
fn least(measure: impl Fn() -> Result<Vec<Count>, String>) -> Result<Vec<Count>, String> {
    let mut counts = measure()?;
    for _ in 0..MORE {
        if !counts
            .iter()
            .any(|it| it.fails && it.instructions > it.budget)
        {
            break;
        }
        for (count, again) in counts.iter_mut().zip(measure()?) {
            if again.instructions < count.instructions {
                *count = again;
            }
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn measured(values: &[f64], budget: f64) -> (f64, usize) {
        let taken = Cell::new(0);
        let counts = least(|| {
            let instructions = values[taken.get()];
            taken.set(taken.get() + 1);
            Ok(vec![Count {
                call: String::new(),
                profile: Profile::Release,
                instructions,
                budget,
                fails: true,
            }])
        });
        (counts.unwrap()[0].instructions, taken.get())
    }

    #[test]
    fn counts_over_their_budget_are_taken_again() {
        assert_eq!(measured(&[9.0], 10.0), (9.0, 1));
        assert_eq!(measured(&[11.0, 10.0], 10.0), (10.0, 2));
        assert_eq!(measured(&[11.0, 13.0, 12.0], 10.0), (11.0, 3));
    }
}
