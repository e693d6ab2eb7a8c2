// SPDX-License-Identifier: MIT OR Apache-2.0
//! Variables of other launchers than ours.
//!
//! A process that such a launcher starts as one of several must not become a singleton without a word, or there are as many jobs of one
//! rank as processes. Where the launcher speaks PMI or PMIx, the process joins its job. A program that a rank starts inherits the
//! variables but not the place: it runs as a job of its own, with a notice.

use bootstrap::Access;

use super::job;

/// Tasks of the step that Slurm's srun started.
const STEP_TASKS: &str = "SLURM_STEP_NUM_TASKS";
/// Variables that say how many processes were started together, and by whom.
const SIZES: &[(&str, &str)] = &[
    ("OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun"),
    (STEP_TASKS, "Slurm's srun"),
    ("PMI_SIZE", "a launcher that speaks PMI"),
];
/// Variables of those that say nothing about it before they are asked.
const MARKS: &[(&str, &str)] = &[
    ("PMIX_RANK", "a launcher that speaks PMIx"),
    ("PMI_FD", "a launcher that speaks PMI"),
    ("PMI_PORT", "a launcher that speaks PMI"),
];

/// What the variables of other launchers mean for this process.
pub(crate) enum Foreign {
    /// It is a singleton.
    None,
    /// It is a singleton, which may not be what the user wants.
    Singleton(String),
    /// It is a rank of the launcher's job; where the flag says so, the only one.
    Rank(Access, bool),
    /// It must not become a singleton.
    Refused(String),
}

/// What the variables of other launchers mean for this process.
///
/// # Errors
/// With a sentence that names the variable, its value and what was expected.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the file that may read the environment"
)]
pub(crate) fn foreign_launcher() -> Result<Foreign, String> {
    let read = |name: &str| std::env::var(name).ok();
    let found = foreign(&read)?;
    let Foreign::Rank(access, _) = &found else {
        return Ok(found);
    };
    let names = access.variables();
    let own: Vec<_> = names.iter().map(|&name| (name, read(name))).collect();
    Ok(match job::rank_with(&own) {
        Some(owner) => Foreign::Singleton(format!(
            "process {owner}, a rank of a launcher's job, started this program, and {} are that rank's; it runs alone, with one rank \
             (unset {} for it to silence this notice)",
            names.join(", "),
            names[0]
        )),
        None => found,
    })
}

/// As [`foreign_launcher`] without reading other processes, where `read` gives the value of a variable.
fn foreign(read: &dyn Fn(&str) -> Option<String>) -> Result<Foreign, String> {
    if let Some(access) = Access::find(read, &sys::socket::is_stream)? {
        let sizes = SIZES.iter().filter_map(|(name, _)| read(name));
        let sizes: Vec<_> = sizes.collect();
        let is_only = !sizes.is_empty() && sizes.iter().all(|size| size.trim() == "1");
        return Ok(Foreign::Rank(access, is_only));
    }
    let tasks = read(STEP_TASKS).filter(|tasks| tasks.trim() != "1");
    if let Some(tasks) = tasks.filter(|_| read("PMI_SIZE").is_none()) {
        let is_first = read("SLURM_PROCID").is_none_or(|task| task.trim() == "0");
        let warning = is_first.then(|| {
            Foreign::Singleton(format!(
                "Slurm's srun started this program as {tasks} tasks without PMI: each of them runs alone, with one rank; start it \
                 with srun --mpi=pmi2 or srun --mpi=pmix, or with Rankpoint's mpiexec inside the allocation"
            ))
        });
        return Ok(warning.unwrap_or(Foreign::None));
    }
    Ok(refusal(read).map_or(Foreign::None, Foreign::Refused))
}

/// The reason why this process must not become a singleton, if another launcher started it as one of several.
fn refusal(read: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let told: Vec<_> = SIZES
        .iter()
        .filter_map(|&(name, by)| Some((name, by, read(name)?)))
        .collect();
    let several = told.iter().find(|(_, _, size)| size.trim() != "1");
    let (by, why, start) = match several {
        Some((name, by, size)) => (
            by,
            format!("as one of {size} processes ({name} is {size})"),
            format!("mpiexec -n {size}"),
        ),
        None if told.is_empty() => {
            let (name, by) = MARKS.iter().find(|(name, _)| read(name).is_some())?;
            (by, format!("({name} is set)"), "mpiexec".to_owned())
        }
        None => return None,
    };
    let is_set = |name: &&str| read(name).is_some();
    let names = SIZES.iter().chain(MARKS).map(|&(name, _)| name);
    let unset: Vec<_> = names
        .filter(is_set)
        .map(|name| format!("-u {name}"))
        .collect();
    Some(format!(
        "{by} started this program {why}, but the variables do not say how to reach that launcher; start the program with \
         Rankpoint's {start}, also inside an allocation, or alone with env {} PROGRAM",
        unset.join(" ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Foreign {
        foreign(&|name| {
            let found = variables.iter().find(|(known, _)| *known == name)?;
            Some(found.1.to_owned())
        })
        .unwrap()
    }

    fn refused(variables: &[(&str, &str)]) -> String {
        match found(variables) {
            Foreign::Refused(text) => text,
            _ => panic!("{variables:?} is not refused"),
        }
    }

    fn is_singleton(variables: &[(&str, &str)]) -> bool {
        matches!(found(variables), Foreign::None)
    }

    #[test]
    fn one_process_of_several_joins_or_is_refused() {
        let hydra = [("PMI_SIZE", "2"), ("PMI_RANK", "0"), ("PMI_FD", "9")];
        assert!(matches!(
            found(&hydra),
            Foreign::Rank(Access::Inherited { .. }, false)
        ));
        let text = refused(&hydra[..2]);
        assert!(text.contains("-u PMI_SIZE PROGRAM"), "{text}");
        let text = refused(&[("OMPI_COMM_WORLD_SIZE", "2"), ("PMIX_RANK", "1")]);
        assert!(
            text.contains("mpirun started this program as one of 2"),
            "{text}"
        );
        assert!(refused(&[("PMIX_RANK", "0")]).contains("(PMIX_RANK is set)"));
    }

    #[test]
    fn tasks_without_pmi_are_warned_once() {
        let tasks = |number| {
            [
                ("SLURM_STEP_NUM_TASKS", "4"),
                ("SLURM_NTASKS", "4"),
                ("SLURM_PROCID", number),
            ]
        };
        let Foreign::Singleton(text) = found(&tasks("0")) else {
            panic!("no warning");
        };
        for part in [
            "as 4 tasks without PMI",
            "--mpi=pmi2",
            "--mpi=pmix",
            "mpiexec",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(is_singleton(&tasks("1")));
    }

    #[test]
    fn only_process_is_a_singleton() {
        assert!(is_singleton(&[]));
        // A shell or a batch script in an allocation.
        assert!(is_singleton(&[
            ("SLURM_JOB_ID", "7"),
            ("SLURM_NTASKS", "4")
        ]));
        let slurm = ("SLURM_STEP_NUM_TASKS", "1");
        assert!(is_singleton(&[slurm]));
        assert!(is_singleton(&[slurm, ("PMIX_RANK", "0")]));
        let pmi = [slurm, ("PMI_SIZE", "1"), ("PMI_FD", "9"), ("PMI_RANK", "0")];
        assert!(matches!(found(&pmi), Foreign::Rank(_, true)));
    }
}
