// SPDX-License-Identifier: MIT OR Apache-2.0
//! Variables that launchers without Rankpoint's support leave in the environment.
//!
//! A process that such a launcher starts as one of several must not become a singleton, or there are as many jobs of one
//! rank as processes. The only process of such a launcher becomes one.

/// Variables that say how many processes were started together, and by whom.
const SIZES: &[(&str, &str)] = &[
    ("OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun"),
    ("SLURM_STEP_NUM_TASKS", "Slurm's srun"),
    ("PMI_SIZE", "a launcher that speaks PMI"),
];
/// Variables of those that say nothing about it before they are asked.
const MARKS: &[(&str, &str)] = &[
    ("PMIX_RANK", "a launcher that speaks PMIx"),
    ("PMI_FD", "a launcher that speaks PMI"),
    ("PMI_PORT", "a launcher that speaks PMI"),
];

/// The reason why this process must not become a singleton, if another launcher started it as one of several.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the file that may read the environment"
)]
pub(crate) fn refusal_of_singleton() -> Option<String> {
    refusal(|name| std::env::var(name).ok())
}

/// As [`refusal_of_singleton`], where `read` gives the value of a variable.
fn refusal(read: impl Fn(&str) -> Option<String>) -> Option<String> {
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
        "{by} started this program {why}, but Rankpoint does not speak with that launcher yet; start the program with \
         Rankpoint's {start}, also inside an allocation, or alone with env {} PROGRAM",
        unset.join(" ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(variables: &[(&str, &str)]) -> Option<String> {
        refusal(|name| {
            let found = variables.iter().find(|(known, _)| *known == name)?;
            Some(found.1.to_owned())
        })
    }

    #[test]
    fn one_process_of_several_is_refused() {
        let slurm = [("SLURM_NTASKS", "4"), ("SLURM_STEP_NUM_TASKS", "4")];
        let text = refused(&slurm).unwrap();
        for part in [
            "Slurm's srun started this program as one of 4 processes (SLURM_STEP_NUM_TASKS is 4)",
            "mpiexec -n 4",
            "env -u SLURM_STEP_NUM_TASKS PROGRAM",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let hydra = [("PMI_SIZE", "2"), ("PMI_RANK", "0"), ("PMI_FD", "9")];
        let text = refused(&hydra).unwrap();
        assert!(text.contains("-u PMI_SIZE -u PMI_FD PROGRAM"), "{text}");
        // One of several that it started is a step of one task itself.
        let nested = [
            ("SLURM_STEP_NUM_TASKS", "1"),
            ("OMPI_COMM_WORLD_SIZE", "2"),
            ("PMIX_RANK", "1"),
        ];
        let text = refused(&nested).unwrap();
        assert!(
            text.contains("mpirun started this program as one of 2"),
            "{text}"
        );
    }

    #[test]
    fn only_process_is_a_singleton() {
        assert_eq!(refused(&[]), None);
        // A shell or a batch script in an allocation.
        assert_eq!(
            refused(&[("SLURM_JOB_ID", "7"), ("SLURM_NTASKS", "4")]),
            None
        );
        let slurm = ("SLURM_STEP_NUM_TASKS", "1");
        assert_eq!(refused(&[slurm]), None);
        assert_eq!(refused(&[slurm, ("PMI_SIZE", "1"), ("PMI_FD", "9")]), None);
        assert_eq!(refused(&[slurm, ("PMIX_RANK", "0")]), None);
        assert_eq!(
            refused(&[("OMPI_COMM_WORLD_SIZE", "1"), ("PMIX_RANK", "0")]),
            None
        );
    }

    #[test]
    fn process_of_an_unknown_number_is_refused() {
        let text = refused(&[("PMIX_RANK", "0")]).unwrap();
        assert!(
            text.contains("PMIx started this program (PMIX_RANK is set)"),
            "{text}"
        );
        assert!(refused(&[("PMI_PORT", "host:1")]).is_some());
    }
}
