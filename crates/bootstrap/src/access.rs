// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a process reaches the launcher that started it, by the variables that the launcher has set.

/// Ranks of a job at most.
pub(crate) const MOST_RANKS: u32 = 1 << 24;

/// The launcher of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// PMI on an inherited socket: MPICH's and Intel's Hydra, `srun --mpi=pmi2`.
    Inherited {
        /// The descriptor (`PMI_FD`).
        fd: i32,
        /// `PMI_RANK`.
        rank: u32,
        /// `PMI_SIZE`.
        size: u32,
    },
    /// PMI on a socket to connect to: Hydra with `-pmi-port`.
    Port {
        /// `HOST:PORT` (`PMI_PORT`).
        address: String,
        /// The number of the process at the server (`PMI_ID`).
        id: u32,
    },
    /// PMIx: Open MPI's launchers, `srun --mpi=pmix`.
    Library {
        /// The job (`PMIX_NAMESPACE`).
        namespace: String,
        /// `PMIX_RANK`.
        rank: u32,
    },
}

impl Access {
    /// The access that environment variables give: `read` returns the value of one, `is_open` whether a descriptor is an open stream
    /// socket. Where PMI and PMIx are both there, the launcher that opened the socket for this process is the inner one.
    ///
    /// # Errors
    /// With a sentence that names the variable, its value and what was expected.
    pub fn find(
        read: &dyn Fn(&str) -> Option<String>,
        is_open: &dyn Fn(i32) -> bool,
    ) -> Result<Option<Self>, String> {
        let fd = given(read, "PMI_FD").and_then(|fd| fd.trim().parse().ok());
        let has_socket = fd.is_some_and(is_open);
        if let (Some(namespace), Some(_)) =
            (given(read, "PMIX_NAMESPACE"), given(read, "PMIX_RANK"))
            && !has_socket
        {
            let rank = number(read, "PMIX_RANK", MOST_RANKS - 1)?;
            return Ok(Some(Self::Library { namespace, rank }));
        }
        if given(read, "PMI_FD").is_some() {
            let fd = number(read, "PMI_FD", i32::MAX as u32)?;
            let size = number(read, "PMI_SIZE", MOST_RANKS)?;
            if size == 0 {
                return Err("PMI_SIZE is '0', expected at least 1".to_owned());
            }
            let rank = number(read, "PMI_RANK", size - 1)?;
            let fd = fd.cast_signed();
            return Ok(Some(Self::Inherited { fd, rank, size }));
        }
        let Some(address) = given(read, "PMI_PORT") else {
            return Ok(None);
        };
        let id = number(read, "PMI_ID", u32::MAX)?;
        Ok(Some(Self::Port { address, id }))
    }

    /// The variables that say it: processes with the same values have the same access.
    pub const fn variables(&self) -> &'static [&'static str] {
        match self {
            Self::Inherited { .. } => &["PMI_FD", "PMI_RANK", "PMI_SIZE"],
            Self::Port { .. } => &["PMI_PORT", "PMI_ID"],
            Self::Library { .. } => &["PMIX_NAMESPACE", "PMIX_RANK"],
        }
    }
}

/// The value of a variable that is set and not empty.
fn given(read: &dyn Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    read(name).filter(|value| !value.is_empty())
}

fn number(read: &dyn Fn(&str) -> Option<String>, name: &str, most: u32) -> Result<u32, String> {
    let value = read(name).unwrap_or_default();
    let number = value.trim().parse().ok().filter(|&number| number <= most);
    number.ok_or_else(|| format!("{name} is '{value}', expected a number up to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find_with(
        variables: &[(&str, &str)],
        is_open: &dyn Fn(i32) -> bool,
    ) -> Result<Option<Access>, String> {
        let read = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name)?;
            Some(found.1.to_owned())
        };
        Access::find(&read, is_open)
    }

    fn find(variables: &[(&str, &str)]) -> Result<Option<Access>, String> {
        find_with(variables, &|_| false)
    }

    #[test]
    fn each_launcher_is_told_by_its_variables() {
        assert_eq!(find(&[]), Ok(None));
        assert_eq!(find(&[("PMI_RANK", "1"), ("PMI_SIZE", "2")]), Ok(None));
        let hydra = [("PMI_FD", "9"), ("PMI_RANK", "1"), ("PMI_SIZE", "2")];
        let inherited = Access::Inherited {
            fd: 9,
            rank: 1,
            size: 2,
        };
        assert_eq!(find(&hydra), Ok(Some(inherited.clone())));
        let port = Access::Port {
            address: "mh1:4711".to_owned(),
            id: 3,
        };
        let variables = [("PMI_PORT", "mh1:4711"), ("PMI_ID", "3")];
        assert_eq!(find(&variables), Ok(Some(port)));
        let library = Access::Library {
            namespace: "slurm.pmix.2.0".to_owned(),
            rank: 5,
        };
        let mut variables = hydra.to_vec();
        variables.extend([("PMIX_NAMESPACE", "slurm.pmix.2.0"), ("PMIX_RANK", "5")]);
        assert_eq!(find(&variables), Ok(Some(library)));
        // Hydra inside a step of PMIx.
        let inner = find_with(&variables, &|fd| fd == 9);
        assert_eq!(inner, Ok(Some(inherited)));
    }

    #[test]
    fn impossible_values_are_named() {
        for (values, why) in [
            (
                ["9", "2", "2"],
                "PMI_RANK is '2', expected a number up to 1",
            ),
            (["9", "0", "0"], "PMI_SIZE is '0', expected at least 1"),
            (["x", "0", "1"], "PMI_FD is 'x'"),
            (["9", "-1", "1"], "PMI_RANK is '-1'"),
            (["9", "", "1"], "PMI_RANK is ''"),
            (["9", "0", "99999999999"], "PMI_SIZE is '99999999999'"),
        ] {
            let [fd, rank, size] = values;
            let text = find(&[("PMI_FD", fd), ("PMI_RANK", rank), ("PMI_SIZE", size)]);
            assert!(text.unwrap_err().starts_with(why), "{why}");
        }
        assert!(
            find(&[("PMI_PORT", "mh1:1")])
                .unwrap_err()
                .contains("PMI_ID")
        );
        assert!(find(&[("PMIX_NAMESPACE", "a"), ("PMIX_RANK", "y")]).is_err());
    }
}
