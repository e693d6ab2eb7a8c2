// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command.

use std::io::Write as _;

use measure::plot::{HeatMap, render};

use super::answer::Answer;
use super::options::{PlanOptions, Question};

/// Most ranks that a picture shows.
const MOST_IN_PICTURE: usize = 512;

/// Runs `rankpoint stencil`.
pub(crate) fn run(question: &Question) -> Result<(), String> {
    let Question::Plan(options) = question;
    let text = output(options)?;
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| format!("cannot write: {error}"))
}

fn output(options: &PlanOptions) -> Result<String, String> {
    let answer = Answer::new(options)?;
    if let Some(file) = &options.picture {
        let plan = &answer.rows[0].plan;
        if plan.ranks() > MOST_IN_PICTURE {
            return Err(format!(
                "--picture: {} ranks; expected at most {MOST_IN_PICTURE}",
                plan.ranks()
            ));
        }
        let names: Vec<String> = (0..plan.ranks())
            .map(|rank| format!("{} on {}", rank, plan.nodes()[rank]))
            .collect();
        let values = answer.matrix();
        let map = HeatMap {
            title: "bytes from each rank (on its node) to each other".to_owned(),
            names: names.iter().map(String::as_str).collect(),
            values: &values,
        };
        let picture = render(&map, map.size(), file)?;
        std::fs::write(file, picture).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    if options.json {
        return Ok(format!("{:#}\n", answer.json()));
    }
    Ok(answer.text())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: PlanOptions,
    }

    fn plan(arguments: &str) -> Result<String, String> {
        let words = std::iter::once("plan").chain(arguments.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        output(&line.options)
    }

    #[test]
    fn the_examples_of_the_page_are_what_is_printed() {
        let page = include_str!("../../../../docs/stencil.md");
        let mut examples = page.split("$ rankpoint stencil plan ").skip(1).peekable();
        assert!(examples.peek().is_some());
        for example in examples {
            let (arguments, rest) = example.split_once('\n').expect("a line of its own");
            let (expected, _) = rest.split_once("```").expect("an end");
            assert_eq!(plan(arguments).as_deref(), Ok(expected), "{arguments}");
        }
    }

    #[test]
    fn json_has_boxes_and_messages() {
        let text = plan("--grid 8,8,8 --nodes 2 --devices 2 --json").expect("a plan");
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let optimised = &json["plans"][0];
        assert_eq!(optimised["placement"], "optimised");
        assert_eq!(optimised["ranks"][3]["node"], 1);
        assert_eq!(json["plans"].as_array().map(Vec::len), Some(3));
        let sent: u64 = optimised["ranks"]
            .as_array()
            .expect("ranks")
            .iter()
            .flat_map(|rank| rank["messages"].as_array().expect("messages"))
            .filter_map(|message| message["bytes"].as_u64())
            .sum();
        let parts = ["own_bytes", "node_bytes", "network_bytes"];
        let all: u64 = parts
            .iter()
            .filter_map(|part| optimised[part].as_u64())
            .sum();
        assert_eq!(sent, all);
    }

    #[test]
    fn a_picture_is_written() {
        let name = format!("rankpoint-stencil-{}.svg", std::process::id());
        let file = std::env::temp_dir().join(name);
        plan(&format!(
            "--grid 8,8,8 --devices 4 --picture {}",
            file.display()
        ))
        .expect("a plan");
        let picture = std::fs::read_to_string(&file).expect("a file");
        assert!(picture.contains("<svg"));
        std::fs::remove_file(file).expect("a file of our own");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let error = |arguments: &str| plan(arguments).expect_err(arguments);
        assert!(error("--grid 8,8").contains("--grid 8,8: expected three numbers"));
        assert_eq!(plan("--grid 8x8x8"), plan("--grid 8,8,8"));
        assert!(error("--grid 8,8,8 --open w").contains("--open w"));
        assert!(error("--grid 8,8,8 --dims 2,2,2").contains("product of 1"));
        assert!(error("--grid 4,4,4 --devices 4 --radius 3").contains("at least 3x3x3"));
        assert!(error("--grid 8,8,8 --nodes 65536 --devices 2").contains("at most 65536 ranks"));
        assert!(error("--nodes 2").contains("--grid"));
        let large = error("--grid 300000,300000,300000 --bytes 1048576 --devices 8");
        assert!(large.contains("at most 676622540169 points"), "{large}");
        let many = error("--grid 99,99,99 --devices 513 --picture many.svg");
        assert!(many.contains("513 ranks"), "{many}");
    }
}
