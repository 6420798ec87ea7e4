use futures::FutureExt;

use super::*;

const SIZE: usize = 60;

/// A plugin: its weight, its limit, and how many calls it wants in flight.
type Wants = (u32, usize, usize);

fn name(number: usize) -> Arc<str> {
    format!("plugin-{number}").into()
}

/// Plugins that want so many calls in flight, one after the other, and whose calls never end.
fn sleepers(plugins: &[Wants]) -> SlotsState<()> {
    let mut state = SlotsState::new(SIZE);
    for (number, (weight, most, _)) in plugins.iter().enumerate() {
        state.join(&name(number), *weight, *most);
    }
    for (number, (_, most, wants)) in plugins.iter().enumerate() {
        for _ in 0..(*wants).min(*most) {
            state.push(&name(number), ());
        }
        while state.next().is_some() {}
    }
    state
}

fn held(state: &SlotsState<()>, plugins: usize) -> Vec<usize> {
    let held = |number| state.members.get(&name(number)).map_or(0, |it| it.held);
    (0..plugins).map(held).collect()
}

#[test]
fn slots_are_shared_by_weight_and_none_is_left_without() {
    // (what plugins want, who come in this order; what they hold)
    let rows: [(&[Wants], &[usize]); 9] = [
        // Alone: all that its limit allows.
        (&[(10, 8, 8)], &[8]),
        (&[(10, 32, 32)], &[32]),
        // One slot is kept for who is not there yet.
        (&[(10, 100, 100)], &[59]),
        // What the share of an idle plugin needs is kept free, up to its limit.
        (&[(10, 100, 100), (10, 8, 0)], &[51, 0]),
        (&[(10, 100, 100), (10, 100, 0)], &[30, 0]),
        (&[(10, 100, 100), (10, 8, 8)], &[51, 8]),
        (&[(30, 100, 100), (10, 100, 100)], &[45, 14]),
        // Many idle plugins keep half of the slots free, and no more.
        (&[(10, 32, 32), (90, 90, 0), (100, 100, 0)], &[30, 0, 0]),
        // Eight that sleep leave the ninth its share.
        (
            &[
                (10, 8, 8),
                (10, 8, 8),
                (10, 8, 8),
                (10, 8, 8),
                (10, 8, 8),
                (10, 8, 8),
                (10, 8, 8),
                (10, 8, 8),
                (10, 8, 0),
            ],
            &[8, 8, 8, 6, 6, 6, 6, 6, 0],
        ),
    ];
    for (plugins, want) in rows {
        let state = sleepers(plugins);
        assert_eq!(held(&state, plugins.len()), want, "{plugins:?}");
    }
}

#[test]
fn a_plugin_with_nothing_in_flight_gets_a_slot_at_once_whatever_others_do() {
    for others in [1, 8, 20, 29] {
        let mut plugins = vec![(10, 32, 32); others];
        plugins.push((10, 8, 0));
        let mut state = sleepers(&plugins);
        assert!(state.waiting > 0 || others == 1, "{others} others");
        state.push(&name(others), ());
        let next = state.next().map(|(plugin, ())| plugin);
        assert_eq!(next, Some(name(others)), "{others} others");
        // And again whenever it has none.
        state.release(&name(others));
        while state.next().is_some() {}
        state.push(&name(others), ());
        assert!(state.next().is_some(), "{others} others");
    }
}

#[test]
fn whoever_holds_least_for_its_weight_is_next() {
    let plugins = [(10, 60, 60), (20, 60, 60), (10, 60, 60)];
    let mut state = sleepers(&plugins);
    for round in 0..999 {
        // A call of each ends, one after the other, and all want more.
        let ended = name(round % 3);
        state.push(&ended, ());
        state.release(&ended);
        while state.next().is_some() {}
    }
    assert_eq!(held(&state, 3), [15, 29, 15]);
}

#[test]
fn more_plugins_than_slots_take_turns() {
    let mut state = SlotsState::new(SIZE);
    for number in 0..200 {
        state.join(&name(number), 10, 8);
    }
    for number in 0..200 {
        for _ in 0..8 {
            state.push(&name(number), ());
        }
    }
    let mut served = vec![0; 200];
    let mut order = VecDeque::new();
    for _ in 0..SIZE {
        order.push_back(state.next().unwrap().0);
    }
    for _ in 0..200 {
        let ended = order.pop_front().unwrap();
        let number: usize = ended.trim_start_matches("plugin-").parse().unwrap();
        served[number] += 1;
        state.release(&ended);
        order.push_back(state.next().unwrap().0);
    }
    assert!(served.iter().all(|served| *served == 1), "{served:?}");
}

#[test]
fn nothing_is_left_of_plugins_that_are_gone() {
    let mut state: SlotsState<()> = SlotsState::new(SIZE);
    let plugin = name(0);
    state.join(&plugin, 10, 8);
    state.join(&plugin, 20, 8);
    assert!(state.take(&plugin));
    assert!(!state.leave(&plugin), "one version is left");
    assert!(state.leave(&plugin));
    assert_eq!(state.members.len(), 1, "its call is in flight");
    state.release(&plugin);
    assert!(state.members.is_empty());
    assert_eq!(state.free, SIZE);
}

#[tokio::test]
async fn who_stops_waiting_takes_no_slot() {
    let slots = CallSlots::new(2);
    let (a, b) = (name(1), name(2));
    slots.join(&a, 10, 8);
    slots.join(&b, 10, 8);
    let held = slots.take(&a).await;
    let mut gone = Box::pin(slots.take(&a));
    assert!((&mut gone).now_or_never().is_none(), "the other is for b");
    let mut stays = Box::pin(slots.take(&a));
    assert!((&mut stays).now_or_never().is_none());
    drop(gone);
    drop(held);
    let held = (&mut stays).now_or_never().expect("a slot is free");
    let mut dealt = Box::pin(slots.take(&a));
    assert!((&mut dealt).now_or_never().is_none());
    drop(held);
    // It was dealt a slot, and goes before it takes it.
    drop(dealt);
    assert!(slots.take(&a).now_or_never().is_some());
    assert!(slots.take(&b).now_or_never().is_some());
    assert_eq!(slots.0.lock().free, 2);
}
