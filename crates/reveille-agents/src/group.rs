//! A process group: a program and everything that it started and that did not leave the group.

use rustix::process::{Pid, Signal, kill_process_group};

/// The group of a program that we started. Dropping it kills what is left of the group.
#[derive(Debug)]
pub(crate) struct Group {
    id: Pid,
}

impl Group {
    /// The group of a program that was started as its leader.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let id = Pid::from_raw(i32::try_from(pid).ok()?)?;
        Some(Self { id })
    }

    /// Asks everybody in the group to end.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    fn signal(&self, signal: Signal) {
        // Fails only when nobody is left in the group.
        let _ = kill_process_group(self.id, signal);
    }
}

/// While the leader has not been waited for, its number is not given to anybody else, so this hits
/// nobody but the group. When it is dropped right after the wait, numbers would have to come round
/// within that moment.
impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
