//! Reading what a program writes, within limits.
//!
//! Reading goes on beyond the limit, so that the program is never blocked by a full pipe; what is
//! over is counted and dropped. A program that writes no line feed, or no UTF-8, or without end,
//! takes no more memory than the limit.

use std::collections::VecDeque;
use std::fmt::Write as _;

use reveille::limits::RESULT_BYTES;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Bytes of standard error that are kept: the last ones.
const LOG_BYTES: usize = 64 * 1024;
/// Bytes kept free for the line that tells of a cut.
const NOTE_BYTES: usize = 128;
const CHUNK_BYTES: usize = 16 * 1024;

/// The first bytes of an output.
#[derive(Debug, Default)]
pub(crate) struct Head {
    bytes: Vec<u8>,
    total: u64,
}

impl Head {
    /// Reads until the end; each line is told to `line`.
    pub(crate) async fn read(&mut self, mut from: impl AsyncRead + Unpin, line: impl Fn()) {
        let mut chunk = vec![0; CHUNK_BYTES];
        while let Ok(count @ 1..) = from.read(&mut chunk).await {
            let read = chunk.get(..count).unwrap_or(&[]);
            self.total += count as u64;
            let room = (RESULT_BYTES - NOTE_BYTES).saturating_sub(self.bytes.len());
            self.bytes.extend_from_slice(read.get(..count.min(room)).unwrap_or(&[]));
            if read.contains(&b'\n') {
                line();
            }
        }
    }

    /// The output as text: bytes that are not UTF-8 are replaced, a cut is told.
    pub(crate) fn into_text(self) -> String {
        let mut text = String::from_utf8_lossy(&self.bytes).into_owned();
        let cut = self.total > self.bytes.len() as u64;
        // Each byte that is not UTF-8 became three.
        let limit = text.floor_char_boundary(RESULT_BYTES - NOTE_BYTES);
        if cut || limit < text.len() {
            text.truncate(limit);
            let _ = write!(text, "\n[cut here: the output had {} bytes]", self.total);
        }
        text
    }
}

/// The last bytes of an output.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    bytes: VecDeque<u8>,
}

impl Tail {
    pub(crate) async fn read(&mut self, mut from: impl AsyncRead + Unpin) {
        let mut chunk = vec![0; CHUNK_BYTES];
        while let Ok(count @ 1..) = from.read(&mut chunk).await {
            self.bytes.extend(chunk.get(..count).unwrap_or(&[]));
            let over = self.bytes.len().saturating_sub(LOG_BYTES);
            self.bytes.drain(..over);
        }
    }

    /// The last `limit` bytes as text.
    pub(crate) fn text(&self, limit: usize) -> String {
        let skip = self.bytes.len().saturating_sub(limit);
        let bytes: Vec<u8> = self.bytes.iter().skip(skip).copied().collect();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    async fn head(bytes: &[u8]) -> String {
        let mut head = Head::default();
        head.read(bytes, || {}).await;
        head.into_text()
    }

    #[tokio::test]
    async fn an_output_within_the_limit_is_kept_byte_for_byte() {
        assert_eq!(head("a\nb é".as_bytes()).await, "a\nb é");
        assert_eq!(head(b"a\xff").await, "a\u{fffd}");
    }

    #[tokio::test]
    async fn an_output_beyond_the_limit_is_cut_and_says_so() {
        for byte in [b'x', 0xff] {
            let text = head(&vec![byte; 3 * RESULT_BYTES]).await;
            assert!(text.len() <= RESULT_BYTES);
            assert!(
                text.ends_with(&format!("[cut here: the output had {} bytes]", 3 * RESULT_BYTES))
            );
        }
    }

    #[tokio::test]
    async fn every_line_is_told_and_text_without_lines_is_not() {
        let lines = Cell::new(0);
        Head::default().read(&b"no end"[..], || lines.set(lines.get() + 1)).await;
        assert_eq!(lines.get(), 0);
        Head::default().read(&b"one\n"[..], || lines.set(lines.get() + 1)).await;
        assert_eq!(lines.get(), 1);
    }

    #[tokio::test]
    async fn the_end_of_a_log_is_kept() {
        let mut tail = Tail::default();
        let mut log = vec![b'x'; 2 * LOG_BYTES];
        log.extend_from_slice(b"the reason\n");
        tail.read(log.as_slice()).await;
        assert_eq!(tail.bytes.len(), LOG_BYTES);
        assert_eq!(tail.text(11), "the reason");
    }
}
