"""The typed Python client, its watches, its informer and its leader election on a server.

The client's own tests of these need a folder that its releases lack.
"""

import json
import queue
import threading
import time
import uuid

import e2e_test
import pytest
from kubernetes import client, utils, watch
from kubernetes.client import ApiException
from kubernetes.informer import SharedInformer
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.configmaplock import ConfigMapLock


@pytest.fixture(scope="session")
def api():
    return client.ApiClient(e2e_test.get_e2e_configuration())


@pytest.fixture
def core(api):
    return client.CoreV1Api(api)


@pytest.fixture
def namespace(core):
    name = f"typed-{uuid.uuid4().hex[:8]}"
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=name)))
    yield name
    core.delete_namespace(name)


def config_map(name, **data):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"test": "typed"}), data=data)


def deployment(name):
    container = client.V1Container(name="c", image="image", ports=[client.V1ContainerPort(container_port=80)])
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels={"app": name}), spec=client.V1PodSpec(containers=[container])
    )
    selector = client.V1LabelSelector(match_labels={"app": name})
    spec = client.V1DeploymentSpec(replicas=2, selector=selector, template=template)
    return client.V1Deployment(metadata=client.V1ObjectMeta(name=name), spec=spec)


def refused(status, reason, call, *arguments, **options):
    """Checks that a request is refused with a status and a reason."""
    with pytest.raises(ApiException) as caught:
        call(*arguments, **options)
    assert caught.value.status == status
    assert json.loads(caught.value.body)["reason"] == reason


def test_an_object_is_created_replaced_patched_listed_and_deleted(core, namespace):
    made = core.create_namespaced_config_map(namespace, config_map("a", key="1"))
    assert made.metadata.uid and made.data == {"key": "1"}
    refused(409, "AlreadyExists", core.create_namespaced_config_map, namespace, config_map("a"))
    made.data = {"key": "2"}
    replaced = core.replace_namespaced_config_map("a", namespace, made)
    assert replaced.metadata.uid == made.metadata.uid
    refused(409, "Conflict", core.replace_namespaced_config_map, "a", namespace, made)
    patched = core.patch_namespaced_config_map("a", namespace, {"data": {"other": "3"}})
    assert patched.data == {"key": "2", "other": "3"}
    operations = [{"op": "remove", "path": "/data/other"}]
    assert core.patch_namespaced_config_map("a", namespace, operations).data == {"key": "2"}
    listed = core.list_namespaced_config_map(namespace, label_selector="test=typed", field_selector="metadata.name=a")
    assert [item.metadata.name for item in listed.items] == ["a"]
    assert core.delete_namespaced_config_map("a", namespace).status == "Success"
    refused(404, "NotFound", core.read_namespaced_config_map, "a", namespace)


def test_a_list_comes_in_pages(core, namespace):
    for index in range(5):
        core.create_namespaced_config_map(namespace, config_map(f"page-{index}"))
    names, options = [], {"label_selector": "test=typed", "limit": 2}
    sizes = []
    while True:
        page = core.list_namespaced_config_map(namespace, **options)
        names += [item.metadata.name for item in page.items]
        sizes.append(len(page.items))
        if not page.metadata._continue:
            break
        options["_continue"] = page.metadata._continue
    assert names == [f"page-{index}" for index in range(5)]
    assert sizes == [2, 2, 1]


def test_a_collection_is_deleted_by_label(core, namespace):
    for name in ("a", "b"):
        core.create_namespaced_config_map(namespace, config_map(name))
    core.create_namespaced_config_map(namespace, client.V1ConfigMap(metadata=client.V1ObjectMeta(name="kept")))
    core.delete_collection_namespaced_config_map(namespace, label_selector="test=typed")
    left = [item.metadata.name for item in core.list_namespaced_config_map(namespace).items]
    assert "kept" in left and not {"a", "b"} & set(left)


def test_a_deployment_is_scaled_and_its_status_is_a_subresource(api, namespace):
    apps = client.AppsV1Api(api)
    apps.create_namespaced_deployment(namespace, deployment("web"))
    scale = apps.read_namespaced_deployment_scale("web", namespace)
    assert scale.spec.replicas == 2
    scaled = apps.patch_namespaced_deployment_scale("web", namespace, {"spec": {"replicas": 1}})
    assert scaled.spec.replicas == 1
    read = apps.read_namespaced_deployment_status("web", namespace)
    assert read.spec.replicas == 1 and read.metadata.generation == 2
    invalid = deployment("web-2")
    invalid.spec.selector.match_labels = {"app": "another"}
    refused(422, "Invalid", apps.create_namespaced_deployment, namespace, invalid)


def test_server_side_apply_finds_conflicts_and_forces(core, namespace):
    def apply(manager, value, **options):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"key": value}}
        return core.patch_namespaced_config_map(
            "applied",
            namespace,
            body,
            field_manager=manager,
            _content_type="application/apply-patch+yaml",
            **options,
        )

    assert apply("one", "1").metadata.managed_fields[0].manager == "one"
    refused(409, "Conflict", apply, "two", "2")
    assert apply("two", "2", force=True).data == {"key": "2"}


def test_a_dry_run_and_an_unknown_field_change_nothing(core, namespace):
    made = core.create_namespaced_config_map(namespace, config_map("dry"), dry_run="All")
    assert made.metadata.uid
    refused(404, "NotFound", core.read_namespaced_config_map, "dry", namespace)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "strict"}, "dat": {}}
    refused(400, "BadRequest", core.create_namespaced_config_map, namespace, body, field_validation="Strict")


def test_a_watch_goes_on_from_a_list_and_resumes(core, namespace):
    version = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, config_map("seen", key="1"))
    core.patch_namespaced_config_map("seen", namespace, {"data": {"key": "2"}})
    core.delete_namespaced_config_map("seen", namespace)
    seen, stream = [], watch.Watch()
    options = {"resource_version": version, "field_selector": "metadata.name=seen", "timeout_seconds": 60}
    for event in stream.stream(core.list_namespaced_config_map, namespace, **options):
        seen.append((event["type"], event["object"].data["key"]))
        if event["type"] == "DELETED":
            stream.stop()
    assert seen == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")]


def test_a_watch_from_a_version_that_never_was_is_refused(core, namespace):
    stream = watch.Watch().stream(
        core.list_namespaced_config_map, namespace, resource_version="no-version", timeout_seconds=5
    )
    with pytest.raises(ApiException, match="strconv.ParseUint") as caught:
        list(stream)
    assert caught.value.status == 500


def test_an_informer_sees_what_was_there_and_what_comes(core, namespace):
    core.create_namespaced_config_map(namespace, config_map("before"))
    events = queue.Queue()
    informer = SharedInformer(core.list_namespaced_config_map, namespace=namespace, label_selector="test=typed")
    for kind in ("ADDED", "MODIFIED", "DELETED"):
        informer.add_event_handler(kind, lambda item, kind=kind: events.put((kind, item.metadata.name)))
    informer.start()
    assert events.get(timeout=60) == ("ADDED", "before")
    core.create_namespaced_config_map(namespace, config_map("after"))
    assert events.get(timeout=60) == ("ADDED", "after")
    core.patch_namespaced_config_map("after", namespace, {"data": {"key": "2"}})
    assert events.get(timeout=60) == ("MODIFIED", "after")
    core.delete_namespaced_config_map("before", namespace)
    assert events.get(timeout=60) == ("DELETED", "before")
    assert [item.metadata.name for item in informer.cache.list()] == ["after"]
    informer.stop()


def test_custom_objects_are_checked_and_have_a_status(api, namespace):
    group = f"{namespace}.example.com"
    definitions, objects = client.ApiextensionsV1Api(api), client.CustomObjectsApi(api)
    size = {"type": "object", "properties": {"size": {"type": "integer", "maximum": 5}}}
    schema = {"type": "object", "properties": {"spec": size, "status": size}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [version | {"subresources": {"status": {}}}],
    }
    name = f"things.{group}"
    definitions.create_custom_resource_definition({"metadata": {"name": name}, "spec": spec})
    stream = watch.Watch()
    options = {"field_selector": f"metadata.name={name}", "timeout_seconds": 60}
    for event in stream.stream(definitions.list_custom_resource_definition, **options):
        conditions = event["object"].status.conditions or []
        if any(condition.type == "Established" and condition.status == "True" for condition in conditions):
            stream.stop()
    place = (group, "v1", namespace, "things")
    body = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"size": 1}}
    made = eventually_served(objects.create_namespaced_custom_object, *place, body)
    assert made["metadata"]["generation"] == 1
    wrong = body | {"metadata": {"name": "wrong"}, "spec": {"size": 6}}
    refused(422, "Invalid", objects.create_namespaced_custom_object, *place, wrong)
    status = objects.patch_namespaced_custom_object_status(*place, "t", {"spec": {"size": 2}, "status": {"size": 3}})
    assert status["spec"] == {"size": 1} and status["status"] == {"size": 3}
    assert len(objects.list_namespaced_custom_object(*place)["items"]) == 1
    assert objects.delete_namespaced_custom_object(*place, "t")["status"] == "Success"
    definitions.delete_custom_resource_definition(name)


def eventually_served(call, *arguments):
    """What a call to a new kind returns, once the kind is served: a real server needs a moment."""
    while True:
        try:
            return call(*arguments)
        except ApiException as error:
            if error.status != 404:
                raise
            time.sleep(0.1)


def test_files_of_objects_are_created(api, core, namespace):
    things = [
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"key": "value"}},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}, "rules": []},
    ]
    utils.create_from_yaml(api, yaml_objects=things, namespace=namespace)
    assert core.read_namespaced_service("s", namespace).spec.cluster_ip
    assert core.read_namespaced_config_map("c", namespace).data == {"key": "value"}
    with pytest.raises(utils.FailToCreateError):
        utils.create_from_yaml(api, yaml_objects=things[:1], namespace=namespace)


def test_a_token_of_a_service_account_is_that_user(api, core, namespace):
    account = client.V1ServiceAccount(metadata=client.V1ObjectMeta(name="account"))
    core.create_namespaced_service_account(namespace, account)
    request = client.AuthenticationV1TokenRequest(spec=client.V1TokenRequestSpec(audiences=None))
    token = core.create_namespaced_service_account_token("account", namespace, request).status.token
    review = client.V1TokenReview(spec=client.V1TokenReviewSpec(token=token))
    status = client.AuthenticationV1Api(api).create_token_review(review).status
    assert status.authenticated and status.user.username == f"system:serviceaccount:{namespace}:account"


def test_one_candidate_leads_until_it_releases_its_config_map(core, namespace):
    # The lock takes the client's default configuration.
    client.Configuration.set_default(e2e_test.get_e2e_configuration())
    led = threading.Event()
    lock = ConfigMapLock("lock", namespace, "candidate")
    config = electionconfig.Config(
        lock, lease_duration=6, renew_deadline=4, retry_period=1, onstarted_leading=led.set, onstopped_leading=None
    )
    # It leads until the test's process ends, or its namespace is gone.
    threading.Thread(target=leaderelection.LeaderElection(config).run, daemon=True).start()
    assert led.wait(timeout=60)
    kept = core.read_namespaced_config_map("lock", namespace)
    assert "candidate" in kept.metadata.annotations["control-plane.alpha.kubernetes.io/leader"]
