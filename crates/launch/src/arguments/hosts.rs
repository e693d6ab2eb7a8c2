// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of hosts and their slots: lists on the command line, host files, node lists of Slurm.

use std::ffi::OsStr;
use std::net::{IpAddr, UdpSocket};

use crate::{LaunchError, notices, settings};

/// Hosts that a list of brackets may stand for.
const MOST_HOSTS: usize = 1 << 16;

/// A host that ranks may run on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Host {
    /// Its name; this node has its own name, whatever it was called.
    pub(crate) name: String,
    /// How many ranks it was said to take; 1 for each mention where nothing was said.
    pub(crate) slots: u32,
}

/// Hosts such as `a,b:4,node[01-16]:2`.
///
/// # Errors
/// When a part is no host, or there is none.
pub(crate) fn parse_list(flag: &OsStr, text: &str) -> Result<Vec<Host>, LaunchError> {
    let mut hosts = Vec::new();
    for part in split(text).map(str::trim).filter(|part| !part.is_empty()) {
        let parsed = host_and_slots(part).and_then(|(name, slots)| Some((expand(name)?, slots)));
        let Some((names, slots)) = parsed else {
            return Err(LaunchError::usage(format!(
                "{} wants hosts such as a,b:4 or node[01-16]:2, but got '{part}'",
                flag.display()
            )));
        };
        hosts.extend(names.into_iter().map(|name| (name, slots)));
    }
    if hosts.is_empty() {
        let text = format!("{} names no host", flag.display());
        return Err(LaunchError::usage(text));
    }
    Ok(merged(hosts))
}

/// The hosts in a file: one a line, the first word, `#` for comments; `slots=4` may stand behind it.
///
/// # Errors
/// When the file cannot be read, a line begins with no host, or there is none.
pub(crate) fn read_file(file: &OsStr) -> Result<Vec<Host>, LaunchError> {
    let text = sys::files::read_text(file).map_err(|error| {
        let file = file.display();
        LaunchError::usage(format!("cannot read the host file {file}: {error}"))
    })?;
    let mut hosts = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default();
        let line: String = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = line
            .replace(" = ", "=")
            .replace(" =", "=")
            .replace("= ", "=");
        let mut words = line.split(' ');
        let Some(first) = words.next().filter(|word| !word.is_empty()) else {
            continue;
        };
        let told = words.find_map(|word| word.strip_prefix("slots="));
        let slots = told.map(|slots| slots.parse().ok().filter(|&slots| slots > 0));
        let parsed = host_and_slots(first).and_then(|(name, own)| Some((expand(name)?, own)));
        let (Some((names, own)), Some(slots)) = (parsed, slots.unwrap_or(Some(0))) else {
            return Err(LaunchError::usage(format!(
                "{}, line {number}: expected a host such as a, a:4 or a slots=4, but got '{line}'",
                file.display()
            )));
        };
        let slots = if slots > 0 { slots } else { own };
        hosts.extend(names.into_iter().map(|name| (name, slots)));
    }
    if hosts.is_empty() {
        let text = format!("the host file {} names no host", file.display());
        return Err(LaunchError::usage(text));
    }
    Ok(merged(hosts))
}

/// The nodes of an allocation of Slurm (`n[1-3,7],login`), with as many slots as tasks (`2(x3),1`); `None` when the texts are
/// no such lists.
pub(crate) fn of_slurm(nodes: &str, tasks: Option<&str>) -> Option<Vec<Host>> {
    let lists: Option<Vec<_>> = split(nodes).map(expand).collect();
    let names = lists?.concat();
    let mut slots = Vec::new();
    for part in tasks.into_iter().flat_map(|tasks| tasks.split(',')) {
        let (count, times) = part.split_once("(x").unwrap_or((part, "1)"));
        let count: u32 = count.trim().parse().ok()?;
        let times: usize = times.strip_suffix(')')?.parse().ok()?;
        slots.extend(std::iter::repeat_n(count, times.min(MOST_HOSTS)));
    }
    let slots = slots.into_iter().chain(std::iter::repeat(1));
    Some(merged(names.into_iter().zip(slots).collect()))
}

/// Whether a name is this node's.
pub(crate) fn is_here(name: &str) -> bool {
    let own = notices::host_name();
    let short = own.split('.').next().unwrap_or_default();
    // PRRTE calls the first host of an allocation +n0.
    ["localhost", "127.0.0.1", "::1", "+n0", &own, short].contains(&name)
        || settings::slurm_node().is_some_and(|node| node == name)
        // Only an address of this node can be bound.
        || name
            .parse::<IpAddr>()
            .is_ok_and(|address| UdpSocket::bind((address, 0)).is_ok())
}

/// Each host once, with the slots of all mentions.
fn merged(named: Vec<(String, u32)>) -> Vec<Host> {
    let mut hosts: Vec<Host> = Vec::new();
    for (name, slots) in named {
        let name = match is_here(&name) {
            true => notices::host_name(),
            false => name,
        };
        match hosts.iter_mut().find(|host| host.name == name) {
            Some(host) => host.slots = host.slots.saturating_add(slots),
            None => hosts.push(Host { name, slots }),
        }
    }
    hosts
}

/// `a:4` as a name and a number; 1 without one. A number above 0 stands behind the colon.
fn host_and_slots(text: &str) -> Option<(&str, u32)> {
    // Addresses have colons: [fe80::1]:4, or no number at all.
    if text.parse::<IpAddr>().is_ok() {
        return Some((text, 1));
    }
    match text.rsplit_once(':') {
        None => Some((text, 1)),
        Some((name, slots)) if !name.is_empty() => {
            let slots = slots.parse().ok().filter(|&slots| slots > 0)?;
            Some((name, slots))
        }
        Some(_) => None,
    }
}

/// Parts between commas that are not in brackets.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0i32;
    text.split(move |letter| {
        depth += i32::from(letter == '[') - i32::from(letter == ']');
        letter == ',' && depth == 0
    })
}

/// The names that `node[01-03,7]-ib[0-1]` stands for; an address in brackets is itself. `None` when it is neither these nor a
/// name.
fn expand(text: &str) -> Option<Vec<String>> {
    let inner = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    if let Some(address) = inner.filter(|inner| inner.parse::<IpAddr>().is_ok()) {
        return Some(vec![address.to_owned()]);
    }
    let is_name = |part: &str| {
        // A name that begins with a dash would be a flag of the launcher command.
        part.chars()
            .all(|letter| letter.is_alphanumeric() || "-_.+@%:".contains(letter))
    };
    let Some((before, rest)) = text.split_once('[') else {
        let fits = is_name(text) && !text.is_empty() && !text.starts_with('-');
        return fits.then(|| vec![text.to_owned()]);
    };
    let (list, after) = rest.split_once(']')?;
    let ends = match after {
        "" => vec![String::new()],
        _ if after.contains('[') => expand(after)?,
        _ => is_name(after).then(|| vec![after.to_owned()])?,
    };
    let mut names = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let digits = first.len();
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        let count = last.checked_sub(first)?.checked_add(1)?;
        if names.len() + count.checked_mul(ends.len())? > MOST_HOSTS {
            return None;
        }
        for number in first..=last {
            let name = |end: &String| format!("{before}{number:0digits$}{end}");
            names.extend(ends.iter().map(name));
        }
    }
    let fits = is_name(before) && !before.starts_with('-');
    fits.then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<(String, u32)> {
        let hosts = parse_list("-hosts".as_ref(), text).unwrap();
        hosts
            .into_iter()
            .map(|host| (host.name, host.slots))
            .collect()
    }

    fn named(hosts: &[(&str, u32)]) -> Vec<(String, u32)> {
        hosts
            .iter()
            .map(|&(name, slots)| (name.to_owned(), slots))
            .collect()
    }

    #[test]
    fn lists_name_hosts_and_slots() {
        let own = notices::host_name();
        assert_eq!(list("a,b:4, c"), named(&[("a", 1), ("b", 4), ("c", 1)]));
        assert_eq!(list("a,b,a:2"), named(&[("a", 3), ("b", 1)]));
        assert_eq!(list("localhost:2,127.0.0.1"), [(own, 3)]);
        assert_eq!(
            list("n[08-10]:2"),
            named(&[("n08", 2), ("n09", 2), ("n10", 2)])
        );
        assert_eq!(
            list("[2001:db8::7]:3,2001:db8::8"),
            named(&[("2001:db8::7", 3), ("2001:db8::8", 1)])
        );
        for bad in [
            "",
            ",",
            "a:",
            "a:x",
            "a:0",
            ":4",
            "n[1",
            "n[2-1]",
            "n[x]",
            "a b",
            "-oProxyCommand=x",
            "n[0-999999999]",
        ] {
            let error = parse_list("-hosts".as_ref(), bad).unwrap_err();
            assert!(error.text.starts_with("-hosts"), "{bad}: {}", error.text);
        }
    }

    #[test]
    fn node_lists_of_slurm_are_expanded() {
        let of = |nodes, tasks| -> Vec<(String, u32)> {
            let hosts = of_slurm(nodes, tasks).unwrap();
            hosts
                .into_iter()
                .map(|host| (host.name, host.slots))
                .collect()
        };
        assert_eq!(
            of("q[1-2,5]", Some("2(x2),1")),
            named(&[("q1", 2), ("q2", 2), ("q5", 1)])
        );
        assert_eq!(
            of("qa,qb[07-08]-x", None),
            named(&[("qa", 1), ("qb07-x", 1), ("qb08-x", 1)])
        );
        assert_eq!(of("r[1-2]c[0-1]", Some("4(x4)")).len(), 4);
        assert_eq!(of_slurm("n[1-", Some("2")), None);
        assert_eq!(of_slurm("n1", Some("2(3)")), None);
    }
}
