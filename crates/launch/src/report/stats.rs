// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counters of all ranks as a table.

use fabric::counters::COUNTERS;

/// Ranks beside each other in one block of the table.
const COLUMNS: usize = 8;

/// The counters of all ranks, without a line end. Counters that are zero everywhere are left out.
pub(crate) fn table(ranks: &[[u64; 64]]) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (block, counters) in ranks.chunks(COLUMNS).enumerate() {
        let mut head = vec![
            if block == 0 { "counter" } else { "" }.to_owned(),
            "unit".to_owned(),
        ];
        head.extend((0..counters.len()).map(|column| format!("rank {}", block * COLUMNS + column)));
        let last = (block + 1) * COLUMNS >= ranks.len();
        if last {
            head.push("all".to_owned());
        }
        rows.push(head);
        for (index, row) in COUNTERS.iter().enumerate() {
            let total: u128 = ranks
                .iter()
                .map(|counters| u128::from(counters[index]))
                .sum();
            if total == 0 {
                continue;
            }
            let mut cells = vec![row.name.to_owned(), row.unit.to_owned()];
            cells.extend(counters.iter().map(|counters| counters[index].to_string()));
            if last {
                cells.push(total.to_string());
            }
            rows.push(cells);
        }
    }
    if rows
        .iter()
        .all(|row| row[0] == "counter" || row[0].is_empty())
    {
        return "counters: all are zero".to_owned();
    }
    format!("counters\n{}", align(&rows))
}

fn align(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(String::len)
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, &width))| {
            if column < 2 {
                format!("  {cell:<width$}")
            } else {
                format!("  {cell:>width$}")
            }
        });
        text.push_str(cells.collect::<String>().trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_stand_in_blocks_with_a_sum_at_the_end() {
        let mut ranks = vec![[0u64; 64]; 10];
        for (rank, counters) in ranks.iter_mut().enumerate() {
            counters[0] = rank as u64;
        }
        let text = table(&ranks);
        let rows: Vec<Vec<_>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(
            rows[2],
            [
                "sends_inject",
                "messages",
                "0",
                "1",
                "2",
                "3",
                "4",
                "5",
                "6",
                "7"
            ]
        );
        assert_eq!(rows[4], ["sends_inject", "messages", "8", "9", "45"]);
        assert_eq!(rows.len(), 5);
        assert_eq!(table(&[[0; 64]]), "counters: all are zero");
    }
}
