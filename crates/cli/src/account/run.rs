// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command.

use std::path::PathBuf;

use account::attribution::Account;
use measure::output::{print, write};
use measure::settings;

use super::calls::{CALLS, Call, Level};
use super::driver::Driver;
use super::options::AccountOptions;
use super::report::{self, Counted};
use super::sources::Sources;
use super::{plot, text};

/// Runs `rankpoint account`.
pub(crate) fn run(options: &AccountOptions) -> Result<(), String> {
    let prefix = prefix(options)?;
    let counted = count(options, &prefix)?;
    if let Some(file) = &options.plot {
        write(file, &plot::draw(&counted, file)?)?;
    }
    if options.json {
        return print(&report::json(&prefix, &counted)?);
    }
    print(&text::tables(&counted, options.markdown))?;
    if options.lines {
        print(&text::lines(&counted))?;
    }
    Ok(())
}

/// Where the library to account for is installed.
fn prefix(options: &AccountOptions) -> Result<PathBuf, String> {
    if let Some(prefix) = &options.prefix {
        let told = |error| format!("--prefix {}: {error}", prefix.display());
        return std::path::absolute(prefix).map_err(told);
    }
    let folder = settings::library_folder();
    let prefix = folder.as_deref().and_then(|folder| folder.parent());
    let prefix = prefix.ok_or("no library is installed with this program: say --prefix DIR")?;
    Ok(prefix.to_owned())
}

/// The accounts of all calls at all levels.
fn count(options: &AccountOptions, prefix: &std::path::Path) -> Result<Vec<Counted>, String> {
    let mut sources = Sources::open(&prefix.join("lib").join(settings::LIBRARY))?;
    let driver = Driver::compile(prefix)?;
    let levels = match options.level.as_slice() {
        [] => &[Level::Single, Level::Multiple],
        levels => levels,
    };
    let is_wanted = |call: &&Call| options.all || options.calls.contains(&call.group);
    let mut all = Vec::new();
    for &level in levels {
        let trace = driver.run(level)?;
        for call in CALLS.iter().filter(is_wanted) {
            let mut find = |object: &str, address| sources.find(object, address);
            all.push(Counted {
                call,
                level,
                account: Account::new(&trace, call.counted, &mut find)?,
            });
        }
        sources.check_lines()?;
    }
    Ok(all)
}
