"""The Compose file of a kit: its safety, memory and health check."""

import http.server
import re
import shutil
import subprocess
import threading

import pytest
import yaml

from aiayn_keras.export.kubernetes import FOLDER
from aiayn_keras.serving import RestClient
from tests.export.manifests import ROOT, pod_of

READY, AFTER_TWO_FULL_BATCHES = 1_280, 3_410
"""MiB of server source 2.20.0 on library 2.21.0 with `tatoeba_en_es`, on two cores."""


def service_of(kit):
    text = (kit / "docker-compose.yml").read_text("utf-8")
    (service,) = yaml.safe_load(text)["services"].values()
    return service


def mebibytes(limit):
    return int(re.fullmatch(r"(\d+)(m|Mi)", limit)[1])


def compose_config(path):
    """What Docker Compose reads in a file; the test is skipped where it is missing."""
    if shutil.which("docker-compose") is None:
        pytest.skip("docker-compose is not installed")
    command = ["docker-compose", "--file", str(path), "config"]
    return subprocess.run(command, capture_output=True, text=True)


def test_docker_compose_reads_what_is_written(noted_kit):
    read = compose_config(noted_kit / "docker-compose.yml")
    assert (read.returncode, read.stderr) == (0, "")
    (service,) = yaml.safe_load(read.stdout)["services"].values()
    written = service_of(noted_kit)
    for key in ("command", "healthcheck", "image", "mem_limit", "read_only", "user"):
        assert service[key] == written[key]


@pytest.mark.parametrize(
    ("old", "new"),
    [("mem_limit:", "memory_limit:"), ("read_only: true", "read_only: 3"), ("15m", "15 apples")],
)
def test_docker_compose_refuses_a_broken_file(batched_kit, tmp_path, old, new):
    text = (batched_kit / "docker-compose.yml").read_text("utf-8")
    assert old in text
    path = tmp_path / "docker-compose.yml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    assert compose_config(path).returncode == 1


def test_the_container_may_do_as_little_as_a_pod(noted_kit):
    service = service_of(noted_kit)
    _, spec, container = pod_of(noted_kit)
    user, group = (spec["securityContext"][key] for key in ("runAsUser", "runAsGroup"))
    assert service["user"] == f"{user}:{group}"
    assert service["read_only"] is container["securityContext"]["readOnlyRootFilesystem"] is True
    assert service["cap_drop"] == container["securityContext"]["capabilities"]["drop"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    (mount,), (volume,) = container["volumeMounts"], spec["volumes"]
    size = mebibytes(volume["emptyDir"]["sizeLimit"])
    assert service["tmpfs"] == [f"{mount['mountPath']}:size={size}m"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert all(volume.endswith(":ro") for volume in service["volumes"])


def test_memory_has_room_for_the_next_version(noted_kit):
    limit = mebibytes(service_of(noted_kit)["mem_limit"])
    limit_of_a_pod = mebibytes(pod_of(noted_kit)[2]["resources"]["limits"]["memory"])
    assert limit >= limit_of_a_pod + 768


def test_memory_is_more_than_the_real_server_took():
    limit = mebibytes(service_of(ROOT / "saved_models" / "tatoeba_en_es")["mem_limit"])
    assert limit > AFTER_TWO_FULL_BATCHES + READY


def test_the_files_of_its_flags_are_in_the_volume(noted_kit):
    service = service_of(noted_kit)
    (volume,) = service["volumes"]
    _, mounted, _ = volume.split(":")
    paths = [flag.split("=")[1] for flag in service["command"] if f"={mounted}/" in flag]
    names = {path.removeprefix(f"{mounted}/") for path in paths}
    batching = {f"{FOLDER}/batching.config"} if (noted_kit / "batching.config").exists() else set()
    assert names == {"models.config", "monitoring.config"} | batching
    assert all((noted_kit / name).is_file() for name in names)


def test_the_server_waits_as_long_as_the_clients(noted_kit):
    (flag,) = (each for each in service_of(noted_kit)["command"] if "rest_api_timeout" in each)
    assert flag == f"--rest_api_timeout_in_ms={RestClient('http://any', 'any').deadline * 1000:.0f}"


class Answering(http.server.BaseHTTPRequestHandler):
    status, asked = 200, []

    def do_GET(self):
        self.asked.append(self.path)
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.mark.parametrize(("status", "is_healthy"), [(200, True), (404, False), (503, False)])
def test_the_health_check_asks_for_the_stable_version(batched_kit, status, is_healthy):
    asked = []
    handler = type("Handler", (Answering,), {"status": status, "asked": asked})
    with http.server.HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        assert (health(batched_kit, server.server_port) == 0) == is_healthy
        thread.join()
    assert asked == ["/v1/models/small/labels/stable/metadata"]


def test_a_closed_port_is_not_healthy(batched_kit):
    with http.server.HTTPServer(("127.0.0.1", 0), Answering) as server:
        port = server.server_port
    assert health(batched_kit, port) != 0


def health(kit, port):
    """The exit status of the health check at another port."""
    kind, *command = service_of(kit)["healthcheck"]["test"]
    assert kind == "CMD"
    *program, script = command
    assert "/8501 " in script
    script = script.replace("/8501 ", f"/{port} ").replace("$$", "$")
    return subprocess.run([*program, script], stderr=subprocess.DEVNULL).returncode
