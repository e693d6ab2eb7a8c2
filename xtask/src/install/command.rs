// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command and its arguments.

use super::profile::Profile;
use super::tree::install;
use crate::shell;

/// `--prefix DIR [--profile release|release-fast|release-single]`.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let (prefix, profile) = parse(arguments)?;
    let prefix = std::path::absolute(&prefix).map_err(|error| format!("{prefix}: {error}"))?;
    install(&prefix, profile)?;
    let shown = prefix.display();
    shell::say(&format!(
        "Installed into {shown}. Use it with: export PATH={shown}/bin:$PATH"
    ));
    Ok(())
}

fn parse(arguments: &[String]) -> Result<(String, Profile), String> {
    let (mut prefix, mut profile) = (None, Profile::Release);
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, words.next()),
        };
        match (name, value) {
            ("--prefix", Some(value)) => prefix = Some(value.to_owned()),
            ("--profile", value) => {
                let told = || format!("--profile is one of {PROFILES}");
                profile = value.and_then(Profile::named).ok_or_else(told)?;
            }
            _ => return Err(format!("{word} is not understood: {USAGE}")),
        }
    }
    let prefix = prefix.ok_or_else(|| format!("no prefix: {USAGE}"))?;
    Ok((prefix, profile))
}

const PROFILES: &str = "release|release-fast|release-single";
const USAGE: &str = "install --prefix DIR [--profile release|release-fast|release-single]";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_and_profile_come_in_any_order_and_form() {
        let of = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            parse(&words)
        };
        let fast = Ok(("/x".to_owned(), Profile::ReleaseFast));
        assert_eq!(of("--prefix /x --profile release-fast"), fast);
        assert_eq!(of("--profile=release-fast --prefix=/x"), fast);
        let single = Ok(("/x".to_owned(), Profile::ReleaseSingle));
        assert_eq!(of("--prefix /x --profile release-single"), single);
        assert_eq!(of("--prefix=/x"), Ok(("/x".to_owned(), Profile::Release)));
        for wrong in [
            "",
            "--prefix",
            "--prefix /x --profile debug",
            "--prefix /x --profile",
            "/x",
        ] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
