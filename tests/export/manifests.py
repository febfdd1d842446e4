"""Reading the folder `kubernetes` of a kit."""

from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]

NO_MANIFESTS = {"kustomization.yaml", "prometheus_adapter.yaml", "inference_service.yaml"}
"""Files that the kustomization does not name."""


def read(kit, file_name):
    return yaml.safe_load((kit / "kubernetes" / file_name).read_text("utf-8"))


def manifests(kit):
    """The objects by their kinds."""
    paths = sorted((kit / "kubernetes").glob("*.yaml"))
    objects = [read(kit, path.name) for path in paths if path.name not in NO_MANIFESTS]
    return {each["kind"]: each for each in objects}


def pod_of(kit):
    """Labels, specification and only container of the pods."""
    template = manifests(kit)["Deployment"]["spec"]["template"]
    (container,) = template["spec"]["containers"]
    return template["metadata"], template["spec"], container
