"""Plays scheduler and kubelet on a server that has neither: each pod runs and is ready, and goes when it is deleted."""

import asyncio
import json

import kr8s
from kr8s.asyncio.objects import Node, Pod

NAME = "node"


async def bind(pod):
    """Puts a pod on the node."""
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod.name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": NAME},
    }
    async with pod.api.call_api("POST", "v1", namespace=pod.namespace, url=f"pods/{pod.name}/binding", json=body):
        pass


async def set_ready(pod, ready):
    """Says that all containers of a pod run and are ready, or that they are not ready any more."""
    started = {"running": {"startedAt": pod.metadata.creationTimestamp}}
    containers = [
        {"name": container.name, "image": container.image, "imageID": "", "ready": ready, "restartCount": 0, "state": started}
        for container in pod.spec.containers
    ]
    conditions = [{"type": kind, "status": str(ready)} for kind in ("ContainersReady", "Ready")]
    conditions.append({"type": "Initialized", "status": "True"})
    status = {"phase": "Running", "conditions": conditions, "containerStatuses": containers}
    await pod.patch({"metadata": {"uid": pod.metadata.uid}, "status": status}, subresource="status")


async def remove(pod):
    """Takes a pod away that has stopped, and no other one of its name."""
    body = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.metadata.uid}}
    url = f"pods/{pod.name}"
    async with pod.api.call_api("DELETE", "v1", namespace=pod.namespace, url=url, content=json.dumps(body)):
        pass


def is_ready(pod):
    """Whether a pod says that it is ready."""
    conditions = pod.status.get("conditions", [])
    return any(condition.type == "Ready" and condition.status == "True" for condition in conditions)


async def step(pod):
    """Takes a pod one step further; each step comes back as an event."""
    try:
        if "deletionTimestamp" in pod.metadata:
            await (set_ready(pod, False) if is_ready(pod) else remove(pod))
        elif "nodeName" not in pod.spec:
            await bind(pod)
        elif pod.status.phase == "Pending":
            await set_ready(pod, True)
    except (kr8s.NotFoundError, kr8s.ServerError) as error:
        # Somebody else was first: what they did comes as an event.
        print(f"{pod.namespace}/{pod.name}: {error}", flush=True)


async def main():
    """Registers the node and runs pods, until the process is ended."""
    status = {"conditions": [{"type": "Ready", "status": "True"}]}
    node = await Node({"metadata": {"name": NAME}, "spec": {}, "status": status})
    await node.create()
    # It is not ready at first; nothing takes the taint away without the controller of nodes.
    await node.patch({"spec": {"taints": None}})
    async for event, pod in kr8s.asyncio.watch("pods", namespace=kr8s.ALL):
        if event != "DELETED" and isinstance(pod, Pod):
            await step(pod)


asyncio.run(main())
