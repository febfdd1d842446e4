"""`aiayn-keras serve`: a model in a local web page, or a kit over REST and gRPC."""

import contextlib
import os
import shlex
import signal
import sys
import threading

import click

from aiayn_keras_cli.options import (
    CHECKPOINT,
    ENGINE,
    LocalPath,
    asked_checkpoint,
    chosen_checkpoint,
    is_given,
    is_unfinished,
    is_usable_unfinished,
    load_model,
    report_engine,
    require_model_folder,
    search_options,
)
from aiayn_keras_cli.running import quiet_start

REST_PORT, GRPC_PORT = 8501, 8500
"""The ports of TensorFlow Serving's image."""
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_PAGE_PORT = 8000
_API_OPTIONS = {"host": "--host", "grpc_port": "--grpc-port", "poll": "--poll"}


def _serve_api(folder, host, port, grpc_port, poll, trust):
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
        click.echo(f"Anyone who can reach {host} can use it, without TLS or a password.", err=True)
    click.echo(
        "For trying things out and for small loads: paths, errors and metrics are as in TensorFlow "
        f"Serving. To deploy: see {kit.kit / 'README.md'}"
    )


def _address(host, port):
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _end_at_once():
    """Ends the process while threads of TensorFlow still load or compute."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


@click.command()
@click.argument("folder", metavar="DIR", type=LocalPath())
@click.option(
    "--api",
    is_flag=True,
    help="Instead of the page, serve a kit to programs, over TensorFlow Serving's REST and gRPC.",
)
@click.option(
    "--port",
    type=click.IntRange(min=0, max=65535),
    help=f"Port of the page, or of REST with --api; 0 for any free port. Default: {_PAGE_PORT}, or "
    f"{REST_PORT} with --api.",
)
@click.option(
    "--grpc-port",
    type=click.IntRange(min=0, max=65535),
    default=GRPC_PORT,
    show_default=True,
    help="Port of gRPC with --api; 0 for any free port.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address of this machine on which --api answers. 0.0.0.0 means all of them: everybody who "
    "can reach one can then use the server, without TLS or a password. The page is only for this "
    "machine.",
)
@click.option(
    "--poll",
    metavar="SECONDS",
    type=click.FloatRange(min=0.05, max=86_400),
    default=5.0,
    show_default=True,
    help="Time between two readings of the kit's models.config with --api; with the kit's flags, "
    "TensorFlow Serving reads it every 60 seconds.",
)
@click.option("--open", "open_browser", is_flag=True, help="Open the page in the web browser.")
@click.option(
    "--trust",
    is_flag=True,
    help="Load a kit even if its graph may do more than translate. A kit is a program that runs "
    "with your rights; by default it may only have operations that this package's exports use.",
)
@CHECKPOINT
@ENGINE
@search_options("num_return_sequences")
def serve(folder, api, port, grpc_port, host, poll, open_browser, trust, **options):
    """Show a model in a local web page, or serve a kit to programs.

    DIR is a model folder, a training or a serving kit. The page translates as you type, and shows
    alternative translations and the model's attention. For a model folder it also shows the
    wordpieces, the search step by step and the next piece, scores a translation of your own, and
    translates files. It is for exploring a model on this machine, not for production: `aiayn-keras
    export saved-model` writes a kit for TensorFlow Serving.

    With --api, DIR must be a serving kit, and programs use it instead of a page. Paths, errors,
    labels, batches and metrics are those of TensorFlow Serving, so a program that works with this
    server works with TensorFlow Serving, too. Use --api to try things out and for small loads.

    A serving kit is a program. One that may do more than translate is refused without --trust.
    """
    if api:
        if open_browser:
            raise click.UsageError("--open is for the page, and --api has none.")
        _refuse_model_options(options)
        _serve_api(folder, host, REST_PORT if port is None else port, grpc_port, poll, trust)
        return
    for name, option in _API_OPTIONS.items():
        if is_given(name):
            raise click.UsageError(f"{option} needs --api.")
    port = _PAGE_PORT if port is None else port
    with quiet_start():
        from aiayn_keras.serving.local_page import Application, find_version, listen, open_server

    version = find_version(folder)
    if version is None:
        _require_model_folder(folder)
        if trust:
            raise click.UsageError("--trust is for a serving kit; a model folder is not a program.")
    else:
        _refuse_model_options(options)
    with listen(port) as listener:
        port = listener.getsockname()[1]
        click.echo(f"Loading {folder} ...", err=True)
        if version is None:
            translator, facts = _open_model_folder(folder, options)
        else:
            translator, facts = _open_kit(folder, version, trust)
        application = Application(translator, facts, port)
        # Ctrl-C may come as soon as the address is printed, before the server handles it.
        with (
            open_server(application, listener) as server,
            contextlib.suppress(KeyboardInterrupt),
        ):
            url = f"http://127.0.0.1:{port}/"
            click.echo(f"{facts.name}: {url} (Ctrl-C ends it)")
            if version is not None:
                kit = shlex.quote(str(_kit_of(folder, version)))
                click.echo(f"For programs (REST, gRPC): aiayn-keras serve {kit} --api")
            click.echo(f"For exploring, not for production. To deploy: {facts.deploy}")
            if open_browser:
                click.launch(url)
            server.run()


def _refuse_model_options(options):
    """Refuses options that a kit does not take."""
    if asked_checkpoint() is not None:
        raise click.UsageError("--checkpoint is for the folder of a training, not for a kit.")
    if any(map(is_given, options)):
        raise click.UsageError(
            "A serving kit's engine and search options were fixed when it was exported: omit them."
        )


def _kit_of(folder, version):
    """The folder of the kit, given the kit or one of its versions."""
    return folder if folder != version else version.resolve().parent


def _require_model_folder(folder):
    if is_usable_unfinished(folder):
        return
    try:
        require_model_folder(folder)
    except FileNotFoundError as error:
        kit = "It is not a serving kit either: no version has a saved_model.pb."
        raise FileNotFoundError(f"{error} {kit}" if folder.exists() else error) from error


def _open_model_folder(folder, options):
    """Loads the `FolderTranslator` of a model folder, and the facts that the page shows."""
    with quiet_start():
        from aiayn_keras.serving.local_page import FolderTranslator
        from aiayn_keras.training import load_recipe

    model = load_model(folder)
    report_engine(model, [], **options)
    translator = FolderTranslator(model, **options)
    translator.warm_up()  # so that the first keystroke does not wait for compilation
    recipe = folder / "recipe.yaml"
    corpus = load_recipe(recipe).corpus.model_dump() if recipe.exists() else {}
    deploy = f"aiayn-keras export saved-model {shlex.quote(str(folder))} --output models"
    if (checkpoint := chosen_checkpoint(folder)) is not None:
        deploy += f" --checkpoint {checkpoint}"
    return translator, _facts_of(translator, folder.resolve().name, corpus, deploy)


def _open_kit(folder, version, trust):
    """Loads the `KitTranslator` of a kit's version, and the facts that the page shows."""
    with quiet_start():
        from aiayn_keras.serving.local_page import KitTranslator

        translator = KitTranslator(version, trust)
        translator.warm_up()
    kit = _kit_of(folder, version)
    # The export writes the recipe's corpus like this: `name demo, train_size 60000`.
    data = translator.notes.card.get("data", "")
    corpus = dict(part.split(" ", 1) for part in data.split(", ") if " " in part)
    name = f"{kit.resolve().name}/{version.resolve().name}"
    return translator, _facts_of(translator, name, corpus, f"see {kit / 'README.md'}")


def _facts_of(translator, name, corpus, deploy):
    from aiayn_keras.serving.local_page import PageFacts

    return PageFacts(
        engine="python",
        name=name,
        languages=_languages(corpus),
        deploy=deploy,
        views=translator.views,
        explores_any=translator.explores_any,
        takes_documents=translator.takes_documents,
        num_beams=translator.num_beams,
        length_penalty=translator.length_penalty,
    )


def _languages(corpus):
    """Gives the language codes of a recipe's corpus, source and target; None if it has none."""
    with quiet_start():  # Grain warns where JAX is not installed.
        from aiayn_keras.data.corpora import CORPORA

    languages = (corpus.get("source_language"), corpus.get("target_language"))
    return languages if all(languages) else CORPORA.get(corpus.get("name"))
