// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables of `docs/settings.md`, made from the rows; `cargo xtask settings` writes them.

use std::fmt::Write as _;

use super::{SETTINGS, TEXTS};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");

/// The rows of both tables of settings.
fn settings() -> String {
    let mut text =
        "| setting | default | range | unit | what it does |\n|---|---|---|---|---|\n".to_owned();
    for row in SETTINGS {
        writeln!(
            text,
            "| `{}` | {} | {}..={} | {} | {} |",
            row.name, row.default, row.min, row.max, row.unit, row.text
        )
        .unwrap();
    }
    for row in TEXTS {
        writeln!(text, "| `{}` | | | {} | {} |", row.name, row.unit, row.text).unwrap();
    }
    text
}

fn counters() -> String {
    let mut text = "| counter | unit | what is counted |\n|---|---|---|\n".to_owned();
    for row in fabric::counters::COUNTERS {
        writeln!(text, "| `{}` | {} | {} |", row.name, row.unit, row.text).unwrap();
    }
    text
}

/// The page with one of its tables made anew between the table's marks.
fn with_table(page: &str, name: &str, table: &str) -> String {
    let (begin, end) = (
        format!("<!-- {name}: begin -->\n"),
        format!("<!-- {name}: end -->"),
    );
    let (before, rest) = page.split_once(&begin).unwrap();
    let (_, after) = rest.split_once(&end).unwrap();
    format!("{before}{begin}\n{table}\n{end}{after}")
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "`cargo xtask settings` asks for the page to be written"
)]
fn the_page_of_settings_holds_every_row_and_no_other() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let mut made = with_table(&page, "settings", &settings());
    made = with_table(&made, "counters", &counters());
    let rows = SETTINGS.len() + TEXTS.len() + fabric::counters::COUNTERS.len();
    assert_eq!(
        made.matches("\n| `").count(),
        rows,
        "rows outside the tables"
    );
    if std::env::var_os("RANKPOINT_TEST_WRITE").is_some() {
        std::fs::write(PAGE, &made).unwrap();
    } else {
        assert!(
            page == made,
            "docs/settings.md does not show the tables of the code: run `cargo xtask settings`"
        );
    }
}
