use super::*;

const SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

#[test]
fn each_group_and_version_has_an_api_service_while_it_is_served() {
    play(Options::default(), async |api| {
        api.settle().await;
        let core = api.get(&format!("{SERVICES}/v1.")).await;
        assert_eq!(core["spec"]["groupPriorityMinimum"], 18_000);
        assert_eq!(core["status"]["conditions"][0]["reason"], "Local");
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "things.example.com" },
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": { "plural": "things", "kind": "Thing" },
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": { "type": "object" } },
                }],
            },
        });
        api.create(CRDS, &crd).await;
        api.settle().await;
        let own = format!("{SERVICES}/v1.example.com");
        assert_eq!(api.get(&own).await["spec"]["versionPriority"], 100);
        api.delete(&own, "Background").await;
        api.settle().await;
        assert!(api.exists(&own).await, "it comes again");
        api.delete(&format!("{CRDS}/things.example.com"), "Background")
            .await;
        api.settle().await;
        assert!(!api.exists(&own).await);
    });
}
