//! Runs seeds, and says which fail and how.

use clap::Parser;
use windlass_simulation::fault::Fault;
use windlass_simulation::run::Case;

/// Runs hosts with faults.
#[derive(Debug, Parser)]
struct Flags {
    /// What goes wrong: `crash-done@3`.
    #[arg(long, value_delimiter = ',')]
    faults: Vec<Fault>,
    /// Shows everything that happens.
    #[arg(long)]
    trace: bool,
}

fn main() -> anyhow::Result<()> {
    let flags = Flags::parse();
    let case = Case::life(&flags.faults);
    let outcome = case.run()?;
    if flags.trace {
        for line in &outcome.evidence.trace {
            println!("{line}");
        }
    }
    for failure in &outcome.failures {
        println!("{failure}");
    }
    let start = std::time::Instant::now();
    for _ in 0..20 {
        case.run()?;
    }
    println!("{:?} per run", start.elapsed() / 20);
    Ok(())
}
