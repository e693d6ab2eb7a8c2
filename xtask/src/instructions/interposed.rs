// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many more instructions calls take that pass through the interposing library with the layer `datatypes`.

use super::callgrind::{self, Costs, Job, Library};
use super::command::Count;
use crate::install::Profile;
use crate::shell;

/// A counted function of the program, and the most instructions more than without the library.
struct Row {
    name: &'static str,
    most: f64,
}

/// Of calls that the layer has no part in, and of those that complete requests while nothing is packed.
const PASSING: f64 = 12.0;
/// Of calls with data of a predefined type.
const PREDEFINED: f64 = 20.0;

#[rustfmt::skip]
const ROWS: &[Row] = &[
    row("comm_rank", PASSING),
    row("initialized", PASSING),
    row("bcast", PASSING),
    row("send", PREDEFINED),
    row("recv", PREDEFINED),
    row("sendrecv", PREDEFINED),
    row("sendrecv_replace", PREDEFINED),
    row("pack", PREDEFINED),
    row("unpack", PREDEFINED),
    row("isend", PREDEFINED),
    row("irecv", PREDEFINED),
    row("send_init", PREDEFINED),
    row("wait", PASSING),
    row("test", PASSING),
    row("waitall", PASSING),
    row("testany", PASSING),
    row("start", PASSING),
    row("request_free", PASSING),
];

const fn row(name: &'static str, most: f64) -> Row {
    Row { name, most }
}

const CALLS: &str = "64";
const SOURCE: &str = "tests/c/count_interposed.c";

impl Row {
    /// How many more a call takes.
    fn of(&self, plain: &Costs, interposed: &Costs) -> Result<f64, String> {
        Ok(interposed.per_call(self.name)? - plain.per_call(self.name)?)
    }
}

/// Prints the counts of a library.
pub(super) fn print(library: Option<&str>) -> Result<(), String> {
    let library = match library {
        Some(prefix) => callgrind::installed(prefix.as_ref(), prefix, SOURCE)?,
        None => callgrind::rankpoint(Profile::Release, SOURCE)?,
    };
    let (plain, interposed) = costs(library)?;
    shell::say("more instructions with the layer datatypes");
    for row in ROWS {
        let (count, most) = (row.of(&plain, &interposed)?, row.most);
        let cell = format!("{count:.1} of {most}");
        shell::say(&format!("{:<28}{cell:>18}", row.name));
    }
    Ok(())
}

/// The counts and budgets.
pub(super) fn count() -> Result<Vec<Count>, String> {
    let (plain, interposed) = costs(callgrind::rankpoint(Profile::Release, SOURCE)?)?;
    let count = |row: &Row| {
        Ok(Count {
            call: format!("{}, more with the layer datatypes", row.name),
            profile: Profile::Release,
            instructions: row.of(&plain, &interposed)?,
            budget: row.most,
            fails: true,
        })
    };
    ROWS.iter().map(count).collect()
}

/// What the functions cost without the interposing library, and with it.
fn costs(library: Library) -> Result<(Costs, Costs), String> {
    let job = Job {
        ranks: 1,
        arguments: &[CALLS],
        setting: None,
    };
    let plain = library.run(&job)?;
    Ok((
        plain,
        library.with_flags(&["--layers", "datatypes"]).run(&job)?,
    ))
}
