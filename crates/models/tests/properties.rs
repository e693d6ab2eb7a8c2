// SPDX-License-Identifier: MIT OR Apache-2.0
//! What holds of every change: a what-if is the model computed anew, gains add up, sensitivities are derivatives.

#![expect(clippy::expect_used, reason = "a failure fails the test")]

use models::{Change, Error, Model, Need, preset};
use proptest::prelude::*;

fn published() -> Model {
    preset("tx2-cx4").expect("a preset")
}

/// The text of a model with some components of other values.
fn text(values: &[f64; 4]) -> String {
    let [a, b, c, d] = values;
    format!(
        "name = 'x'\n[parameter]\nW = 4\n[component]\na = {{ ns = {a:?} }}\nb = {{ ns = {b:?} }}\nc = {{ ns = {c:?} }}\nd = {{ ns = {d:?} }}\n\
         [sum]\nab = ['a', '2 b']\n[quantity.t]\nterms = ['max(ab, 3 c)', 'd / W', '0.5 a']\n"
    )
}

proptest! {
    #[test]
    fn a_what_if_is_the_model_computed_anew(
        values in prop::array::uniform4(0.1..1000.0_f64), factor in 0.0..2.0_f64, new in 0.0..500.0_f64
    ) {
        let model = Model::parse("x", &text(&values)).expect("a model");
        let changes = [Change::scaled("ab", factor), format!("d={new:?}").parse().expect("a change")];
        let gain = model.what_if(&model.values(), "t", &changes).expect("names");
        let [a, b, c, _] = values;
        let anew = Model::parse("x", &text(&[a * factor, b * factor, c, new])).expect("a model");
        let expected = anew.value("t", &anew.values()).expect("a quantity");
        prop_assert!((gain.after_ns - expected).abs() <= 1e-9 * expected.max(1.0));
        let before = (a + 2.0 * b).max(3.0 * c) + values[3] / 4.0 + 0.5 * a;
        prop_assert!((gain.before_ns - before).abs() <= 1e-9 * before);
    }

    #[test]
    fn gains_of_disjoint_parts_add_up_where_components_do_not_overlap(r in 0.0..100.0_f64) {
        let model = published();
        let values = model.values();
        let gain = |part: &str| model.sweep(&values, "latency", part, &[r]).expect(part)[0];
        let parts = gain("CPU") + gain("IO") + gain("Network");
        prop_assert!((parts - r).abs() < 1e-9);
    }

    #[test]
    fn elasticities_are_derivatives(values in prop::array::uniform4(0.1..1000.0_f64)) {
        let model = Model::parse("x", &text(&values)).expect("a model");
        let base = model.values();
        let [a, b, c, _] = values;
        // At a corner there is no derivative.
        prop_assume!((a + 2.0 * b - 3.0 * c).abs() > 1.0);
        for row in model.sensitivity(&base, "t").expect("a quantity") {
            let change = Change::scaled(&row.component, 1.0 + 1e-6);
            let gain = model.what_if(&base, "t", &[change]).expect("names");
            let slope = (gain.after_ns / gain.before_ns - 1.0) / 1e-6;
            prop_assert!((slope - row.elasticity).abs() < 1e-4, "{}: {slope}", row.component);
        }
    }

    #[test]
    fn what_is_needed_gives_the_gain(percent in 0.1..60.0_f64, values in prop::array::uniform4(0.1..1000.0_f64)) {
        let model = Model::parse("x", &text(&values)).expect("a model");
        let base = model.values();
        let reached = |reduction: f64| model.sweep(&base, "t", "ab", &[reduction]).expect("names")[0];
        match model.need(&base, "t", percent, "ab").expect("names") {
            Need::Reduction(reduction) => prop_assert!((reached(reduction) - percent).abs() < 1e-6),
            Need::Cannot(_) => prop_assert!(reached(100.0) < percent),
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,200}") {
        drop(Model::parse("x", &text));
        drop(Model::parse("x", &format!("name = 'x'\n[sum]\na = ['{text}']")));
        drop(text.parse::<Change>());
    }
}

fn error(text: &str) -> String {
    Model::parse("m.toml", text).expect_err(text).to_string()
}

/// What follows the head of a file, and what is told of it.
const WRONG: [(&str, &str); 19] = [
    (
        "b = { ns = -3 }",
        "m.toml:4: component.b.ns: -3: expected a finite number, 0 or larger",
    ),
    (
        "b = { ns = nan }",
        "m.toml:4: component.b.ns: nan: expected a finite number, 0 or larger",
    ),
    (
        "b = { }",
        "m.toml:4: component.b.ns: missing: expected a finite number, 0 or larger",
    ),
    (
        "b = { ns = 'x' }",
        "m.toml:4: component.b.ns: the text \"x\": expected a finite number, 0 or larger",
    ),
    (
        "b = { ns = 1, source = 'guess' }",
        "m.toml:4: component.b.source: 'guess': expected one of timer, trace, difference, amortised, assumed",
    ),
    (
        "b = { ns = 1, sdd = 1 }",
        "m.toml:4: component.b.sdd: unknown key: expected one of ns, bytes,",
    ),
    (
        "max = { ns = 1 }",
        "component.max: max: expected a name of letters",
    ),
    (
        "b = { ns = [1, 2], bytes = [2, 1] }",
        "component.b.bytes: other numbers: expected growing",
    ),
    (
        "b = { ns = [1], bytes = [2, 1] }",
        "component.b.ns: 1 numbers: expected 2 numbers",
    ),
    (
        "b = { difference = 'a - c' }",
        "m.toml:4: component.b: c: expected a component, sum or quantity",
    ),
    (
        "b = { difference = 'a - 2 a' }",
        "component.b.difference: -1: expected a difference of at least 0",
    ),
    (
        "[sum]\ns = ['a', 'q']",
        "m.toml:5: sum: q: expected a component, sum or quantity",
    ),
    (
        "[sum]\ns = ['t']\nt = ['2 s']",
        "sum: s -> t -> s: expected terms that do not lead back to it",
    ),
    (
        "[sum]\ns = ['a +']",
        "m.toml:5: sum.s: 'a +': expected a number, a name or a parenthesis at the end",
    ),
    (
        "[sum]\na = ['1']",
        "m.toml:5: sum: a: expected another name: component.a has it",
    ),
    (
        "[quantity.t]\nterms = []",
        "m.toml:5: quantity.t.terms: none: expected at least one term",
    ),
    (
        "[quantity.t]\nterms = ['a']\nobserved = 0",
        "m.toml:6: quantity.t.observed: 0: expected a number above 0",
    ),
    ("b = {", "m.toml:4: file: "),
    (
        "[other]",
        "m.toml:4: other: unknown key: expected one of name,",
    ),
];

#[test]
fn wrong_files_are_refused_with_line_key_and_what_was_expected() {
    let head = "name = 'x'\n[component]\na = { ns = 1 }\n";
    for (rest, told) in WRONG {
        let text = format!("{head}{rest}\n");
        let found = error(&text);
        assert!(found.contains(told), "{rest}: {found}");
    }
    assert!(error("").contains("name: missing: expected a text in quotes"));
}

#[test]
fn sums_of_sums_that_explode_are_refused() {
    let mut text = "name = 'x'\n[component]\ns0 = { ns = 1 }\n[sum]\n".to_owned();
    for level in 1..64 {
        let below = level - 1;
        text += &format!("s{level} = ['s{below}', 's{below}']\n");
    }
    assert!(error(&text).contains("expected at most 100000 terms"));
}

#[test]
fn a_quantity_whose_experiment_gave_a_component_is_not_predicted() {
    let text = "name = 'x'\n[component]\na = { ns = 1, experiment = 'ping-pong' }\nb = { ns = 2, experiment = 'isend' }\n\
                [quantity.t]\nterms = ['a', 'b']\nexperiment = 'ping-pong'\n[quantity.u]\nterms = ['b']\nexperiment = 'ping-pong'\n";
    let model = Model::parse("x", text).expect("a model");
    let circular = model.independent("t").expect_err("circular");
    assert!(matches!(&circular, Error::Circular { component, .. } if component == "a"));
    assert!(model.independent("u").is_ok());
    let unknown = model.independent("v").expect_err("unknown").to_string();
    assert_eq!(unknown, "v: no such quantity: expected t, u");
}

#[test]
fn sizes_that_were_not_measured_are_marked() {
    let text = "name = 'x'\n[parameter]\nbytes = 8\n[component]\ncopy = { bytes = [8, 64], ns = [1, 8] }\n[quantity.t]\nterms = ['copy']\n";
    let model = Model::parse("x", text).expect("a model");
    let at = |bytes: f64| {
        model
            .values_given(&[("bytes".to_owned(), bytes)])
            .expect("a parameter")
    };
    assert_eq!(model.value("t", &at(36.0)), Ok(4.5));
    assert!(
        model
            .extrapolated("t", &at(64.0))
            .expect("a quantity")
            .is_empty()
    );
    assert_eq!(model.extrapolated("t", &at(128.0)), Ok(vec!["copy"]));
    assert_eq!(model.value("t", &at(128.0)), Ok(16.0));
}

#[test]
fn a_curve_may_lie_over_any_parameter() {
    let text = |over: &str| {
        format!(
            "name = 'x'\n[parameter]\nbytes = 8\nW = 4\n[component]\n\
             windows = {{ over = '{over}', points = [1, 4, 16], ns = [100, 160, 640], sd = [1, 2, 3] }}\n\
             [quantity.t]\nterms = ['windows / W']\n"
        )
    };
    let model = Model::parse("x", &text("W")).expect("a model");
    let at = |window: f64| {
        let given = [("W".to_owned(), window)];
        model.values_given(&given).expect("a parameter")
    };
    assert_eq!(model.value("t", &model.values()), Ok(40.0));
    assert_eq!(model.value("t", &at(10.0)), Ok(40.0));
    assert_eq!(model.value("t", &at(32.0)), Ok(40.0));
    assert_eq!(model.extrapolated("t", &at(32.0)), Ok(vec!["windows"]));
    assert_eq!(model.sd_ns("windows", &at(1.0)), Ok(Some(1.0)));
    let windows = model
        .components()
        .iter()
        .find(|row| row.name() == "windows");
    assert_eq!(windows.and_then(|row| row.range()), Some(("W", 1.0, 16.0)));
    let error = Model::parse("x", &text("depth")).expect_err("no such parameter");
    assert_eq!(
        error.to_string(),
        "x:6: component.windows.over: depth: expected a parameter"
    );
}

#[test]
fn a_difference_has_the_spread_of_what_it_was_computed_from() {
    let text = |sd: &str| {
        format!(
            "name = 'x'\n[component]\na = {{ ns = 10, sd = 3 }}\nb = {{ ns = 4{sd} }}\n\
             more = {{ difference = 'max(2 a - b, 0)' }}\nless = {{ difference = 'max(b - 2 a, 0)' }}\n"
        )
    };
    let sd = |text: &str, name: &str| {
        let model = Model::parse("x", text).expect("a model");
        model.sd_ns(name, &model.values()).expect("a component")
    };
    assert_eq!(sd(&text(", sd = 8"), "more"), Some(10.0));
    assert_eq!(sd(&text(", sd = 8"), "less"), Some(0.0));
    assert_eq!(sd(&text(""), "more"), None);
}

#[test]
fn a_curve_has_a_spread_at_each_size() {
    let text = "name = 'x'\n[parameter]\nbytes = 8\n[component]\na = { ns = 10, sd = 3 }\n\
         b = { bytes = [8, 64], ns = [5, 50], sd = [1, 9] }\n[quantity.t]\nterms = ['a', 'b']\n";
    let model = Model::parse("x", text).expect("a model");
    let at = |bytes| {
        model
            .values_given(&[("bytes".to_owned(), bytes)])
            .expect("a size")
    };
    let least = |bytes| {
        model
            .independent("t")
            .expect("it")
            .predict(&at(bytes))
            .least_certain
    };
    assert_eq!(
        (least(8.0).as_deref(), least(64.0).as_deref()),
        (Some("a"), Some("b"))
    );
    assert_eq!(model.sd_ns("b", &at(36.0)), Ok(Some(5.0)));
    let error = Model::parse("x", &text.replace("[1, 9]", "[1]")).expect_err("one number");
    assert_eq!(
        error.to_string(),
        "x:6: component.b.sd: 1 numbers: expected 2 numbers, one for each of bytes"
    );
}

#[test]
fn a_difference_does_not_hide_where_its_parts_come_from() {
    let text = "name = 'x'\n[component]\na = { ns = 10, experiment = 'e' }\nb = { difference = 'a - 4' }\n\
         [quantity.t]\nterms = ['b']\nexperiment = 'e'\n";
    let model = Model::parse("x", text).expect("a model");
    assert!(
        matches!(model.independent("t"), Err(models::Error::Circular { component, .. }) if component == "a")
    );
}

#[test]
fn the_least_certain_component_is_named() {
    let text = "name = 'x'\n[component]\na = { ns = 10, sd = 3 }\nb = { ns = 5, sd = 2 }\n[quantity.t]\nterms = ['a', '2 b']\nobserved = 25\n";
    let model = Model::parse("x", text).expect("a model");
    let answer = model.independent("t").expect("it").predict(&model.values());
    assert_eq!((answer.predicted_ns, answer.sd_ns), (20.0, Some(5.0)));
    assert_eq!(answer.least_certain.as_deref(), Some("b"));
    assert_eq!(answer.residual_percent(), Some(-20.0));
}
