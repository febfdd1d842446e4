"""`aiayn-keras serve --api`: a kit over REST and gRPC, as TensorFlow Serving serves it."""

import contextlib
import os
import shlex
import signal
import sys
import threading

import click

from aiayn_keras_cli.options import is_unfinished
from aiayn_keras_cli.running import quiet_start

REST_PORT, GRPC_PORT = 8501, 8500
"""Those of TensorFlow Serving's image."""
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve_api(folder, host, port, grpc_port, poll, trust):
    """Serves a kit until the process is interrupted or terminated.

    Args:
        folder: `pathlib.Path` of the kit.
        host: Address of this machine.
        port: Port for REST, or 0 for any free one.
        grpc_port: Port for gRPC, or 0 for any free one.
        poll: Seconds between two readings of `models.config`.
        trust: Whether to load a graph that may do more than translate.
    """
    _require_kit(folder)
    if port == grpc_port != 0:
        raise click.UsageError(f"--port and --grpc-port must differ. Received: {port} for both.")
    with quiet_start():
        from aiayn_keras.backend import use_one_core_per_batch
        from aiayn_keras.serving.model_server import (
            ModelServer,
            ServedKit,
            read_batching_config,
            reserve_port,
        )

    batching = read_batching_config(folder)
    kit = ServedKit(folder, trust, poll_seconds=poll)
    with contextlib.ExitStack() as stack:
        is_over = stack.enter_context(_interruption())
        rest_socket = stack.enter_context(reserve_port(host, port, "--port"))
        reserved = stack.enter_context(reserve_port(host, grpc_port, "--grpc-port"))
        grpc_address = _address(host, reserved.getsockname()[1])
        click.echo(f"Loading {folder} ...", err=True)
        with quiet_start():
            use_one_core_per_batch()  # as the kit's flags say
            is_started = _start(kit, is_over)
        if isinstance(is_started, Exception):
            kit.close()
            raise is_started
        if not is_started:
            _end_at_once()
        reserved.close()  # gRPC opens it itself
        server = ModelServer(kit, batching, rest_socket, grpc_address)
        _introduce(kit, server, host, batching)
        is_over.wait()
        is_done = server.close()
        kit.close()
        if not is_done:
            _end_at_once()


@contextlib.contextmanager
def _interruption():
    """Gives an event that SIGINT (Ctrl-C), SIGTERM and SIGHUP (the terminal is closed) set."""
    is_over = threading.Event()
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as under `nohup`
        numbers.append(signal.SIGHUP)
    before = [signal.signal(number, lambda *_: is_over.set()) for number in numbers]
    try:
        yield is_over
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _require_kit(folder):
    if (folder / "models.config").is_file():
        return
    if (folder / "task.json").is_file() or is_unfinished(folder):
        source = shlex.quote(str(folder))
        raise click.UsageError(
            f"--api serves a kit, and {folder} is a model folder. Export it: `aiayn-keras export "
            f"saved-model {source} --output models`, then `aiayn-keras serve "
            f"models/{shlex.quote(folder.resolve().name)} --api`."
        )
    kit = folder.resolve().parent
    if folder.is_file():
        raise click.UsageError(f"--api serves a kit, which is a folder, and {folder} is a file.")
    if (kit / "models.config").is_file():
        raise click.UsageError(
            f"--api serves a kit with all its versions, and {folder} is one of them: give {kit}."
        )
    reason = "has no models.config" if folder.exists() else "does not exist"
    raise FileNotFoundError(
        f"{folder} is not a serving kit: it {reason}. `aiayn-keras export saved-model` writes one."
    )


def _start(kit, is_over):
    """Loads the versions.

    Returns:
        Whether they are loaded, and False if the process is to end; or the exception of the load.
    """
    failed = []

    def start():
        try:
            kit.start()
        except Exception as error:
            failed.append(error)

    # Signals are handled in the main thread, which must not wait for a lock.
    thread = threading.Thread(target=start, daemon=True)
    thread.start()
    while thread.is_alive() and not is_over.is_set():
        thread.join(0.1)
    return failed[0] if failed else not is_over.is_set()


def _introduce(kit, server, host, batching):
    """Says where the server answers, and what it is good for."""
    url = f"http://{_address(host, server.rest_port)}"
    click.echo(f"{kit.name}: {url}/v1/models/{kit.name} (Ctrl-C ends it)")
    for number, (state, error) in kit.states(kit.name).items():
        labels = [label for label, version in kit.labels.items() if version == number]
        words = f"version {number}{''.join(f', {label}' for label in sorted(labels))}"
        if state == "AVAILABLE":
            click.echo(words)
        else:
            click.echo(f"{words}: cannot be loaded, and is tried again: {error}", err=True)
    click.echo(f"gRPC: {_address(host, server.grpc_port)}")
    if batching is None:
        click.echo("Requests are answered one by one: the kit has no batching.config.", err=True)
    if host not in _LOOPBACK:
        click.echo(
            f"Anyone who can reach {host} can use it: there is no TLS and no password.", err=True
        )
    click.echo(
        "For trying and for small loads: the paths, errors and metrics are TensorFlow Serving's. "
        f"To deploy: see {kit.kit / 'README.md'}"
    )


def _address(host, port):
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _end_at_once():
    """Ends the process while threads of TensorFlow still load or compute."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
