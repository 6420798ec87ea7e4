//! Runs jobs, a few at a time, and prints what each of them printed when it ends.

use std::io::{BufRead, BufReader, Write, pipe};
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::job::Job;
use super::libtest::Results;
use crate::{Error, command};

/// How long the end of a suite's output is waited for, once the suite has ended.
const LEFT_BEHIND: Duration = Duration::from_secs(5);

/// A job that has ended.
#[derive(Debug)]
pub(super) struct Finished {
    /// The job.
    pub(super) job: Job,
    /// How long the job took.
    pub(super) took: Duration,
    /// The results of the job's tests.
    pub(super) results: Results,
    /// Its output.
    pub(super) output: Vec<u8>,
}

/// Runs all jobs: each time the first of them that fits into the slots that are free.
///
/// # Errors
/// Standard output is closed.
pub(super) fn all(jobs: &[Job], slots: usize) -> Result<Vec<Finished>, Error> {
    let (sender, receiver) = channel();
    let mut finished = Vec::new();
    let mut waiting: Vec<&Job> = jobs.iter().collect();
    let mut free = slots;
    let mut end = |free: &mut usize| -> Result<(), Error> {
        let (job, taken): (Finished, usize) = receiver.recv()?;
        *free += taken;
        let mut out = std::io::stdout().lock();
        writeln!(out, "\n     Running {}", job.job.name)?;
        out.write_all(&job.output)?;
        finished.push(job);
        Ok(())
    };
    while !waiting.is_empty() || free < slots {
        let taken = |job: &Job| job.slots.min(slots);
        let Some(next) = waiting.iter().position(|job| taken(job) <= free) else {
            end(&mut free)?;
            continue;
        };
        let job = waiting.remove(next).clone();
        let taken = taken(&job);
        free -= taken;
        let sender = sender.clone();
        thread::spawn(move || {
            // Nobody receives after an error on standard output.
            drop(sender.send((run(job), taken)));
        });
    }
    Ok(finished)
}

fn run(job: Job) -> Finished {
    let began = Instant::now();
    let printed = Arc::new(Mutex::new(Printed {
        results: Results::new(job.tests.clone(), job.threads),
        output: Vec::new(),
    }));
    let ended = follow(&job, began, &printed);
    let took = began.elapsed();
    let mut printed = std::mem::take(&mut *lock(&printed));
    match ended {
        // A suite that did not start, or ended early, has failed.
        Ok(false) if printed.results.failed == 0 => printed.results.failed = 1,
        Ok(_) => {}
        Err(error) => {
            let line = format!("{}: {error}\n", job.name);
            printed.output.extend(line.bytes());
            printed.results.failed = printed.results.failed.max(1);
        }
    }
    Finished {
        job,
        took,
        results: printed.results,
        output: printed.output,
    }
}

/// The output of a job so far, and the results read from it.
#[derive(Default)]
struct Printed {
    results: Results,
    output: Vec<u8>,
}

fn lock(printed: &Mutex<Printed>) -> MutexGuard<'_, Printed> {
    printed.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the command of a job, and keeps the command's output. `true` if the exit code is 0.
///
/// # Errors
/// The command does not start.
fn follow(job: &Job, began: Instant, printed: &Arc<Mutex<Printed>>) -> Result<bool, Error> {
    let (program, arguments) = job.command.split_first().ok_or("a job has a command")?;
    let (reader, writer) = pipe()?;
    let mut command = command(program);
    command.args(arguments).current_dir(&job.folder);
    command.envs(job.settings.iter().copied());
    command.stdin(Stdio::null());
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    // The command holds the pipe's other end too.
    drop(command);
    let (done, is_read) = channel();
    let printed = Arc::clone(printed);
    thread::spawn(move || {
        let mut reader = BufReader::new(reader);
        let mut bytes = Vec::new();
        while reader
            .read_until(b'\n', &mut bytes)
            .is_ok_and(|read| read > 0)
        {
            let mut printed = lock(&printed);
            let line = String::from_utf8_lossy(&bytes);
            printed.results.line(line.trim_end(), began.elapsed());
            printed.output.append(&mut bytes);
        }
        let _ = done.send(());
    });
    let status = child.wait()?;
    // The pipe ends with the last program that holds it, which may be one that the suite has left behind.
    let _ = is_read.recv_timeout(LEFT_BEHIND);
    Ok(status.success())
}
