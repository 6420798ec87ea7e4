//! What all plugins of a host may do over time, together.

use clap::Args;

use windlass_base::flowcontrol::Rate;
use windlass_sandbox::Maxima;

/// Rates for all plugins of a host together. They share them by the weights of their documents.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Limits for all plugins together")]
pub struct ShareFlags {
    /// Requests each second that plugins send to the API server [default: what the API server answers without delay]
    #[arg(long, env = "WINDLASS_KUBE_API_QPS", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub kube_api_qps: Option<u32>,
    /// Requests that plugins send to the API server at once [default: twice --kube-api-qps]
    #[arg(long, env = "WINDLASS_KUBE_API_BURST", value_name = "N", requires = "kube_api_qps", value_parser = clap::value_parser!(u32).range(1..=200_000))]
    pub kube_api_burst: Option<u32>,
    /// Events that plugins publish each second; ten times as many at once
    #[arg(long, env = "WINDLASS_EVENT_QPS", value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub event_qps: u32,
    /// Bytes of log lines that plugins write each second; 16 times as many at once
    #[arg(long, env = "WINDLASS_PLUGIN_LOG_BYTES_PER_SECOND", value_name = "BYTES", default_value_t = 1 << 20, value_parser = clap::value_parser!(u32).range(1024..=1 << 30))]
    pub plugin_log_bytes_per_second: u32,
}

impl ShareFlags {
    /// What plugins may do.
    pub fn maxima(&self) -> Maxima {
        let burst = self.kube_api_burst.map(f64::from);
        Maxima {
            requests: self.kube_api_qps.map(f64::from).map(|per_second| Rate {
                per_second,
                burst: burst.unwrap_or(2.0 * per_second),
            }),
            log_bytes: f64::from(self.plugin_log_bytes_per_second),
        }
    }

    /// How many Events plugins may publish.
    pub fn events(&self) -> Rate {
        let per_second = f64::from(self.event_qps);
        Rate {
            per_second,
            burst: 10.0 * per_second,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        shares: ShareFlags,
    }

    #[test]
    fn flags_that_are_not_given_are_what_a_host_begins_with() {
        let none = Flags::try_parse_from(["windlass"]).unwrap();
        assert_eq!(none.shares.maxima(), Maxima::default());
        let flags = ["windlass", "--kube-api-qps=7", "--event-qps=3"];
        let shares = Flags::try_parse_from(flags).unwrap().shares;
        let requests = shares.maxima().requests.unwrap();
        assert_eq!((requests.per_second, requests.burst), (7.0, 14.0));
        assert_eq!(shares.events().burst, 30.0);
        for flag in ["--kube-api-qps=0", "--kube-api-burst=9"] {
            assert!(Flags::try_parse_from(["windlass", flag]).is_err(), "{flag}");
        }
    }
}
