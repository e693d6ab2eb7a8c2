// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command.

use std::io::Write as _;

use commplan::Plan;

use super::answer::Answer;
use super::options::CommplanOptions;
use super::table::{Language, Map};

/// Runs `rankpoint commplan`.
pub(crate) fn run(options: &CommplanOptions) -> Result<(), String> {
    let text = output(options)?;
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| format!("cannot write: {error}"))
}

fn output(options: &CommplanOptions) -> Result<String, String> {
    let grid = options.grid()?;
    let plan = |kind| Plan::new(&grid, kind, options.tag_ub).map_err(|error| error.to_string());
    let language = match (options.rust, options.c) {
        (true, _) => Some(Language::Rust),
        (_, true) => Some(Language::C),
        _ => None,
    };
    if let (Some(language), Some(kind)) = (language, options.plan) {
        return Ok(Map::of(&plan(kind)?)?.table(language));
    }
    let answer = Answer::new(&grid, options)?;
    if !options.json {
        return Ok(answer.text());
    }
    let mut all = answer.json();
    if let Some(kind) = options.plan {
        all["map"] = Map::of(&plan(kind)?)?.json();
    }
    Ok(format!("{all:#}\n"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: CommplanOptions,
    }

    fn told(arguments: &str) -> Result<String, String> {
        let words = std::iter::once("commplan").chain(arguments.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        output(&line.options)
    }

    fn error(arguments: &str) -> String {
        told(arguments).expect_err(arguments)
    }

    #[test]
    fn the_examples_of_the_page_are_what_is_printed() {
        let page = include_str!("../../../../docs/commplan.md");
        let mut examples = page.split("$ rankpoint commplan ").skip(1).peekable();
        assert!(examples.peek().is_some());
        for example in examples {
            let (arguments, rest) = example.split_once('\n').expect("a line of its own");
            let (expected, _) = rest.split_once("```").expect("an end");
            assert_eq!(told(arguments).as_deref(), Ok(expected), "{arguments}");
        }
    }

    #[test]
    fn wrong_grids_are_refused() {
        let of = |threads, procs, more: &str| {
            error(&format!("--threads {threads} --procs {procs} {more}"))
        };
        assert!(of("4,4,4", "2,2", "--stencil 27").contains("processes: 2 given"));
        assert!(of("4,4", "2,2", "--stencil 27").contains("threads: 2 given"));
        assert!(of("4,0", "2,2", "--stencil 5").contains("0 along y"));
        assert!(of("4,4", "2,2", "--stencil 6").contains("expected 5 or 9 points"));
        assert!(of("4,4", "2,3", "--stencil 5 --periodic").contains("needs a third class"));
        assert!(of("4,4", "2,2", "--stencil 5 --periodic=z").contains("periodic along z"));
        assert!(
            of("4,4", "2,2", "--stencil 5 --periodic=w").contains("'w': expected axes such as x,y")
        );
        assert!(of("4,4", "2,2", "--stencil 5 --rust").contains("--plan"));
        assert!(error("--procs 2,2 --stencil 5").contains("--threads"));
        let tags = of("8,8", "2,2", "--stencil 5 --plan tag --tag-ub 4095");
        assert!(tags.contains("tags need 14 bits"), "{tags}");
        assert!(of("4,4,4", "2,2,2", "--stencil 7 --plan merged").contains("no plan 'merged'"));
    }

    #[test]
    fn a_plan_that_was_not_named_is_told_as_refused() {
        let text = told("--threads 4,4,4 --procs 2,2,2 --stencil 27").expect("a text");
        assert!(text.contains("\ntag: tags need 17 bits"), "{text}");
        assert!(text.contains("\nmerged: no plan 'merged'"), "{text}");
        let text = told("--threads 4,4 --procs 3,3 --stencil 5 --periodic --third-class");
        assert!(text.expect("a text").contains("agree"));
    }

    #[test]
    fn times_are_those_of_the_profile_and_a_foreign_one_is_refused() {
        let name = format!("rankpoint-commplan-{}.toml", std::process::id());
        let file = std::env::temp_dir().join(name);
        let mut profile = machine_profile::Profile::new(::scope::here());
        let curve = |ns: f64, x: u64| machine_profile::Point {
            x,
            sample: machine_profile::Sample {
                ns,
                trimean: ns,
                mad: 1.0,
                n: 9,
                iid: true,
            },
        };
        profile.curves.push(machine_profile::Curve {
            name: super::super::MESSAGES.to_owned(),
            axis: machine_profile::Axis::Bytes,
            from: None,
            to: None,
            points: vec![curve(100.0, 8), curve(800.0, 64)],
        });
        profile.write(&file).expect("a file");
        // Two by two threads: two faces of eight cells leave on each of the four sides of an interior process.
        let line = "--threads 2,2 --procs 3,1 --stencil 5 --size 8,16 --plan endpoint --profile";
        let line = format!("{line} {}", file.display());
        let text = told(&format!("{line} --periodic=x --third-class")).expect("a text");
        let rows = |name: &str| {
            let row = text.lines().find_map(|line| line.trim().strip_prefix(name));
            let row = row.unwrap_or_else(|| panic!("{name} in {text}"));
            row.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(rows("a face"), ["0.80", "1.60*"]);
        assert_eq!(rows("all, by one thread"), ["6.40", "12.80*"]);
        assert_eq!(rows("endpoint, 4 at once"), ["1.60", "3.20*"]);
        assert!(text.contains("* extrapolated"), "{text}");
        let json = told(&format!("{line} --periodic=x --third-class --json")).expect("JSON");
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(json["times"]["rows"][0]["extrapolated"][1], true);
        profile.host.cores += 1;
        profile.write(&file).expect("a file");
        let refused = error(&line);
        assert!(
            refused.contains(": host.cores: the profile of another "),
            "{refused}"
        );
        let place = format!("{}:", file.display());
        let line_number = refused
            .split(&place)
            .nth(1)
            .and_then(|rest| rest.split(':').next());
        assert!(
            line_number.is_some_and(|number| number.parse::<u32>().is_ok()),
            "{refused}"
        );
        told(&format!("{line} --foreign-profile")).expect("a text");
        profile.curves.clear();
        profile.write(&file).expect("a file");
        let missing = error(&format!("{line} --foreign-profile"));
        assert!(missing.contains("no curve 'mpi/latency'"), "{missing}");
        std::fs::remove_file(file).expect("a file of our own");
    }

    /// The tables of a small grid, compiled.
    #[expect(unreachable_pub, reason = "the tables are for other crates")]
    mod table {
        include!("table-example.txt");
    }

    #[test]
    fn tables_compile_and_both_ends_are_in_them() {
        let line = "--threads 2,2 --procs 2,1 --stencil 5 --plan edge --periodic=x";
        let text = told(&format!("{line} --rust"));
        assert_eq!(text.as_deref(), Ok(include_str!("table-example.txt")));
        let extents = (table::PROCESSES_ALONG, table::THREADS_ALONG);
        assert_eq!(extents, ([2, 1, 1], [2, 2, 1]));
        assert_eq!((table::POINTS, table::PERIODIC_ALONG), (5, [1, 0, 0]));
        let mut messages = 0;
        for process in 0..table::PROCESSES {
            for thread in 0..table::THREADS {
                for direction in 0..table::DIRECTIONS {
                    let row = table::ROW_OF_PROCESS[process] as usize;
                    let sent = table::SEND[row][thread][direction];
                    if sent < 0 {
                        continue;
                    }
                    messages += 1;
                    assert_eq!(table::STEP[direction][1..], [0, 0]);
                    let other = table::ROW_OF_PROCESS[1 - process] as usize;
                    let back = table::DIRECTIONS - 1 - direction;
                    assert_eq!(sent, table::RECEIVE[other][thread ^ 1][back]);
                }
            }
        }
        assert_eq!((messages, table::COMMUNICATORS, table::ROWS), (8, 4, 2));
        let c = told(&format!("{line} --c")).expect("a table");
        assert!(
            c.contains(
                "COMMPLAN_SEND[COMMPLAN_ROWS][COMMPLAN_THREADS][COMMPLAN_DIRECTIONS] = {{{-1,"
            ),
            "{c}"
        );
    }

    #[test]
    fn json_has_all_numbers_and_the_map() {
        let line = "--threads 3,3 --procs 2,2 --stencil 5 --periodic --contexts 4 --json";
        let of = |more: &str| {
            let text = told(&format!("{line} {more}")).expect("JSON");
            serde_json::from_str::<serde_json::Value>(&text).expect("JSON")
        };
        let all = of("");
        assert_eq!(all["leaving"]["all"], 12);
        assert_eq!(all["lower_bound"], 8);
        assert_eq!(all["plans"].as_array().map(Vec::len), Some(5));
        assert_eq!(all["plans"][0]["exposed"]["independent"], 3);
        assert!(all["map"].is_null());
        let edge = of("--plan edge");
        assert_eq!(edge["plans"][0]["objects"], 12);
        assert_eq!(edge["plans"][0]["checked"]["messages"], 4 * 12);
        let map = &edge["map"];
        assert_eq!(map["rows_of_processes"], serde_json::json!([0, 1, 2, 3]));
        // The right neighbour of process 0 receives what thread 2 sends to the right.
        let sent = &map["send"][0][2][2];
        assert!(sent.is_u64());
        assert_eq!(*sent, map["receive"][1][0][1]);
        assert!(map["send"][0][4][0].is_null());
    }
}
