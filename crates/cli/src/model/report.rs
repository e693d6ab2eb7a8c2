// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables and remarks, as text, Markdown or JSON.

use measure::columns::{self, Side};
use measure::table::{markdown_row, markdown_rule};
use serde_json::{Map, Value, json};

use super::options::Format;

/// A value of a table.
pub(super) enum Cell {
    Text(String),
    /// Rounded to two decimals, or three if that is all there is.
    Number(f64),
    /// Rounded to two decimals.
    Percent(f64),
    /// The same with a sign.
    Signed(f64),
    /// As it is.
    Count(f64),
    Empty,
}

/// A table.
pub(super) struct Table {
    pub(super) title: String,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<Cell>>,
}

/// An answer.
pub(super) struct Report {
    pub(super) head: Vec<(String, String)>,
    pub(super) tables: Vec<Table>,
    pub(super) remarks: Vec<String>,
}

impl Cell {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => shown(*number),
            Self::Percent(number) => format!("{} %", decimals(*number, 2)),
            Self::Signed(number) if *number >= 0.0 => format!("+{} %", decimals(*number, 2)),
            Self::Signed(number) => format!("{} %", decimals(*number, 2)),
            Self::Count(number) => format!("{number}"),
            Self::Empty => String::new(),
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Text(text) => json!(text),
            Self::Number(number)
            | Self::Percent(number)
            | Self::Signed(number)
            | Self::Count(number) => json!(number),
            Self::Empty => Value::Null,
        }
    }

    const fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }
}

impl Table {
    pub(super) fn new(title: &str, columns: &[&str]) -> Self {
        Self {
            title: title.to_owned(),
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Whether all cells of a column are texts: those stand at its left side.
    fn is_left(&self, column: usize) -> bool {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let mut cells = cells.filter(|cell| !matches!(cell, Cell::Empty)).peekable();
        cells.peek().is_none() || cells.all(Cell::is_text)
    }

    /// The side of a column: texts stand at the left one.
    fn side(&self, column: usize) -> Side {
        match self.is_left(column) {
            true => Side::Left,
            false => Side::Right,
        }
    }

    /// The names of the columns, and the rows.
    fn lines(&self) -> Vec<Vec<String>> {
        let shown = |row: &Vec<Cell>| row.iter().map(Cell::shown).collect();
        let rows = self.rows.iter().map(shown);
        std::iter::once(self.columns.clone()).chain(rows).collect()
    }

    fn text(&self) -> String {
        let lines = columns::lines(&self.lines(), |column| self.side(column));
        format!("{}\n{lines}", self.title)
    }

    fn markdown(&self) -> String {
        let escaped = |row: &Vec<String>| {
            let cells = row.iter().map(|cell| cell.replace('|', "\\|"));
            markdown_row(&cells.collect::<Vec<_>>())
        };
        let mut lines: Vec<String> = self.lines().iter().map(escaped).collect();
        let rule = markdown_rule(self.columns.len(), |column| self.side(column));
        lines.insert(1, rule);
        format!("### {}\n\n{}", self.title, lines.concat())
    }

    fn json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let cells = self.columns.iter().zip(row);
            let cells = cells.map(|(column, cell)| (column.clone(), cell.json()));
            Value::Object(cells.collect::<Map<_, _>>())
        });
        json!({ "title": self.title, "rows": rows.collect::<Vec<_>>() })
    }
}

impl Report {
    pub(super) fn show(&self, format: Format) -> String {
        match format {
            Format::Json => {
                let head = self
                    .head
                    .iter()
                    .map(|(key, value)| (key.clone(), json!(value)));
                let mut all: Map<String, Value> = head.collect();
                let tables: Vec<Value> = self.tables.iter().map(Table::json).collect();
                all.insert("tables".to_owned(), json!(tables));
                all.insert("remarks".to_owned(), json!(self.remarks));
                format!("{:#}\n", Value::Object(all))
            }
            Format::Text => {
                let mut blocks: Vec<String> = Vec::new();
                if !self.head.is_empty() {
                    let head = self
                        .head
                        .iter()
                        .map(|(key, value)| format!("{key}: {value}\n"));
                    blocks.push(head.collect());
                }
                blocks.extend(self.tables.iter().map(Table::text));
                if !self.remarks.is_empty() {
                    blocks.push(
                        self.remarks
                            .iter()
                            .map(|remark| format!("{remark}\n"))
                            .collect(),
                    );
                }
                blocks.join("\n")
            }
            Format::Markdown => {
                let head = self
                    .head
                    .iter()
                    .map(|(key, value)| format!("* {key}: {value}\n"));
                let mut blocks: Vec<String> = vec![head.collect()];
                blocks.extend(self.tables.iter().map(Table::markdown));
                blocks.push(
                    self.remarks
                        .iter()
                        .map(|remark| format!("{remark}\n\n"))
                        .collect(),
                );
                blocks.retain(|block| !block.is_empty());
                blocks.join("\n")
            }
        }
    }
}

/// A number with two decimals, or with three when those are all it has.
pub(super) fn shown(number: f64) -> String {
    let thousandths = number * 1e3;
    let is_whole = (thousandths - thousandths.round()).abs() < 1e-6;
    let has_third = is_whole && !(thousandths.round() % 10.0).eq(&0.0);
    decimals(number, if has_third { 3 } else { 2 })
}

/// A number with so many decimals; a half is rounded up, as on paper.
pub(super) fn decimals(number: f64, digits: usize) -> String {
    let scale = 10_f64.powi(i32::try_from(digits).unwrap_or(0));
    let rounded = (number * scale + 1e-6).round() / scale;
    // No minus before zeros.
    format!("{:.digits$}", rounded + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_two_decimals_or_three_when_those_are_all() {
        let numbers = [264.97, 333.715, 386.6325, 540.495, 108.0, -0.001];
        let shown: Vec<String> = numbers.into_iter().map(shown).collect();
        assert_eq!(
            shown,
            ["264.97", "333.715", "386.63", "540.495", "108.00", "-0.001"]
        );
        assert_eq!(decimals(540.495, 2), "540.50");
        assert_eq!(decimals(-0.001, 2), "0.00");
    }

    #[test]
    fn a_report_is_text_markdown_or_json() {
        let mut table = Table::new("t", &["name", "ns"]);
        table.rows.push(vec![Cell::text("a|b"), Cell::Number(1.0)]);
        table.rows.push(vec![Cell::text("c"), Cell::Empty]);
        let report = Report {
            head: vec![("model".to_owned(), "m".to_owned())],
            tables: vec![table],
            remarks: vec!["r".to_owned()],
        };
        assert_eq!(
            report.show(Format::Text),
            "model: m\n\nt\n  name    ns\n  a|b   1.00\n  c\n\nr\n"
        );
        assert_eq!(
            report.show(Format::Markdown),
            "* model: m\n\n### t\n\n| name | ns |\n| --- | ---: |\n| a\\|b | 1.00 |\n| c |  |\n\nr\n\n"
        );
        let json: Value = serde_json::from_str(&report.show(Format::Json)).unwrap();
        assert_eq!(json["tables"][0]["rows"][1]["ns"], Value::Null);
        assert_eq!(json["model"], "m");
    }
}
