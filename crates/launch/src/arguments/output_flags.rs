// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flags about the output of ranks: files, labels, merging, in the notations of three launchers.

use std::ffi::OsStr;
use std::path::Path;

use crate::LaunchError;
use crate::pattern::{FILE_LETTERS, Pattern};
use crate::plan::Routes;

/// The label of each line.
#[derive(Clone, Debug, Default)]
struct Labels {
    /// A time, in one of the two forms that other launchers have.
    time: Option<Time>,
    /// A pattern without its time.
    who: Option<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Time {
    /// Part of a tag.
    Tag,
    /// A word of its own.
    Word,
}

/// The output flags as far as they are read.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutputFlags {
    labels: Labels,
    routes: Routes,
    /// Files under a folder lie in one more, which Open MPI names after the job.
    without_job: bool,
    /// A folder (`true`) or the beginning of names (`false`), as PRRTE has it.
    place: Option<(bool, String)>,
}

/// Words of `--output`. A beginning of them that fits only one is enough, except for `tag`, which is one by itself.
const WORDS: &[&str] = &[
    "tag",
    "tag-detailed",
    "tag-fullname",
    "rank",
    "timestamp",
    "merge-stderr-to-stdout",
    "xml",
    "dir=",
    "file=",
    "nocopy",
    "copy",
    "nojobid",
    "raw",
];

impl OutputFlags {
    /// `-l`: `[rank] `.
    pub(crate) fn label(&mut self) {
        self.labels.who = Some("[%r] ".to_owned());
    }

    /// Lines without a label, but never torn.
    pub(crate) fn whole_lines(&mut self) {
        self.labels.who.get_or_insert_default();
    }

    /// `--tag-output` as Open MPI writes it.
    pub(crate) fn tag(&mut self) {
        self.labels.who = Some("[1,%r]<%s>: ".to_owned());
    }

    /// `-prepend-pattern`.
    ///
    /// # Errors
    /// When a letter behind `%` means nothing.
    pub(crate) fn label_pattern(&mut self, flag: &OsStr, text: &str) -> Result<(), LaunchError> {
        pattern(flag, text)?;
        self.labels.who = Some(text.to_owned());
        Ok(())
    }

    /// Times before lines: Open MPI's, or Intel's.
    pub(crate) fn timestamp(&mut self, as_tag: bool) {
        self.labels.time = Some(if as_tag { Time::Tag } else { Time::Word });
    }

    /// Standard error goes where standard output goes.
    pub(crate) fn merge(&mut self) {
        self.routes.merge = true;
    }

    /// `-outfile-pattern` (0) and `-errfile-pattern` (1).
    ///
    /// # Errors
    /// When a letter behind `%` means nothing for a file.
    pub(crate) fn file_pattern(
        &mut self,
        flag: &OsStr,
        which: usize,
        text: &OsStr,
    ) -> Result<(), LaunchError> {
        let pattern = pattern(flag, text)?;
        if !pattern.names_files() || text.is_empty() {
            return Err(unknown_letter(flag, text));
        }
        self.routes.files[which] = Some(pattern);
        Ok(())
    }

    /// `--output-filename NAME` and `--output-directory DIR`, each with qualifiers behind a colon.
    ///
    /// # Errors
    /// When a qualifier is none.
    pub(crate) fn place(
        &mut self,
        flag: &OsStr,
        folder: bool,
        text: &str,
    ) -> Result<Option<String>, LaunchError> {
        let (name, qualifiers) = text.split_once(':').unwrap_or((text, ""));
        self.set_place(flag, folder, name)?;
        self.words(flag, qualifiers)
    }

    /// The list of `--output`. Returns what of it means nothing here.
    ///
    /// # Errors
    /// When a word is none of [`WORDS`].
    pub(crate) fn words(
        &mut self,
        flag: &OsStr,
        list: &str,
    ) -> Result<Option<String>, LaunchError> {
        let mut ignored = Vec::new();
        for word in list.split([',', ':']).filter(|word| !word.is_empty()) {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (format!("{}=", name.to_lowercase()), value),
                None => (word.to_lowercase(), ""),
            };
            match full_word(&name) {
                Some("dir=") => self.set_place(flag, true, value)?,
                Some("file=") => self.set_place(flag, false, value)?,
                Some("tag") => self.tag(),
                Some("rank") => self.label(),
                Some("tag-detailed") => {
                    self.labels.who = Some("[1,%r][%h:%P]<%s>: ".to_owned());
                }
                Some("tag-fullname") => {
                    let job = std::process::id();
                    self.labels.who = Some(format!("[mpiexec-%h-{job}@1,%r]<%s>: "));
                }
                Some("timestamp") => self.timestamp(true),
                Some("merge-stderr-to-stdout") => self.merge(),
                Some("copy") => self.routes.copy = true,
                Some("nocopy") => self.routes.copy = false,
                Some("nojobid") => self.without_job = true,
                Some(_) => ignored.push(word),
                None => {
                    return Err(LaunchError::usage(format!(
                        "{} wants a list of {}, but got '{word}'",
                        flag.display(),
                        WORDS.join(", ")
                    )));
                }
            }
        }
        Ok((!ignored.is_empty()).then(|| ignored.join(",")))
    }

    fn set_place(&mut self, flag: &OsStr, folder: bool, name: &str) -> Result<(), LaunchError> {
        if name.is_empty() {
            let text = format!("{} names no file or folder", flag.display());
            return Err(LaunchError::usage(text));
        }
        self.place = Some((folder, name.to_owned()));
        Ok(())
    }

    /// All of it together. Names of both kinds of flags may be given; the patterns are nearer to the stream.
    pub(crate) fn finish(self) -> Routes {
        let mut routes = self.routes;
        if let Some((folder, name)) = self.place {
            // Earlier versions of Open MPI took the name of `--output-filename` for a folder, too.
            let folder = folder || name.ends_with('/') || Path::new(&name).is_dir();
            let plain = name.replace('%', "%%");
            let plain = plain.trim_end_matches('/');
            let job = if self.without_job { "" } else { "/1" };
            for (which, [stream, ending]) in [["stdout", "out"], ["stderr", "err"]]
                .into_iter()
                .enumerate()
            {
                let pattern = match folder {
                    true => format!("{plain}{job}/rank.%R/{stream}"),
                    false => format!("{plain}.%R.{ending}"),
                };
                if routes.files[which].is_none() {
                    routes.files[which] = Pattern::parse(pattern);
                }
            }
        }
        let Labels { time, who } = self.labels;
        let label = match (time, who) {
            (None, who) => who,
            (Some(Time::Tag), who) => Some(format!("[%c]{}", who.unwrap_or("<%s>: ".to_owned()))),
            (Some(Time::Word), who) => Some(format!("%c {}", who.unwrap_or_default())),
        };
        routes.label = label.and_then(Pattern::parse);
        routes
    }
}

fn full_word(name: &str) -> Option<&'static str> {
    if let Some(&word) = WORDS.iter().find(|&&word| word == name) {
        return Some(word);
    }
    let mut fitting = WORDS.iter().filter(|word| word.starts_with(name));
    fitting.next().copied().filter(|_| fitting.next().is_none())
}

fn pattern(flag: &OsStr, text: impl AsRef<OsStr>) -> Result<Pattern, LaunchError> {
    Pattern::parse(&text).ok_or_else(|| unknown_letter(flag, text.as_ref()))
}

fn unknown_letter(flag: &OsStr, text: &OsStr) -> LaunchError {
    LaunchError::usage(format!(
        "{} wants a text in which may stand {FILE_LETTERS}, but got '{}'",
        flag.display(),
        text.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(list: &str) -> Routes {
        let mut flags = OutputFlags::default();
        assert_eq!(flags.words("--output".as_ref(), list).unwrap(), None);
        flags.finish()
    }

    fn names(list: &str) -> [Option<Pattern>; 2] {
        routes(list).files
    }

    fn patterns(out: &str, error: &str) -> [Option<Pattern>; 2] {
        [Pattern::parse(out), Pattern::parse(error)]
    }

    #[test]
    fn words_of_output_name_files_and_labels() {
        assert_eq!(names("file=a%b"), patterns("a%%b.%R.out", "a%%b.%R.err"));
        assert_eq!(
            names("DIR=d/"),
            patterns("d/1/rank.%R/stdout", "d/1/rank.%R/stderr")
        );
        assert_eq!(
            names("dir=d:nojobid,nocopy"),
            patterns("d/rank.%R/stdout", "d/rank.%R/stderr")
        );
        // A name that is a folder is one.
        assert_eq!(
            names("file=/tmp")[0],
            Pattern::parse("/tmp/1/rank.%R/stdout")
        );
        assert!(routes("merge").merge && routes("file=x,copy").copy);
        let label = |list| routes(list).label;
        assert_eq!(label("tag"), Pattern::parse("[1,%r]<%s>: "));
        assert_eq!(label("TAG-D"), Pattern::parse("[1,%r][%h:%P]<%s>: "));
        assert_eq!(label("timestamp"), Pattern::parse("[%c]<%s>: "));
        assert_eq!(label("tag,time"), Pattern::parse("[%c][1,%r]<%s>: "));
        assert_eq!(label("rank"), Pattern::parse("[%r] "));
    }

    #[test]
    fn words_that_mean_nothing_are_named() {
        let mut flags = OutputFlags::default();
        let flag: &OsStr = "--output".as_ref();
        assert_eq!(
            flags.words(flag, "tag,xml").unwrap().as_deref(),
            Some("xml")
        );
        let error = |list| OutputFlags::default().words(flag, list).unwrap_err().text;
        assert!(error("tagged").contains("merge-stderr-to-stdout"));
        assert!(error("ta").contains("'ta'"));
        assert!(error("dir=").contains("names no file"));
        let pattern = |text: &str| OutputFlags::default().file_pattern(flag, 0, text.as_ref());
        assert!(pattern("%x").unwrap_err().text.contains("%r (rank)"));
        assert!(pattern("%P").is_err() && pattern("").is_err());
        assert!(pattern("%r").is_ok());
    }
}
