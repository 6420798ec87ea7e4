//! Attempts to install a plugin.

use anyhow::Result;
use serde_json::{Value, json};

use crate::plugin_policy::attempt::{Attempt, Outcome, set};
use crate::plugin_policy::scene::Scene;
use crate::plugin_policy::users::DEPLOYER;

#[tokio::test]
async fn a_new_plugin_needs_an_account_that_its_user_may_act_as() -> Result<()> {
    let scene = Scene::new("installs").await?;
    let name = format!("{}-new", scene.name());
    let bare = scene.without_account(&name);
    let good = scene.plugin(&name);
    let other = scene.running_as(&name, &scene.account("other"));
    let away = scene.running_as(&name, &json!({ "namespace": "default", "name": "default" }));
    let mut generated = good.clone();
    generated["metadata"] = json!({ "generateName": "new-", "labels": { "test": scene.name() } });
    let mut generated_bare = bare.clone();
    generated_bare["metadata"] = generated["metadata"].clone();
    let refused = |who| scene.refuses(who, DEPLOYER);
    let mut attempts = vec![
        Attempt::post(
            "reader",
            &good,
            scene.forbids("reader", "create resource \"plugins\""),
        ),
        Attempt::post("writer", &bare, scene.misses("writer")),
        Attempt::post("keeper", &bare, scene.misses("keeper")),
        Attempt::post("broad", &bare, scene.misses("broad")),
        Attempt::post("writer", &good, refused("writer")),
        Attempt::post("writer", &good, refused("writer")).dry(),
        Attempt::post("keeper", &other, scene.refuses("keeper", "other")),
        Attempt::post(
            "keeper",
            &away,
            scene.refuses_in("keeper", "default", "default"),
        ),
        Attempt::post("writer", &generated, refused("writer")),
        Attempt::post("keeper", &generated_bare, scene.misses("keeper")),
        Attempt::post("mayor", &generated_bare, scene.misses("mayor")),
        Attempt::post("mayor", &bare, scene.misses("mayor")),
        Attempt::apply("writer", &name, good.clone(), refused("writer")),
        Attempt::apply("keeper", &name, bare.clone(), scene.misses("keeper")),
        // A user acts as another only if RBAC says so, and then has that one's rights.
        Attempt {
            acts_as: Some(scene.users.name("chief")),
            ..Attempt::post("keeper", &bare, scene.forbids("keeper", "impersonate"))
        },
        Attempt {
            acts_as: Some(scene.users.name(DEPLOYER)),
            ..Attempt::post(
                "keeper",
                &good,
                scene.forbids(DEPLOYER, "create resource \"plugins\""),
            )
        },
        // Only what is there can be replaced.
        Attempt::new(
            "writer",
            "PUT",
            &format!("/{name}"),
            good.clone(),
            Outcome::Code(404),
        ),
    ];
    let of_mayor = scene.without_account(&format!("{}-mayor", scene.name()));
    let allowed = [
        Attempt::post("keeper", &good, Outcome::Code(201)),
        Attempt::post("keeper", &generated, Outcome::Code(201)),
        Attempt::apply("keeper", &name, good.clone(), Outcome::Code(201)),
        Attempt::post("broad", &other, Outcome::Code(201)),
        Attempt::post("broad", &away, Outcome::Code(201)),
        Attempt::post("chief", &bare, Outcome::Code(201)),
        Attempt::post("chief", &generated_bare, Outcome::Code(201)),
        Attempt::post("mayor", &of_mayor, Outcome::Code(201)),
    ];
    attempts.extend(allowed.map(Attempt::dry));
    scene.check_all(&attempts).await?;
    scene
        .check(&Attempt::post("keeper", &good, Outcome::Code(201)))
        .await?;
    Ok(())
}

#[tokio::test]
async fn an_account_without_a_name_is_no_account_not_even_for_who_may_act_as_all() -> Result<()> {
    let scene = Scene::new("names").await?;
    let name = format!("{}-new", scene.name());
    let unnamed = || {
        Outcome::Policy(
            "spec.serviceAccount must have the namespace and the name of a ServiceAccount"
                .to_owned(),
        )
    };
    let mut accounts = vec![
        json!({}),
        json!({ "namespace": scene.name() }),
        json!({ "name": DEPLOYER }),
    ];
    let long = "a".repeat(254);
    for bad in [
        "",
        " ",
        "\t",
        "*",
        "-a",
        "a-",
        "a..b",
        ".a",
        "a/b",
        "a:b",
        "A",
        "a b",
        "a\n",
        "deployer ",
        " deployer",
        &long,
    ] {
        accounts.push(json!({ "namespace": scene.name(), "name": bad }));
        accounts.push(json!({ "namespace": bad, "name": DEPLOYER }));
    }
    accounts.push(json!({ "namespace": "a.b", "name": DEPLOYER }));
    accounts.push(json!({ "namespace": "a".repeat(64), "name": DEPLOYER }));
    // The definition refuses a name that is absent, empty or too long, also of an administrator; the policy any other.
    let is_of_length = |account: &Value, field: &str, most: usize| {
        let text = account[field].as_str().unwrap_or_default();
        (1..=most).contains(&text.len())
    };
    let mut attempts = Vec::new();
    for account in &accounts {
        let plugin = scene.running_as(&name, account);
        let fits = is_of_length(account, "namespace", 63) && is_of_length(account, "name", 253);
        for who in ["broad", "keeper"] {
            let refused = if fits { unnamed() } else { Outcome::Code(422) };
            attempts.push(Attempt::post(who, &plugin, refused));
        }
    }
    // Names of 253 and 63 characters, and with dots, are names.
    for (namespace, account) in [
        ("a".repeat(63), "a".repeat(253)),
        ("a-1".to_owned(), "a-1.b".to_owned()),
    ] {
        let plugin = scene.running_as(&name, &json!({ "namespace": namespace, "name": account }));
        attempts.push(Attempt::post("broad", &plugin, Outcome::Code(201)).dry());
        let refused = scene.refuses_in("keeper", &namespace, &account);
        attempts.push(Attempt::post("keeper", &plugin, refused));
    }
    // The definition refuses one that is not a text.
    let mut odd = scene.plugin(&name);
    set(&mut odd, "/spec/serviceAccount/name", json!(1));
    attempts.push(Attempt::post("chief", &odd, Outcome::Code(422)));
    // A null is left out.
    let none = scene.running_as(&name, &Value::Null);
    attempts.push(Attempt::post("keeper", &none, scene.misses("keeper")));
    scene.check_all(&attempts).await?;
    Ok(())
}

#[tokio::test]
async fn who_may_delete_a_plugin_cannot_put_another_in_its_place() -> Result<()> {
    let scene = Scene::new("deleted").await?;
    let (name, second) = (scene.name().to_owned(), format!("{}-second", scene.name()));
    let plugin = scene.plugin(&name);
    let all = format!("?labelSelector=test%3D{name}");
    let none = Value::Null;
    let gone = |path: &str| scene.forbids("reader", &format!("{path} resource \"plugins\""));
    let refused = || scene.refuses("writer", DEPLOYER);
    let attempts = [
        Attempt::post("keeper", &scene.plugin(&second), Outcome::Code(201)),
        Attempt::new(
            "reader",
            "DELETE",
            &format!("/{name}"),
            none.clone(),
            gone("delete"),
        ),
        Attempt::new(
            "reader",
            "DELETE",
            &all,
            none.clone(),
            gone("deletecollection"),
        ),
        Attempt::new(
            "writer",
            "DELETE",
            &format!("/{name}"),
            none.clone(),
            Outcome::Code(200),
        ),
        Attempt::post("writer", &plugin, refused()),
        Attempt::post("chief", &plugin, Outcome::Code(201)),
        Attempt::new("writer", "DELETE", &all, none, Outcome::Code(200)),
        Attempt::post("writer", &plugin, refused()),
        Attempt::post(
            "writer",
            &scene.without_account(&second),
            scene.misses("writer"),
        ),
        Attempt::apply("writer", &second, scene.plugin(&second), refused()),
    ];
    scene.check_all(&attempts).await?;
    Ok(())
}
