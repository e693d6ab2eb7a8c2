// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command.

use std::io::Write as _;

use super::options::Question;
use super::{bench, map, probe, recommend, show};
use crate::vci_plan::Plans;

/// Runs `rankpoint resources`.
pub(crate) fn run(question: &Question) -> Result<(), String> {
    let text = output(question)?;
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| format!("cannot write: {error}"))
}

fn output(question: &Question) -> Result<String, String> {
    match question {
        Question::Show(options) => show::output(options),
        Question::Map(options) => map::output(options),
        Question::Recommend(options) => recommend::output(options),
        Question::Plan(options) => {
            let plans = Plans::here(options.vcis, options.ranks)?;
            Ok(match options.json {
                true => format!("{:#}\n", plans.json()),
                false => plans.text(),
            })
        }
        Question::Probe(options) => probe::output(options),
        Question::Bench(options) => bench::output(options),
    }
}

/// A share as a percentage; whole percents where it is one.
pub(super) fn percent(share: f64) -> String {
    let percent = (share * 1e4).round() / 100.0;
    format!("{percent} %")
}

/// Bytes in KiB.
pub(super) fn kib(bytes: usize) -> String {
    format!("{} KiB", bytes / 1024)
}

/// `1 thread`, `2 threads`.
pub(super) fn plural(count: usize, what: &str) -> String {
    let more = if count == 1 { "" } else { "s" };
    format!("{count} {what}{more}")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        question: Question,
    }

    fn told(arguments: &str) -> Result<String, String> {
        let words = std::iter::once("resources").chain(arguments.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        output(&line.question)
    }

    /// Examples of the page whose output is the same on every computer.
    #[test]
    fn the_examples_of_the_page_are_what_is_printed() {
        let page = include_str!("../../../../docs/resources.md");
        let examples = page.split("$ rankpoint resources ").skip(1);
        let mut checked = 0;
        for example in examples {
            let (arguments, rest) = example.split_once('\n').expect("a line of its own");
            if ["probe", "plan"]
                .iter()
                .any(|name| arguments.starts_with(name))
            {
                continue;
            }
            let (expected, _) = rest.split_once("```").expect("an end");
            let found = told(arguments).unwrap_or_else(|error| format!("rankpoint: {error}\n"));
            assert_eq!(found, expected, "{arguments}");
            checked += 1;
        }
        assert!(checked >= 6, "{checked} examples");
    }

    #[test]
    fn what_is_wrong_is_told_with_what_was_expected() {
        let error = |line: &str| told(line).expect_err(line);
        assert!(error("show --threads 0").contains("expected a whole number from 1 to 65536"));
        assert!(
            error("show --threads 4 --driver old").contains("'old': expected legacy or dynamic")
        );
        assert_eq!(
            error("show --threads 4 --nic cx9"),
            "NIC profile 'cx9': expected connectx4, hfi160 or a file"
        );
        assert!(error("show --threads 4 --nic none.toml").contains("cannot read none.toml"));
        assert!(error("map --qps 4 --total 7").contains("7 uUARs: expected an even number"));
        assert!(error("map --qps 4 --low 16").contains("16 low-latency uUARs of 16"));
        assert!(error("map").contains("--qps or --tds"));
        let line = "recommend --threads 16 --min-throughput 101%";
        assert!(error(line).contains("expected a share such as 90%"));
        assert!(
            error("bench --share cq=3").contains("share cq=3: expected a divisor of 16 threads")
        );
        assert!(error("bench --share xq=2").contains("object 'xq': expected buf, ctx"));
        assert!(error("bench --without speed").contains("feature 'speed': expected postlist"));
        assert!(error("bench --threads 65").contains("expected a whole number from 1 to 64"));
        assert!(error("bench --nic hfi160").contains("hfi160: [timing]: missing"));
        assert!(error("bench --cq extended --share cq=2").contains("expected cq=1"));
        let line = "recommend --threads 16 --nic hfi160";
        assert!(error(line).contains("hfi160: [memory]: missing"));
    }

    #[test]
    fn answers_are_json_too() {
        let json = |line: &str| -> serde_json::Value {
            let text = told(&format!("{line} --json")).expect("an answer");
            serde_json::from_str(&text).expect("JSON")
        };
        let shown = json("show --threads 16");
        assert_eq!(shown["categories"][1]["category"], "2xDynamic");
        assert_eq!(shown["categories"][1]["uars"], 40);
        assert_eq!(
            shown["categories"][2]["throughput"]["origin"],
            "published kernel"
        );
        let map = json("map --qps 16");
        assert_eq!(map["collisions"], serde_json::json!([4, 15]));
        let run = json("bench --threads 4 --share cq=4");
        assert_eq!(
            (&run["completion_queues"], &run["clock"]),
            (&1.into(), &"virtual".into())
        );
        let kernel = json("bench --threads 2 --kernel");
        assert_eq!(kernel["kernel"][5]["wrong"], 0);
        let advice = json("recommend --threads 16 --min-throughput 95% --max-uars 32");
        assert_eq!(advice["found"], false);
        assert_eq!(advice["lacks"]["uars"], 8);
    }
}
