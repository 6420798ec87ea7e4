//! The flags of leader election.

use std::time::Duration;

use clap::Args;

use super::Times;
use crate::flags::duration;

/// Times of the LeaderElectionFlags, as kube-controller-manager names them.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Leader election")]
pub struct LeaderElectionFlags {
    /// How long other hosts wait after the last renewal before they take over
    #[arg(long, default_value = "15s", value_parser = duration, value_name = "DURATION")]
    pub leader_elect_lease_duration: Duration,
    /// How long the holder tries to renew before it gives up
    #[arg(long, default_value = "10s", value_parser = duration, value_name = "DURATION")]
    pub leader_elect_renew_deadline: Duration,
    /// How long a host waits between tries
    #[arg(long, default_value = "2s", value_parser = duration, value_name = "DURATION")]
    pub leader_elect_retry_period: Duration,
}

impl LeaderElectionFlags {
    /// The times, if they fit together.
    ///
    /// # Errors
    /// They do not.
    pub fn times(self) -> Result<Times, String> {
        let times = Times {
            lease_duration: self.leader_elect_lease_duration,
            renew_deadline: self.leader_elect_renew_deadline,
            retry_period: self.leader_elect_retry_period,
        };
        if times.lease_duration <= times.renew_deadline {
            return Err(
                "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline"
                    .into(),
            );
        }
        if times.renew_deadline <= times.retry_period || times.retry_period.is_zero() {
            return Err("--leader-elect-renew-deadline must be longer than --leader-elect-retry-period, and that longer than 0".into());
        }
        Ok(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lease_times_must_fit_together() {
        let seconds = Duration::from_secs;
        let times = |lease, renew, retry| LeaderElectionFlags {
            leader_elect_lease_duration: seconds(lease),
            leader_elect_renew_deadline: seconds(renew),
            leader_elect_retry_period: seconds(retry),
        };
        assert!(times(15, 10, 2).times().is_ok());
        assert!(times(10, 10, 2).times().is_err());
        assert!(times(15, 2, 2).times().is_err());
        assert!(times(15, 10, 0).times().is_err());
    }
}
