//! `results.jsonl`: one record a line, appended as soon as it exists, so that whatever ends the
//! program, all earlier runs are there.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::record::Record;

/// Name of the file in a result directory.
pub const FILE_NAME: &str = "results.jsonl";

/// Appends records to the file of one result directory.
#[derive(Debug)]
pub struct Appender {
    file: File,
    path: PathBuf,
}

impl Appender {
    /// Opens the file, or makes it and its directory. A last line that was cut off is removed:
    /// the next record must not be glued to it.
    ///
    /// # Errors
    /// When the directory or the file cannot be made or written.
    pub fn open(dir: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(dir)
            .with_context(|| format!("cannot make the directory {}", dir.display()))?;
        let path = dir.join(FILE_NAME);
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(&path)
            .with_context(|| format!("cannot open {} to append", path.display()))?;
        drop_cut_off_line(&mut file)
            .with_context(|| format!("cannot mend the last line of {}", path.display()))?;
        Ok(Self { file, path })
    }

    /// Appends one record, in one write.
    ///
    /// # Errors
    /// When the disk is full or the file has gone.
    pub fn append(&mut self, record: &Record) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(record).context("a record is plain data")?;
        line.push(b'\n');
        self.file
            .write_all(&line)
            .with_context(|| format!("cannot append to {}", self.path.display()))
    }
}

fn drop_cut_off_line(file: &mut File) -> std::io::Result<()> {
    let mut content = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut content)?;
    let whole = content
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |at| at + 1);
    if whole < content.len() {
        file.set_len(whole as u64)?;
    }
    Ok(())
}

/// Reads the records of a result directory, in the order of the runs. A run that was done again
/// (by `--resume`, because it had failed or was partial) stands in for the earlier one. A last line
/// that was cut off (power, kill) is left out; damage anywhere else is an error, because it is not
/// expected.
///
/// # Errors
/// When the file is missing or unreadable, or a whole line is no record: file, line and fault are
/// named.
pub fn read(dir: &Path) -> anyhow::Result<Vec<Record>> {
    let path = dir.join(FILE_NAME);
    let file = File::open(&path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => anyhow::anyhow!(
            "{} holds no {FILE_NAME}: it is not a result of `corewire lab run`",
            dir.display()
        ),
        _ => anyhow::Error::from(error).context(format!("cannot open {}", path.display())),
    })?;
    let mut reader = BufReader::new(file);
    let mut records = Vec::new();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let length = reader
            .read_until(b'\n', &mut line)
            .with_context(|| format!("cannot read {}", path.display()))?;
        if length == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice(&line) {
            Ok(record) => records.push(record),
            Err(_) if line.last() != Some(&b'\n') => break,
            Err(error) => bail!("{}, line {number}: {error}", path.display()),
        }
    }
    Ok(latest(records))
}

/// The last record of each run.
fn latest(records: Vec<Record>) -> Vec<Record> {
    let mut seen = HashSet::new();
    let mut kept: Vec<Record> = records
        .into_iter()
        .rev()
        .filter(|record| seen.insert((record.cell.clone(), record.repetition)))
        .collect();
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::{example, failed};

    fn other() -> Record {
        let mut record = example();
        record.repetition += 1;
        record
    }

    #[test]
    fn a_run_that_was_done_again_stands_in_for_the_first() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut appender = Appender::open(dir.path()).expect("opens");
        for record in [failed(), other(), example()] {
            appender.append(&record).expect("room");
        }
        assert_eq!(read(dir.path()).expect("own output"), [other(), example()]);
    }

    #[test]
    fn appended_records_come_back_in_order() {
        let dir = tempfile::tempdir().expect("a directory");
        let out = dir.path().join("deep/er");
        let mut appender = Appender::open(&out).expect("makes directories");
        appender.append(&example()).expect("room");
        drop(appender);
        let mut appender = Appender::open(&out).expect("opens again");
        appender.append(&other()).expect("room");
        assert_eq!(read(&out).expect("own output"), [example(), other()]);
    }

    #[test]
    fn a_cut_off_last_line_is_left_out_and_mended() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut appender = Appender::open(dir.path()).expect("opens");
        appender.append(&example()).expect("room");
        appender
            .file
            .write_all(b"{\"schema\":1,\"scen")
            .expect("room");
        drop(appender);
        assert_eq!(read(dir.path()).expect("tolerated"), [example()]);
        let mut appender = Appender::open(dir.path()).expect("mends");
        appender.append(&other()).expect("room");
        assert_eq!(read(dir.path()).expect("mended"), [example(), other()]);
    }

    #[test]
    fn damage_before_the_end_is_named_by_line() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut appender = Appender::open(dir.path()).expect("opens");
        appender.append(&example()).expect("room");
        appender.file.write_all(b"rubbish\n").expect("room");
        appender.append(&example()).expect("room");
        let error = format!("{:#}", read(dir.path()).expect_err("line 2 is rubbish"));
        assert!(error.contains("line 2"), "{error}");
    }

    #[test]
    fn a_directory_without_results_is_said_to_be_one() {
        let dir = tempfile::tempdir().expect("a directory");
        let error = read(dir.path()).expect_err("empty").to_string();
        assert!(error.contains("not a result"), "{error}");
    }
}
