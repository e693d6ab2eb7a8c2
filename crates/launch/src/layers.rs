// SPDX-License-Identifier: MIT OR Apache-2.0
//! The layers between programs and their MPI library that `--layers` of the commands names.

/// Layers that any program may have.
const LAYERS: [&str; 2] = ["datatypes", "placement"];
/// The layer that works with proxies only.
const WITH_PROXIES: &str = "endpoints";

/// Looks at what `--layers` of a command names.
///
/// # Errors
/// The flag, a name that is not one of these layers, and which there are.
pub fn check<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<(), String> {
    let wrong = |name: &&str| !name.is_empty() && !LAYERS.contains(name);
    let mut names = names.into_iter().map(str::trim);
    match names.find(wrong) {
        None => Ok(()),
        Some(WITH_PROXIES) => Err(format!(
            "--layers {WITH_PROXIES}: this layer needs proxies, which only rankpoint endpoints starts; that has the layer without the flag"
        )),
        Some(name) => {
            let known = LAYERS.join(", ");
            Err(format!(
                "--layers {name}: {name} is not a layer; there is {known}"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn names_that_are_not_layers_are_refused() {
        assert_eq!(check(["datatypes", " placement", ""]), Ok(()));
        assert_eq!(check([]), Ok(()));
        let why = check(["datatypes", "datatype"]).unwrap_err();
        assert_eq!(
            why,
            "--layers datatype: datatype is not a layer; there is datatypes, placement"
        );
        assert!(
            check(["endpoints"])
                .unwrap_err()
                .contains("rankpoint endpoints")
        );
    }
}
