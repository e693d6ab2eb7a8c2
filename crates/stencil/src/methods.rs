// SPDX-License-Identifier: MIT OR Apache-2.0
//! How halos move.

use std::fmt;

/// How the halos of a message get to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// The receiver copies them from the sender's memory into its own: for ranks of a node, without a message.
    Shared,
    /// The sender packs them, and the receiver unpacks them.
    Packed,
    /// The MPI library does, by derived datatypes.
    Typed,
    /// As `Packed`, in a partitioned message: each part travels as soon as it is packed (MPI-5.0, section 4.2).
    Partitioned,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Shared, Self::Packed, Self::Typed, Self::Partitioned];
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shared => "shared",
            Self::Packed => "packed",
            Self::Typed => "typed",
            Self::Partitioned => "partitioned",
        })
    }
}

/// The methods that a domain may use. What a rank sends to itself, it copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Methods {
    allowed: [bool; 4],
}

impl Methods {
    /// All but `partitioned`, which not every library has: the domain measures a few exchanges with each, and takes the fastest within nodes
    /// and the fastest between nodes.
    pub const fn all() -> Self {
        Self {
            allowed: [true, true, true, false],
        }
    }

    /// A single one. Between nodes `shared` becomes `packed`.
    pub fn only(method: Method) -> Self {
        Self {
            allowed: Method::ALL.map(|known| known == method),
        }
    }

    /// The same without a method. `packed` is used where none is left.
    #[must_use]
    pub fn without(self, method: Method) -> Self {
        self.set(method, false)
    }

    /// The same and another method.
    #[must_use]
    pub fn with(self, method: Method) -> Self {
        self.set(method, true)
    }

    fn set(mut self, method: Method, is_allowed: bool) -> Self {
        for (allowed, known) in self.allowed.iter_mut().zip(Method::ALL) {
            if known == method {
                *allowed = is_allowed;
            }
        }
        self
    }

    fn among(self, all: &[Method]) -> Vec<Method> {
        let allowed = Method::ALL.iter().zip(self.allowed);
        let allowed = allowed.filter(|(method, is)| *is && all.contains(method));
        let found: Vec<Method> = allowed.map(|(method, _)| *method).collect();
        if found.is_empty() {
            vec![Method::Packed]
        } else {
            found
        }
    }

    /// Those within a node, the preferred one first.
    pub(crate) fn within_nodes(self) -> Vec<Method> {
        self.among(&Method::ALL)
    }

    /// Those between nodes, the preferred one first.
    pub(crate) fn between_nodes(self) -> Vec<Method> {
        self.among(&[Method::Packed, Method::Typed, Method::Partitioned])
    }
}

impl Default for Methods {
    fn default() -> Self {
        Self::all()
    }
}

/// The methods that a domain uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) within: Method,
    pub(crate) between: Method,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_does_not_reach_other_nodes() {
        let shared = Methods::only(Method::Shared);
        assert_eq!(shared.within_nodes(), [Method::Shared]);
        assert_eq!(shared.between_nodes(), [Method::Packed]);
        let rest = Methods::all().without(Method::Shared);
        assert_eq!(rest.within_nodes(), [Method::Packed, Method::Typed]);
        let more = rest.with(Method::Partitioned).without(Method::Typed);
        assert_eq!(more.between_nodes(), [Method::Packed, Method::Partitioned]);
        let none = Methods::only(Method::Typed).without(Method::Typed);
        assert_eq!(none.within_nodes(), [Method::Packed]);
        assert_eq!(
            Methods::all().between_nodes(),
            [Method::Packed, Method::Typed]
        );
    }
}
