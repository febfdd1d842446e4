"""A kit whose versions are doubles that give texts back, served by the package's server."""

import contextlib

import pytest

from tests.serving.echo_version import loading


def write_config(kit, versions, name="small", **labels):
    """Writes a `models.config` that lists versions, and makes a folder for each."""
    listed = " ".join(f"versions: {number}" for number in versions)
    labelled = " ".join(
        f'version_labels {{ key: "{label}" value: {number} }}' for label, number in labels.items()
    )
    for number in versions:
        (kit / str(number)).mkdir(parents=True, exist_ok=True)
    written = kit / "models.config.new"
    written.write_text(
        f'model_config_list {{ config {{ name: "{name}" base_path: "/models/{name}" '
        f"model_version_policy {{ specific {{ {listed} }} }} {labelled} }} }}"
    )
    written.replace(kit / "models.config")


@pytest.fixture
def echo_kit(tmp_path):
    """Folder of a kit with the version 1, stable."""
    write_config(tmp_path, [1], stable=1)
    return tmp_path


@pytest.fixture
def start_kit(echo_kit):
    """Function of options that starts a `ServedKit` of `echo_kit`."""
    from aiayn_keras.serving.model_server import ServedKit

    with contextlib.ExitStack() as stack:

        def start_kit(broken=(), mute=(), **options):
            options = {"poll_seconds": 0.02, "retry_seconds": 0.02, **options}
            options.setdefault("load", loading(broken, mute))
            kit = ServedKit(echo_kit, **options)
            stack.callback(kit.close)
            kit.start()
            return kit

        yield start_kit


@pytest.fixture
def start_server(start_kit):
    """Function of a `ServedKit`'s and a `ModelServer`'s options that starts both."""
    from aiayn_keras.serving.model_server import ModelServer

    with contextlib.ExitStack() as stack:

        def start_server(kit_options=(), **options):
            server = ModelServer(start_kit(**dict(kit_options)), **options)
            return stack.enter_context(server)

        yield start_server
