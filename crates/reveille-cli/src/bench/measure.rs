//! What is read off the machine: latencies, bytes written, and how busy others keep it.

use std::fs;
use std::time::Duration;

use hdrhistogram::Histogram;

/// A histogram of latencies in nanoseconds, up to a minute.
pub(super) fn histogram() -> anyhow::Result<Histogram<u64>> {
    Ok(Histogram::new_with_bounds(1, 60_000_000_000, 3)?)
}

/// A quantile in microseconds.
pub(super) fn micros(histogram: &Histogram<u64>, quantile: f64) -> f64 {
    #[allow(clippy::cast_precision_loss)] // a latency is far below 2^52 ns
    let nanos = histogram.value_at_quantile(quantile) as f64;
    (nanos / 100.0).round() / 10.0
}

/// Bytes written so far to the device below a path, by whomever.
pub(super) fn written_bytes(path: &std::path::Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(device) = fs::metadata(path).map(|meta| meta.dev()) else {
        return 0;
    };
    let (major, minor) = ((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xf_ff00));
    let stat = fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/stat"));
    let sectors = stat.unwrap_or_default().split_whitespace().nth(6).and_then(|n| n.parse().ok());
    sectors.unwrap_or(0) * 512
}

/// Processor time in ticks: of the whole machine, and of this process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    all: u64,
    own: u64,
}

impl Load {
    pub(super) fn now() -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let fields = stat.lines().next().unwrap_or("").split_whitespace().skip(1);
        let times: Vec<u64> = fields.filter_map(|field| field.parse().ok()).collect();
        // user, nice, system, irq, softirq, steal; not idle, not waiting for the disk
        let at = |index: usize| times.get(index).copied().unwrap_or(0);
        let all = [0, 1, 2, 5, 6, 7].into_iter().map(at).sum();
        let own = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let own = own.rsplit(')').next().unwrap_or("").split_whitespace();
        let own: Vec<u64> = own.skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
        Self { all, own: own.iter().sum() }
    }

    /// Whether others took more than a tenth of a core since `before`: then nothing is to be believed.
    pub(super) fn is_busy_since(self, before: Self, span: Duration) -> bool {
        let others = (self.all - before.all).saturating_sub(self.own - before.own);
        // A tick is a hundredth of a second.
        u128::from(others) * 10 > span.as_millis() / 10
    }
}

/// The cores of this machine and the device below a path, for people who compare.
pub(super) fn machine(path: &std::path::Path) -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let below = |line: &str| {
        let mut words = line.split(' ');
        let (device, at, kind) = (words.next()?, words.next()?, words.next()?);
        path.starts_with(at).then(|| (at.len(), format!("{device} ({kind})")))
    };
    let disk = mounts.lines().filter_map(below).max().map_or_else(String::new, |(_, disk)| disk);
    format!("{cores} cores, {disk}")
}

/// The value in the middle; 0 of nothing.
pub(super) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// A folder of its own for the files of a benchmark, removed when it is dropped.
pub(super) fn folder(within: Option<&std::path::Path>) -> anyhow::Result<tempfile::TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("reveille-bench-");
    Ok(match within {
        Some(within) => builder.tempdir_in(within)?,
        None => builder.tempdir()?,
    })
}
