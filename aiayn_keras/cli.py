"""The command `aiayn-keras`."""

import json
import logging
import math
import os
import sys
from pathlib import Path

import click

# TensorFlow's notes on its own start would stand between the lines of the answer.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

WINDOW = 1000  # lines of a pipe that are translated together


class _Commands(click.Group):
    """Says what is wrong with the input in one line, and exits with 1."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # `| head` has enough; click knows what to do.
            raise
        except (ValueError, OSError, ImportError, RuntimeError) as error:
            if isinstance(error, click.exceptions.Exit | click.exceptions.Abort):
                raise
            raise click.ClickException(" ".join(str(error).split())) from error


@click.group(cls=_Commands)
@click.version_option(package_name="aiayn-keras")
def main():
    """Train, evaluate, use and export Transformers for translation."""
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    logging.getLogger("aiayn_keras").setLevel(logging.INFO)


@main.command()
@click.argument("recipe")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="SECTION.FIELD=VALUE",
    help="Replace a value of the recipe. May be repeated.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to fill. Default: runs/RECIPE.",
)
def train(recipe, settings, output):
    """Train as RECIPE says: a name (such as demo), or a YAML file.

    The same command goes on with a training that was stopped.
    """
    from aiayn_keras.training import load_recipe
    from aiayn_keras.training import train as run

    output = output or Path("runs") / Path(recipe).stem
    loaded = load_recipe(recipe, settings)
    try:
        result = run(loaded, output)
    except KeyboardInterrupt:
        click.echo(f"\nStopped. The same command goes on from {output}.", err=True)
        sys.exit(130)
    click.echo(f"\n{result.bleu}\n")
    for source, translation, reference in result.samples:
        click.echo(f"  source:      {source}")
        click.echo(f"  translation: {translation}")
        click.echo(f"  reference:   {reference}\n")
    click.echo(f"The model is in {output}.")


@main.command()
@click.argument("model_folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--input",
    "input_file",
    type=click.Path(path_type=Path),
    help="File to translate. Default: lines from standard input.",
)
@click.option("--num-beams", type=click.IntRange(min=1), default=4, show_default=True)
@click.option("--length-penalty", type=click.FloatRange(min=0), default=0.6, show_default=True)
def translate(model_folder, input_file, num_beams, length_penalty):
    """Translate lines with the model in DIR, one line of output for a line of input."""
    from aiayn_keras.data import read_lines

    lines = None if input_file is None else read_lines(input_file)
    model = _load(model_folder)
    name = "standard input" if input_file is None else str(input_file)
    done = 0
    for window in _windows(sys.stdin.buffer) if lines is None else [lines]:
        translations = _translate(
            model,
            window,
            name,
            lines_before=done,
            hide_bar=lines is None,
            num_beams=num_beams,
            length_penalty=length_penalty,
        )
        done += len(window)
        for translation in translations:
            click.echo(translation.text)


@main.command()
@click.argument("model_folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--source", type=click.Path(path_type=Path), required=True)
@click.option("--reference", type=click.Path(path_type=Path), required=True)
@click.option("--num-beams", type=click.IntRange(min=1), default=4, show_default=True)
@click.option("--length-penalty", type=click.FloatRange(min=0), default=0.6, show_default=True)
@click.option(
    "--tokenize",
    "bleu_tokenizer",
    default="13a",
    show_default=True,
    help="sacreBLEU's tokenizer; none for text that is tokenised.",
)
@click.option("--lowercase", is_flag=True, help="Ignore case.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def evaluate(
    model_folder, source, reference, num_beams, length_penalty, bleu_tokenizer, lowercase, as_json
):
    """Translate a file with the model in DIR and print BLEU with sacreBLEU's signature."""
    from aiayn_keras.data import read_parallel
    from aiayn_keras.training.bleu import check_bleu_tokenizer, corpus_bleu

    check_bleu_tokenizer(bleu_tokenizer)
    pairs = read_parallel(source, reference)
    model = _load(model_folder)
    translations = _translate(
        model, pairs.sources, str(source), num_beams=num_beams, length_penalty=length_penalty
    )
    bleu = corpus_bleu(
        [translation.text for translation in translations],
        list(pairs.targets),
        tokenizer=bleu_tokenizer,
        lowercase=lowercase,
    )
    if as_json:
        figures = {"bleu": bleu.score, "details": bleu.details, "signature": bleu.signature}
        click.echo(json.dumps({**figures, "sentences": len(pairs)}))
    else:
        click.echo(bleu)


@main.command()
@click.argument("run_folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--last", type=click.IntRange(min=1), help="How many checkpoints. Default: as the recipe says."
)
@click.option("--output", type=click.Path(path_type=Path), required=True, help="Folder to make.")
def average(run_folder, last, output):
    """Write the mean of the last checkpoints of the training in DIR as a model."""
    from aiayn_keras.training import write_average

    paths = write_average(run_folder, output, last)
    click.echo(f"The mean of {len(paths)} checkpoints, up to {paths[-1].name}, is in {output}.")


@main.command()
@click.argument("model_folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["saved_model"]),
    default="saved_model",
    show_default=True,
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder for NAME/VERSION.",
)
@click.option("--name", help="Name to serve the model by. Default: the name of DIR.")
@click.option(
    "--version", type=click.IntRange(min=1), help="Default: one more than the greatest there is."
)
@click.option("--num-beams", type=click.IntRange(min=1), default=4, show_default=True)
@click.option("--length-penalty", type=click.FloatRange(min=0), default=0.6, show_default=True)
def export(model_folder, file_format, output, name, version, num_beams, length_penalty):
    """Write the model in DIR for serving: text in, text out."""
    model = _load(model_folder)
    path = model.export(
        output / (name or model_folder.resolve().name),
        format=file_format,
        version=version,
        num_beams=num_beams,
        length_penalty=length_penalty,
    )
    click.echo(path)


@main.command()
@click.argument("preset")
@click.option("--vocabulary-size", type=click.IntRange(min=5), default=37_000, show_default=True)
def info(preset, vocabulary_size):
    """Describe a preset (such as transformer_base) or a model folder."""
    from aiayn_keras.models import TRANSFORMER_PRESETS, TransformerBackbone

    if preset in TRANSFORMER_PRESETS:
        backbone = TransformerBackbone.from_preset(
            preset, load_weights=False, vocabulary_size=vocabulary_size
        )
        click.echo(TRANSFORMER_PRESETS[preset]["description"])
    elif Path(preset).exists():
        backbone = _load(Path(preset)).backbone
    else:
        raise ValueError(
            f"{preset!r} is neither a preset nor a folder. "
            f"Presets are: {', '.join(TRANSFORMER_PRESETS)}."
        )
    for name, value in backbone.get_config().items():
        if name not in ("name", "trainable", "dtype"):
            click.echo(f"  {name:<22}{value}")
    trainable = sum(math.prod(variable.shape) for variable in backbone.trainable_variables)
    click.echo(f"  {'parameters':<22}{trainable:,}")


def _load(folder):
    """The model in a folder, or an error that says why there is none."""
    from aiayn_keras.models import TransformerSeq2SeqLM

    if not (folder / "task.json").is_file():
        if not folder.exists():
            reason = "it does not exist"
        elif (folder / "checkpoints").is_dir():
            reason = "its training is not finished: go on with `aiayn-keras train`"
        else:
            reason = "it has no task.json; `aiayn-keras train` makes model folders"
        raise FileNotFoundError(f"{folder} is no model folder: {reason}.")
    return TransformerSeq2SeqLM.from_preset(str(folder))


def _windows(stream):
    """Lines of a stream: one by one from a person, many together from a pipe."""
    size = 1 if stream.isatty() else WINDOW
    window = []
    for number, line in enumerate(stream, start=1):
        try:
            window.append(line.decode("utf-8").rstrip("\r\n"))
        except UnicodeDecodeError as error:
            raise ValueError(
                f"standard input, line {number} is not UTF-8 (byte {error.start})."
            ) from None
        if len(window) == size:
            yield window
            window = []
    if window:
        yield window


def _translate(model, texts, name, lines_before=0, hide_bar=False, **options):
    """Translates with a progress bar; a text too long is named by file and line."""
    from tqdm import tqdm

    from aiayn_keras.models import TextTooLongError

    try:
        with tqdm(total=len(texts), unit="sentence", disable=hide_bar or None) as bar:
            return model.translate(texts, progress=bar.update, **options)
    except TextTooLongError as error:
        line = lines_before + error.index + 1
        raise ValueError(f"{name}, line {line}: {error.reason}") from error
