// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statements in lines that are fixed and free source form at once.

/// Source text of statements.
pub(super) struct Lines {
    text: String,
}

/// Statements stand in columns 7 to 72.
const FIRST: usize = 6;
const LAST: usize = 72;

impl Lines {
    pub(super) fn new() -> Self {
        Self {
            text: String::new(),
        }
    }

    /// Whether a statement of that length needs no continuation.
    pub(super) fn fits(length: usize) -> bool {
        FIRST + length <= LAST
    }

    /// Adds a statement. One that is too long is broken behind commas: with `&` behind column 72, which fixed form takes for a
    /// comment, and `&` in column 6, which free form takes for the continuation.
    pub(super) fn add(&mut self, statement: &str) {
        let mut rest = statement;
        let mut head = " ".repeat(FIRST);
        while FIRST + rest.len() > LAST {
            let room = &rest[..LAST - FIRST];
            let Some(at) = room.rfind(',').or_else(|| room.rfind(' ')) else {
                break;
            };
            let line = format!("{head}{}", &rest[..=at]);
            self.text.push_str(&format!("{line:LAST$}&\n"));
            rest = rest[at + 1..].trim_start();
            head = format!("{}&", " ".repeat(FIRST - 1));
        }
        self.text.push_str(&format!("{head}{rest}\n"));
    }

    /// Adds a comment or a directive, which starts in column 1.
    pub(super) fn comment(&mut self, text: &str) {
        self.text.push_str(&format!("!{text}\n"));
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}
