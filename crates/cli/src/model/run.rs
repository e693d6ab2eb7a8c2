// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command.

use std::io::Write as _;

use super::options::{ModelOptions, Question};
use super::{asked, calibrated, checked, shown, source, swept, traced, windows};

/// Runs `rankpoint model`.
pub(crate) fn run(options: &ModelOptions) -> Result<(), String> {
    let text = output(&options.question)?;
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| format!("cannot write: {error}"))
}

fn output(question: &Question) -> Result<String, String> {
    match question {
        Question::Show { common } => {
            let asked = source::read(common)?;
            let report = shown::show(&asked.model, &asked.values)?;
            Ok(asked.show(report, common.format))
        }
        Question::Predict { quantities, common } => {
            let asked = source::read(common)?;
            let report = asked::predict(&asked.model, &asked.values, quantities)?;
            Ok(asked.show(report, common.format))
        }
        Question::Whatif { set, of, common } => {
            let asked = source::read(common)?;
            let report = asked::what_if(&asked.model, &asked.values, set, of)?;
            Ok(asked.show(report, common.format))
        }
        Question::Need {
            components,
            gain,
            of,
            common,
        } => {
            let asked = source::read(common)?;
            let report = asked::need(&asked.model, &asked.values, (of, *gain), components)?;
            Ok(asked.show(report, common.format))
        }
        Question::Sensitivity { of, common } => {
            let asked = source::read(common)?;
            let report = asked::sensitivity(&asked.model, &asked.values, of)?;
            Ok(asked.show(report, common.format))
        }
        Question::Sweep(options) => swept::sweep(source::read(&options.common)?, options),
        Question::Window(options) => {
            let asked = source::read(&options.common)?;
            let report = windows::window(&asked.model, &asked.values, options)?;
            Ok(asked.show(report, options.common.format))
        }
        Question::Calibrate { output, measure } => {
            let mut calibration = calibrated::calibrate(measure, &calibrated::library(measure)?)?;
            let determined = calibrated::determined(&calibration)?;
            let Some(file) = output else {
                let lines = determined.iter().map(|line| format!("# {line}\n"));
                calibration.text.extend(lines);
                return Ok(calibration.text);
            };
            let shown = file.display();
            std::fs::write(file, &calibration.text)
                .map_err(|error| format!("cannot write {shown}: {error}"))?;
            Ok(format!(
                "The model is in {shown}; use it with --model {shown}\n{}\n",
                determined.join("\n")
            ))
        }
        Question::Check(options) => Ok(checked::check(options)?.show(options.format)),
        Question::Trace(options) => traced::trace(options),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: ModelOptions,
    }

    fn told(arguments: &str) -> Result<String, String> {
        let words = std::iter::once("model").chain(arguments.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        output(&line.options.question)
    }

    /// Examples of the page whose output depends on the node that runs them.
    const MEASURED: [&str; 3] = ["calibrate", "check", "trace"];

    #[test]
    fn the_examples_of_the_page_are_what_is_printed() {
        let page = include_str!("../../../../docs/models.md");
        let mut count = 0;
        for example in page.split("$ rankpoint model ").skip(1) {
            let (arguments, rest) = example.split_once('\n').expect("a line of its own");
            let (expected, _) = rest.split_once("```").expect("an end");
            if MEASURED.iter().any(|word| arguments.starts_with(word)) {
                continue;
            }
            assert_eq!(told(arguments).as_deref(), Ok(expected), "{arguments}");
            count += 1;
        }
        assert!(count >= 6, "{count}");
    }

    #[test]
    fn the_model_of_the_page_is_one() {
        let page = include_str!("../../../../docs/models.md");
        let (_, rest) = page.split_once("```toml\n").expect("a model");
        let (text, _) = rest.split_once("```").expect("an end");
        let model = models::Model::parse("page", text).expect("a model");
        assert_eq!(model.quantities().len(), 1);
    }

    #[test]
    fn json_has_all_digits_and_csv_a_line_for_each_gain() {
        let json = told("predict latency --format json").expect("a text");
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let row = &json["tables"][0]["rows"][0];
        let residual = row["residual"].as_f64().expect("a number");
        assert!((residual - 3.818_862_275).abs() < 1e-6, "{residual}");
        let csv = told("sweep PIO,Switch --reduce 50 --of latency --csv").expect("a text");
        assert_eq!(csv.lines().count(), 3);
        assert!(
            csv.lines()
                .any(|line| line.starts_with("latency,Switch,50,3.89")),
            "{csv}"
        );
        assert!(
            told("show --format markdown")
                .expect("a text")
                .contains("| PIO | 94.25 |")
        );
    }

    #[test]
    fn what_experiments_do_not_tell_apart_is_shown_as_one_lump() {
        let text = "name = 'x'\norigin = 'measured'\n[component]\nsoftware = { ns = 488.27, source = 'timer' }\nPCIe = { ns = 1 }\n\
             Wire = { ns = 1 }\nSwitch = { ns = 1 }\nother = { ns = 1 }\n[quantity.latency]\n\
             terms = ['software', '2 PCIe', 'Wire', 'Switch']\nobserved = 1387.02\n";
        let file = std::env::temp_dir().join(format!("rankpoint-lump-{}.toml", std::process::id()));
        std::fs::write(&file, text).expect("a file");
        let shown = told(&format!("show --model {}", file.display())).expect("a text");
        for line in [
            "Experiments determine rank 2 of 5 components.",
            "One lump, not told apart: 2 PCIe + Wire + Switch = 898.75 ns.",
            "No experiment tells: other.",
        ] {
            assert!(shown.contains(line), "{shown}");
        }
        let preset = told("show").expect("a text");
        assert!(
            preset.contains("components.\nExperiments disagree by "),
            "{preset}"
        );
        std::fs::remove_file(file).expect("a file of our own");
    }

    #[test]
    fn a_sweep_is_drawn_as_the_name_of_the_file_says() {
        let folder = std::env::temp_dir().join(format!("rankpoint-model-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let draw = |name: &str| {
            let file = folder.join(name);
            let text = told(&format!("sweep PIO --plot {}", file.display()));
            text.map(|_| std::fs::read(file).expect("a picture"))
        };
        assert!(draw("a.svg").expect("a picture").starts_with(b"<svg"));
        assert!(draw("a.png").expect("a picture").starts_with(b"\x89PNG"));
        let error = draw("a.gif").expect_err("no such picture");
        assert!(error.contains("expected a name in .svg or .png"), "{error}");
        std::fs::remove_dir_all(folder).expect("a folder of our own");
    }

    #[test]
    fn a_simulated_trace_gives_the_components_of_the_model_back() {
        let folder = std::env::temp_dir().join(format!("rankpoint-trace-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("pingpong.csv");
        let text = told("trace --simulate pingpong").expect("rows");
        std::fs::write(&file, text).expect("a file");
        let question = format!(
            "trace {} --completions 0x2000 --poll 61.63 --post 175.42",
            file.display()
        );
        let answer = told(&question).expect("components");
        for line in [
            "PCIe       137.49",
            "Network    382.81",
            "RC_to_MEM  240.96",
        ] {
            assert!(answer.contains(line), "{answer}");
        }
        std::fs::write(&file, told("trace --simulate injection").expect("rows")).expect("a file");
        let answer = told(&format!("trace {}", file.display())).expect("gaps");
        assert!(
            answer.contains(" 264.97 ") || answer.contains("outlier"),
            "{answer}"
        );
        std::fs::remove_dir_all(folder).expect("a folder of our own");
    }

    #[test]
    fn wrong_questions_tell_what_was_expected() {
        let error = |arguments: &str| told(arguments).expect_err(arguments);
        assert!(
            error("show --model none.toml").contains("expected a TOML file, or a preset: tx2-cx4")
        );
        assert!(error("whatif --set PIO=-3").contains("PIO=-3: expected NAME=VALUE"));
        assert!(error("whatif --set PI=3").contains("PI: no such component or sum: expected MD,"));
        assert!(error("predict rate").contains("rate: no such quantity: expected injection_llp,"));
        assert!(error("need PIO --gain 0% --of latency").contains("expected a gain above 0 %"));
        assert!(error("sweep PIO --reduce 101").contains("between 0 and 100"));
        assert!(error("show --given c").contains("expected NAME=NUMBER"));
        assert!(error("trace").contains("required"));
        assert!(error("trace none.csv").contains("cannot read none.csv"));
        assert!(error("trace x --completions y").contains("expected an address such as 0x2000"));
        assert!(error("check --runs 0").contains("--runs"));
        assert!(error("window --path Misc Misc Misc Nothing PCIe").contains("Nothing: no such"));
    }

    /// The profile of a made-up machine.
    const PROFILE: &str = r#"
schema = 1
created = "2026-01-31T12:00:00Z"
tool = "test"
mode = "quick"
[host]
cpu = "x"
architecture = "x86_64"
cores = 2
l3_bytes = 0
numa_nodes = 1
page_bytes = 4096
virtual = false
kernel = "6.1"
fingerprint = "FINGERPRINT"
[[curves]]
name = "line/payload"
axis = "bytes"
points = [{ x = 8, ns = 60, trimean = 60, mad = 1, n = 9, iid = true }, { x = 64, ns = 100, trimean = 100, mad = 1, n = 9, iid = true }]
[[curves]]
name = "mpi/latency"
axis = "bytes"
points = [{ x = 8, ns = 180, trimean = 180, mad = 1, n = 9, iid = true }, { x = 64, ns = 250, trimean = 250, mad = 1, n = 9, iid = true }]
[[costs]]
name = "mpi/window"
ns = 40
trimean = 40
mad = 1
n = 9
iid = true
"#;

    #[test]
    fn a_machine_profile_gives_components_and_a_foreign_one_is_refused() {
        let folder = std::env::temp_dir().join(format!("rankpoint-node-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("p.toml");
        // The file's own identity, which the error of a wrong one tells.
        let wrong = machine_profile::Profile::parse(PROFILE, &file).expect_err("no identity");
        let right = wrong.expected.split('\'').nth(1).expect("the identity");
        std::fs::write(&file, PROFILE.replace("FINGERPRINT", right)).expect("a file");
        let node = format!("--model node --profile {}", file.display());
        let refused = told(&format!("predict {node}")).expect_err("another machine");
        let here = ::scope::here().fingerprint();
        assert!(
            refused.contains(&format!("{right} there, {here} here")),
            "{refused}"
        );
        // The ping-pong of the profile feeds the model: it is shown, and not predicted.
        let text = told(&format!("predict {node} --foreign-profile")).expect("a text");
        assert!(
            text.contains("half_round_trip: its experiment, ping-pong, gave the component message"),
            "{text}"
        );
        let text = told(&format!("predict half_round_trip {node} --foreign-profile"));
        assert!(text.expect_err("a circle").contains("ping-pong"));
        let text = told(&format!("show {node} --foreign-profile")).expect("a text");
        assert!(text.contains("250"), "{text}");
        let sources = "wire (line/payload), message (mpi/latency), window (mpi/window).";
        assert!(text.contains(sources), "{text}");
        let large = told(&format!(
            "whatif --set wire=0.5x {node} --foreign-profile --given bytes=128"
        ));
        let large = large.expect("a text");
        assert!(
            large.contains("extrapolated: measured from 8 to 64 bytes"),
            "{large}"
        );
        let none = told(&format!("show --profile {}", file.display())).expect_err("not used");
        assert!(none.contains("expected one such as --model node"), "{none}");
        std::fs::remove_dir_all(folder).expect("a folder of our own");
    }
}
