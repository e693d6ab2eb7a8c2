// SPDX-License-Identifier: MIT OR Apache-2.0
//! The examples of docs/mini-apps.md.

/// The command line of a program's example, and the lines that the page says it prints.
pub(crate) fn example(program: &str) -> (&'static str, Vec<&'static str>) {
    let page = include_str!("../../../../docs/mini-apps.md");
    let mut rest = page.split("$ mpiexec -n ").skip(1);
    let found = rest.find_map(|rest| {
        let (_, rest) = rest.split_once(" target/release/")?;
        rest.strip_prefix(program)?.strip_prefix(' ')
    });
    let (example, _) = found.unwrap().split_once("```").unwrap();
    let (line, printed) = example.split_once('\n').unwrap();
    (line, exact(printed))
}

/// The lines of a report without times.
pub(crate) fn exact(text: &str) -> Vec<&str> {
    let is_time = |line: &&str| line.starts_with("real");
    text.lines().filter(|line| !is_time(line)).collect()
}
