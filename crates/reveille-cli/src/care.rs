//! `restore`, `compact`, `migrate`, `doctor`: care of a store.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use reveille_store::care;
use reveille_store::doctor::{Severity, doctor};
use serde_json::json;

use crate::cli::Data;
use crate::out;

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// The folder of the backup.
    #[arg(value_name = "DIR")]
    from: PathBuf,
    /// The data folder: absent or empty.
    #[command(flatten)]
    data: Data,
}

#[derive(Debug, Args)]
pub(crate) struct CareArgs {
    #[command(flatten)]
    data: Data,
}

/// Puts a backup into an absent or empty data folder.
pub(crate) fn restore(args: &RestoreArgs, json: bool) -> anyhow::Result<ExitCode> {
    let data = args.data.folder()?;
    care::restore(&args.from, &data)?;
    let data = data.display().to_string();
    if json {
        out::line(json!({ "restored": data }));
    } else {
        out::line(format_args!("the store in {data} is the backup, checked before"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes the file of a store as small as it can be.
pub(crate) fn compact(args: &CareArgs, json: bool) -> anyhow::Result<ExitCode> {
    let done = care::compact(args.data.folder()?)?;
    if json {
        out::line(json!({ "before": done.before, "after": done.after }));
    } else {
        out::line(format_args!("{} bytes before, {} after", done.before, done.after));
    }
    Ok(ExitCode::SUCCESS)
}

/// Brings a store of an older format to this program's.
pub(crate) fn migrate(args: &CareArgs, json: bool) -> anyhow::Result<ExitCode> {
    let done = reveille_store::migrate::migrate(args.data.folder()?)?;
    let backup = done.backup.as_ref().map(|path| path.display().to_string());
    if json {
        out::line(json!({ "from": done.from, "to": done.to, "backup": backup }));
        return Ok(ExitCode::SUCCESS);
    }
    match backup {
        Some(backup) => {
            let (from, to) = (done.from, done.to);
            out::line(format_args!("format {from} is {to} now; as it was: {backup}"));
        }
        None => out::line(format_args!("it has format {} already", done.to)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Looks at a data folder. Exit code 1 means that something is to be mended.
pub(crate) fn look(args: &CareArgs, json: bool) -> anyhow::Result<ExitCode> {
    let now = reveille::Clock::system_from(reveille::Timestamp::default()).now();
    let found = doctor(args.data.folder()?, now);
    let bad = found.iter().any(|diagnosis| diagnosis.severity == Severity::Bad);
    for one in &found {
        let (severity, about, what) = (one.severity.name(), one.about, &one.what);
        if json {
            out::line(json!({ "severity": severity, "about": about, "what": what }));
        } else {
            out::line(format_args!("{severity:8}{about}: {what}"));
        }
    }
    Ok(ExitCode::from(u8::from(bad)))
}
