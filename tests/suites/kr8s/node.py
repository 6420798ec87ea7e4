"""Plays scheduler and kubelet on a server that has neither: each pod runs and is ready, and goes when it is deleted."""

import asyncio

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


async def run(pod):
    """Says that all containers of a pod run."""
    started = {"running": {"startedAt": pod.metadata.creationTimestamp}}
    containers = [
        {"name": container.name, "image": container.image, "imageID": "", "ready": True, "restartCount": 0, "state": started}
        for container in pod.spec.containers
    ]
    conditions = [{"type": kind, "status": "True"} for kind in ("Initialized", "ContainersReady", "Ready")]
    status = {"phase": "Running", "conditions": conditions, "containerStatuses": containers}
    await pod.patch({"status": status}, subresource="status")


async def step(pod):
    """Takes a pod one step further; each step comes back as an event."""
    try:
        if "deletionTimestamp" in pod.metadata:
            await pod.delete(force=True)
        elif "nodeName" not in pod.spec:
            await bind(pod)
        elif pod.status.phase == "Pending":
            await run(pod)
    except (kr8s.NotFoundError, kr8s.ServerError) as error:
        # Somebody else was first: what they did comes as an event.
        print(f"{pod.namespace}/{pod.name}: {error}", flush=True)


async def main():
    """Registers the node and runs pods, until the process is ended."""
    status = {"conditions": [{"type": "Ready", "status": "True"}]}
    await (await Node({"metadata": {"name": NAME}, "spec": {}, "status": status})).create()
    async for event, pod in kr8s.asyncio.watch("pods", namespace=kr8s.ALL):
        if event != "DELETED" and isinstance(pod, Pod):
            await step(pod)


asyncio.run(main())
