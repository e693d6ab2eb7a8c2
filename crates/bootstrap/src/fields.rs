// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fields of a message of PMI: `key=value`, separated by blanks in PMI-1 and by semicolons in PMI-2. Servers differ in their
//! order, so fields are found by their keys.

/// The fields of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Those of a line of PMI-1. The values of `value` and `port` take the rest of it.
    pub(crate) fn of_line(line: &str) -> Self {
        let mut fields = Vec::new();
        let mut rest = line.trim();
        while !rest.is_empty() {
            let word = rest.split_ascii_whitespace().next().unwrap_or(rest);
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            if matches!(key, "value" | "port") {
                let value = rest.get(key.len() + 1..).unwrap_or("");
                fields.push((key.to_owned(), value.to_owned()));
                break;
            }
            fields.push((key.to_owned(), value.to_owned()));
            rest = rest[word.len()..].trim_start();
        }
        Self(fields)
    }

    /// Those of a message of PMI-2.
    pub(crate) fn of_message(message: &str) -> Self {
        let fields = message.split(';').filter(|field| !field.is_empty());
        Self(
            fields
                .map(|field| {
                    let (key, value) = field.split_once('=').unwrap_or((field, ""));
                    (key.trim().to_owned(), value.to_owned())
                })
                .collect(),
        )
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == key);
        found.map(|(_, value)| value.as_str())
    }

    /// The value of a key that is a number.
    pub(crate) fn number<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.get(key)?.trim().parse().ok()
    }

    /// Whether the field `rc` reports success; an answer without that field does.
    pub(crate) fn is_success(&self) -> bool {
        self.get("rc").is_none_or(|rc| rc.trim() == "0")
    }
}

impl std::fmt::Display for Fields {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, (key, value)) in self.0.iter().enumerate() {
            let before = if index == 0 { "" } else { " " };
            write!(f, "{before}{key}={value}")?;
        }
        Ok(())
    }
}

/// A text from a server as it appears in a sentence.
pub(crate) fn told(text: &str) -> String {
    let printable = |letter: char| match letter.is_control() {
        true => '?',
        false => letter,
    };
    text.chars().take(160).map(printable).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fields_are_found_in_any_order() {
        for line in [
            "cmd=get_result rc=0 value=(a, b=c)",
            "rc=0  cmd=get_result value=(a, b=c)\n",
        ] {
            let fields = Fields::of_line(line);
            assert_eq!(fields.get("cmd"), Some("get_result"));
            assert_eq!(fields.get("value"), Some("(a, b=c)"));
            assert!(fields.is_success());
        }
        let missing = Fields::of_line("cmd=get_result rc=-1 msg=key_X_not_found value=unknown");
        assert!(!missing.is_success());
        assert!(Fields::of_line("cmd=finalize_ack").is_success());
        let message = Fields::of_message("cmd=kvs-get-response;rc=0;found=TRUE;value=a=b c;");
        assert_eq!(message.get("value"), Some("a=b c"));
        assert_eq!(message.number::<u32>("rc"), Some(0));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in ".*", key in "[a-z]{1,8}") {
            for fields in [Fields::of_line(&text), Fields::of_message(&text)] {
                let _ = (fields.get(&key), fields.is_success(), fields.number::<i32>(&key));
            }
            prop_assert!(told(&text).chars().count() <= 160);
        }

        #[test]
        fn values_come_back(key in "[a-z]{1,8}", value in "[0-9a-f]{0,64}", rest in "[ -~]{0,64}") {
            prop_assume!(!["value", "port", "cmd"].contains(&key.as_str()));
            let fields = Fields::of_line(&format!("cmd=x {key}={value} value={rest}"));
            prop_assert_eq!(fields.get(&key), Some(value.as_str()));
            prop_assert_eq!(fields.get("value"), Some(rest.trim_end()));
            let fields = Fields::of_message(&format!("cmd=x;{key}={value};"));
            prop_assert_eq!(fields.get(&key), Some(value.as_str()));
        }
    }
}
