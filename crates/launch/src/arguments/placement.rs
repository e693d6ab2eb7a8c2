// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flags that say where ranks run, and how many of them.

use std::ffi::OsStr;

use super::assign::Order;
use crate::LaunchError;
use crate::plan::{Binding, CoreOrder};

/// The meaning of `--map-by`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Mapping {
    /// `PE=N`.
    pub(crate) cores_each: Option<u32>,
    /// `ppr:N:node`.
    pub(crate) per_node: Option<u32>,
    /// The order of hosts.
    pub(crate) order: Order,
    /// The order of cores in a host.
    pub(crate) core_order: CoreOrder,
    /// Words without a meaning on one node.
    pub(crate) rest: Option<String>,
}

/// The value of `--map-by`.
///
/// # Errors
/// When a number is none.
pub(crate) fn mapping(flag: &OsStr, text: &str) -> Result<Mapping, LaunchError> {
    let mut mapping = Mapping::default();
    let mut rest = Vec::new();
    let mut words = text.split([':', ',']).peekable();
    if let Some(number) = text.to_lowercase().strip_prefix("ppr:") {
        let mut parts = number.split(':');
        let (count, unit) = (parts.next().unwrap_or_default(), parts.next());
        if matches!(unit, Some("node" | "slot")) {
            mapping.per_node = Some(positive(flag, count)?);
            words.by_ref().take(3).for_each(drop);
        }
    }
    for word in words {
        let lower = word.to_lowercase();
        match lower.strip_prefix("pe=") {
            Some(number) => mapping.cores_each = Some(positive(flag, number)?),
            None if lower == "oversubscribe" => {}
            None => rest.push(word),
        }
    }
    if rest.contains(&"node") {
        mapping.order = Order::Cyclic;
    }
    if let ["socket" | "package", others @ ..] = &rest[..] {
        mapping.core_order = CoreOrder::Sockets;
        rest = others.to_vec();
    }
    // Cores in a row are what ranks with several cores get.
    let plain = ["slot", "core", "node"];
    let known = mapping.cores_each.is_some() && rest.iter().all(|word| plain.contains(word));
    mapping.rest = (!known && !rest.is_empty()).then(|| rest.join(":"));
    Ok(mapping)
}

/// A binding, or `None` for one of another launcher that has no counterpart here.
///
/// # Errors
/// When it is no launcher's.
pub(crate) fn binding(text: &str) -> Result<Option<Binding>, LaunchError> {
    if let Some(list) = text.strip_prefix("user:") {
        return crate::binding::parse_list(list).map(|list| Some(Binding::User(list)));
    }
    // PRRTE appends qualifiers, such as core:overload-allowed; Hydra a number.
    let (head, tail) = text.split_once(':').unwrap_or((text, ""));
    match head {
        "core" => {
            let cores_each = tail.parse().ok().filter(|&cores| cores > 0).unwrap_or(1);
            Ok(Some(Binding::Core { cores_each }))
        }
        "none" => Ok(Some(Binding::None)),
        "hwthread" | "socket" | "package" | "numa" | "board" | "machine" | "rr" | "map"
        | "slot" | "cache" | "gpu" | "pci" | "ib" | "en" | "eth" | "hfi" => Ok(None),
        _ if head.len() > 6 && head.starts_with('l') && head.ends_with("cache") => Ok(None),
        _ => Err(LaunchError::usage(format!(
            "--bind-to wants core, core:N, none or user:LIST, but got '{text}'"
        ))),
    }
}

/// A number above 0.
///
/// # Errors
/// When it is none.
pub(crate) fn positive(flag: &OsStr, text: &str) -> Result<u32, LaunchError> {
    text.parse()
        .ok()
        .filter(|&number| number > 0)
        .ok_or_else(|| {
            LaunchError::usage(format!(
                "{} wants a number of at least 1, but got '{text}'",
                flag.display()
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_say_how_many_cores_and_ranks() {
        let map = |text| mapping("--map-by".as_ref(), text).unwrap();
        let of = |cores_each, per_node, rest: Option<&str>| Mapping {
            cores_each,
            per_node,
            rest: rest.map(str::to_owned),
            ..Mapping::default()
        };
        let sockets = map("socket:PE=4");
        assert_eq!(
            (sockets.core_order, sockets.cores_each),
            (CoreOrder::Sockets, Some(4))
        );
        assert_eq!(
            (map("package").core_order, map("package").rest),
            (CoreOrder::Sockets, None)
        );
        assert_eq!(map("slot:pe=2,OVERSUBSCRIBE"), of(Some(2), None, None));
        assert_eq!(map("ppr:3:node"), of(None, Some(3), None));
        assert_eq!(map("ppr:3:node:PE=2"), of(Some(2), Some(3), None));
        assert_eq!(map("ppr:2:socket"), of(None, None, Some("ppr:2:socket")));
        assert_eq!(map("core"), of(None, None, Some("core")));
        assert_eq!(map("node:PE=2").order, Order::Cyclic);
        assert!(mapping("--map-by".as_ref(), "core:PE=x").is_err());
        assert!(mapping("--map-by".as_ref(), "ppr:0:node").is_err());
    }

    #[test]
    fn bindings_of_all_launchers_are_known() {
        let core = |cores_each| Some(Binding::Core { cores_each });
        assert_eq!(binding("core").unwrap(), core(1));
        assert_eq!(binding("core:3").unwrap(), core(3));
        assert_eq!(binding("core:overload-allowed").unwrap(), core(1));
        assert_eq!(binding("none").unwrap(), Some(Binding::None));
        assert_eq!(binding("l1dcache:2").unwrap(), None);
        assert_eq!(binding("gpu:0").unwrap(), None);
        assert!(binding("elbow").is_err() && binding("user:x").is_err());
    }
}
