// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads a model from TOML. What the file does not say rightly is an error with its line and key.

use std::collections::BTreeMap;

use machine_profile::{Document, Section, Spot};

use crate::expression::Expression;
use crate::model::{Component, Curve, Given, Origin, Quantity, Shares, Source, Spread, Sum, Term};
use crate::{BYTES, Error, Model};

/// Terms that all names together may stand for; a file of sums of sums could ask for more than any node computes.
const MAX_TERMS: usize = 100_000;

/// Names with the places where they are declared and used, to find unknown ones and cycles.
#[derive(Default)]
struct Names {
    declared: BTreeMap<String, Declared>,
}

struct Declared {
    key: String,
    spot: Spot,
    /// Names in its terms, with their places.
    uses: Vec<(String, Spot)>,
    is_difference: bool,
}

impl Model {
    /// The model of a text; `file` is named in errors.
    ///
    /// # Errors
    /// [`Error::Input`]: what the file does not say as expected.
    pub fn parse(file: &str, text: &str) -> Result<Self, Error> {
        let document = Document::parse(text, file.as_ref())?;
        let root = document.root();
        let known = [
            "name",
            "note",
            "origin",
            "parameter",
            "component",
            "sum",
            "quantity",
            "shares",
        ];
        root.only(&known)?;
        let name = root.text("name")?;
        let origin = word(&root, "origin", &Origin::ALL)?.unwrap_or(Origin::Assumed);
        let mut names = Names::default();
        let parameters = parameters(&root, &mut names)?;
        let components = root.named_sections("component")?.into_iter();
        let components =
            components.map(|(name, row)| component(name, &row, (origin, &parameters), &mut names));
        let components = components.collect::<Result<_, _>>()?;
        let sums = sums(&root, &mut names)?;
        let quantities = root.named_sections("quantity")?.into_iter();
        let quantities = quantities.map(|(name, row)| quantity(name, &row, &mut names));
        let quantities = quantities.collect::<Result<_, _>>()?;
        let shares = root.named_sections("shares")?.into_iter();
        let shares = shares.map(|(name, row)| share(name, &row, &mut names));
        let shares = shares.collect::<Result<_, _>>()?;
        names.check(&document)?;
        let model = Self {
            name,
            note: root.optional("note", Section::text)?,
            parameters,
            components,
            sums,
            quantities,
            shares,
        };
        model.check_differences(&document, &names)?;
        Ok(model)
    }

    /// A difference may come out negative only once all components are known.
    fn check_differences(&self, document: &Document<'_>, names: &Names) -> Result<(), Error> {
        let values = self.values();
        for (row, value) in self.components.iter().zip(&values.leaves) {
            if value.is_finite() && *value >= 0.0 {
                continue;
            }
            let Some(declared) = names.declared.get(&row.name) else {
                continue;
            };
            let key = format!("component.{}.difference", row.name);
            let (found, expected) = (value.to_string(), "a difference of at least 0");
            return Err(document.error(declared.spot, key, &found, expected).into());
        }
        Ok(())
    }
}

impl Names {
    /// A name and the names that it uses; each name stands once.
    fn declare(
        &mut self,
        row: &Section<'_>,
        name: &str,
        spot: Spot,
        terms: &[(Term, Spot)],
        is_difference: bool,
    ) -> Result<(), Error> {
        let key = row.path().to_owned();
        let is_name = name
            .starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
            && name
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
            && !matches!(name, "max" | "min" | "ceil");
        if !is_name {
            let expected = "a name of letters, digits and _, which begins with a letter";
            return Err(row.document().error(spot, key, name, expected).into());
        }
        if let Some(other) = self.declared.get(name) {
            let expected = format!("another name: {} has it", other.key);
            return Err(row.document().error(spot, key, name, &expected).into());
        }
        let uses = terms.iter().flat_map(|(term, spot)| {
            let mut names = Vec::new();
            term.expression.names(&mut names);
            let names = names.into_iter().map(|name| (name.to_owned(), *spot));
            names.collect::<Vec<_>>()
        });
        let declared = Declared {
            key,
            spot,
            uses: uses.collect(),
            is_difference,
        };
        self.declared.insert(name.to_owned(), declared);
        Ok(())
    }

    /// All names are known, and none is made of itself.
    fn check(&self, document: &Document<'_>) -> Result<(), Error> {
        let mut sizes = BTreeMap::new();
        for (name, declared) in &self.declared {
            for &(ref used, spot) in &declared.uses {
                let refused =
                    |expected| document.error(spot, declared.key.as_str(), used, expected);
                let Some(row) = self.declared.get(used) else {
                    return Err(refused("a component, sum or quantity").into());
                };
                if declared.is_difference && (row.is_difference || !row.uses.is_empty()) {
                    let expected = "components with a value, and parameters";
                    return Err(refused(expected).into());
                }
            }
            self.size(document, name, &mut Vec::new(), &mut sizes)?;
        }
        Ok(())
    }

    /// Terms that a name stands for.
    fn size<'n>(
        &'n self,
        document: &Document<'_>,
        name: &'n str,
        path: &mut Vec<&'n str>,
        sizes: &mut BTreeMap<&'n str, usize>,
    ) -> Result<usize, Error> {
        if let Some(&size) = sizes.get(name) {
            return Ok(size);
        }
        let Some(declared) = self.declared.get(name) else {
            return Ok(1);
        };
        if path.contains(&name) {
            let found = format!("{} -> {name}", path.join(" -> "));
            let expected = "terms that do not lead back to it";
            let key = declared.key.as_str();
            return Err(document.error(declared.spot, key, &found, expected).into());
        }
        path.push(name);
        let mut size = 1_usize;
        for (used, _) in &declared.uses {
            size = size.saturating_add(self.size(document, used, path, sizes)?);
        }
        path.pop();
        if size > MAX_TERMS {
            let expected = format!("at most {MAX_TERMS} terms");
            let key = declared.key.as_str();
            return Err(document
                .error(declared.spot, key, "more terms", &expected)
                .into());
        }
        sizes.insert(name, size);
        Ok(size)
    }
}

fn parameters(root: &Section<'_>, names: &mut Names) -> Result<BTreeMap<String, f64>, Error> {
    let mut all = BTreeMap::new();
    let Some(table) = root.optional("parameter", Section::section)? else {
        return Ok(all);
    };
    for (name, spot) in table.keys() {
        names.declare(&table, name, spot, &[], false)?;
        all.insert(name.to_owned(), table.number(name)?);
    }
    Ok(all)
}

fn component(
    name: &str,
    row: &Section<'_>,
    (origin, parameters): (Origin, &BTreeMap<String, f64>),
    names: &mut Names,
) -> Result<Component, Error> {
    row.only(&[
        "ns",
        "bytes",
        "over",
        "points",
        "difference",
        "sd",
        "source",
        "origin",
        "experiment",
        "profile",
    ])?;
    let mut terms = Vec::new();
    let given = if let Some(over) = row.optional("over", Section::text)? {
        if !parameters.contains_key(&over) {
            return Err(row.error("over", &over, "a parameter").into());
        }
        Given::Curve(curve(row, "points", over)?)
    } else if row.has("bytes") {
        Given::Curve(curve(row, BYTES, BYTES.to_owned())?)
    } else if let Some(text) = row.optional("difference", Section::text)? {
        if row.has("ns") {
            let expected = "ns or difference, not both";
            return Err(row.error("ns", "both", expected).into());
        }
        let term = term(row, "difference", &text, row.spot("difference"))?;
        terms.push((term.clone(), row.spot("difference")));
        Given::Difference(term.expression)
    } else if row.has("profile") && !row.has("ns") {
        Given::Open
    } else {
        Given::Value(row.number("ns")?)
    };
    let sd = spread(row, &given)?;
    let is_difference = matches!(given, Given::Difference(_));
    names.declare(row, name, row.spot("ns"), &terms, is_difference)?;
    let usual = if is_difference {
        Source::Difference
    } else {
        Source::Assumed
    };
    let source = word(row, "source", &Source::ALL)?.unwrap_or(usual);
    let usual = match source {
        Source::Assumed => Origin::Assumed,
        _ if is_difference => Origin::Derived,
        _ => origin,
    };
    Ok(Component {
        name: name.to_owned(),
        given,
        sd,
        source,
        origin: word(row, "origin", &Origin::ALL)?.unwrap_or(usual),
        experiment: row.optional("experiment", Section::text)?,
        profile: row.optional("profile", Section::text)?,
    })
}

/// The standard deviation: a number, or one for each point of a curve.
fn spread(row: &Section<'_>, given: &Given) -> Result<Option<Spread>, Error> {
    let Given::Curve(Curve { over, points }) = given else {
        return Ok(row.optional("sd", Section::number)?.map(Spread::Same));
    };
    let Some(all) = row.optional("sd", Section::numbers)? else {
        return Ok(None);
    };
    if all.len() != points.len() {
        let found = format!("{} numbers", all.len());
        let key = if row.has("over") { "points" } else { BYTES };
        let expected = format!("{} numbers, one for each of {key}", points.len());
        return Err(row.error("sd", &found, &expected).into());
    }
    let points = points.iter().zip(all).map(|(point, sd)| (point.0, sd));
    Ok(Some(Spread::Curve(Curve {
        over: over.clone(),
        points: points.collect(),
    })))
}

/// A curve whose points stand under a key, with nanoseconds for each.
fn curve(row: &Section<'_>, key: &str, over: String) -> Result<Curve, Error> {
    let (places, nanoseconds) = (row.numbers(key)?, row.numbers("ns")?);
    if places.is_empty() || places.len() != nanoseconds.len() {
        let found = format!("{} numbers", nanoseconds.len());
        let expected = format!(
            "{} numbers, one for each of {key}, and at least one",
            places.len()
        );
        return Err(row.error("ns", &found, &expected).into());
    }
    if places.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(row.error(key, "other numbers", "growing numbers").into());
    }
    let points = places.into_iter().zip(nanoseconds).collect();
    Ok(Curve { over, points })
}

fn sums(root: &Section<'_>, names: &mut Names) -> Result<Vec<Sum>, Error> {
    let Some(table) = root.optional("sum", Section::section)? else {
        return Ok(Vec::new());
    };
    let mut all = Vec::new();
    for (name, spot) in table.keys() {
        let terms = terms(&table, name)?;
        names.declare(&table, name, spot, &terms, false)?;
        all.push(Sum {
            name: name.to_owned(),
            terms: terms.into_iter().map(|(term, _)| term).collect(),
        });
    }
    Ok(all)
}

fn quantity(name: &str, row: &Section<'_>, names: &mut Names) -> Result<Quantity, Error> {
    row.only(&["terms", "observed", "experiment", "note"])?;
    let terms = terms(row, "terms")?;
    names.declare(row, name, row.spot("terms"), &terms, false)?;
    let observed = row.optional("observed", Section::number)?;
    if observed == Some(0.0) {
        return Err(row.error("observed", "0", "a number above 0").into());
    }
    Ok(Quantity {
        name: name.to_owned(),
        terms: terms.into_iter().map(|(term, _)| term).collect(),
        observed,
        experiment: row.optional("experiment", Section::text)?,
        note: row.optional("note", Section::text)?,
    })
}

fn share(name: &str, row: &Section<'_>, names: &mut Names) -> Result<Shares, Error> {
    row.only(&["of", "parts"])?;
    let of = term(row, "of", &row.text("of")?, row.spot("of"))?;
    let table = row.section("parts")?;
    let mut used = vec![(of.clone(), row.spot("of"))];
    let mut parts = Vec::new();
    for (part, _) in table.keys() {
        let spot = table.spot(part);
        let parsed = term(&table, part, &table.text(part)?, spot)?;
        used.push((parsed.clone(), spot));
        parts.push((part.to_owned(), parsed));
    }
    // Tables have names of their own kind: they are no terms.
    let inner = format!("shares_of_{}", names.declared.len());
    names.declare(row, &inner, row.spot("of"), &used, false)?;
    Ok(Shares {
        name: name.to_owned(),
        of,
        parts,
    })
}

/// One of several words, which may be missing.
fn word<T: Copy>(
    row: &Section<'_>,
    key: &str,
    words: &[(&'static str, T)],
) -> Result<Option<T>, Error> {
    let found = row.optional(key, |row, key| row.name(key, words, |(word, _)| word))?;
    Ok(found.map(|(_, value)| value))
}

fn terms(row: &Section<'_>, key: &str) -> Result<Vec<(Term, Spot)>, Error> {
    let texts = row.texts(key)?;
    if texts.is_empty() {
        return Err(row.error(key, "none", "at least one term in quotes").into());
    }
    let all = texts.into_iter().map(|(text, spot)| {
        let parsed = term(row, key, &text, spot)?;
        Ok((parsed, spot))
    });
    all.collect()
}

fn term(row: &Section<'_>, key: &str, text: &str, spot: Spot) -> Result<Term, Error> {
    match Expression::parse(text) {
        Ok(expression) => Ok(Term {
            text: text.to_owned(),
            expression,
        }),
        Err(expected) => {
            let (key, found) = (row.full(key), format!("'{text}'"));
            Err(row.document().error(spot, key, &found, &expected).into())
        }
    }
}
