//! One record of the budget's ledger, and its fixed-size form in the file. Pure.
//!
//! A record that was torn by a crash fails its checksum. It stands for a request that was about to be sent, so it
//! counts as one more request at the moment of the record before it.

use super::clock::Moment;

/// The size of a record in the file.
pub(super) const RECORD_BYTES: usize = 36;

const SPENT: u8 = 1;
const LIMIT: u8 = 2;
const BLOCKED: u8 = 3;
const RESERVED: u8 = 4;
const RELEASED: u8 = 5;
const UNSENT: u8 = 6;
const VERSION: u8 = 1;

/// The content of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Entry {
    /// Requests that were sent with this token, by any process.
    Spent(u32),
    /// The service named this limit for a minute.
    Limit(u32),
    /// The service asked for a pause of so many milliseconds.
    Blocked(u32),
    /// Requests that were reserved for an operation.
    Reserved(u32),
    /// Requests of the reservation of this moment that were used or released.
    Released(u32),
    /// Requests counted at this moment that never left this machine.
    Unsent(u32),
}

/// A record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Record {
    /// When it was written.
    pub(super) at: Moment,
    /// The content.
    pub(super) entry: Entry,
}

impl Record {
    /// Returns the record's bytes.
    pub(super) fn encode(&self) -> [u8; RECORD_BYTES] {
        let (kind, value) = match self.entry {
            Entry::Spent(count) => (SPENT, count),
            Entry::Limit(limit) => (LIMIT, limit),
            Entry::Blocked(millis) => (BLOCKED, millis),
            Entry::Reserved(count) => (RESERVED, count),
            Entry::Released(count) => (RELEASED, count),
            Entry::Unsent(count) => (UNSENT, count),
        };
        let mut bytes = [0_u8; RECORD_BYTES];
        bytes[0] = kind;
        bytes[1] = VERSION;
        bytes[4..8].copy_from_slice(&value.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.at.wall_ms.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.at.boot.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.at.boot_ms.to_le_bytes());
        let sum = checksum(&bytes[..32]);
        bytes[32..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Parses a record; `None`: it is torn, or of an unknown kind.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let sum = u32::from_le_bytes(bytes.get(32..36)?.try_into().ok()?);
        if bytes[1] != VERSION || sum != checksum(&bytes[..32]) {
            return None;
        }
        let value = u32::from_le_bytes(bytes[4..8].try_into().ok()?);
        let entry = match bytes[0] {
            SPENT => Entry::Spent(value),
            LIMIT => Entry::Limit(value),
            BLOCKED => Entry::Blocked(value),
            RESERVED => Entry::Reserved(value),
            RELEASED => Entry::Released(value),
            UNSENT => Entry::Unsent(value),
            0 | 7.. => return None,
        };
        Some(Self {
            at: Moment {
                wall_ms: i64::from_le_bytes(bytes[8..16].try_into().ok()?),
                boot: u64::from_le_bytes(bytes[16..24].try_into().ok()?),
                boot_ms: i64::from_le_bytes(bytes[24..32].try_into().ok()?),
            },
            entry,
        })
    }
}

/// Parses a ledger's bytes. A torn record at the end is skipped.
pub(super) fn decode_all(bytes: &[u8]) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::with_capacity(bytes.len() / RECORD_BYTES);
    for chunk in bytes.chunks_exact(RECORD_BYTES) {
        match (Record::decode(chunk), records.last()) {
            (Some(record), _) => records.push(record),
            (None, Some(before)) => {
                let at = before.at;
                records.push(Record {
                    at,
                    entry: Entry::Spent(1),
                });
            }
            (None, None) => {}
        }
    }
    records
}

/// FNV-1a: enough to recognise a torn record.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5_u32, |sum, &byte| {
        (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(entry: Entry) -> Record {
        Record {
            at: Moment {
                wall_ms: -5,
                boot: u64::MAX,
                boot_ms: 77,
            },
            entry,
        }
    }

    #[test]
    fn a_torn_record_still_counts_as_a_request() {
        let mut bytes = record(Entry::Spent(1)).encode().to_vec();
        bytes.extend_from_slice(&[0; RECORD_BYTES]);
        bytes.extend_from_slice(&record(Entry::Limit(9)).encode()[..20]);
        assert_eq!(
            decode_all(&bytes),
            [record(Entry::Spent(1)), record(Entry::Spent(1))]
        );
        assert_eq!(decode_all(&[0; RECORD_BYTES * 2]), []);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn a_record_survives_its_form(wall_ms: i64, boot: u64, boot_ms: i64, value: u32, kind in 0..6_u8) {
            let entry = match kind {
                0 => Entry::Spent(value),
                1 => Entry::Limit(value),
                2 => Entry::Blocked(value),
                3 => Entry::Reserved(value),
                4 => Entry::Released(value),
                _ => Entry::Unsent(value),
            };
            let record = Record { at: Moment { wall_ms, boot, boot_ms }, entry };
            prop_assert_eq!(decode_all(&record.encode()), vec![record]);
        }

        #[test]
        fn any_flipped_bit_is_noticed(at in 0..RECORD_BYTES, bit in 0..8_u32) {
            let mut bytes = record(Entry::Limit(60)).encode();
            bytes[at] ^= 1 << bit;
            // Bytes 2 and 3 are free, and covered by the checksum like the others.
            prop_assert_eq!(decode_all(&bytes), vec![]);
        }
    }
}
