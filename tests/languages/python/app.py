"""The hello plugin in Python: one ConfigMap beside each Greeting, by the raw bindings of componentize-py."""

import json

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import cluster, config, log, types

EVERY = ["get", "list", "watch", "create", "patch", "delete"]


class Controller(exports.Controller):
    """What the contract asks of a plugin."""

    def describe(self) -> types.Description:
        return types.Description(
            name="hello",
            version="0.1.0",
            primaries=[
                types.Watch(
                    api_version="examples.windlass.dev/v1",
                    kind="Greeting",
                    label_selector=None,
                    field_selector=None,
                    trigger=types.Trigger.ANY_CHANGE,
                    finalizes=types.Finalizes.ALWAYS,
                    on_leave=types.OnLeave.FORGET,
                    fields=[],
                )
            ],
            needs=[
                types.Rule(["examples.windlass.dev"], ["greetings"], [], ["get", "list", "watch", "patch"], []),
                types.Rule(["examples.windlass.dev"], ["greetings/status"], [], ["patch"], []),
                types.Rule([""], ["configmaps"], [], EVERY, []),
            ],
            origins=[],
            crds=[],
        )

    def reconcile(self, request: types.Request) -> types.Action:
        greeting = json.loads(request.object)
        name = greeting["spec"]["name"]
        if not name:
            raise Err(types.Failure_Terminal("spec.name is empty"))
        word = json.loads(config.get()).get("word", "Hello")
        if not word:
            return types.Action_AwaitChange()
        text = f"{word}, {name}!"
        try:
            hello = json.loads(cluster.get(child(greeting), None, cluster.Consistency.STORED))
            before = hello["data"]["text"]
        except Err as error:
            if not isinstance(error.value, cluster.Error_NotFound):
                raise
            before = None
        log.log(log.Level.INFO, "read", [log.Field("before", str(before))])
        cluster.apply(json.dumps(hello_of(greeting, text)))
        cluster.apply_status(json.dumps(status_of(greeting, text)))
        return types.Action_AwaitChange()

    def finalize(self, request: types.Request) -> types.Progress:
        options = cluster.DeleteOptions(None, None, None, None)
        cluster.delete(child(json.loads(request.object)), options)
        return types.Progress_Done()


def child(greeting: dict) -> types.ObjectRef:
    metadata = greeting["metadata"]
    return types.ObjectRef("v1", "ConfigMap", metadata["namespace"], metadata["name"] + "-hello")


def hello_of(greeting: dict, text: str) -> dict:
    metadata = greeting["metadata"]
    owner = {
        "apiVersion": greeting["apiVersion"],
        "kind": greeting["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": metadata["name"] + "-hello",
            "namespace": metadata["namespace"],
            "ownerReferences": [owner],
        },
        "data": {"text": text},
    }


def status_of(greeting: dict, text: str) -> dict:
    metadata = greeting["metadata"]
    return {
        "apiVersion": greeting["apiVersion"],
        "kind": greeting["kind"],
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
        "status": {"text": text},
    }
