"""`aiayn-keras release`: which version of a kit has the label `stable`, and which `canary`."""

import time
from pathlib import Path

import click

from aiayn_keras_cli.options import LocalPath, VersionOr
from aiayn_keras_cli.running import quiet_start

_LABELS = ("stable", "canary")
_BACK = "back"
_SECONDS_BETWEEN_QUESTIONS = 1.0
_SECONDS_OF_A_QUESTION = 10.0
_TEXT = "Hello."
"""A text that a version must translate, whatever its languages, before it gets a label."""
_NOT_KNOWN_YET = ("HTTP 404", "HTTP 502", "HTTP 503", "Unrecognized servable version label")
"""Parts of errors about a version that is not loaded, or a label that was never in use."""
_MEBIBYTE = 1 << 20


@click.command()
@click.argument("kit", type=LocalPath(file_okay=False))
@click.argument("label", required=False, type=click.Choice(_LABELS))
@click.argument("version", required=False, type=VersionOr(_BACK))
@click.option(
    "--url",
    help="REST address of the server that runs the kit, such as http://127.0.0.1:8501. The label "
    "is moved once the server has loaded the version; then the server must answer with it.",
)
@click.option(
    "--deadline",
    type=click.FloatRange(min=0, min_open=True, max=86_400),
    default=600.0,
    show_default=True,
    help="Seconds to wait for the server, each time.",
)
def release(kit, label, version, url, deadline):
    """Move a label of a kit to another version.

    KIT is the folder of a model for TensorFlow Serving. Without LABEL and VERSION, its versions and
    labels are printed. With them, LABEL (stable or canary) moves to VERSION in models.config, which
    the server reads every minute, and in the files that repeat it. VERSION is a number, or back for
    the version that had the label before; that one stays loaded until the next export.

    A running server refuses to move a label to a version that it has not loaded: give --url, and
    the label moves at the right moment, if the version answers.
    """
    kit = Path(kit)
    with quiet_start():
        from aiayn_keras.export.serving_kit import (
            list_version,
            move_label,
            read_name,
            version_before,
        )
        from aiayn_keras.serving import RestClient

    model = read_name(kit)
    if label is None:
        _print_versions(kit, _ask(_client(RestClient, url, model, label=None)) if url else {})
        return
    if version is None:
        raise click.UsageError(f"Name the version that gets the label {label}, or {_BACK}.")
    if version == _BACK:
        version = version_before(kit, label)
    # Checked before anything is written.
    server, labelled, asked = (
        _client(RestClient, url, model, **options) if url else None
        for options in ({"label": None}, {"label": label}, {"version": version})
    )
    if list_version(kit, version):
        click.echo(f"models.config lists version {version} now.", err=True)
    if url:
        name = f"version {version} of {model}"
        nothing = f"the server at --url shows no model {model!r}"
        _wait(server, version, name, "not loaded yet", deadline, nothing)
        asked.translate([_TEXT])
    before = move_label(kit, label, version)
    if url:
        name = f"{label} as version {version}"
        _wait(labelled, version, name, "not moved yet", deadline, "not moved yet")
    click.echo(f"{label} is version {version} now; it was version {before}.")
    if not url:
        click.echo(
            "A running server takes this over within a minute if it has loaded the version; on "
            "Kubernetes, build and apply again as the kit's README says.",
            err=True,
        )


def _client(client_class, url, model, **options):
    return client_class(url, model, deadline=_SECONDS_OF_A_QUESTION, **options)


def _ask(client):
    """The states of versions; {} while the server does not know the label or the model."""
    from aiayn_keras.serving import RequestRefusedError, ServerUnavailableError

    try:
        return client.version_states()
    except (RequestRefusedError, ServerUnavailableError) as error:
        if any(sign in str(error) for sign in _NOT_KNOWN_YET):
            return {}
        raise


def _wait(client, version, what, unknown, deadline, nothing):
    """Waits until a version is AVAILABLE, and says on standard error what it is meanwhile.

    Args:
        client: Client that asks for the states.
        version: Number of the version.
        what: What is waited for.
        unknown: What to say while the server does not show the version.
        deadline: Seconds to wait.
        nothing: What to say while it shows no version at all.
    """
    end, shown = time.monotonic() + deadline, None
    while (now := _state(_ask(client), version, unknown, nothing)) != "AVAILABLE":
        if now != shown:
            click.echo(f"Waiting for {what}: {now}", err=True)
            shown = now
        if now == "END":
            reason = client.version_errors().get(version, "").rstrip(".")
            problem = f": {reason}." if reason else ", or has unloaded it: its log says why."
            raise click.ClickException(
                f"The server could not load {what}{problem} No label was moved to a version that "
                "the server does not have. To try again, move the version's folder "
                f"{version} away, and ten seconds later a complete one into its place."
            )
        if time.monotonic() > end:
            raise click.ClickException(
                f"The server did not have {what} within {deadline:g} seconds (--deadline): {now}."
            )
        time.sleep(_SECONDS_BETWEEN_QUESTIONS)


def _state(states, version, unknown, nothing):
    return states.get(version, unknown) if states else nothing


def _print_versions(kit, states):
    from aiayn_keras.export.serving_kit import memory_needed, read_labels

    labels = read_labels(kit)
    numbers = {int(path.name) for path in kit.iterdir() if path.name.isdecimal()}
    for number in sorted(numbers | {*states} | {*labels.values()}):
        words = [str(number), *(label for label in _LABELS if labels[label] == number)]
        words += [states[number]] if number in states else []
        click.echo("\t".join(words))
    if labels["canary"] not in numbers:
        click.echo(
            f"Version {labels['canary']} is canary in models.config, but its folder is gone, so "
            "requests for it fail. Put it back, or move the label.",
            err=True,
        )
    click.echo(
        f"A server of two cores with the versions of models.config needs up to "
        f"{memory_needed(kit) // _MEBIBYTE:,} MiB.",
        err=True,
    )
