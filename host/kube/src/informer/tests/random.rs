//! Random writes under random faults: in the end every store is as the server, and no version ever went
//! back for anybody.

use super::*;

const WRITES: usize = 150;
const SEEDS: u64 = 25;

struct Dice(fastrand::Rng);

impl Dice {
    fn name(&mut self) -> String {
        format!("m{}", self.0.u32(..8))
    }

    /// One write, or two.
    async fn write(&mut self, world: &World, number: usize) {
        let name = self.name();
        let path = format!("{MAPS}/{name}");
        let team = self.0.u32(..3);
        let labels = json!({ "labels": { "team": team.to_string() } });
        match self.0.u32(..6) {
            0 | 1 => {
                let map = json!({ "metadata": { "name": name, "labels": labels["labels"] } });
                world.send("POST", MAPS, &map).await;
            }
            2 => {
                world.send("DELETE", &path, &Value::Null).await;
            }
            3 => {
                world
                    .send("PATCH", &path, &json!({ "metadata": labels }))
                    .await;
            }
            4 => {
                world.send("DELETE", &path, &Value::Null).await;
                let map = json!({ "metadata": { "name": name } });
                world.send("POST", MAPS, &map).await;
            }
            _ => {
                let change = json!({ "data": { "k": number.to_string() } });
                world.send("PATCH", &path, &change).await;
            }
        }
    }

    fn fault(&mut self, world: &World) {
        let mut drawn = Fault::drawn(self.0.u64(..));
        let (_, fault) = drawn.swap_remove(self.0.usize(..drawn.len()));
        let verb = [Verb::Watch, Verb::Watch, Verb::List][self.0.usize(..3)];
        // A watch cannot be made to show an exact version.
        if verb == Verb::List || !matches!(fault, Fault::Stale(_)) {
            world.fault(verb, 0, 1 + self.0.u64(..3), fault);
        }
    }
}

/// The versions of all that the server has, by name.
async fn truth(world: &World, query: &str) -> Vec<(String, String)> {
    let (_, list) = world
        .send("GET", &format!("{MAPS}?{query}"), &Value::Null)
        .await;
    let items = list["items"].as_array().unwrap().iter();
    let text = |item: &Value, field: &str| item["metadata"][field].as_str().unwrap().to_owned();
    items
        .map(|item| (text(item, "name"), text(item, "resourceVersion")))
        .collect()
}

fn held(subscription: &Subscription) -> Vec<(String, String)> {
    let objects = subscription.list(None, &LabelSelector::default());
    let of = |object: &Object| {
        let metadata = &object.metadata;
        (
            metadata.key.name.to_string(),
            metadata.resource_version.to_string(),
        )
    };
    objects.iter().map(of).collect()
}

async fn run(seed: u64) {
    let world = World::with(Settings {
        resync: 600 * SECOND,
        ..Settings::default()
    });
    let mut dice = Dice(fastrand::Rng::with_seed(seed));
    let selected = InformerKey {
        label_selector: Some("team=1".into()),
        ..config_maps()
    };
    let (all, _ears) = world.subscribe(config_maps());
    let (some, _more) = world.subscribe(selected);
    for number in 0..WRITES {
        dice.write(&world, number).await;
        let pause = dice.0.u64(..8000);
        world.wait(Duration::from_millis(pause)).await;
        match dice.0.u32(..12) {
            0 => dice.fault(&world),
            1 => world.server.store().compact(),
            _ => {}
        }
    }
    world.server.faults().heal();
    // The audit finds what got lost.
    world.wait(2400 * SECOND).await;
    assert_eq!(held(&all), truth(&world, "").await, "seed {seed}");
    let team = truth(&world, "labelSelector=team%3D1").await;
    assert_eq!(held(&some), team, "seed {seed}");
}

#[tokio::test(start_paused = true)]
async fn after_random_writes_under_random_faults_the_store_is_as_the_server() {
    for seed in 0..SEEDS {
        run(seed).await;
    }
}
