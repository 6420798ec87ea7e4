//! Attacks with handles: resources of WASI that the host keeps for a guest.

use std::hint::black_box;

use wasip2::cli::stdout;
use wasip2::clocks::monotonic_clock;
use wasip2::sockets::network::IpAddressFamily;
use wasip2::sockets::tcp_create_socket::create_tcp_socket;
use wasip2::sockets::udp_create_socket::create_udp_socket;

use crate::{Outcome, Primary, say};

/// Takes `count` pollables, and gives none back.
pub(crate) fn take_pollables(primary: &Primary) -> Outcome {
    take(primary, || monotonic_clock::subscribe_duration(1))
}

/// Takes `count` streams, and gives none back.
pub(crate) fn take_streams(primary: &Primary) -> Outcome {
    take(primary, stdout::get_stdout)
}

fn take<T>(primary: &Primary, one: impl Fn() -> T) -> Outcome {
    let handles = (0..primary.number("count", 1_000_000)).map(|_| one());
    let held: Vec<T> = handles.collect();
    say(&format!("holds {} handles", black_box(&held).len()));
    primary.end()
}

/// Asks for `count` sockets of each kind, and gives none back.
pub(crate) fn take_sockets(primary: &Primary) -> Outcome {
    let mut held = (Vec::new(), Vec::new());
    for _ in 0..primary.number("count", 10_000) {
        held.0.extend(create_tcp_socket(IpAddressFamily::Ipv4).ok());
        held.1.extend(create_udp_socket(IpAddressFamily::Ipv4).ok());
    }
    let (tcp, udp) = black_box(&held);
    say(&format!("holds {} sockets", tcp.len() + udp.len()));
    primary.end()
}
