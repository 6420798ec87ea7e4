//! Compiling, where it can take nothing down: in a child process that limits itself.
//!
//! - The child gets the bytes and no more: no environment, no file but the one that it writes.
//! - It protects the host against exhaustion, not against a fault of the compiler: what the child
//!   wrote is mapped and run.

mod turns;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, setrlimit};

use super::admission::{Refused, invalid, judge_bytes, judge_structure};
use super::engine::{self, Interruption};
pub(crate) use turns::CompileTurns;
use windlass_base::memory::free_memory;
use windlass_base::seams::{ChildExit, Seams};
use windlass_base::text::clean;
use windlass_kube::crashes::Blame;
use windlass_policy::source::LARGEST_FILE;

/// Address space of the child at most; less if the container has less left. The largest measured compilation needs 0.4 GiB
/// (StarlingMonkey).
pub const MEMORY: u64 = 4 << 30;

/// With less memory nothing is compiled. Most components take less.
const LEAST: usize = 96 << 20;

/// This part of what is left stays for the host, which goes on meanwhile.
const HOSTS_PART: usize = 8;

/// How long a compilation waits for memory, and how often it looks.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_secs(1);

/// CPU seconds of the child, over all its threads. The largest measured compilation needs 9 s.
const CPU: u64 = 120;

/// How long the child may take, also on a machine that is busy.
const DEADLINE: Duration = Duration::from_secs(300);

/// Bytes of compiled code at most. The largest measured is 37 MiB (StarlingMonkey).
const LARGEST_CODE: u64 = 256 << 20;

/// Files that the child may have open.
const FILES: u64 = 16;

/// The exit code of a child that refused the component: what it said is why.
pub const REFUSED: u8 = 3;

/// Where components are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiler {
    /// In a child: this program with the argument `compile`.
    Child,
    /// In this process: for tests of what is around it.
    Here,
}

/// Why there is no compiled code.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The component is to blame.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// It takes more than the compiler may use.
    #[error("compiling it {0}: split the plugin, or leave out what it does not use")]
    Exhausted(String),
    /// It takes more than the machine has to give now.
    #[error("compiling it {0}: give the host more, or split the plugin")]
    Starved(String),
    /// The compiler crashed.
    #[error("compiling it {0}: build the component another way, and report this to Windlass")]
    Died(String),
    /// The machine is to blame.
    #[error("cannot compile: {0}")]
    Failed(String),
}

impl CompileError {
    /// What the component did to the compiler, if it killed it, and who is to blame.
    pub fn killed(&self) -> Option<(&str, Blame)> {
        match self {
            Self::Exhausted(how) | Self::Died(how) => Some((how, Blame::Component)),
            Self::Starved(how) => Some((how, Blame::Machine)),
            Self::Refused(_) | Self::Failed(_) => None,
        }
    }
}

impl Compiler {
    /// Compiles the component `bytes`, and writes its code to `output`.
    ///
    /// # Errors
    /// Why there is no code.
    pub(super) async fn compile(
        self,
        bytes: &[u8],
        mut output: File,
        seams: &Seams,
    ) -> Result<(), CompileError> {
        judge_bytes(bytes)?;
        if self == Self::Here {
            return compile(bytes, &mut output, Interruption::of(&seams.spawn));
        }
        let memory = memory_for_child(seams).await?.to_string();
        let arguments = ["compile", "--memory", &memory];
        let child = seams
            .spawn
            .child(&arguments, bytes, output, DEADLINE, seams.clock);
        let (ended, said) = child.await.map_err(|error| {
            CompileError::Failed(format!("the compiler does not start: {error}"))
        })?;
        judge_end(ended, &said)
    }
}

/// Waits until the container has memory for a compilation. Returns the address space of the child, in bytes.
async fn memory_for_child(seams: &Seams) -> Result<u64, CompileError> {
    let began = seams.clock.now();
    loop {
        let free = free_memory(Path::new("/"));
        if free >= LEAST {
            return Ok(share_of(free));
        }
        if seams.clock.now() - began >= PATIENCE {
            let (free, least) = (free >> 20, LEAST >> 20);
            return Err(CompileError::Starved(format!(
                "takes {least} MiB at least, and the container has {free} MiB left"
            )));
        }
        seams.clock.sleep(LOOK).await;
    }
}

/// The address space of a child, if so many bytes are free.
fn share_of(free: usize) -> u64 {
    let share = free - free / HOSTS_PART;
    u64::try_from(share).unwrap_or(MEMORY).min(MEMORY)
}

/// What the child's end says of the component.
fn judge_end(ended: ChildExit, said: &str) -> Result<(), CompileError> {
    let said = clean(said.trim(), 2 << 10);
    let xcpu = rustix::process::Signal::XCPU.as_raw();
    let xfsz = rustix::process::Signal::XFSZ.as_raw();
    Err(match ended {
        ChildExit::Code(0) => return Ok(()),
        ChildExit::Code(code) if code == i32::from(REFUSED) => Refused::Told(said).into(),
        // What a panic ends with.
        ChildExit::Code(101) => CompileError::Died(format!("makes the compiler panic: {said}")),
        ChildExit::Code(code) => {
            CompileError::Failed(format!("the compiler ended with {code}: {said}"))
        }
        ChildExit::Late => {
            CompileError::Starved(format!("takes more than {} s", DEADLINE.as_secs()))
        }
        ChildExit::Signal(signal) if signal == xcpu => {
            CompileError::Exhausted(format!("takes more than {CPU} s of CPU time"))
        }
        ChildExit::Signal(signal) if signal == xfsz => CompileError::Exhausted(format!(
            "gives more than {} MiB of code",
            LARGEST_CODE >> 20
        )),
        // The allocator's answer to a refused page is to abort; the kernel's is to kill.
        ChildExit::Signal(6 | 9) => CompileError::Starved(format!(
            "takes more than {} GiB of memory, or more than the container has left",
            MEMORY >> 30
        )),
        ChildExit::Signal(signal) => {
            CompileError::Died(format!("kills the compiler by signal {signal}: {said}"))
        }
    })
}

/// `windlass compile`: reads a component from `input` and writes its code to `output`, under limits
/// that it gives itself first. `memory` is that of its address space, in bytes.
///
/// # Errors
/// Why there is no code.
pub fn compile_child(
    memory: u64,
    input: &mut impl Read,
    output: &mut impl Write,
) -> Result<(), CompileError> {
    limit_self(memory)
        .map_err(|error| CompileError::Failed(format!("cannot limit itself: {error}")))?;
    let mut bytes = Vec::new();
    let most = u64::try_from(LARGEST_FILE).unwrap_or(u64::MAX) + 1;
    let read = input.take(most).read_to_end(&mut bytes);
    read.map_err(|error| CompileError::Failed(format!("cannot read the component: {error}")))?;
    judge_bytes(&bytes)?;
    compile(&bytes, output, Interruption::Epochs)
}

fn compile(
    bytes: &[u8],
    output: &mut impl Write,
    interruption: Interruption,
) -> Result<(), CompileError> {
    let failed = |error: &dyn std::fmt::Display| CompileError::Failed(error.to_string());
    judge_structure(bytes)?;
    let engine = engine::compiler(interruption).map_err(|error| failed(&error))?;
    let code = engine.precompile_component(bytes);
    let code = code.map_err(|error| invalid(bytes, &error))?;
    output.write_all(&code).map_err(|error| failed(&error))?;
    output.flush().map_err(|error| failed(&error))
}

fn limit_self(memory: u64) -> rustix::io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    // The child lives in the host's cgroup: it fails by itself before the kernel kills one of both. If the host grows
    // meanwhile, the child is the one to go.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    for (resource, most) in [
        (Resource::As, memory),
        (Resource::Cpu, CPU),
        (Resource::Fsize, LARGEST_CODE),
        (Resource::Nofile, FILES),
        (Resource::Core, 0),
    ] {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(resource, limit)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_gets_a_part_of_what_is_left() {
        assert_eq!(share_of(800 << 20), 700 << 20);
        assert_eq!(share_of(64 << 30), MEMORY);
    }

    #[test]
    fn how_the_child_ended_says_who_is_to_blame() {
        use Blame::{Component, Machine};
        let cases = [
            (ChildExit::Code(0), "", None),
            (ChildExit::Code(3), "unexpected end", None),
            (
                ChildExit::Code(101),
                "compiling it makes the compiler panic: unexpected end",
                Some(Component),
            ),
            (
                ChildExit::Code(1),
                "cannot compile: the compiler ended with 1: unexpected end",
                None,
            ),
            (ChildExit::Late, "takes more than 300 s", Some(Machine)),
            (
                ChildExit::Signal(24),
                "takes more than 120 s of CPU time",
                Some(Component),
            ),
            (
                ChildExit::Signal(25),
                "gives more than 256 MiB of code",
                Some(Component),
            ),
            (
                ChildExit::Signal(6),
                "takes more than 4 GiB of memory",
                Some(Machine),
            ),
            (
                ChildExit::Signal(9),
                "takes more than 4 GiB of memory",
                Some(Machine),
            ),
            (
                ChildExit::Signal(11),
                "compiling it kills the compiler by signal 11",
                Some(Component),
            ),
        ];
        for (ended, want, blame) in cases {
            let judged = judge_end(ended, "unexpected end\n");
            let killed = judged.as_ref().err().and_then(CompileError::killed);
            assert_eq!(killed.map(|(_, blame)| blame), blame, "{ended:?}");
            let said = match judged {
                Ok(()) => String::new(),
                Err(error) => error.to_string(),
            };
            assert!(
                said.contains(want) && said.is_empty() == want.is_empty(),
                "{ended:?}: {said}"
            );
        }
    }
}
