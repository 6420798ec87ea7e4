"""The cluster of kr8s's tests: the server of KUBECONFIG, where they expect one that kind has made."""

import gc
import os
import pathlib
import subprocess
import sys

import pytest


class Cluster:
    """What the tests use of `pytest_kind.KindCluster`."""

    def __init__(self):
        self.kubeconfig_path = pathlib.Path(os.environ["KUBECONFIG"])
        self.kubectl_path = pathlib.Path(os.environ["KUBECTL"])

    def kubectl(self, *arguments, **options):
        """Runs kubectl, and returns what it prints."""
        return subprocess.check_output([self.kubectl_path, *arguments], encoding="utf-8", **options)


@pytest.fixture(scope="session", autouse=True)
def k8s_cluster():
    """The cluster, which has a pod in kube-system, as each one that kind makes."""
    cluster = Cluster()
    cluster.kubectl("wait", "serviceaccount/default", "--for=create", "--namespace=kube-system")
    cluster.kubectl("run", "coredns", "--image=image", "--namespace=kube-system")
    if os.environ["SERVER"] == "embedded":
        yield cluster
        return
    with open(os.path.join(os.environ["OUT"], "node.log"), "w", encoding="utf-8") as log:
        node = subprocess.Popen([sys.executable, pathlib.Path(__file__).with_name("node.py")], stdout=log, stderr=log)
        yield cluster
        node.terminate()
        node.wait()


@pytest.fixture
def ensure_gc():
    """Collects garbage before and after a test."""
    gc.collect()
    yield
    gc.collect()
