"""The manifests of a kit: schemas, safety, memory and names."""

import re
import shutil
import subprocess

import hypothesis.strategies as st
import kubernetes_validate
import pytest
import yaml
from hypothesis import given

from aiayn_keras.export.kubernetes import (
    CORES,
    GIBIBYTE,
    image_tag,
    kubernetes_name,
    memory_limit,
)
from aiayn_keras.export.server_files import NAME
from aiayn_keras.export.serving_options import VersionNotes
from tests.export.manifests import ROOT, manifests, pod_of

OLDEST = "1.30"
"""The first version of Kubernetes in which `preStop` can sleep by itself."""


def validate(manifest, version):
    kubernetes_validate.validate(manifest, version, strict=True)


@pytest.mark.parametrize("version", [OLDEST, kubernetes_validate.latest_version()])
def test_every_manifest_keeps_to_its_schema(noted_kit, version):
    objects = manifests(noted_kit)
    assert objects.keys() == {
        "Deployment",
        "Service",
        "HorizontalPodAutoscaler",
        "PodDisruptionBudget",
        "NetworkPolicy",
    }
    for manifest in objects.values():
        validate(manifest, version)


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("Deployment", ["spec", "template", "spec", "containers", 0, "readynessProbe"], {}),
        ("Deployment", ["spec", "selector"], None),
        ("Deployment", ["spec", "template", "spec", "terminationGracePeriodSeconds"], "65s"),
        ("Service", ["spec", "ports", 0, "port"], "grpc"),
        ("HorizontalPodAutoscaler", ["spec", "maxReplicas"], None),
        ("HorizontalPodAutoscaler", ["spec", "metrics", 0, "type"], 1),
        ("PodDisruptionBudget", ["spec", "minReplicas"], 1),
        ("NetworkPolicy", ["spec", "egress"], {}),
    ],
)
def test_a_broken_manifest_does_not(batched_kit, kind, path, value):
    manifest = manifests(batched_kit)[kind]
    *above, last = path
    place = manifest
    for step in above:
        place = place[step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    with pytest.raises(kubernetes_validate.ValidationError):
        validate(manifest, OLDEST)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")
def test_kubectl_builds_the_kustomization_and_one_on_it(batched_kit):
    def build(folder):
        command = ["kubectl", "kustomize", str(folder)]
        built = subprocess.run(command, capture_output=True, text=True, check=True)
        assert built.stderr == ""
        return {each["kind"]: each for each in yaml.safe_load_all(built.stdout)}

    objects = build(batched_kit / "kubernetes")
    expected = manifests(batched_kit)
    (container,) = expected["Deployment"]["spec"]["template"]["spec"]["containers"]
    container["image"] = "serving-small:stable-1-canary-1"
    assert objects == expected
    own = uncommented(batched_kit / "kubernetes" / "kustomization.yaml")
    assert own["resources"] == ["kubernetes"]
    (batched_kit / "kustomization.yaml").write_text(yaml.safe_dump(own))
    objects = build(batched_kit)
    assert {each["metadata"]["namespace"] for each in objects.values()} == {own["namespace"]}
    (container,) = objects["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example.com/serving-small:stable-1-canary-1"


def uncommented(path):
    """The YAML in the comments of a file, which is indented."""
    lines = re.findall(r"^#   (.*)$", path.read_text("utf-8"), flags=re.MULTILINE)
    return yaml.safe_load("\n".join(lines))


def test_pods_keep_to_the_restricted_standard_and_write_to_nothing(noted_kit):
    _, spec, container = pod_of(noted_kit)
    assert spec["automountServiceAccountToken"] is False
    security = spec["securityContext"]
    assert security["runAsNonRoot"] is True
    assert security["runAsUser"] > 0
    assert security["runAsGroup"] > 0
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["volumeMounts"] == [{"name": "tmp", "mountPath": "/tmp"}]
    assert spec["volumes"] == [{"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}}]


def test_a_node_can_be_emptied_while_others_answer(noted_kit):
    objects = manifests(noted_kit)
    assert "replicas" not in objects["Deployment"]["spec"]
    autoscaler = objects["HorizontalPodAutoscaler"]["spec"]
    available = objects["PodDisruptionBudget"]["spec"]["minAvailable"]
    assert 0 < available < autoscaler["minReplicas"] < autoscaler["maxReplicas"]


def notes_of(weights="float32", **options):
    options = {"num_beams": 4, "max_input_length": 255, **options}
    return VersionNotes(
        options=options, precision="float32", weights=weights, tensorflow="2", card={}
    )


def test_memory_grows_with_weights_beams_length_and_versions():
    def gibibytes(*notes, size=8 << 20):
        return memory_limit(notes, [size] * len(notes)) / GIBIBYTE

    assert gibibytes(notes_of(), size=0) == 1.75
    assert gibibytes(notes_of()) == 3.0  # 1.75 + 0.3 · 8 ** (2 / 3) = 2.95
    assert gibibytes(notes_of("float16"), size=4 << 20) == 3.0
    assert gibibytes(notes_of(num_beams=8)) == 4.25  # 1.75 + 2 · 1.2 = 4.15
    assert gibibytes(notes_of(max_length=610)) == 4.25
    assert gibibytes(notes_of(), notes_of(), size=4 << 20) == 3.75  # 2.5 + 1.2 = 3.7


def test_a_pod_asks_for_half_of_its_greatest_memory(batched_kit):
    resources = pod_of(batched_kit)[2]["resources"]
    assert resources == {
        "requests": {"cpu": str(CORES), "memory": "896Mi"},
        "limits": {"memory": "1792Mi"},
    }


@pytest.mark.parametrize("name", ["demo_en_de", "tatoeba_en_es"])
def test_the_documentation_has_the_limits_of_the_committed_kits(name):
    page = (ROOT / "docs" / "serving.md").read_text("utf-8")
    (row,) = (line for line in page.splitlines() if line.startswith(f"| `{name}` "))
    *_, measured, limit = (int(cell.replace(",", "")) for cell in row.split("|")[3:-1])
    assert measured < limit
    resources = pod_of(ROOT / "saved_models" / name)[2]["resources"]
    assert resources["limits"]["memory"] == f"{limit}Mi"


@pytest.mark.slow
@given(st.from_regex(NAME, fullmatch=True))
def test_every_name_of_a_model_has_a_name_in_kubernetes(name):
    assert re.fullmatch("[a-z]([-a-z0-9]{0,61}[a-z0-9])?", kubernetes_name(name))


NAMES = ["en-de", "en_de", "En-de", "en.de", "en--de", "en-de-", "a" * 55, "a" * 56, "a" * 57]


def test_no_two_models_have_one_name_in_kubernetes():
    assert len({kubernetes_name(name) for name in NAMES}) == len(NAMES)


def test_an_image_of_many_versions_has_a_tag_that_docker_takes():
    dates = [20261130000000 + day for day in range(10)]
    labels = {"stable": dates[0], "canary": dates[1]}
    tags = {image_tag(labels, dates[:number]) for number in range(2, 11)}
    assert len(tags) == 9
    assert all(re.fullmatch(r"\w[\w.-]{0,127}", tag, re.ASCII) for tag in tags)


@pytest.mark.parametrize("name", ["en-de", "7", "a" * 55])
def test_a_name_that_kubernetes_takes_stays_as_it_is(name):
    assert kubernetes_name(name) == f"serving-{name}"
