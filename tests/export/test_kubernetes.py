"""The folder `kubernetes` of a kit: valid manifests that agree with each other and with the kit."""

import re
import shutil
import subprocess
from pathlib import Path

import hypothesis.strategies as st
import kubernetes_validate
import pytest
import yaml
from hypothesis import given

from aiayn_keras.export.kubernetes import CORES, GIBIBYTE, kubernetes_name, memory_limit
from aiayn_keras.export.serving_kit import NAME, write_kit
from aiayn_keras.export.version_notes import VersionNotes
from aiayn_keras.serving import RestClient
from tests.export import serving_protos
from tests.export.test_serving_kit import models_config

text_format = pytest.importorskip("google.protobuf.text_format")
pytest.importorskip("tensorflow_serving")

ROOT = Path(__file__).parents[2]

OLDEST = "1.30"
"""The first version of Kubernetes in which `preStop` can sleep by itself."""

NO_MANIFESTS = {"kustomization.yaml", "prometheus_adapter.yaml"}


@pytest.fixture(params=["batched", "not batched", "committed"])
def kit(request, tmp_path, note_version):
    """Folder of a kit."""
    if request.param == "committed":
        return ROOT / "saved_models" / "demo_en_de"
    kit = tmp_path / "My_model.v2"
    for number in (1, 2, 3):
        note_version(kit, number, long_text="truncate" if request.param == "batched" else "error")
    write_kit(kit)
    return kit


@pytest.fixture
def batched_kit(tmp_path, note_version):
    kit = tmp_path / "small"
    note_version(kit, 1)
    write_kit(kit)
    return kit


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


def validate(manifest, version):
    kubernetes_validate.validate(manifest, version, strict=True)


@pytest.mark.parametrize("version", [OLDEST, kubernetes_validate.latest_version()])
def test_every_manifest_keeps_to_its_schema(kit, version):
    objects = manifests(kit)
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


def test_kustomization_names_every_manifest_and_the_image(kit):
    kustomization = read(kit, "kustomization.yaml")
    files = {path.name for path in (kit / "kubernetes").glob("*.yaml")}
    assert set(kustomization["resources"]) == files - NO_MANIFESTS
    (image,) = kustomization["images"]
    assert image["name"] == pod_of(kit)[2]["image"]
    dockerfile = (kit / "kubernetes" / "Dockerfile").read_text("utf-8")
    assert f"--tag {image['name']}:{image['newTag']} ." in dockerfile
    labels = models_config(kit).version_labels
    assert image["newTag"] == f"stable-{labels['stable']}-canary-{labels['canary']}"


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


def test_all_objects_are_of_one_name_and_select_the_pods(kit):
    objects = manifests(kit)
    name = kubernetes_name(kit.name)
    labels = {"app.kubernetes.io/name": name}
    for each in objects.values():
        assert each["metadata"] == {"name": name, "labels": labels}
    specs = {kind: each["spec"] for kind, each in objects.items()}
    assert pod_of(kit)[0]["labels"] == labels
    assert specs["Deployment"]["selector"] == {"matchLabels": labels}
    assert specs["Service"]["selector"] == labels
    assert specs["PodDisruptionBudget"]["selector"] == {"matchLabels": labels}
    assert specs["NetworkPolicy"]["podSelector"] == {"matchLabels": labels}
    assert specs["HorizontalPodAutoscaler"]["scaleTargetRef"] == {
        "apiVersion": objects["Deployment"]["apiVersion"],
        "kind": "Deployment",
        "name": name,
    }


def test_ports_are_those_of_docker(kit):
    metadata, _, container = pod_of(kit)
    compose = yaml.safe_load((kit / "docker-compose.yml").read_text("utf-8"))
    in_docker = [int(port.split(":")[-1]) for port in compose["services"]["serving"]["ports"]]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert list(ports.values()) == in_docker
    service = manifests(kit)["Service"]["spec"]
    assert service["type"] == "ClusterIP"
    assert {port["targetPort"]: port["port"] for port in service["ports"]} == ports
    policy = manifests(kit)["NetworkPolicy"]["spec"]
    assert {port["port"] for rule in policy["ingress"] for port in rule["ports"]} == ports.keys()
    assert policy["egress"] == []
    assert metadata["annotations"] == {
        "prometheus.io/scrape": "true",
        "prometheus.io/port": str(ports["rest"]),
        "prometheus.io/path": monitoring(kit).path,
    }


def monitoring(kit):
    text = (kit / "monitoring.config").read_text("utf-8")
    return text_format.Parse(text, serving_protos.monitoring_config()).prometheus_config


def test_flags_are_those_of_docker_and_the_image_has_their_files(kit):
    compose = yaml.safe_load((kit / "docker-compose.yml").read_text("utf-8"))
    flags = compose["services"]["serving"]["command"]
    _, _, container = pod_of(kit)
    assert container["args"] == [*flags, f"--tensorflow_inter_op_parallelism={CORES}"]
    copied = copied_files(kit)
    for flag in flags:
        name, _, value = flag.partition("=")
        if value.startswith("/models/"):
            assert value in copied, name


def copied_files(kit):
    """Paths in the image, each with the file or folder of the kit that becomes it."""
    copied = {}
    for line in (kit / "kubernetes" / "Dockerfile").read_text("utf-8").splitlines():
        instruction, *words = line.split()
        if instruction == "COPY":
            mode, *sources, target = words
            assert mode == "--chmod=755"
            for source in sources:
                assert (kit / source).exists()
                path = target + source.split("/")[-1] if target.endswith("/") else target
                copied[path] = source
    return copied


def test_the_image_is_the_server_with_the_versions_that_have_a_label(kit):
    dockerfile = (kit / "kubernetes" / "Dockerfile").read_text("utf-8")
    compose = yaml.safe_load((kit / "docker-compose.yml").read_text("utf-8"))
    assert f"\nFROM {compose['services']['serving']['image']}\n" in dockerfile
    model = models_config(kit)
    copied = copied_files(kit)
    versions = {path: source for path, source in copied.items() if source.isdecimal()}
    assert versions == {
        f"{model.base_path}/{number}": str(number)
        for number in model.model_version_policy.specific.versions
    }
    assert copied[f"{model.base_path}/models.config"] == "models.config"


def test_probes_ask_for_the_model_over_rest(kit):
    model = models_config(kit)
    _, _, container = pod_of(kit)
    paths = {}
    for kind in ("startup", "readiness", "liveness"):
        get = container[f"{kind}Probe"]["httpGet"]
        assert get["port"] == "rest"
        paths[kind] = get["path"]
    assert "stable" in model.version_labels
    assert paths == {
        "startup": f"/v1/models/{model.name}",
        "readiness": f"/v1/models/{model.name}/labels/stable/metadata",
        "liveness": f"/v1/models/{model.name}",
    }


def test_a_pod_that_goes_answers_what_its_clients_wait_for(kit):
    _, spec, container = pod_of(kit)
    seconds = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert seconds >= RestClient("http://127.0.0.1:1", "any").deadline
    assert spec["terminationGracePeriodSeconds"] > seconds


def test_pods_keep_to_the_restricted_standard_and_write_to_nothing(kit):
    _, spec, container = pod_of(kit)
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


def test_as_many_threads_as_cores_run_a_pod(batched_kit):
    _, _, container = pod_of(batched_kit)
    assert container["resources"]["requests"]["cpu"] == str(CORES)
    text = (batched_kit / "kubernetes" / "batching.config").read_text("utf-8")
    config = text_format.Parse(text, serving_protos.batching_parameters())
    assert config.num_batch_threads.value == CORES
    config.ClearField("num_batch_threads")
    text = (batched_kit / "batching.config").read_text("utf-8")
    assert str(config) == str(text_format.Parse(text, serving_protos.batching_parameters()))


def test_the_autoscaler_watches_the_metric_that_the_adapter_makes(batched_kit):
    objects = manifests(batched_kit)
    (metric,) = objects["HorizontalPodAutoscaler"]["spec"]["metrics"]
    (rule,) = read(batched_kit, "prometheus_adapter.yaml")["rules"]["custom"]
    assert metric["type"] == "Pods"
    assert metric["pods"]["metric"]["name"] == rule["name"]["as"]
    assert ":tensorflow:serving:batching_session:queuing_latency_sum" in rule["seriesQuery"]
    for label in rule["resources"]["overrides"]:
        assert f'{label}!=""' in rule["seriesQuery"]


def test_without_a_queue_the_autoscaler_watches_the_cores(batched_kit, note_version):
    note_version(batched_kit, 2, long_text="error")
    write_kit(batched_kit)
    (metric,) = manifests(batched_kit)["HorizontalPodAutoscaler"]["spec"]["metrics"]
    assert metric["resource"]["name"] == "cpu"
    folder = batched_kit / "kubernetes"
    assert not (folder / "prometheus_adapter.yaml").exists()
    assert not (folder / "batching.config").exists()
    assert "batching" not in (folder / "Dockerfile").read_text("utf-8")


def test_a_node_can_be_emptied_while_others_answer(kit):
    objects = manifests(kit)
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


@given(st.from_regex(NAME, fullmatch=True))
def test_every_name_of_a_model_has_a_name_in_kubernetes(name):
    assert re.fullmatch("[a-z]([-a-z0-9]{0,61}[a-z0-9])?", kubernetes_name(name))
