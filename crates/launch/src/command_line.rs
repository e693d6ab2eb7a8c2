// SPDX-License-Identifier: MIT OR Apache-2.0
//! From arguments to a plan, and the whole life of a job that was started from a command line.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::process::ExitCode;

use crate::LaunchError;
use crate::flags::{self, Effect, FlagRow};
use crate::notices;
use crate::output_flags::OutputFlags;
use crate::plan::{Binding, Environment, Inherit, Input, JobPlan, Output, Program, Talk};
use crate::program;
use crate::settings;
use crate::supervise::{Role, run_as};

/// Runs the job that `arguments` (without the program's own name) describe, as `mpiexec` does.
///
/// Output, errors and reports go to this process's standard output and error. The exit status is that of the first
/// rank that failed, the code of MPI_Abort, 124 after `--timeout`, 128 and the signal's number when a signal ended the
/// launcher, 126 or 127 when a program cannot be started, and 2 for flags that are not understood.
pub fn run_command_line(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let code = match parse(arguments.into_iter().collect()) {
        Ok(Request::Text(text)) => {
            notices::print(&text);
            Ok(0)
        }
        Ok(Request::Job(plan, notices)) => {
            for notice in notices {
                notices::say(&notice);
            }
            run_as(&plan, Role::CommandLine).map(|outcome| outcome.exit_code)
        }
        Err(error) => Err(error),
    };
    match code {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            notices::say(&error.text);
            ExitCode::from(error.exit_code)
        }
    }
}

/// What a command line asks for.
#[derive(Debug)]
enum Request {
    /// To print a text.
    Text(String),
    /// To run a job, after some notices.
    Job(JobPlan, Vec<String>),
}

/// The plan as far as it is read, and what is still to be said about it.
struct Reading {
    plan: JobPlan,
    job_environment: Environment,
    section: Section,
    output: OutputFlags,
    ignored: Vec<String>,
    quiet: bool,
    text: Option<String>,
}

/// One program's part of the command line: what stands between two colons.
#[derive(Default)]
struct Section {
    ranks: Option<u32>,
    environment: Environment,
    directory: Option<OsString>,
    search: Option<OsString>,
}

fn parse(arguments: Vec<OsString>) -> Result<Request, LaunchError> {
    let mut reading = Reading {
        plan: JobPlan {
            programs: Vec::new(),
            output: Output::default(),
            input: Input::Rank(0),
            binding: Binding::Automatic,
            timeout: settings::timeout()?,
            grace: settings::grace()?,
            talk: Talk::default(),
        },
        job_environment: Environment::default(),
        section: Section::default(),
        output: OutputFlags::default(),
        ignored: Vec::new(),
        quiet: false,
        text: None,
    };
    for section in arguments.split(|argument| argument == ":") {
        reading.read_section(section)?;
        if let Some(text) = reading.text {
            return Ok(Request::Text(text));
        }
    }
    reading.finish()
}

impl Reading {
    fn read_section(&mut self, arguments: &[OsString]) -> Result<(), LaunchError> {
        let mut rest = arguments.iter();
        let program = loop {
            let Some(argument) = rest.next() else {
                return match self.text {
                    Some(_) => Ok(()),
                    None => Err(LaunchError::usage(
                        "no program to start: mpiexec [flags] program [arguments], or mpiexec --help",
                    )),
                };
            };
            if argument == "--" {
                match rest.next() {
                    Some(program) => break program,
                    None => continue,
                }
            }
            let bytes = argument.as_bytes();
            let Some(name) = bytes
                .strip_prefix(b"--")
                .or_else(|| bytes.strip_prefix(b"-"))
            else {
                break argument;
            };
            self.read_flag(argument, name, &mut rest)?;
        };
        let section = std::mem::take(&mut self.section);
        self.plan.programs.push(Program {
            ranks: section.ranks.unwrap_or(1),
            program: program.clone(),
            arguments: rest.cloned().collect(),
            environment: section.environment,
            directory: section.directory.map(Into::into),
            search: section.search,
        });
        Ok(())
    }

    fn read_flag<'a>(
        &mut self,
        argument: &OsStr,
        name: &[u8],
        rest: &mut impl Iterator<Item = &'a OsString>,
    ) -> Result<(), LaunchError> {
        let name = String::from_utf8_lossy(name);
        let (row, attached) = match (flags::find(&name), name.split_once('=')) {
            (None, Some((name, value))) => (flags::find(name), Some(OsString::from(value))),
            (row, _) => (row, None),
        };
        let Some(row) = row else {
            let nearest = flags::dashed(flags::nearest(&name));
            let text = format!(
                "unknown flag {}; did you mean {nearest}? (mpiexec --help lists all)",
                argument.display()
            );
            return Err(LaunchError::usage(text));
        };
        let mut values: Vec<OsString> = attached.into_iter().collect();
        if values.len() > row.values.len() {
            return Err(LaunchError::usage(format!(
                "{} takes no value",
                argument.display()
            )));
        }
        while values.len() < row.values.len() {
            let Some(value) = rest.next() else {
                let text = format!(
                    "{0} has no value; expected {0} {1}",
                    argument.display(),
                    row.values.join(" ")
                );
                return Err(LaunchError::usage(text));
            };
            values.push(value.clone());
        }
        self.apply(row, argument, values)
    }

    fn apply(
        &mut self,
        row: &FlagRow,
        flag: &OsStr,
        mut values: Vec<OsString>,
    ) -> Result<(), LaunchError> {
        let shown = values.iter().map(|value| format!(" {}", value.display()));
        let shown: String = std::iter::once(flag.display().to_string())
            .chain(shown)
            .collect();
        let second = if values.len() > 1 {
            values.pop().unwrap_or_default()
        } else {
            OsString::new()
        };
        let value = values.pop().unwrap_or_default();
        let text = value.to_string_lossy().into_owned();
        match row.effect {
            Effect::Ranks => self.section.ranks = Some(number_of_ranks(flag, &text)?),
            Effect::Env => self.section.environment.set.push((value, second)),
            Effect::JobEnv => self.job_environment.set.push((value, second)),
            Effect::Export => self.job_environment.set.extend(exported(&value)),
            Effect::EnvList => self.section.environment.inherit = Inherit::Only(names(&text)),
            Effect::JobEnvList => self.job_environment.inherit = Inherit::Only(names(&text)),
            Effect::EnvNone => self.section.environment.inherit = Inherit::Only(Vec::new()),
            Effect::JobEnvNone => self.job_environment.inherit = Inherit::Only(Vec::new()),
            Effect::Directory => self.section.directory = Some(value),
            Effect::Path => self.section.search = Some(value),
            Effect::Label => self.output.label(),
            Effect::Tag => self.output.tag(),
            Effect::LabelPattern => self.output.label_pattern(flag, &text)?,
            Effect::Timestamp => self.output.timestamp(false),
            Effect::TagTimestamp => self.output.timestamp(true),
            Effect::Merge => self.output.merge(),
            Effect::OutFile => self.output.file_pattern(flag, 0, &value)?,
            Effect::ErrorFile => self.output.file_pattern(flag, 1, &value)?,
            Effect::OutputFile | Effect::OutputFolder => {
                let folder = row.effect == Effect::OutputFolder;
                let ignored = self.output.place(flag, folder, &text)?;
                self.ignore_of(flag, ignored);
            }
            Effect::OutputList => {
                let ignored = self.output.words(flag, &text)?;
                self.ignore_of(flag, ignored);
            }
            Effect::Stdin => self.plan.input = reader_of_input(&text)?,
            Effect::BindTo => match binding(&text)? {
                Some(binding) => self.plan.binding = binding,
                None => self.ignored.push(shown),
            },
            Effect::Timeout => self.plan.timeout = Some(settings::seconds("--timeout", &text)?),
            Effect::InitialHandler => {
                let choice = initial_handler(&text)?;
                self.section.environment.set.push(choice);
            }
            Effect::Stats => self.plan.talk.stats = true,
            Effect::Verbose => self.plan.talk.verbose = true,
            Effect::Bindings => self.plan.talk.bindings = true,
            Effect::Quiet => self.quiet = true,
            Effect::Help => self.text = Some(flags::help()),
            Effect::Version => {
                self.text = Some(format!(
                    "mpiexec (Rankpoint) {}\n",
                    env!("CARGO_PKG_VERSION")
                ));
            }
            Effect::Hosts => notices::require_this_host(text.split(','))?,
            Effect::HostFile => notices::require_this_host_in(&value)?,
            Effect::Ignored => self.ignored.push(shown),
            Effect::Granted => {}
        }
        Ok(())
    }

    /// Part of a flag's value means nothing.
    fn ignore_of(&mut self, flag: &OsStr, part: Option<String>) {
        let shown = part.map(|part| format!("{} {part}", flag.display()));
        self.ignored.extend(shown);
    }

    fn finish(mut self) -> Result<Request, LaunchError> {
        self.plan.output = Output::Routed(self.output.finish());
        for program in &mut self.plan.programs {
            let own = std::mem::take(&mut program.environment);
            let inherit = match own.inherit {
                Inherit::All => self.job_environment.inherit.clone(),
                only => only,
            };
            let set = self
                .job_environment
                .set
                .iter()
                .cloned()
                .chain(own.set)
                .collect();
            program.environment = Environment { inherit, set };
        }
        let ranks = program::total_ranks(&self.plan.programs)?;
        if let Input::Rank(rank) = self.plan.input
            && rank >= ranks
        {
            let text =
                format!("-stdin {rank} names a rank that does not exist: the job has {ranks}");
            return Err(LaunchError::usage(text));
        }
        let ignored = (!self.ignored.is_empty() && !self.quiet).then(|| {
            format!(
                "ignored, without meaning on one machine: {}",
                self.ignored.join(", ")
            )
        });
        let mut notices = settings::unknown();
        notices.extend(ignored);
        Ok(Request::Job(self.plan, notices))
    }
}

fn number_of_ranks(flag: &OsStr, text: &str) -> Result<u32, LaunchError> {
    text.parse().ok().filter(|&ranks| ranks > 0).ok_or_else(|| {
        LaunchError::usage(format!(
            "{} wants a number of ranks, at least 1, but got '{text}'",
            flag.display()
        ))
    })
}

fn reader_of_input(text: &str) -> Result<Input, LaunchError> {
    match text {
        "all" => Ok(Input::All),
        "none" => Ok(Input::None),
        _ => text.parse().map(Input::Rank).map_err(|_| {
            LaunchError::usage(format!(
                "-stdin wants a rank, all or none, but got '{text}'"
            ))
        }),
    }
}

/// A binding, or `None` for one of another launcher that has no counterpart here.
fn binding(text: &str) -> Result<Option<Binding>, LaunchError> {
    // PRRTE appends qualifiers, such as core:overload-allowed.
    let head = text.split(':').next().unwrap_or_default();
    match (head, text.strip_prefix("user:")) {
        (_, Some(list)) => crate::binding::parse_list(list).map(|list| Some(Binding::User(list))),
        ("core", _) => Ok(Some(Binding::Core)),
        ("none", _) => Ok(Some(Binding::None)),
        (
            "hwthread" | "socket" | "package" | "numa" | "board" | "machine" | "rr" | "map"
            | "slot" | "l1cache" | "l2cache" | "l3cache" | "cache",
            _,
        ) => Ok(None),
        _ => Err(LaunchError::usage(format!(
            "--bind-to wants core, none or user:LIST, but got '{text}'"
        ))),
    }
}

/// What tells the library of an error handler.
fn initial_handler(text: &str) -> Result<(OsString, OsString), LaunchError> {
    let names = [
        "mpi_errors_are_fatal",
        "mpi_errors_abort",
        "mpi_errors_return",
    ];
    let choice = names.iter().position(|&name| name == text).ok_or_else(|| {
        LaunchError::usage(format!(
            "--initial-errhandler wants {}, but got '{text}'",
            names.join(", ")
        ))
    })?;
    let name = settings::INITIAL_ERRHANDLER_VARIABLE.into();
    Ok((name, choice.to_string().into()))
}

/// `-x NAME` and `-x NAME=VALUE`. A name that is not set passes nothing on.
fn exported(value: &OsStr) -> Option<(OsString, OsString)> {
    let bytes = value.as_bytes();
    match bytes.iter().position(|&byte| byte == b'=') {
        Some(at) => Some((
            OsString::from_vec(bytes[..at].to_vec()),
            OsString::from_vec(bytes[at + 1..].to_vec()),
        )),
        None => settings::read(value).map(|found| (value.to_owned(), found)),
    }
}

fn names(text: &str) -> Vec<OsString> {
    text.split(',').map(OsString::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn job(line: &str) -> (JobPlan, Option<String>) {
        match parse(words(line)) {
            Ok(Request::Job(plan, notices)) => (plan, notices.into_iter().next()),
            other => panic!("{line}: {other:?}"),
        }
    }

    fn error(line: &str) -> String {
        parse(words(line)).unwrap_err().text
    }

    #[test]
    fn programs_have_their_own_ranks_environment_and_arguments() {
        let (plan, notice) =
            job("-genv A 1 -n 2 -env B 2 -wdir /tmp a.out -n 9 : --np=3 b.out x -l");
        assert!(notice.is_none());
        let [first, second] = &plan.programs[..] else {
            panic!("{plan:?}")
        };
        assert_eq!((first.ranks, second.ranks), (2, 3));
        assert_eq!(first.arguments, ["-n", "9"]);
        assert_eq!(second.arguments, ["x", "-l"]);
        assert_eq!(plan.output, Output::default());
        assert_eq!(
            first.environment.set,
            [("A".into(), "1".into()), ("B".into(), "2".into())]
        );
        assert_eq!(second.environment.set, [("A".into(), "1".into())]);
        assert_eq!(first.directory.as_deref(), Some("/tmp".as_ref()));
    }

    #[test]
    fn programs_have_their_own_initial_error_handler() {
        let (plan, _) = job("--initial-errhandler mpi_errors_return a.out : b.out");
        let given = |program: usize| plan.programs[program].environment.set.clone();
        let name = settings::INITIAL_ERRHANDLER_VARIABLE;
        assert_eq!(given(0), [(name.into(), "2".into())]);
        assert_eq!(given(1), []);
    }

    #[test]
    fn flags_of_other_launchers_make_one_notice() {
        let (plan, notice) = job(
            "--allow-run-as-root --oversubscribe --mca btl self,sm -ppn 4 --map-by core --bind-to socket -np 2 -genvall \
             -hosts localhost -iface lo a.out",
        );
        assert_eq!(plan.programs[0].ranks, 2);
        let notice = notice.unwrap();
        for part in [
            "--mca btl self,sm",
            "-ppn 4",
            "--map-by core",
            "--bind-to socket",
            "-iface lo",
        ] {
            assert!(notice.contains(part), "{part}: {notice}");
        }
        assert!(
            !notice.contains("root") && !notice.contains("localhost"),
            "{notice}"
        );
        assert!(job("-q -ppn 4 a.out").1.is_none());
    }

    #[test]
    fn errors_name_the_flag_and_what_it_wants() {
        assert!(error("--lable a.out").contains("unknown flag --lable; did you mean --label?"));
        assert!(error("-n 0 a.out").contains("-n wants a number of ranks"));
        assert!(error("-n").contains("-n has no value; expected -n N"));
        assert!(error("-n 2 -stdin 2 a.out").contains("the job has 2"));
        assert!(error("--bind-to elbow a.out").contains("--bind-to wants core"));
        assert!(error("--timeout -1 a.out").contains("--timeout wants"));
        assert!(error("--initial-errhandler x a.out").contains("wants mpi_errors_are_fatal,"));
        assert!(error("-n 2 a.out :").contains("no program"));
        assert!(error("-hosts localhost,faraway.example a.out").contains("faraway.example"));
        assert!(error("--label=yes a.out").contains("takes no value"));
    }

    #[test]
    fn help_lists_every_flag_of_ours() {
        let Ok(Request::Text(text)) = parse(words("--help")) else {
            panic!()
        };
        for row in flags::FLAGS.iter().filter(|row| !row.text.is_empty()) {
            assert!(
                text.contains(&flags::dashed(row.names[0])),
                "{}",
                row.names[0]
            );
        }
    }
}
