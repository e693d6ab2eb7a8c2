// SPDX-License-Identifier: MIT OR Apache-2.0
//! From arguments to a plan, and the whole life of a job that was started from a command line.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use super::allocation::Allocation;
use super::flags::{self, Effect, FlagRow};
use super::host_flags::HostFlags;
use super::output_flags::OutputFlags;
use super::values::{initial_handler, reader_of_input};
use super::{config_file, placement};
use crate::cluster;
use crate::notices;
use crate::output::Role;
use crate::plan::{
    Binding, CoreOrder, Environment, Inherit, Input, JobPlan, Output, Program, Talk,
};
use crate::run::run_as;
use crate::variables::{exported, join, layers, names, tools};
use crate::{LaunchError, program, settings};

/// Runs the job that `arguments` (without the program's own name) describe, as `mpiexec` does.
///
/// Output, errors and reports go to this process's standard output and error. The exit status is that of the first
/// rank that failed, the code of MPI_Abort, 124 after `--timeout`, 128 and the signal's number when a signal ended the
/// launcher, 126 or 127 when a program cannot be started, and 2 for flags that are not understood.
pub fn run_command_line(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<_> = arguments.into_iter().collect();
    if arguments == [settings::AGENT_FLAG] {
        return cluster::run_agent();
    }
    if arguments == [settings::BRANCH_FLAG] {
        return cluster::run_branch();
    }
    let code = match parse(arguments) {
        Ok(Request::Text(text)) => notices::print(&text).map(|()| 0),
        Ok(Request::Job(plan, before)) => {
            for notice in before.notices {
                notices::say(&notice);
            }
            let told = before.pid_to.map_or(Ok(()), |to| notices::tell_pid(&to));
            told.and_then(|()| run_as(&plan, Role::CommandLine))
                .map(|outcome| outcome.exit_code)
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

/// The request of a command line.
#[derive(Debug)]
enum Request {
    /// To print a text.
    Text(String),
    /// To run a job.
    Job(Box<JobPlan>, Before),
}

/// Notices before a job starts.
#[derive(Debug)]
struct Before {
    notices: Vec<String>,
    /// Where the process id goes.
    pid_to: Option<OsString>,
}

/// The plan as far as it is read, and what is still to be said about it.
struct Reading {
    plan: JobPlan,
    job_environment: Environment,
    section: Section,
    output: OutputFlags,
    hosts: HostFlags,
    /// Cores of each rank.
    cores_each: Option<u32>,
    pid_to: Option<OsString>,
    /// While lines of a file are read.
    in_file: bool,
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
            binding: Binding::default(),
            core_order: CoreOrder::default(),
            timeout: settings::timeout()?,
            grace: settings::grace()?,
            reserve: settings::reserve()?,
            talk: Talk::default(),
            hosts: None,
        },
        job_environment: Environment::default(),
        section: Section::default(),
        output: OutputFlags::default(),
        hosts: HostFlags::default(),
        cores_each: None,
        pid_to: None,
        in_file: false,
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
        let before = self.plan.programs.len();
        let program = loop {
            let Some(argument) = rest.next() else {
                return match self.text {
                    Some(_) => Ok(()),
                    None if self.plan.programs.len() > before => Ok(()),
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
        self.hosts.end_program();
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
        if row.effect == Effect::Refused {
            let text = format!("{} is not done here: {}", argument.display(), row.text);
            return Err(LaunchError::usage(text));
        }
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
            Effect::Ranks => {
                self.section.ranks = Some(placement::positive(flag, &text)?);
                self.hosts.counted = true;
            }
            Effect::Env => self.section.environment.set.push((value, second)),
            Effect::JobEnv => self.job_environment.set.push((value, second)),
            Effect::Export => self.job_environment.set.extend(exported(&value)),
            Effect::Unset => self.job_environment.remove.extend(names(&text)),
            Effect::AppendEnv => join(&mut self.job_environment, flag, &text, &second, true)?,
            Effect::PrependEnv => join(&mut self.job_environment, flag, &text, &second, false)?,
            Effect::EnvList => self.section.environment.inherit = Inherit::Only(names(&text)),
            Effect::JobEnvList => self.job_environment.inherit = Inherit::Only(names(&text)),
            Effect::EnvNone => self.section.environment.inherit = Inherit::Only(Vec::new()),
            Effect::JobEnvNone => self.job_environment.inherit = Inherit::Only(Vec::new()),
            Effect::Directory => self.section.directory = Some(value),
            Effect::Path => self.section.search = Some(value),
            Effect::ConfigFile => {
                if std::mem::replace(&mut self.in_file, true) {
                    let text = format!("a file of programs names another one: {shown}");
                    return Err(LaunchError::usage(text));
                }
                for line in config_file::read(&value)? {
                    self.read_section(&line)?;
                }
                self.in_file = false;
            }
            Effect::Stdin => self.plan.input = reader_of_input(&text)?,
            Effect::Timeout => self.plan.timeout = Some(settings::seconds("--timeout", &text)?),
            Effect::InitialHandler => {
                let choice = initial_handler(&text)?;
                self.section.environment.set.push(choice);
            }
            Effect::MemoryKinds => {
                let name = settings::MEMORY_KINDS_VARIABLE.into();
                self.section.environment.set.push((name, value));
            }
            Effect::Layers => layers(&mut self.job_environment, &text)?,
            Effect::Tools => tools(&mut self.job_environment, &text)?,
            Effect::Stats => self.plan.talk.stats = true,
            Effect::Verbose => self.plan.talk.verbose = true,
            Effect::Bindings => self.plan.talk.bindings = true,
            Effect::Progress => self.plan.talk.progress = true,
            Effect::ExitCodes => self.plan.talk.exits = true,
            Effect::ReportPid => self.pid_to = Some(value),
            Effect::Quiet => self.quiet = true,
            Effect::Help => self.text = Some(flags::help()),
            Effect::Version => {
                self.text = Some(format!(
                    "mpiexec (Rankpoint) {}\n",
                    env!("CARGO_PKG_VERSION")
                ));
            }
            Effect::Ignored => self.ignored.push(shown),
            Effect::Granted | Effect::Refused => {}
            _ if self.apply_to_output(row.effect, flag, &value)? => {}
            _ => self.apply_to_placement(row.effect, flag, &value, shown)?,
        }
        Ok(())
    }

    /// Flags about output; whether it is one.
    fn apply_to_output(
        &mut self,
        effect: Effect,
        flag: &OsStr,
        value: &OsStr,
    ) -> Result<bool, LaunchError> {
        let text = value.to_string_lossy();
        match effect {
            Effect::Label => self.output.label(),
            Effect::WholeLines => self.output.whole_lines(),
            Effect::Tag => self.output.tag(),
            Effect::LabelPattern => self.output.label_pattern(flag, &text)?,
            Effect::Timestamp => self.output.timestamp(false),
            Effect::TagTimestamp => self.output.timestamp(true),
            Effect::Merge => self.output.merge(),
            Effect::OutFile => self.output.file_pattern(flag, 0, value)?,
            Effect::ErrorFile => self.output.file_pattern(flag, 1, value)?,
            Effect::OutputFile | Effect::OutputFolder => {
                let folder = effect == Effect::OutputFolder;
                let ignored = self.output.place(flag, folder, &text)?;
                self.ignore_of(flag, ignored);
            }
            Effect::OutputList => {
                let ignored = self.output.words(flag, &text)?;
                self.ignore_of(flag, ignored);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Flags about hosts, cores, and the number of ranks.
    fn apply_to_placement(
        &mut self,
        effect: Effect,
        flag: &OsStr,
        value: &OsStr,
        shown: String,
    ) -> Result<(), LaunchError> {
        let text = value.to_string_lossy();
        match effect {
            Effect::Hosts => self.hosts.list(flag, &text)?,
            Effect::HostFile => self.hosts.file(value)?,
            Effect::Launcher => self.hosts.launcher(flag, &text)?,
            Effect::Interface => self.hosts.interface(&text),
            Effect::PerNode => self
                .hosts
                .per_host(placement::positive(flag, &text)?, shown),
            Effect::OnePerNode => self.hosts.per_host(1, shown),
            Effect::ByNode => self.hosts.by_node(flag),
            Effect::CoresEach => self.cores_each = Some(placement::positive(flag, &text)?),
            Effect::MapBy => {
                let mapping = placement::mapping(flag, &text)?;
                self.cores_each = mapping.cores_each.or(self.cores_each);
                self.plan.core_order = mapping.core_order;
                self.hosts.map(flag, mapping, shown);
            }
            Effect::BindTo => match placement::binding(&text)? {
                Some(binding) => self.plan.binding = binding,
                None => self.ignored.push(shown),
            },
            Effect::BindNone => self.plan.binding = Binding::None,
            Effect::BindCore => self.plan.binding = Binding::Core { cores_each: 1 },
            Effect::Display => {
                let is_bindings = |word: &str| ["map", "bind", "bindings"].contains(&word);
                let (told, rest): (Vec<_>, Vec<_>) = text
                    .split([',', ':'])
                    .partition(|word| is_bindings(&word.to_lowercase()));
                self.plan.talk.bindings |= !told.is_empty();
                self.ignore_of(flag, (!rest.is_empty()).then(|| rest.join(",")));
            }
            _ => self.ignored.push(shown),
        }
        Ok(())
    }

    /// Part of a flag's value means nothing.
    fn ignore_of(&mut self, flag: &OsStr, part: Option<String>) {
        let shown = part.map(|part| format!("{} {part}", flag.display()));
        self.ignored.extend(shown);
    }

    fn finish(mut self) -> Result<Request, LaunchError> {
        self.plan.output = Output::Routed(std::mem::take(&mut self.output).finish());
        let named = self.hosts.names_hosts();
        let allocation = Allocation::find();
        let flags = std::mem::take(&mut self.hosts);
        let found = flags.finish(&mut self.plan.programs, allocation.as_ref())?;
        self.plan.hosts = found.hosts;
        self.ignored.extend(found.ignored);
        self.finish_cores();
        for program in &mut self.plan.programs {
            let own = std::mem::take(&mut program.environment);
            let inherit = match own.inherit {
                Inherit::All => self.job_environment.inherit.clone(),
                only => only,
            };
            let mut remove = self.job_environment.remove.clone();
            remove.extend(own.remove);
            let set = self
                .job_environment
                .set
                .iter()
                .cloned()
                .chain(own.set)
                .collect();
            program.environment = Environment {
                inherit,
                remove,
                set,
            };
        }
        let ranks = match self.plan.hosts {
            Some(_) => program::count_ranks(&self.plan.programs)?,
            None => program::total_ranks(&self.plan.programs)?,
        };
        let readers = match &self.plan.input {
            Input::Rank(rank) => std::slice::from_ref(rank),
            Input::Ranks(ranks) => ranks,
            _ => &[],
        };
        if let Some(rank) = readers.iter().find(|&&rank| rank >= ranks) {
            let text =
                format!("-stdin {rank} names a rank that does not exist: the job has {ranks}");
            return Err(LaunchError::usage(text));
        }
        let ignored = (!self.ignored.is_empty() && !self.quiet)
            .then(|| format!("ignored, without meaning here: {}", self.ignored.join(", ")));
        let mut notices = settings::unknown();
        notices.extend(ignored);
        let idle = allocation.filter(|_| !named);
        let idle = idle.and_then(|found| found.notice());
        notices.extend(idle.filter(|_| !self.quiet));
        let before = Before {
            notices,
            pid_to: self.pid_to,
        };
        Ok(Request::Job(Box::new(self.plan), before))
    }

    /// Applies other flags than `--bind-to` about cores.
    fn finish_cores(&mut self) {
        if let Some(cores) = self.cores_each {
            match &mut self.plan.binding {
                Binding::Automatic { cores_each } => *cores_each = Some(cores),
                Binding::Core { cores_each } => *cores_each = cores,
                Binding::None | Binding::User(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn job(line: &str) -> (JobPlan, Option<String>) {
        match parse(words(line)) {
            Ok(Request::Job(plan, before)) => (*plan, before.notices.into_iter().next()),
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
    fn programs_ask_for_their_own_kinds_of_memory() {
        let (plan, _) = job("-memory-alloc-kinds system,cuda:device a.out : b.out");
        let given = |program: usize| plan.programs[program].environment.set.clone();
        let name = settings::MEMORY_KINDS_VARIABLE;
        assert_eq!(given(0), [(name.into(), "system,cuda:device".into())]);
        assert_eq!(given(1), []);
    }

    #[test]
    fn flags_of_other_launchers_make_one_notice() {
        let (plan, notice) = job(
            "--allow-run-as-root --oversubscribe --mca btl self,sm -ppn 4 --map-by core --bind-to socket -np 2 -genvall \
             -hosts localhost -usize 9 a.out",
        );
        assert_eq!(plan.programs[0].ranks, 2);
        let notice = notice.unwrap();
        for part in [
            "--mca btl self,sm",
            "-ppn 4",
            "--map-by core",
            "--bind-to socket",
            "-usize 9",
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
    fn hosts_get_ranks_in_the_order_of_the_programs() {
        let hosts = |line| job(line).0.hosts.unwrap();
        let found = hosts("-hosts qa:2,qb -n 4 --launcher in a.out");
        assert_eq!(
            (found.names.join(","), found.node_of),
            ("qa,qb".into(), vec![0, 0, 1, 0])
        );
        let found = hosts("-n 1 -host qa a.out : -n 2 -host qb,qc b.out");
        assert_eq!(found.node_of, [0, 1, 2]);
        let (plan, notice) = job("-hosts qa,qb -ppn 2 --map-by node --interface eth7 a.out");
        let found = plan.hosts.unwrap();
        assert_eq!(
            (plan.programs[0].ranks, found.node_of),
            (4, vec![0, 1, 0, 1])
        );
        assert_eq!(found.interface.as_deref(), Some("eth7"));
        assert_eq!((notice, found.launcher), (None, vec!["ssh".into()]));
        assert_eq!(hosts("-hosts qa --launcher slurm a.out").launcher, ["srun"]);
        assert!(error("-hosts qa --launcher fork a.out").contains("expected ssh, srun"));
        // Hosts that get no rank are no part of the job.
        assert_eq!(
            job("-hosts localhost,qa -n 1 a.out")
                .0
                .hosts
                .map(|hosts| hosts.names),
            None
        );
    }

    #[test]
    fn errors_name_the_flag_and_what_it_wants() {
        assert!(error("--lable a.out").contains("unknown flag --lable; did you mean --label?"));
        assert!(error("-n 0 a.out").contains("-n wants a number of at least 1"));
        assert!(error("-n").contains("-n has no value; expected -n N"));
        assert!(error("-n 2 -stdin 2 a.out").contains("the job has 2"));
        assert!(error("--bind-to elbow a.out").contains("--bind-to wants core"));
        assert!(error("--timeout -1 a.out").contains("--timeout wants"));
        assert!(error("--initial-errhandler x a.out").contains("wants mpi_errors_are_fatal,"));
        assert!(error("-n 2 a.out :").contains("no program"));
        assert!(error("--label=yes a.out").contains("takes no value"));
    }

    #[test]
    fn help_lists_every_flag_of_ours() {
        let Ok(Request::Text(text)) = parse(words("--help")) else {
            panic!()
        };
        for row in super::super::flag_table::OURS {
            assert!(
                text.contains(&flags::dashed(row.names[0])),
                "{}",
                row.names[0]
            );
        }
    }
}
