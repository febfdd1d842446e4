"""`aiayn-keras request`: translations by a server."""

import contextlib
from dataclasses import asdict

import click

from aiayn_keras_cli.options import PLACEABLES, LocalPath, VersionOr, is_given
from aiayn_keras_cli.running import quiet_start
from aiayn_keras_cli.streams import (
    DOCUMENT,
    check_standard_output,
    open_standard_input,
    read_available_lines,
    read_document,
)

NEWEST = "newest"
_DOCUMENT_CHARACTERS = 10_000
"""Number of characters at which a request for a piece of a document ends."""
_TOO_LONG = "wordpieces in rows"
"""A part of the error of a kit that was exported with `--long-text error`."""


@click.command()
@click.argument("url")
@click.argument("model")
@click.option(
    "--input",
    "input_file",
    type=LocalPath(),
    help="File to translate. Default: lines from standard input.",
)
@click.option(
    "--version",
    type=VersionOr(NEWEST),
    help="Number of a version, or newest for the newest that is loaded. Default: see --label.",
)
@click.option("--label", help="Label of a version, such as canary. Default: stable.")
@click.option(
    "--n-best", is_flag=True, help="Print all hypotheses that the server returns, best first."
)
@DOCUMENT
@PLACEABLES
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a JSON object for each line: source, and hypotheses with scores.",
)
@click.option(
    "--deadline",
    type=click.FloatRange(min=0, min_open=True, max=86_400),
    default=60.0,
    show_default=True,
    help="Seconds allowed for a request, including retries.",
)
@click.option(
    "--connect-timeout",
    type=click.FloatRange(min=0, min_open=True, max=86_400),
    default=5.0,
    show_default=True,
    help="Seconds to go on trying while nothing listens at URL, within the deadline.",
)
@click.option(
    "--batch-size",
    type=click.IntRange(min=1, max=10_000),
    default=64,
    show_default=True,
    help="Maximum number of lines in a request. A server that makes batches refuses more than 64.",
)
def request(url, model, input_file, n_best, document, placeables, as_json, **options):
    """Translate lines on a server.

    MODEL, on the server at URL, translates each line of input to one line of output. If a line has
    more wordpieces than the model's limit (see the README of its kit), only its beginning is
    translated, or the kit refuses it; --document has no limit.

    URL is http://HOST:PORT or https://HOST:PORT for REST, grpc://HOST:PORT for gRPC. For a proxy
    that asks for a password, it is https://USER:PASSWORD@HOST. With --n-best, a line has all
    translations, separated by tabs. With --document, the output is the input with its sentences
    translated by the server, placeables included; the model must have been exported with
    --documents.
    """
    if document and (n_best or as_json):
        raise click.UsageError("--document cannot be combined with --n-best or --json.")
    if document and is_given("placeables"):
        raise click.UsageError("--placeables is for lines: omit it with --document.")
    if options["version"] is not None and options["label"] is not None:
        raise click.UsageError("--version cannot be combined with --label.")
    if options["label"] is None:
        del options["label"]  # the client's default
    if options["version"] == NEWEST:
        options.update(version=None, label=None)
    check_standard_output()
    client = _client(url, model, options)
    if document:
        for text in read_document(input_file, _DOCUMENT_CHARACTERS):
            click.echo(client.translate_documents([text])[0].text, nl=False)
        return
    number = 0
    for lines in _input_lines(input_file):
        for start in range(0, len(lines), client.batch_size):
            sources = lines[start : start + client.batch_size]
            with _naming_lines(number + 1, number + len(sources)):
                if n_best:
                    found = client.translate_nbest(sources, placeables)
                else:
                    found = [[best] for best in client.translate(sources, placeables)]
            number += len(sources)
            for source, hypotheses in zip(sources, found, strict=True):
                click.echo(_as_json(source, hypotheses) if as_json else _as_line(hypotheses))


@contextlib.contextmanager
def _naming_lines(first, last):
    """Adds the lines of a request to the error of a server for which one of them is too long."""
    from aiayn_keras.serving import RequestRefusedError

    try:
        yield
    except RequestRefusedError as error:
        if _TOO_LONG not in str(error):
            raise
        lines = f"Line {first} is" if first == last else f"One of the lines {first} to {last} is"
        raise click.ClickException(
            f"{lines} too long for the model, so none of them was translated. Divide long lines, "
            f"or see with --batch-size 1 which one it is. {error}"
        ) from error


def _input_lines(input_file):
    """Yields lists of lines, those of standard input as they arrive."""
    if input_file is None:
        return read_available_lines(open_standard_input())
    with quiet_start():
        from aiayn_keras.data import read_lines

    return [read_lines(input_file)]


def _as_json(source, hypotheses):
    from aiayn_keras_light.text_files import as_json_line

    fields = {"source": source, "hypotheses": [asdict(each) for each in hypotheses]}
    return as_json_line(fields)


def _as_line(hypotheses):
    from aiayn_keras_light.text_files import without_breaks

    return "\t".join(without_breaks(each.text) for each in hypotheses)


def _client(url, model, options):
    scheme, _, address = url.partition("://")
    if scheme not in ("http", "https", "grpc"):
        shown = f"***@{url.rpartition('@')[2]}" if "@" in url else url
        raise click.UsageError(f"URL must begin with http://, https:// or grpc://, not {shown!r}.")
    with quiet_start():  # gRPC's messages need TensorFlow
        from aiayn_keras.serving import GrpcClient, RestClient

        if scheme == "grpc":
            return GrpcClient(address, model, **options)
        return RestClient(url, model, **options)
