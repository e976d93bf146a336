//! The bytes of records: the only module that touches bincode.
//!
//! A frame is `format (1) | type (1) | version (2) | length (4) | CRC-32 (4) | payload`, numbers
//! little-endian; the CRC covers everything else in the frame. The payload is bincode 2 in its
//! standard configuration, through serde. Golden bytes of every record type and version are in the
//! tests, and a second implementation of the same format decodes them there, so leaving bincode is
//! a change of this module. `docs/decisions/0001-record-format.md` says why it is like this.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// bincode 2, standard configuration.
pub const FORMAT: u8 = 1;
/// Bytes before the payload.
pub const FRAME_HEAD_BYTES: usize = 12;
/// No payload may be larger: room for a row with two million messages.
pub const PAYLOAD_BYTES: usize = 256 * 1024 * 1024;

/// Payloads up to this length, and up to that, have limits of their own for what is decoded.
const SMALL_BYTES: usize = 64 * 1024;
const MIDDLE_BYTES: usize = 4 * 1024 * 1024;

/// Why bytes are not a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// There are fewer bytes than the frame needs.
    #[error("truncated: {have} bytes of {need}")]
    Truncated {
        /// Bytes there are.
        have: usize,
        /// Bytes needed.
        need: usize,
    },
    /// The format byte is not ours.
    #[error("record format {0} is unknown")]
    Format(u8),
    /// The frame claims to be longer than any record.
    #[error("a record of {0} bytes is longer than any can be")]
    TooLong(usize),
    /// The bytes are not those that were written.
    #[error("CRC mismatch: {found:08x} instead of {expected:08x}")]
    Crc {
        /// The CRC in the frame.
        expected: u32,
        /// The CRC of the bytes.
        found: u32,
    },
    /// A type or version that this program does not know.
    #[error("record type {kind} version {version} is unknown")]
    Unknown {
        /// The type.
        kind: u8,
        /// The version.
        version: u16,
    },
    /// The payload is not what its type says.
    #[error("payload: {0}")]
    Payload(String),
}

/// A frame, its payload not yet decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The record type.
    pub kind: u8,
    /// The version of the type.
    pub version: u16,
    /// The payload.
    pub payload: &'a [u8],
}

/// Encodes a value as a payload.
///
/// # Errors
///
/// When the value is larger than a payload may be.
pub fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, CodecError> {
    // Most payloads fit: growing step by step would copy them several times.
    let mut bytes = Vec::with_capacity(512);
    encode_into(&mut bytes, value)?;
    let fits = bytes.len() <= PAYLOAD_BYTES;
    if fits { Ok(bytes) } else { Err(CodecError::TooLong(bytes.len())) }
}

fn encode_into<T: Serialize>(out: &mut Vec<u8>, value: &T) -> Result<(), CodecError> {
    bincode::serde::encode_into_std_write(value, out, bincode::config::standard())
        .map(drop)
        .map_err(|error| CodecError::Payload(error.to_string()))
}

/// Decodes a payload; bytes that are left over are an error.
///
/// # Errors
///
/// When the payload is not a `T`.
pub fn decode<T: DeserializeOwned>(payload: &[u8]) -> Result<T, CodecError> {
    // A length that is claimed within the payload takes memory only up to a limit. bincode counts
    // against it what values take at most, up to nine times what they took, so it is far above the
    // payload's own length, which was checked.
    let decoded = if payload.len() <= SMALL_BYTES {
        decode_within::<T, { 16 * SMALL_BYTES }>(payload)
    } else if payload.len() <= MIDDLE_BYTES {
        decode_within::<T, { 16 * MIDDLE_BYTES }>(payload)
    } else {
        decode_within::<T, { 16 * PAYLOAD_BYTES }>(payload)
    };
    let (value, used) = decoded.map_err(|error| CodecError::Payload(error.to_string()))?;
    if used == payload.len() {
        Ok(value)
    } else {
        Err(CodecError::Payload(format!("{} bytes are left over", payload.len() - used)))
    }
}

fn decode_within<T: DeserializeOwned, const LIMIT: usize>(
    payload: &[u8],
) -> Result<(T, usize), bincode::error::DecodeError> {
    bincode::serde::decode_from_slice(payload, bincode::config::standard().with_limit::<LIMIT>())
}

/// Appends a frame.
///
/// # Errors
///
/// When the value is larger than a payload may be.
pub fn write_frame<T: Serialize>(
    out: &mut Vec<u8>,
    kind: u8,
    version: u16,
    value: &T,
) -> Result<(), CodecError> {
    // The payload is written where it belongs; its length and CRC are filled in afterwards.
    let begin = out.len();
    let [version_low, version_high] = version.to_le_bytes();
    out.extend_from_slice(&[FORMAT, kind, version_low, version_high, 0, 0, 0, 0, 0, 0, 0, 0]);
    let written = encode_into(out, value).and_then(|()| {
        let size = out.len() - begin - FRAME_HEAD_BYTES;
        let fits = size <= PAYLOAD_BYTES;
        let length = u32::try_from(size).ok().filter(|_| fits);
        length.ok_or(CodecError::TooLong(size))
    });
    let length = written.inspect_err(|_| out.truncate(begin))?;
    let [l0, l1, l2, l3] = length.to_le_bytes();
    let head = [FORMAT, kind, version_low, version_high, l0, l1, l2, l3];
    let crc = crc(&head, out.get(begin + FRAME_HEAD_BYTES..).unwrap_or(&[])).to_le_bytes();
    for (to, byte) in out.iter_mut().skip(begin).zip(head.into_iter().chain(crc)) {
        *to = byte;
    }
    Ok(())
}

/// Reads the first frame of `bytes`, and what follows it.
///
/// # Errors
///
/// When the bytes do not begin with a whole, undamaged frame.
pub fn read_frame(bytes: &[u8]) -> Result<(Frame<'_>, &[u8]), CodecError> {
    let truncated = |need| CodecError::Truncated { have: bytes.len(), need };
    let (head, rest) = bytes.split_first_chunk::<8>().ok_or_else(|| truncated(FRAME_HEAD_BYTES))?;
    let (expected, rest) =
        rest.split_first_chunk::<4>().ok_or_else(|| truncated(FRAME_HEAD_BYTES))?;
    let [format, kind, v0, v1, l0, l1, l2, l3] = *head;
    if format != FORMAT {
        return Err(CodecError::Format(format));
    }
    let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    if length > PAYLOAD_BYTES {
        return Err(CodecError::TooLong(length));
    }
    let (payload, rest) =
        rest.split_at_checked(length).ok_or_else(|| truncated(FRAME_HEAD_BYTES + length))?;
    let (expected, found) = (u32::from_le_bytes(*expected), crc(head, payload));
    if expected != found {
        return Err(CodecError::Crc { expected, found });
    }
    Ok((Frame { kind, version: u16::from_le_bytes([v0, v1]), payload }, rest))
}

fn crc(head: &[u8], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(payload);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(value: &str) -> Vec<u8> {
        let mut out = Vec::new();
        write_frame(&mut out, 3, 1, &value).unwrap();
        out
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let good = frame("hello");
        for byte in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[byte] ^= 1 << bit;
                assert!(read_frame(&bad).is_err(), "byte {byte} bit {bit}");
            }
            assert!(matches!(read_frame(&good[..byte]), Err(CodecError::Truncated { .. })));
        }
    }

    #[test]
    fn a_claimed_length_takes_no_memory() {
        let mut bad = frame("hello");
        bad[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(read_frame(&bad), Err(CodecError::TooLong(u32::MAX as usize)));
        assert!(decode::<String>(&[0xfd, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]).is_err());
    }

    #[test]
    fn bytes_that_are_left_over_are_an_error() {
        let mut payload = encode(&7u32).unwrap();
        payload.push(0);
        assert_eq!(
            decode::<u32>(&payload),
            Err(CodecError::Payload("1 bytes are left over".into()))
        );
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_frame(&bytes);
            let _ = decode::<crate::record::Sent>(&bytes);
            let _ = decode::<crate::record::RunEnded>(&bytes);
        }
    }
}
