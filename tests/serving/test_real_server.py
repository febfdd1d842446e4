"""The kit and the clients with TensorFlow Serving itself, where there is one."""

import shutil
import socket
import subprocess
import time

import pytest
import urllib3
import yaml

from aiayn_keras.export.serving_kit import server_flags
from aiayn_keras.serving import GrpcClient, RestClient, ServingError
from tests.export.test_monitoring import METRICS

TEXTS = ["The old bus arrived yesterday.", "", "Half past three. 👩‍👩‍👧", "日本 </s>"]
IMAGE = "tensorflow/serving"
SECONDS_TO_START = 120


def has_docker_image():
    if shutil.which("docker") is None:
        return False
    return (
        subprocess.run(["docker", "image", "inspect", IMAGE], capture_output=True).returncode == 0
    )


def free_port():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]


def by_command(kit, grpc_port, rest_port, tmp_path):
    """The flags of the kit, for a server that sees the kit where it is."""
    copy = tmp_path / "kit" / kit.name
    shutil.copytree(kit, copy)
    config = copy / "models.config"
    config.write_text(config.read_text().replace(f"/models/{kit.name}", str(copy)))
    command = ["tensorflow_model_server", f"--port={grpc_port}", f"--rest_api_port={rest_port}"]
    return [*command, *server_flags(str(copy), batched=True)]


def by_docker(kit, grpc_port, rest_port):
    ports = (f"127.0.0.1:{grpc_port}:8500", f"127.0.0.1:{rest_port}:8501")
    command = ["docker", "run", "--rm", *(word for port in ports for word in ("-p", port))]
    command += ["-v", f"{kit}:/models/{kit.name}:ro", IMAGE]
    return [*command, *server_flags(f"/models/{kit.name}", batched=True)]


@pytest.fixture(scope="module")
def ports(kit, tmp_path_factory):
    """Ports of a running TensorFlow Serving, gRPC and REST."""
    grpc_port, rest_port = free_port(), free_port()
    if shutil.which("tensorflow_model_server"):
        command = by_command(kit, grpc_port, rest_port, tmp_path_factory.mktemp("real"))
    elif has_docker_image():
        command = by_docker(kit, grpc_port, rest_port)
    else:
        pytest.skip(f"neither tensorflow_model_server nor Docker with {IMAGE}")
    process = subprocess.Popen(command)
    try:
        client = RestClient(f"http://127.0.0.1:{rest_port}", kit.name, deadline=1.0)
        end = time.monotonic() + SECONDS_TO_START
        while True:
            try:
                client.translate(["Ja."])
                break
            except ServingError:
                if time.monotonic() > end or process.poll() is not None:
                    raise
        yield grpc_port, rest_port
    finally:
        process.terminate()
        process.wait(timeout=60)


@pytest.mark.parametrize("kind", ["rest", "grpc"])
def test_tensorflow_serving_translates_as_the_model_does(ports, model, kind):
    grpc_port, rest_port = ports
    client = (
        GrpcClient(f"127.0.0.1:{grpc_port}", "small")
        if kind == "grpc"
        else RestClient(f"http://127.0.0.1:{rest_port}", "small")
    )
    expected = model.translate(TEXTS, num_return_sequences=4)
    assert [each.text for each in client.translate(TEXTS)] == [each.text for each in expected]
    hypotheses = [[h.text for h in each] for each in client.translate_nbest(TEXTS)]
    assert hypotheses == [[h.text for h in each.hypotheses] for each in expected]
    assert [each.text for each in client.align(TEXTS)] == [each.text for each in expected]
    scores = client.score(TEXTS[:1], [expected[0].text])
    assert scores == pytest.approx([expected[0].score], rel=1e-3)
    client.close()


def test_tensorflow_serving_has_what_kubernetes_asks_for(ports, kit):
    def get(path):
        return urllib3.request("GET", f"http://127.0.0.1:{ports[1]}{path}", retries=False)

    deployment = yaml.safe_load((kit / "kubernetes" / "deployment.yaml").read_text("utf-8"))
    template = deployment["spec"]["template"]
    (container,) = template["spec"]["containers"]
    for kind in ("startup", "readiness", "liveness"):
        assert get(container[f"{kind}Probe"]["httpGet"]["path"]).status == 200
    metrics = get(template["metadata"]["annotations"]["prometheus.io/path"]).data.decode()
    assert [name for name in sorted(METRICS) if f"\n{name}{{" not in metrics] == []
