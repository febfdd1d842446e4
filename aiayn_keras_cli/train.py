"""`aiayn-keras recipe`, `prepare`, `train` and `average`: from parallel text to a model."""

import hashlib
import math
import shlex
import sys
from pathlib import Path

import click

from aiayn_keras_cli.check import (
    as_tsv,
    describe_text,
    progress_of_pairs,
    read_texts,
    text_options,
    write_file,
)
from aiayn_keras_cli.options import LocalPath, number_are, pool_options, quiet_pool
from aiayn_keras_cli.running import KerasCommand

_HELD_OUT_PAIRS = 1_000
_MAX_HELD_OUT = 0.1
"""Number of pairs for validation, and as many for test, and the maximum share of all pairs."""
_SETTINGS = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="SECTION.FIELD=VALUE",
    help="Replace a value of the recipe. May be repeated.",
)


@click.command(cls=KerasCommand)
@text_options
@click.option(
    "--output",
    type=LocalPath(dir_okay=False),
    help="Recipe to write. Default: the corpus's name with .yaml, in the current folder.",
)
@click.option("--no-timing", is_flag=True, help="Skip the short training that estimates the hours.")
def recipe(corpus, validation, test, source_language, target_language, output, no_timing):
    """Write a first recipe for a parallel text.

    Looks at the text as `check` does, and chooses the sizes of the vocabulary, the model and the
    training by the number of its pairs; edit them as you like. Without --validation, a cleaned copy
    of the text is divided into files for training, validation and test, beside the recipe.
    """
    from aiayn_keras.data.checking import check_pairs
    from aiayn_keras.training.first_recipe import (
        commented_yaml,
        measure_hours,
        measure_text,
        recipe_fields,
    )
    from aiayn_keras.training.recipe import Recipe
    from aiayn_keras_light.files import check_is_new

    if corpus[0].endswith((".yaml", ".yml")):
        raise click.UsageError("CORPUS is a recipe already; name the files of a corpus instead.")
    if test and not validation:
        raise click.UsageError("--test needs --validation.")
    output = output or Path(f"{Path(corpus[0]).name.removesuffix('.gz').partition('.')[0]}.yaml")
    if output.suffix not in (".yaml", ".yml"):
        raise click.UsageError(f"--output must end in .yaml. Received: {output}.")
    check_is_new(output)
    texts = read_texts(corpus, validation, test)
    for name, held_out in texts.held_out.items():
        held_out.refuse_bad_lines(f"A training cannot leave out lines of --{name}: mend them.")
    languages = source_language, target_language
    checked = check_pairs(texts.train, texts.held_out, languages, progress=progress_of_pairs)
    click.echo(describe_text(checked))
    if not checked.cleaned:
        raise ValueError(
            f"{checked.name} has no pair without faults: see `{_check_command(corpus)}`."
        )
    faults = _faults(checked, corpus, bool(validation))
    for line in faults:
        click.echo(line)
    files, head = {}, [describe_text(checked), *faults]
    if validation:
        section = {"train": list(corpus), "validation": list(validation)}
        section |= {"test": list(test)} if test else {}
        section |= {"bad_lines": "skip"} if texts.train.bad else {}
        pairs = list(texts.train.text)
    else:
        files = _divided(checked.cleaned, output)
        section = {name: [str(path)] for name, path in files}
        pairs = next(iter(files.values()))
    languages = [side.language for side in checked.sides]
    for name, language in zip(("source", "target"), languages, strict=True):
        section |= {f"{name}_language": language} if language else {}
    facts, tokens = measure_text(pairs, languages)
    fields = recipe_fields(facts, section)
    loaded, hours = Recipe.model_validate(fields), None
    if not no_timing:
        hours = measure_hours(loaded, facts, tokens)
    for (_, path), some in files.items():
        write_file(path, as_tsv(some))
    comments = _comments(loaded, facts, hours)
    write_file(output, commented_yaml(fields, comments, head))
    command = f"aiayn-keras train {shlex.quote(str(output))}"
    click.echo(f"{output} is written. Edit it, and then: {command}")


def _divided(pairs, output):
    """Divides pairs; returns a dictionary from `(split, path)` to the pairs of each split."""
    from aiayn_keras.data.parallel_text import SPLITS, splits_by_component
    from aiayn_keras_light.files import check_is_new

    share = min(_MAX_HELD_OUT, _HELD_OUT_PAIRS / len(pairs))
    # The text may be a part of one that was divided before.
    salt = hashlib.sha256(as_tsv(pairs).encode()).digest()[:16]
    splits = splits_by_component(pairs, share, salt)
    files = {}
    for split in SPLITS:
        path = output.with_name(f"{output.stem}.{split}.tsv")
        check_is_new(path)
        some = [pair for pair, own in zip(pairs, splits, strict=True) if own == split]
        if not some:
            raise ValueError(
                f"The text has too few different sentences to leave some for {split}: "
                f"{len(pairs):,} pairs without faults. Give other text with --validation."
            )
        files[split, path] = some
    return files


def _check_command(corpus):
    return f"aiayn-keras check {shlex.join(corpus)}"


def _faults(checked, corpus, is_left_as_it_is):
    """Lines about the faults of the text."""
    counts = ", ".join(f"{kind} {count:,}" for kind, count in checked.counts().items())
    if not counts:
        return ["`aiayn-keras check` finds no faults in it."]
    command = _check_command(corpus)
    if is_left_as_it_is:
        return [f"Faults: {counts}.", f"See `{command}`; with --clean it writes a cleaned copy."]
    return [f"Faults, which are left out or mended here: {counts}.", f"See `{command}`."]


def _comments(recipe, facts, hours):
    """Comments on fields."""
    tokens = facts.pairs * facts.tokens_per_pair
    passes = recipe.training.updates * 0.9 * recipe.batches.tokens_per_batch / tokens
    time = f"about {passes:.0f} passes over the text"
    if hours is not None:
        spent = f"{hours:.1f} hours" if hours >= 1 else f"{math.ceil(60 * hours)} min"
        time += f"; {spent} on this machine, validation not counted"
    weights = recipe.model.count_weights(facts.vocabulary_size)
    return {
        "corpus.train": f"{facts.pairs:,} pairs, {facts.tokens_per_pair:.1f} target tokens each",
        "corpus.bad_lines": "lines that cannot be read are left out and listed",
        "tokenizer.vocabulary_size": "more for more text: 8,000 for 100,000 pairs, 32,000 for 5 "
        "million",
        "tokenizer.normalization": "sources as people type and paste them",
        "tokenizer.target_normalization": "targets as they are",
        "model.preset": f"{weights:,} weights; sizes: aiayn-keras info --all",
        "model.dropout": "more for less text",
        "batches.tokens_per_batch": "less if memory runs out",
        "batches.packing": "several pairs share a row",
        "optimizer.peak_learning_rate": "lower if the loss diverges",
        "training.updates": time,
        "training.checkpoint_every": "updates; each with a validation loss",
        "evaluation.bleu_tokenizer": "for a language without spaces",
    }


@click.command(cls=KerasCommand)
@click.argument("recipe")
@_SETTINGS
@click.option("--output", metavar="FOLDER|URL", required=True, help="Folder to create.")
@pool_options
def prepare(recipe, settings, output, ray, workers):
    """Tokenize the training text of RECIPE once.

    `aiayn-keras train RECIPE --set corpus.shards=DIR` then trains without reading the text. Files
    may be patterns and URLs. To resume a preparation that was stopped, run the same command again.
    """
    from aiayn_keras.scale.preparation import prepare as run
    from aiayn_keras.training import load_recipe

    done = run(load_recipe(recipe, settings), output, quiet_pool(workers, ray))
    click.echo(f"{number_are(done.lines - done.bad_lines, 'pair')} in {output}.")
    if done.bad_lines:
        bad = number_are(done.bad_lines, "line")
        click.echo(f"{bad} left out: see {output}/*bad*.jsonl.", err=True)


@click.command(cls=KerasCommand)
@click.argument("recipe")
@_SETTINGS
@click.option(
    "--output",
    type=LocalPath(file_okay=False),
    help="Folder to fill. Default: runs/RECIPE, or the folder of the training that RECIPE is from.",
)
def train(recipe, settings, output):
    """Train a model by RECIPE.

    RECIPE is the name of a recipe that comes with the package (such as demo), or a YAML file. To
    resume a training that was stopped, run the same command again. With a different --set, such as
    training.updates=NUMBER, the training continues with that change, before or after its end.
    Ctrl-C and SIGTERM stop it after the update in progress, with a checkpoint.
    """
    from aiayn_keras.training import load_recipe
    from aiayn_keras.training import train as run
    from aiayn_keras.training.run_folder import format_domains

    output = output or _default_output(Path(recipe))
    loaded = load_recipe(recipe, settings)
    try:
        result = run(loaded, output)
    except KeyboardInterrupt:
        click.echo(f"\nStopped. To resume from {output}, run the same command again.", err=True)
        sys.exit(130)
    click.echo(f"\n{result.delivery}\n\nOn the test text:\n{result.bleu}\n{result.chrf}\n")
    if result.domains:
        click.echo(f"{format_domains(result.domains)}\n")
    for source, translation, reference in result.samples:
        click.echo(f"  source:      {source}")
        click.echo(f"  translation: {translation}")
        click.echo(f"  reference:   {reference}\n")
    click.echo(f"The model is in {output}.")


@click.command(cls=KerasCommand)
@click.argument("run_folder", metavar="DIR", type=LocalPath())
@click.option(
    "--last",
    type=click.IntRange(min=1),
    help="Number of checkpoints. Default: the recipe's `average_checkpoints`.",
)
@click.option("--output", type=LocalPath(), required=True, help="Folder to create.")
def average(run_folder, last, output):
    """Average the last checkpoints of a training.

    The mean of the checkpoints of the training in DIR becomes a model folder.
    """
    from aiayn_keras.training import write_average

    paths = write_average(run_folder, output, last)
    click.echo(f"The mean of {len(paths)} checkpoints, up to {paths[-1].name}, is in {output}.")


def _default_output(recipe):
    from aiayn_keras.training.run_folder import RunFolder

    folder = RunFolder(recipe.parent)
    is_of_a_training = recipe == folder.recipe and folder.inputs.is_file()
    return folder.path if is_of_a_training else Path("runs") / recipe.stem
