// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cards of a node's ranks as values of the launcher's key space: one key a node, cut where lines would be too long.
//!
//! A value is hexadecimal: the length and the text of the host name, then the length and the bytes of each rank's card, in the order of
//! ranks. The first part begins with the number of parts in four digits.

use crate::client::Client;

/// Digits of the number of parts.
const COUNT_DIGITS: usize = 4;
/// Least room for a value.
const LEAST_ROOM: usize = 2 * COUNT_DIGITS;

/// The cards of the ranks of a node, and its host name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeCards {
    pub(crate) host: String,
    pub(crate) cards: Vec<Vec<u8>>,
}

impl NodeCards {
    fn to_text(&self) -> Result<String, String> {
        let cut = self.host.floor_char_boundary(usize::from(u8::MAX));
        let mut bytes = Vec::new();
        let host = &self.host.as_bytes()[..cut];
        for part in std::iter::once(host).chain(self.cards.iter().map(Vec::as_slice)) {
            let length = u8::try_from(part.len())
                .map_err(|_| format!("a card has {} bytes, at most 255 fit", part.len()))?;
            bytes.push(length);
            bytes.extend_from_slice(part);
        }
        Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Reads the cards of so many ranks; `None` when the text is something else.
    fn parse(text: &str, count: usize) -> Option<Self> {
        let bytes = from_hexadecimal(text)?;
        let mut rest = &bytes[..];
        let mut next = || {
            let (&length, tail) = rest.split_first()?;
            let (part, tail) = tail.split_at_checked(usize::from(length))?;
            rest = tail;
            Some(part.to_vec())
        };
        let host = String::from_utf8(next()?).ok()?;
        let cards: Option<Vec<_>> = (0..count).map(|_| next()).collect();
        let (cards, is_whole) = (cards?, rest.is_empty());
        is_whole.then_some(Self { host, cards })
    }

    /// Puts them into the key space, as rank `owner`, for node `node`.
    pub(crate) fn put(&self, client: &mut Client, node: u32) -> Result<(), String> {
        let text = self.to_text()?;
        let room = client.room(&key(node, u32::MAX));
        for (part, value) in parts(&text, room)?.iter().enumerate() {
            client.put(&key(node, part as u32), value)?;
        }
        Ok(())
    }

    /// Gets those of a node, whose lowest rank is `owner` and which has `count` ranks.
    pub(crate) fn get(
        client: &mut Client,
        node: u32,
        owner: u32,
        count: usize,
    ) -> Result<Self, String> {
        let malformed = || {
            let key = key(node, 0);
            format!(
                "the value of key {key}, the network addresses of the ranks of node {node}, is damaged"
            )
        };
        let first = client.get(owner, &key(node, 0))?;
        let (parts, text) = first.split_at_checked(COUNT_DIGITS).ok_or_else(malformed)?;
        let parts = u32::from_str_radix(parts, 16).map_err(|_| malformed())?;
        let mut text = text.to_owned();
        for part in 1..parts {
            text.push_str(&client.get(owner, &key(node, part))?);
        }
        Self::parse(&text, count).ok_or_else(malformed)
    }
}

/// The values of the parts of a text.
fn parts(text: &str, room: usize) -> Result<Vec<String>, String> {
    if room < LEAST_ROOM {
        return Err(format!(
            "values of the launcher's key space may have {room} bytes only, expected at least {LEAST_ROOM}"
        ));
    }
    let (head, tail) = text.split_at(text.len().min(room - COUNT_DIGITS));
    let tail: Vec<_> = tail.as_bytes().chunks(room).collect();
    let count = 1 + tail.len();
    if count >= 1 << (4 * COUNT_DIGITS) {
        return Err(format!(
            "the network addresses of a node take {count} keys of the launcher's key space, which are too many"
        ));
    }
    let mut parts = vec![format!("{count:0COUNT_DIGITS$x}{head}")];
    parts.extend(
        tail.iter()
            .map(|part| String::from_utf8_lossy(part).into_owned()),
    );
    Ok(parts)
}

fn key(node: u32, part: u32) -> String {
    format!("rankpoint-{node}-{part}")
}

/// The bytes of a text of hexadecimal digits.
pub(crate) fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|letter| letter.is_ascii_hexdigit()) {
        return None;
    }
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn cards_come_back(host in "[a-z\u{e9}]{0,200}", cards in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..130), 0..20), room in 8usize..1000) {
            let node = NodeCards { host, cards };
            let text = node.to_text().unwrap();
            let parts = parts(&text, room).unwrap();
            prop_assert!(parts.iter().all(|part| part.len() <= room));
            let whole = parts.concat();
            let count = u32::from_str_radix(&whole[..COUNT_DIGITS], 16).unwrap();
            prop_assert_eq!(count as usize, parts.len());
            let parsed = NodeCards::parse(&whole[COUNT_DIGITS..], node.cards.len()).unwrap();
            prop_assert!(node.host.starts_with(&parsed.host));
            prop_assert_eq!(parsed.cards, node.cards);
        }

        #[test]
        fn any_text_is_refused_or_whole(text in "[0-9a-f]{0,64}|.*", count in 0usize..6) {
            if let Some(node) = NodeCards::parse(&text, count) {
                prop_assert_eq!(node.cards.len(), count);
            }
        }
    }

    #[test]
    fn tiny_rooms_are_refused() {
        assert!(parts("00", 7).unwrap_err().contains("7 bytes only"));
        assert!(
            parts(&"0".repeat(1 << 20), 8)
                .unwrap_err()
                .contains("too many")
        );
    }
}
