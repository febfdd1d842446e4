"""Ways of querying a served model, and their latencies with several clients at once."""

import itertools
import os
import threading
import time
from dataclasses import replace

import numpy as np

from benchmarks.processes import Worker
from benchmarks.speed.decode_ours import use_one_core_per_batch
from benchmarks.speed.decode_systems import DecodeTask

PERCENTILES = (50, 95, 99)


def measure(translate, texts, batch_size, num_clients, seconds):
    """Lets clients send requests for some time.

    Args:
        translate: Function from a list of strings to their translations, called by all clients.
        texts: List of strings, taken in turn.
        batch_size: Texts per request.
        num_clients: Number of threads.
        seconds: Time during which requests are begun.

    Returns:
        Dictionary of the seconds of each request, and of all.
    """
    turns, latencies = itertools.count(), []
    lock = threading.Lock()
    errors = []

    def ask():
        begun = begin
        try:
            while begun < begin + seconds:
                with lock:
                    start = next(turns) * batch_size
                batch = [texts[i % len(texts)] for i in range(start, start + batch_size)]
                begun = time.perf_counter()
                translate(batch)
                latencies.append(time.perf_counter() - begun)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(num_clients)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return {"latencies": latencies, "seconds": time.perf_counter() - begin}


def summarize(system, batch_size, num_clients, measured):
    """Percentiles in milliseconds, and sentences per second."""
    latencies = measured["latencies"]
    return {
        "system": system,
        "batch": batch_size,
        "clients": num_clients,
        "requests": len(latencies),
        **{f"p{p}": 1e3 * float(np.percentile(latencies, p)) for p in PERCENTILES},
        "sentences_per_second": len(latencies) * batch_size / measured["seconds"],
    }


class LoadedClient:
    """A way of querying the model, kept in the process of its clients.

    Args:
        system: A key of `LOADERS`.
        name: Its name in the table.
        task: Attributes of a `DecodeTask`, whose artifact is a folder of `kit` and `ctranslate2`.
    """

    def __init__(self, system, name, task):
        self.name, self.texts = name, task["texts"]
        self.translate = LOADERS[system](DecodeTask(**task))

    def measure(self, batch_size, num_clients, seconds):
        """Percentiles and speed of one point, after one request that is not counted."""
        self.translate(self.texts[:batch_size])
        measured = measure(self.translate, self.texts, batch_size, num_clients, seconds)
        return summarize(self.name, batch_size, num_clients, measured)


def load_translate(task):
    from benchmarks.speed.decode_ours import load_ours

    return load_ours(task).translate


def load_saved_model(task):
    from tests.claims.hardening import load

    use_one_core_per_batch()  # as the kit tells TensorFlow Serving to
    predict = load(f"{task.artifact}/kit/1")
    return lambda texts: predict("serving_default", texts)


def load_ctranslate2(task):
    from benchmarks.speed.decode_ctranslate2 import build_translator

    task = replace(task, artifact=f"{task.artifact}/ctranslate2")
    return build_translator(task, inter_threads=os.cpu_count(), intra_threads=1).translate


def load_rest(task, batching=False):
    from aiayn_keras.serving import RestClient

    server = _start_server(task, batching)
    return RestClient(f"http://127.0.0.1:{server['rest']}", server["name"]).translate


def load_grpc(task, batching=False):
    from aiayn_keras.serving import GrpcClient

    server = _start_server(task, batching)
    return GrpcClient(f"127.0.0.1:{server['grpc']}", server["name"]).translate


def load_batching(task):
    return load_grpc(task, batching=True)


def load_rest_batching(task):
    return load_rest(task, batching=True)


LOADERS = {
    "REST": load_rest,
    "REST, batching": load_rest_batching,
    "gRPC": load_grpc,
    "batching": load_batching,
    "SavedModel": load_saved_model,
    "translate": load_translate,
    "CTranslate2": load_ctranslate2,
}
SERVED = ("REST", "REST, batching", "gRPC", "batching", "SavedModel")
"""Systems that run a kit."""
_SERVERS = []  # that end with this process


class LoadedServer:
    """The server of `aiayn-keras serve --api`, kept in its own process."""

    def __init__(self, kit, batching):
        from aiayn_keras.serving.model_server import ModelServer, ServedKit, read_batching_config

        use_one_core_per_batch()  # as the kit's flags say
        served = ServedKit(kit)
        served.start()
        self.server = ModelServer(served, read_batching_config(kit) if batching else None)

    def address(self):
        """Ports, and the name of the model."""
        server = self.server
        return {"rest": server.rest_port, "grpc": server.grpc_port, "name": server.kit.name}


def _start_server(task, batching=False):
    """The address of a server of the kit."""
    kit = f"{task.artifact}/kit"
    server = Worker(f"{kit}-{os.getpid()}.log", "tensorflow")
    _SERVERS.append(server)
    server.keep("benchmarks.speed.serving_systems:LoadedServer", kit=kit, batching=batching)
    return server.call("address")
