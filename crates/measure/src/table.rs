// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables with a title, for a terminal and as Markdown.

use crate::columns::{Side, named, padded};

/// A table before it has a form.
pub struct Table {
    /// What stands above it.
    pub title: String,
    /// A sentence about it; may be empty.
    pub text: String,
    /// Names of the columns.
    pub header: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<String>>,
}

/// The form of a table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Form {
    /// Columns of equal width.
    Terminal,
    /// For pages.
    Markdown,
}

/// What stands above all tables: the command and the conditions.
pub fn head(command: &str, lines: &[String], form: Form) -> String {
    let (prefix, end) = match form {
        Form::Terminal => ("", "\n"),
        Form::Markdown => ("* ", "\n\n"),
    };
    let mut text = String::new();
    if form == Form::Markdown {
        text = format!("Measured by `{command}`:\n\n");
    }
    for line in lines {
        text.push_str(&format!("{prefix}{line}\n"));
    }
    text + end
}

/// A row of a Markdown table.
pub fn markdown_row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// The line below the names of so many columns of a Markdown table.
pub fn markdown_rule(columns: usize, side: impl Fn(usize) -> Side) -> String {
    let mark = |column| match side(column) {
        Side::Left => "---".to_owned(),
        Side::Right => "---:".to_owned(),
    };
    markdown_row(&(0..columns).map(mark).collect::<Vec<_>>())
}

impl Table {
    /// The table as text.
    pub fn render(&self, form: Form) -> String {
        let all: Vec<Vec<String>> = [&[self.header.clone()][..], &self.rows].concat();
        let mut lines = padded(&all, named).into_iter();
        let (mut text, line): (String, fn(&[String]) -> String) = match form {
            Form::Terminal => (format!("{}\n", self.title), |cells| cells.join("  ") + "\n"),
            Form::Markdown => (format!("### {}\n\n", self.title), markdown_row),
        };
        if !self.text.is_empty() {
            text += &match form {
                Form::Terminal => format!("({})\n", self.text),
                Form::Markdown => format!("{}.\n\n", capitalise(&self.text)),
            };
        }
        text.extend(lines.next().map(|cells| line(&cells)));
        if form == Form::Markdown {
            text += &markdown_rule(self.header.len(), named);
        }
        text.extend(lines.map(|cells| line(&cells)));
        text + "\n"
    }
}

/// A text that begins with a capital letter.
pub fn capitalise(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or(String::new(), |first| {
        first.to_uppercase().collect::<String>() + characters.as_str()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_text_or_markdown() {
        let table = Table {
            title: "t".to_owned(),
            text: "of ns".to_owned(),
            header: vec!["size".to_owned(), "a".to_owned()],
            rows: vec![vec!["8 B".to_owned(), "100".to_owned()]],
        };
        assert_eq!(
            table.render(Form::Terminal),
            "t\n(of ns)\nsize    a\n8 B   100\n\n"
        );
        assert_eq!(
            table.render(Form::Markdown),
            "### t\n\nOf ns.\n\n| size |   a |\n| --- | ---: |\n| 8 B  | 100 |\n\n"
        );
    }
}
