//! Max-min fair sharing by weight.

/// What one participant wants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Want {
    pub(super) weight: f64,
    pub(super) demand: f64,
}

/// How much each unit of weight may have of `total`, so that nobody can have more unless somebody with less has to
/// give it; `None` if there is enough for all. Who wants less than `level * weight` gets what it wants.
pub(super) fn level(total: f64, mut wants: Vec<Want>) -> Option<f64> {
    let by_weight = |want: &Want| want.demand / want.weight;
    wants.sort_by(|one, two| by_weight(one).total_cmp(&by_weight(two)));
    let mut weights: f64 = wants.iter().map(|want| want.weight).sum();
    let mut left = total;
    for want in &wants {
        let level = left / weights;
        if by_weight(want) > level {
            return Some(level);
        }
        left -= want.demand;
        weights -= want.weight;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_wants_little_gets_it_and_the_others_share_the_rest_by_weight() {
        type Row<'a> = (f64, &'a [(f64, f64)], Option<f64>);
        // (total, weight and demand of each, what a unit of weight may have)
        let rows: [Row<'_>; 8] = [
            (100.0, &[], None),
            (100.0, &[(10.0, 100.0)], None),
            (100.0, &[(10.0, 200.0)], Some(10.0)),
            (100.0, &[(10.0, 90.0), (10.0, 10.0)], None),
            (100.0, &[(10.0, 900.0), (10.0, 10.0)], Some(9.0)),
            (100.0, &[(10.0, 900.0), (10.0, 900.0)], Some(5.0)),
            (100.0, &[(10.0, 900.0), (30.0, 900.0)], Some(2.5)),
            (
                100.0,
                &[(10.0, 900.0), (30.0, 40.0), (10.0, 5.0)],
                Some(5.5),
            ),
        ];
        for (total, wants, level_wanted) in rows {
            let wants = wants
                .iter()
                .map(|&(weight, demand)| Want { weight, demand })
                .collect();
            assert_eq!(level(total, wants), level_wanted, "{total}");
        }
    }
}
