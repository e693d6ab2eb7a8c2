// SPDX-License-Identifier: MIT OR Apache-2.0
//! Text in columns.

/// The side of a column at which its cells stand.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Side {
    /// Of texts.
    Left,
    /// Of numbers.
    Right,
}

/// The first column at the left side, and all others at the right one: rows of values with names.
pub const fn named(column: usize) -> Side {
    match column {
        0 => Side::Left,
        _ => Side::Right,
    }
}

/// Rows in columns as wide as they need, with two spaces before each; rows may be short.
pub fn lines(rows: &[Vec<String>], side: impl Fn(usize) -> Side) -> String {
    let mut text = String::new();
    for cells in padded(rows, side) {
        let line = format!("  {}", cells.join("  "));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Appends rows in columns as wide as they need; the first `numbers` columns stand at the right side.
pub fn table<const N: usize>(text: &mut String, numbers: usize, rows: Vec<[String; N]>) {
    let rows: Vec<Vec<String>> = rows.into_iter().map(Vec::from).collect();
    let side = |column| match column < numbers {
        true => Side::Right,
        false => Side::Left,
    };
    text.push_str(&lines(&rows, side));
}

/// The cells of rows, each as wide as its column.
pub(crate) fn padded(rows: &[Vec<String>], side: impl Fn(usize) -> Side) -> Vec<Vec<String>> {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let pad = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        cells
            .map(|(column, (cell, &width))| match side(column) {
                Side::Left => format!("{cell:<width$}"),
                Side::Right => format!("{cell:>width$}"),
            })
            .collect()
    };
    rows.iter().map(pad).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut text = String::new();
        let rows = vec![["n", "name"], ["100", "a"]];
        let rows = rows.into_iter().map(|row| row.map(str::to_owned));
        table(&mut text, 1, rows.collect());
        assert_eq!(text, "    n  name\n  100  a\n");
    }

    #[test]
    fn rows_may_be_short() {
        let rows = [vec!["a".to_owned()], vec!["bc".to_owned(), "1".to_owned()]];
        assert_eq!(lines(&rows, named), "  a\n  bc  1\n");
    }
}
