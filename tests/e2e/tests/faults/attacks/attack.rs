//! What an attack is, and how it is made and judged.

use anyhow::{Context, Result, ensure};

use crate::attacks::stage::Stage;

/// Bytes of a mebibyte.
pub(crate) const MIB: u64 = 1 << 20;

/// One attack, as data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attack {
    /// The guest: `attacker` or `hostile`.
    pub(crate) guest: &'static str,
    /// The configuration of the attackers, as JSON.
    pub(crate) config: &'static str,
    /// `spec.limits` of the attackers, as JSON.
    pub(crate) limits: &'static str,
    /// How many healthy plugins stand beside them.
    pub(crate) neighbours: usize,
    /// How many plugins attack.
    pub(crate) attackers: usize,
    /// How many Greetings they are called for.
    pub(crate) objects: usize,
    /// How many passes they make, all together, before the attack is judged.
    pub(crate) passes: u32,
    /// How many passes they can make at most while the neighbours finish their changes; 0 for any number. It says
    /// that the neighbours do not wait for theirs.
    pub(crate) most_passes: u32,
    /// How many ConfigMaps of 900 KB are there before.
    pub(crate) maps: usize,
    /// What names the attack.
    pub(crate) signs: &'static [Sign],
    /// MiB that the host may have used at most.
    pub(crate) peak: u64,
    /// What a longer run has more of.
    pub(crate) longer: Longer,
    /// Whether the host has 1 GiB of memory, as in `deploy/base`.
    pub(crate) in_1_gib: bool,
    /// How many descriptors the host can have open; 0 for as many as we can.
    pub(crate) descriptors: u32,
    /// Whether the host records failed passes.
    pub(crate) records: bool,
    /// Whether the attackers may read Secrets.
    pub(crate) reads_secrets: bool,
    /// Whether the attackers reconcile the user's namespace too.
    pub(crate) in_two_namespaces: bool,
}

/// What `WINDLASS_ATTACK_ROUNDS` multiplies, besides the neighbours' changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Longer {
    /// Nothing.
    Changes,
    /// The passes: each object is reconciled again and again.
    Passes,
    /// The objects, and with them the passes.
    Objects,
}

/// What names an attack.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sign {
    /// A warning or an error in the log, about an attacker, that contains this.
    Log(&'static str),
    /// A series, as a regular expression in which `CONTROLLER` is the label of an attacker, whose sum over the
    /// attackers is not 0.
    Metric(&'static str),
}

/// What rows are made from.
pub(crate) const ATTACK: Attack = Attack {
    guest: "attacker",
    config: "{}",
    limits: "{}",
    neighbours: 1,
    attackers: 1,
    objects: 4,
    passes: 4,
    most_passes: 0,
    maps: 0,
    signs: &[],
    peak: 512,
    longer: Longer::Changes,
    in_1_gib: false,
    descriptors: 0,
    records: false,
    reads_secrets: false,
    in_two_namespaces: false,
};

/// A guest that only sleeps, spins, traps or floods.
pub(crate) const HOSTILE: Attack = Attack {
    guest: "hostile",
    ..ATTACK
};

/// Makes a test of each row: `attacks! { name => ATTACK_ROW, … }`. All rows are in `ROWS`.
macro_rules! attacks {
    ($($name:ident => $attack:expr),+ $(,)?) => {
        /// The attacks of this file, by name.
        pub(crate) const ROWS: &[(&str, crate::attacks::attack::Attack)] = &[$((stringify!($name), $attack)),+];

        $(
            #[tokio::test]
            async fn $name() -> anyhow::Result<()> {
                crate::attacks::attack::judge(stringify!($name), &$attack).await
            }
        )+
    };
}
pub(crate) use attacks;

/// How often everything is done.
pub(crate) fn rounds() -> Result<u32> {
    match std::env::var("WINDLASS_ATTACK_ROUNDS") {
        Ok(text) => text.parse().context("WINDLASS_ATTACK_ROUNDS is a number"),
        Err(_) => Ok(1),
    }
}

impl Attack {
    /// The attack as long as this run wants it.
    fn lengthened(self) -> Result<Self> {
        let rounds = rounds()?;
        let objects = match self.longer {
            Longer::Objects => self.objects * usize::try_from(rounds)?,
            Longer::Changes | Longer::Passes => self.objects,
        };
        let passes = match self.longer {
            Longer::Changes => self.passes,
            Longer::Objects | Longer::Passes => self.passes * rounds,
        };
        Ok(Self {
            objects,
            passes,
            most_passes: self.most_passes * rounds,
            ..self
        })
    }
}

/// Makes an attack beside healthy plugins, and judges what it did.
pub(crate) async fn judge(name: &str, attack: &Attack) -> Result<()> {
    let stage = Stage::set(name, &attack.lengthened()?).await?;
    stage.attack().await?;
    stage.named().await?;
    stage.end().await
}

/// That a peak is below the bound of its row.
pub(crate) fn check_peak(attack: &Attack, peak: u64) -> Result<()> {
    let (peak, bound) = (peak / MIB, attack.peak);
    ensure!(
        peak <= bound,
        "the host used {peak} MiB, which is more than {bound} MiB"
    );
    Ok(())
}
