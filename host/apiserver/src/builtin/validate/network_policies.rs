//! What is wrong with network policies (kubernetes `pkg/apis/networking/validation`).

use serde_json::Value;

use super::labels;
use super::spot::{Causes, Spot};
use crate::status::Cause;
use crate::{addresses, names};

const PROTOCOLS: &[&str] = &["TCP", "UDP", "SCTP"];
const TYPES: &[&str] = &["Ingress", "Egress"];

/// Judges a network policy; ranges that the old one has stay as they are.
pub(super) fn network_policy(policy: &Spot<'_>, old: Option<&Spot<'_>>, causes: &mut Causes) {
    let spec = policy.of("spec");
    labels::selector(&spec.of("podSelector"), causes);
    let mut held = Vec::new();
    if let Some(old) = old {
        ranges(old.of("spec").value(), &mut held);
    }
    for (rules, ends) in [("ingress", "from"), ("egress", "to")] {
        for rule in spec.of(rules).items() {
            for port in rule.of("ports").items() {
                self::port(&port, causes);
            }
            for end in rule.of(ends).items() {
                peer(&end, &held, causes);
            }
        }
    }
    let types = spec.of("policyTypes");
    if types.len() > TYPES.len() {
        return types.invalid("may not specify more than two policyTypes", causes);
    }
    for kind in types.items() {
        if !TYPES.contains(&kind.text()) {
            kind.unsupported(TYPES, causes);
        }
    }
}

/// All ranges that a policy has.
fn ranges<'a>(spec: &'a Value, found: &mut Vec<&'a str>) {
    match spec {
        Value::Object(fields) => {
            let own = fields.get("cidr").into_iter();
            let except = fields.get("except").and_then(Value::as_array);
            let all = own.chain(except.into_iter().flatten());
            found.extend(all.filter_map(Value::as_str));
            fields.values().for_each(|value| ranges(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| ranges(item, found)),
        _ => {}
    }
}

fn port(port: &Spot<'_>, causes: &mut Causes) {
    port.of("protocol").one_of_if_set(PROTOCOLS, causes);
    let (first, last) = (port.of("port"), port.of("endPort"));
    match first.value() {
        Value::Null => {
            if last.is_set() {
                last.invalid("may not be specified when `port` is not specified", causes);
            }
        }
        Value::String(_) => {
            if last.is_set() {
                let why = "may not be specified when `port` is non-numeric";
                last.invalid(why, causes);
            }
            first.fits(names::port, causes);
        }
        _ => {
            first.port(causes);
            if last.is_set() {
                if last.number() < first.number() {
                    let why = "must be greater than or equal to `port`";
                    causes.push(Cause::invalid(last.path(), first.value(), why));
                }
                last.port(causes);
            }
        }
    }
}

fn peer(peer: &Spot<'_>, held: &[&str], causes: &mut Causes) {
    let mut count = 0;
    for field in ["podSelector", "namespaceSelector"] {
        let selector = peer.of(field);
        if selector.is_set() {
            count += 1;
            labels::selector(&selector, causes);
        }
    }
    let block = peer.of("ipBlock");
    if block.is_set() {
        count += 1;
        self::block(&block, held, causes);
    }
    if count == 0 {
        peer.required("must specify a peer", causes);
    } else if count > 1 && block.is_set() {
        peer.forbidden("may not specify both ipBlock and another peer", causes);
    }
}

fn block(block: &Spot<'_>, held: &[&str], causes: &mut Causes) {
    let whole = block.of("cidr");
    if whole.is_empty() {
        return whole.required("", causes);
    }
    let judge = |range: &Spot<'_>, causes: &mut Causes| {
        if !held.contains(&range.text()) {
            range.fits(addresses::cidr, causes);
        }
    };
    judge(&whole, causes);
    let Some((_, length)) = addresses::parse_cidr(whole.text()) else {
        return;
    };
    for except in block.of("except").items() {
        judge(&except, causes);
        let Some((inner, longer)) = addresses::parse_cidr(except.text()) else {
            continue;
        };
        let around = format!("{inner}/{length}");
        if !addresses::is_same_cidr(&around, whole.text()) || length >= longer {
            except.invalid("must be a strict subset of `cidr`", causes);
        }
    }
}
