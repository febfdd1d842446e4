"""The package's model server with the extras of a test: faults, delays, and a count of requests.

    python -m tests.serving.loopback_server KIT

prints its ports as a JSON object and serves until its standard input ends.
"""

import json
import sys
import time

from aiayn_keras.serving.model_server import (
    ModelServer,
    RefusedError,
    ServedKit,
    read_batching_config,
)


class LoopbackServer(ModelServer):
    """Both services of one kit, on free ports of 127.0.0.1.

    Args:
        kit: Folder `<name>`.
        served: Its `ServedKit`, if it has been started already.
        is_batched: Whether requests are batched, as the kit's files say.
        **options: Those of `ServedKit`.

    Attributes:
        faults: List of names of gRPC's codes; each request takes the first one left as its error.
        seconds: Delay of each answer.
        num_requests: Number of requests that were fit to be computed.
    """

    def __init__(self, kit, served=None, is_batched=True, **options):
        self.faults, self.seconds, self.num_requests = [], 0.0, 0
        self._own = None
        if served is None:
            served = self._own = ServedKit(kit, **{"warm_up": False, **options})
            served.start()
        super().__init__(served, read_batching_config(served.kit) if is_batched else None)

    def predict(self, *request):
        self.num_requests += 1
        time.sleep(self.seconds)
        if self.faults:
            raise RefusedError(self.faults.pop(0), "a fault made on purpose")
        return super().predict(*request)

    def close(self, seconds=10.0):
        is_done = super().close(seconds)
        if self._own is not None:
            self._own.close()
        return is_done


if __name__ == "__main__":
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)  # as in the kit's flags
    with LoopbackServer(sys.argv[1]) as server:
        ports = {"rest": server.rest_port, "grpc": server.grpc_port}
        sys.stdout.write(json.dumps(ports) + "\n")
        sys.stdout.flush()
        sys.stdin.read()
