// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads a model from TOML. What the file does not say rightly is an error with its line and key.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::de::DeTable;

use crate::expression::Expression;
use crate::fields::{Fields, Place};
use crate::model::{Component, Given, Origin, Quantity, Shares, Source, Sum, Term};
use crate::{Error, Model};

/// Terms that all names together may stand for; a file of sums of sums could ask for more than any node computes.
const MAX_TERMS: usize = 100_000;

/// Names with the places where they are declared and used, to find unknown ones and cycles.
#[derive(Default)]
struct Names {
    declared: BTreeMap<String, Declared>,
}

struct Declared {
    key: String,
    span: Range<usize>,
    /// Names in its terms, with their places.
    uses: Vec<(String, Range<usize>)>,
    is_difference: bool,
}

impl Model {
    /// The model of a text; `file` is named in errors.
    ///
    /// # Errors
    /// [`Error::Input`]: what the file does not say as expected.
    pub fn parse(file: &str, text: &str) -> Result<Self, Error> {
        let place = Place { file, text };
        let table = DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            place.error(&span, "file", error.message(), "TOML")
        })?;
        let root = Fields::root(place, &table);
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
        let name = name.ok_or_else(|| root.error("name", "nothing", "a name of the model"))?;
        let origin = root
            .word("origin", &Origin::ALL)?
            .unwrap_or(Origin::Assumed);
        let mut names = Names::default();
        let parameters = parameters(&root, &mut names)?;
        let components = root.tables("component")?.into_iter();
        let components = components.map(|(name, row)| component(name, &row, origin, &mut names));
        let components = components.collect::<Result<_, _>>()?;
        let sums = sums(&root, &mut names)?;
        let quantities = root.tables("quantity")?.into_iter();
        let quantities = quantities.map(|(name, row)| quantity(name, &row, &mut names));
        let quantities = quantities.collect::<Result<_, _>>()?;
        let shares = root.tables("shares")?.into_iter();
        let shares = shares.map(|(name, row)| share(name, &row, &mut names));
        let shares = shares.collect::<Result<_, _>>()?;
        names.check(place)?;
        let model = Self {
            name,
            note: root.text("note")?,
            parameters,
            components,
            sums,
            quantities,
            shares,
        };
        model.check_differences(place, &names)?;
        Ok(model)
    }

    /// A difference may come out negative only once all components are known.
    fn check_differences(&self, place: Place<'_>, names: &Names) -> Result<(), Error> {
        let values = self.values();
        for (row, value) in self.components.iter().zip(&values.leaves) {
            if value.is_finite() && *value >= 0.0 {
                continue;
            }
            let declared = names.declared.get(&row.name);
            let span = declared.map_or(0..0, |declared| declared.span.clone());
            let key = format!("component.{}.difference", row.name);
            return Err(place.error(
                &span,
                &key,
                &value.to_string(),
                "a difference of at least 0",
            ));
        }
        Ok(())
    }
}

impl Names {
    /// A name and the names that it uses; each name stands once.
    fn declare(
        &mut self,
        row: &Fields<'_, '_>,
        name: &str,
        span: &Range<usize>,
        terms: &[(Term, Range<usize>)],
        is_difference: bool,
    ) -> Result<(), Error> {
        let key = row.path.clone();
        let is_name = name
            .starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
            && name
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
            && !matches!(name, "max" | "min" | "ceil");
        if !is_name {
            let expected = "a name of letters, digits and _, which begins with a letter";
            return Err(row.place.error(span, &key, name, expected));
        }
        if let Some(other) = self.declared.get(name) {
            let expected = format!("another name: {} has it", other.key);
            return Err(row.place.error(span, &key, name, &expected));
        }
        let uses = terms.iter().flat_map(|(term, place)| {
            let mut names = Vec::new();
            term.expression.names(&mut names);
            let names = names
                .into_iter()
                .map(|name| (name.to_owned(), place.clone()));
            names.collect::<Vec<_>>()
        });
        let declared = Declared {
            key,
            span: span.clone(),
            uses: uses.collect(),
            is_difference,
        };
        self.declared.insert(name.to_owned(), declared);
        Ok(())
    }

    /// All names are known, and none is made of itself.
    fn check(&self, place: Place<'_>) -> Result<(), Error> {
        let mut sizes = BTreeMap::new();
        for (name, declared) in &self.declared {
            for (used, span) in &declared.uses {
                let Some(row) = self.declared.get(used) else {
                    return Err(place.error(
                        span,
                        &declared.key,
                        used,
                        "a component, sum or quantity",
                    ));
                };
                if declared.is_difference && (row.is_difference || !row.uses.is_empty()) {
                    let expected = "components with a value, and parameters";
                    return Err(place.error(span, &declared.key, used, expected));
                }
            }
            self.size(place, name, &mut Vec::new(), &mut sizes)?;
        }
        Ok(())
    }

    /// Terms that a name stands for.
    fn size<'n>(
        &'n self,
        place: Place<'_>,
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
            return Err(place.error(&declared.span, &declared.key, &found, expected));
        }
        path.push(name);
        let mut size = 1_usize;
        for (used, _) in &declared.uses {
            size = size.saturating_add(self.size(place, used, path, sizes)?);
        }
        path.pop();
        if size > MAX_TERMS {
            let expected = format!("at most {MAX_TERMS} terms");
            return Err(place.error(&declared.span, &declared.key, "more terms", &expected));
        }
        sizes.insert(name, size);
        Ok(size)
    }
}

fn parameters(root: &Fields<'_, '_>, names: &mut Names) -> Result<BTreeMap<String, f64>, Error> {
    let mut all = BTreeMap::new();
    let Some(table) = root.table("parameter")? else {
        return Ok(all);
    };
    for (name, span, value) in table.entries() {
        names.declare(&table, name, &span, &[], false)?;
        all.insert(name.to_owned(), table.as_number(name, value)?);
    }
    Ok(all)
}

fn component(
    name: String,
    row: &Fields<'_, '_>,
    origin: Origin,
    names: &mut Names,
) -> Result<Component, Error> {
    row.only(&[
        "ns",
        "bytes",
        "difference",
        "sd",
        "source",
        "origin",
        "experiment",
    ])?;
    let mut terms = Vec::new();
    let given = if row.has("bytes") {
        Given::Curve(curve(row)?)
    } else if let Some(text) = row.text("difference")? {
        if row.has("ns") {
            return Err(row.error("ns", "both", "ns or difference, not both"));
        }
        let term = term(row, "difference", &text, row.span("difference"))?;
        terms.push((term.clone(), row.span("difference")));
        Given::Difference(term.expression)
    } else {
        let value = row.number("ns")?;
        let expected = "nanoseconds, at least 0";
        Given::Value(value.ok_or_else(|| row.error("ns", "nothing", expected))?)
    };
    let is_difference = matches!(given, Given::Difference(_));
    names.declare(row, &name, &row.span("ns"), &terms, is_difference)?;
    let usual = if is_difference {
        Source::Difference
    } else {
        Source::Assumed
    };
    let source = row.word("source", &Source::ALL)?.unwrap_or(usual);
    let usual = match source {
        Source::Assumed => Origin::Assumed,
        _ if is_difference => Origin::Derived,
        _ => origin,
    };
    Ok(Component {
        name,
        given,
        sd: row.number("sd")?,
        source,
        origin: row.word("origin", &Origin::ALL)?.unwrap_or(usual),
        experiment: row.text("experiment")?,
    })
}

fn curve(row: &Fields<'_, '_>) -> Result<Vec<(f64, f64)>, Error> {
    let bytes = row.numbers("bytes")?.unwrap_or_default();
    let nanoseconds = row.numbers("ns")?.unwrap_or_default();
    if bytes.is_empty() || bytes.len() != nanoseconds.len() {
        let found = format!("{} numbers", nanoseconds.len());
        let expected = format!(
            "{} numbers, one for each of bytes, and at least one",
            bytes.len()
        );
        return Err(row.error("ns", &found, &expected));
    }
    if bytes.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(row.error("bytes", "other numbers", "growing numbers of bytes"));
    }
    Ok(bytes.into_iter().zip(nanoseconds).collect())
}

fn sums(root: &Fields<'_, '_>, names: &mut Names) -> Result<Vec<Sum>, Error> {
    let Some(table) = root.table("sum")? else {
        return Ok(Vec::new());
    };
    let mut all = Vec::new();
    for (name, span, _) in table.entries() {
        let terms = terms(&table, name)?;
        names.declare(&table, name, &span, &terms, false)?;
        all.push(Sum {
            name: name.to_owned(),
            terms: terms.into_iter().map(|(term, _)| term).collect(),
        });
    }
    Ok(all)
}

fn quantity(name: String, row: &Fields<'_, '_>, names: &mut Names) -> Result<Quantity, Error> {
    row.only(&["terms", "observed", "experiment", "note"])?;
    let terms = terms(row, "terms")?;
    names.declare(row, &name, &row.span("terms"), &terms, false)?;
    let observed = row.number("observed")?;
    if observed == Some(0.0) {
        return Err(row.error("observed", "0", "a number above 0"));
    }
    Ok(Quantity {
        name,
        terms: terms.into_iter().map(|(term, _)| term).collect(),
        observed,
        experiment: row.text("experiment")?,
        note: row.text("note")?,
    })
}

fn share(name: String, row: &Fields<'_, '_>, names: &mut Names) -> Result<Shares, Error> {
    row.only(&["of", "parts"])?;
    let of = row.text("of")?;
    let of = of.ok_or_else(|| row.error("of", "nothing", "a term"))?;
    let of = term(row, "of", &of, row.span("of"))?;
    let Some(table) = row.table("parts")? else {
        return Err(row.error("parts", "nothing", "a table of terms"));
    };
    let mut used = vec![(of.clone(), row.span("of"))];
    let mut parts = Vec::new();
    for (part, _, value) in table.entries() {
        let text = table.text(part)?.unwrap_or_default();
        let parsed = term(&table, part, &text, value.span())?;
        used.push((parsed.clone(), value.span()));
        parts.push((part.to_owned(), parsed));
    }
    // Tables have names of their own kind: they are no terms.
    let inner = format!("shares_of_{}", names.declared.len());
    names.declare(row, &inner, &row.span("of"), &used, false)?;
    Ok(Shares { name, of, parts })
}

fn terms(row: &Fields<'_, '_>, key: &str) -> Result<Vec<(Term, Range<usize>)>, Error> {
    let texts = row.texts(key)?.filter(|texts| !texts.is_empty());
    let texts = texts.ok_or_else(|| row.error(key, "nothing", "a list of terms in quotes"))?;
    let all = texts.into_iter().map(|(text, span)| {
        let parsed = term(row, key, &text, span.clone())?;
        Ok((parsed, span))
    });
    all.collect()
}

fn term(row: &Fields<'_, '_>, key: &str, text: &str, span: Range<usize>) -> Result<Term, Error> {
    match Expression::parse(text) {
        Ok(expression) => Ok(Term {
            text: text.to_owned(),
            expression,
        }),
        Err(expected) => {
            Err(row
                .place
                .error(&span, &row.key(key), &format!("'{text}'"), &expected))
        }
    }
}
