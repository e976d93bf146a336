//! The socket in the data folder: how verbs reach the runtime that holds it.
//!
//! `reveille.sock` (mode 0600) takes lines of JSON: a [`crate::request::Request`] each, answered by a
//! line `{"ok": ...}` or `{"error": {"code", "message", "exit"}}` in the same order. A tail is answered
//! by a line `{"event": ...}` for each event first. Only the user who runs the runtime, and root, are
//! served; both count as a person (P11). Lines, the time they take to arrive and the number of
//! connections are limited (P10), and a client that goes away holds nothing.

pub(crate) mod client;
mod server;
mod wire;

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

pub(crate) use self::server::Socket;

const NAME: &str = "reveille.sock";
/// What the system takes as a socket's path, at most; some take four bytes less than Linux's 107.
const PATH_BYTES: usize = 103;

/// A folder by a name that is short enough for its sockets: its own, or one that this process has for
/// it while it is open.
struct Folder {
    name: PathBuf,
    _open: Option<File>,
}

impl Folder {
    fn of(data: &Path) -> io::Result<Self> {
        let longest = data.join(NAME).as_os_str().len() + ".new".len();
        if longest <= PATH_BYTES {
            return Ok(Self { name: data.to_owned(), _open: None });
        }
        let open = File::open(data)?;
        let name = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
        Ok(Self { name, _open: Some(open) })
    }

    fn join(&self, name: &str) -> PathBuf {
        self.name.join(name)
    }
}
