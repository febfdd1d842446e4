"""The manifests of a kit agree with each other and with what Docker is told."""

import pytest
import yaml

from aiayn_keras.export.kubernetes import CORES, kubernetes_name
from aiayn_keras.export.serving_kit import write_kit
from aiayn_keras.serving import RestClient
from tests.export import serving_protos
from tests.export.manifests import NO_MANIFESTS, manifests, pod_of, read
from tests.export.test_serving_kit import models_config

text_format = pytest.importorskip("google.protobuf.text_format")
pytest.importorskip("tensorflow_serving")


def test_kustomization_names_every_manifest_and_the_image(noted_kit):
    kustomization = read(noted_kit, "kustomization.yaml")
    files = {path.name for path in (noted_kit / "kubernetes").glob("*.yaml")}
    assert set(kustomization["resources"]) == files - NO_MANIFESTS
    (image,) = kustomization["images"]
    assert image["name"] == pod_of(noted_kit)[2]["image"]
    dockerfile = (noted_kit / "kubernetes" / "Dockerfile").read_text("utf-8")
    assert f"--tag {image['name']}:{image['newTag']} ." in dockerfile
    labels = models_config(noted_kit).version_labels
    assert image["newTag"] == f"stable-{labels['stable']}-canary-{labels['canary']}"


def test_all_objects_are_of_one_name_and_select_the_pods(noted_kit):
    objects = manifests(noted_kit)
    name = kubernetes_name(noted_kit.name)
    labels = {"app.kubernetes.io/name": name}
    for each in objects.values():
        assert each["metadata"] == {"name": name, "labels": labels}
    specs = {kind: each["spec"] for kind, each in objects.items()}
    assert pod_of(noted_kit)[0]["labels"] == labels
    assert specs["Deployment"]["selector"] == {"matchLabels": labels}
    assert specs["Service"]["selector"] == labels
    assert specs["PodDisruptionBudget"]["selector"] == {"matchLabels": labels}
    assert specs["NetworkPolicy"]["podSelector"] == {"matchLabels": labels}
    assert specs["HorizontalPodAutoscaler"]["scaleTargetRef"] == {
        "apiVersion": objects["Deployment"]["apiVersion"],
        "kind": "Deployment",
        "name": name,
    }


def test_ports_are_those_of_docker(noted_kit):
    metadata, _, container = pod_of(noted_kit)
    compose = yaml.safe_load((noted_kit / "docker-compose.yml").read_text("utf-8"))
    in_docker = [int(port.split(":")[-1]) for port in compose["services"]["serving"]["ports"]]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert sorted(ports.values()) == in_docker
    service = manifests(noted_kit)["Service"]["spec"]
    assert service["type"] == "ClusterIP"
    assert {port["targetPort"]: port["port"] for port in service["ports"]} == ports
    policy = manifests(noted_kit)["NetworkPolicy"]["spec"]
    assert {port["port"] for rule in policy["ingress"] for port in rule["ports"]} == ports.keys()
    assert policy["egress"] == []
    assert metadata["annotations"] == {
        "prometheus.io/scrape": "true",
        "prometheus.io/port": str(ports["rest"]),
        "prometheus.io/path": monitoring(noted_kit).path,
    }


def monitoring(kit):
    text = (kit / "monitoring.config").read_text("utf-8")
    return text_format.Parse(text, serving_protos.monitoring_config()).prometheus_config


def test_kserve_runs_the_same_pods(noted_kit):
    service = read(noted_kit, "inference_service.yaml")
    assert (service["apiVersion"], service["kind"]) == (
        "serving.kserve.io/v1beta1",
        "InferenceService",
    )
    mode = {"serving.kserve.io/deploymentMode": "RawDeployment"}
    assert service["metadata"]["annotations"] == mode
    predictor = service["spec"].pop("predictor")
    assert service["spec"] == {}
    autoscaler = manifests(noted_kit)["HorizontalPodAutoscaler"]["spec"]
    for key in ("minReplicas", "maxReplicas"):
        assert predictor.pop(key) == autoscaler[key]
    assert (predictor.pop("scaleMetric"), predictor.pop("scaleTarget")) == ("cpu", 80)
    (image,) = read(noted_kit, "kustomization.yaml")["images"]
    _, pod, container = pod_of(noted_kit)
    container["name"] = "kserve-container"
    container["image"] = f"{image['name']}:{image['newTag']}"
    assert predictor == pod
    # KServe's service leads to the first port.
    assert container["ports"][0]["name"] == "rest"
    paths = {"startupProbe", "readinessProbe", "livenessProbe"} & container.keys()
    assert len(paths) == 3


@pytest.mark.parametrize("name", ["en-de", "en_de", "a" * 100])
def test_a_name_in_kserve_leaves_room_for_what_is_appended(name):
    short = kubernetes_name(name, 40)
    assert len(short) <= 40
    assert len(f"{short}-predictor-default") < 63


def test_flags_are_those_of_docker_and_the_image_has_their_files(noted_kit):
    compose = yaml.safe_load((noted_kit / "docker-compose.yml").read_text("utf-8"))
    command = compose["services"]["serving"]["command"]
    flags = pod_of(noted_kit)[2]["args"]
    assert flags == [flag.replace("/kubernetes/", "/") for flag in command]
    assert flags[-1] == f"--tensorflow_inter_op_parallelism={CORES}"
    copied = copied_files(noted_kit)
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


def test_the_image_is_the_server_with_the_versions_that_have_a_label(noted_kit):
    dockerfile = (noted_kit / "kubernetes" / "Dockerfile").read_text("utf-8")
    compose = yaml.safe_load((noted_kit / "docker-compose.yml").read_text("utf-8"))
    assert f"\nFROM {compose['services']['serving']['image']}\n" in dockerfile
    model = models_config(noted_kit)
    copied = copied_files(noted_kit)
    versions = {path: source for path, source in copied.items() if source.isdecimal()}
    assert versions == {
        f"{model.base_path}/{number}": str(number)
        for number in model.model_version_policy.specific.versions
    }
    assert copied[f"{model.base_path}/models.config"] == "models.config"


def test_probes_ask_for_the_model_over_rest(noted_kit):
    model = models_config(noted_kit)
    _, _, container = pod_of(noted_kit)
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


def test_a_pod_that_goes_answers_what_its_clients_wait_for(noted_kit):
    _, spec, container = pod_of(noted_kit)
    seconds = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert seconds >= RestClient("http://127.0.0.1:1", "any").deadline
    assert spec["terminationGracePeriodSeconds"] > seconds


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
