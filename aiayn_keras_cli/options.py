"""Arguments and options that several commands take, and what they stand for."""

import contextlib
import functools
import json
import re
from pathlib import Path

import click
from click.core import ParameterSource

from aiayn_keras_cli.running import IS_VERBOSE, quiet_start

MAX_TOKENS = 1 << 20
"""Maximum of any length in tokens; a model's positions are usually far fewer."""

SEARCH_OPTIONS = {
    "num_beams": (
        *(4, 1, 1000),
        "Number of beams. The defaults of this and the next options are those of DIR's "
        "search.json, if it has one.",
    ),
    "length_penalty": (
        *(0.6, 0, 10),
        "Exponent α of GNMT's length penalty ((5 + length) / 6)^α; 0 for none.",
    ),
    "length_penalty_offset": (
        *(5, 0, 100),
        "The 5 in the length penalty; 0 gives length^α, as in Hugging Face and CTranslate2.",
    ),
    "coverage_penalty": (0.0, 0, 100, "Factor β of GNMT's coverage penalty; 0 for none."),
    "no_repeat_ngram_size": (
        *(0, 0, 100),
        "Never repeat a sequence of this many wordpieces; 0 allows repetition.",
    ),
    "num_return_sequences": (1, 1, 1000, "Number of translations of each text."),
    "min_length": (
        1,
        0,
        MAX_TOKENS,
        "Minimum number of wordpieces in a translation, as far as its maximum allows.",
    ),
    "max_length": (
        *(None, 1, MAX_TOKENS),
        "Maximum number of wordpieces in a translation. Default: the source's plus --extra-length.",
    ),
    "extra_length": (
        *(50, 0, MAX_TOKENS),
        "How many wordpieces longer than its source a translation may be.",
    ),
}
"""Default, minimum, maximum and help text of the numbers in `aiayn_keras`' `SearchOptions`, which
takes seconds to import; a test makes sure that both are equal. An option whose default is a float
takes floats."""

_FLAGS = {"num_return_sequences": "--n-best"}
_MAX_CONSTRAINT_BYTES = 1 << 26


class VersionOr(click.IntRange):
    """A version's number, or a word.

    Args:
        word: What stands for a version.
    """

    def __init__(self, word):
        super().__init__(min=1, max=2**62)
        self._word = word

    def convert(self, value, param, ctx):
        if value == self._word:
            return value
        try:
            number = int(value)
        except ValueError:
            self.fail(f"{value!r:.100} is neither the number of a version nor {self._word}.")
        return super().convert(number, param, ctx)


BATCH_SIZE = click.option(
    "--batch-size",
    type=click.IntRange(min=1, max=1 << 20),
    default=64,
    show_default=True,
    help="Number of lines to compute together.",
)


def check_n_best(n_best, num_beams):
    """Raises a `click.UsageError` if there are fewer beams than hypotheses are asked for."""
    if n_best > num_beams:
        raise click.UsageError(
            f"--n-best {n_best} needs as many beams as that: add --num-beams {n_best}."
        )


PLACEABLES = click.option(
    "--placeables",
    type=click.Choice(["keep", "translate"]),
    default="keep",
    show_default=True,
    help="Keep URLs, e-mail addresses, paths, names of files, @names, #topics, :-) and {name} as "
    "they are, or translate them like other words.",
)


ENGINE = click.option(
    "--engine",
    type=click.Choice(["auto", "keras", "ctranslate2", "ctranslate2-int8"]),
    default="auto",
    show_default=True,
    help="Program that does the search. auto uses CTranslate2 on a CPU if it is installed and "
    "finds the same translations as Keras; ctranslate2-int8 is even faster, but some translations "
    "differ.",
)


def report_engine(model, ensemble, engine, **options):
    """Says on stderr which program searches, if it is not our own search.

    Args:
        model: A `TransformerSeq2SeqLM`.
        ensemble: List of further models.
        engine: What was asked for, see `aiayn_keras.decoding.translation_search.choose_engine`.
        **options: Options of `translate`, those of the search among them.

    Returns:
        The engine's name.
    """
    from aiayn_keras.decoding.search_options import SearchOptions
    from aiayn_keras.decoding.translation_search import KERAS, choose_engine

    fields = {name: options[name] for name in (*SEARCH_OPTIONS, "constraint") if name in options}
    name = choose_engine(engine, (model, *ensemble), SearchOptions(**fields))
    if name != KERAS:
        say_engine(name)
    return name


def say_engine(name):
    """Says on stderr that an engine other than our own search searches."""
    has_prefixes = click.get_current_context().params.get("prefix_file") is not None
    prefixes = " Lines with a prefix are left to it in any case." if has_prefixes else ""
    click.echo(f"{name} searches; --engine keras would use our own search.{prefixes}", err=True)


def search_options(*left_out):
    """Gives a command the options of a search, which it receives as fields of `SearchOptions`.

    Args:
        *left_out: Names of fields that the command does not take.
    """

    def decorate(command):
        @functools.wraps(command)
        def with_constraint(**options):
            options["constraint"] = _read_constraint(options["constraint"])
            folder = options.get("model_folder", options.get("folder"))
            return command(**(options if folder is None else with_search_defaults(folder, options)))

        constraint = click.option(
            "--constraint",
            metavar="NAME|FILE",
            help="Rule that every translation must follow: brackets (trees), or a file NAME.json.",
        )
        decorated = constraint(with_constraint)
        for name in reversed(SEARCH_OPTIONS):
            if name not in left_out:
                decorated = _search_option(name)(decorated)
        return decorated

    return decorate


def with_search_defaults(folder, options):
    """Returns options with the folder's own numbers of a search where the user gave none.

    Args:
        folder: Path of a model folder, or of anything else, which has no such numbers.
        options: Dictionary of options, those of `search_options` among them.

    Raises:
        ValueError: If the folder's `search.json` is damaged.
    """
    excluded = () if options["constraint"] is None else options["constraint"].excludes
    defaults = {
        name: value
        for name, value in _search_defaults(folder).items()
        if name in options and name not in excluded and not is_given(name)
    }
    return {**options, **defaults}


def _search_defaults(folder):
    from aiayn_keras_light.search_numbers import read_search_defaults

    if is_usable_unfinished(folder) and (folder / "task.json").is_file():
        with quiet_start():
            from aiayn_keras.training.training_state import search_defaults_of_training
        return search_defaults_of_training(folder)
    return read_search_defaults(folder)


def number_are(number, noun):
    """Words such as `1 line is` and `2,000 lines are`."""
    return f"{number:,} {noun} is" if number == 1 else f"{number:,} {noun}s are"


def is_given(name):
    """Tells whether the user gave an option of the running command, by its argument's name."""
    source = click.get_current_context().get_parameter_source(name)
    return source != ParameterSource.DEFAULT


def pool_options(command):
    """Gives a command the options `ray` and `workers`, the arguments of `quiet_pool`."""
    workers = click.option(
        "--workers",
        type=click.IntRange(min=1, max=100_000),
        help="Number of processes, or of workers in the cluster. Default: one for each core, but "
        "only one to translate on this machine.",
    )
    ray = click.option(
        "--on-ray",
        "ray",
        is_flag=False,
        flag_value="local",
        metavar="[ADDRESS]",
        help="Work on the Ray cluster at this address, or `auto` on one of its machines. With "
        "`local`, or without an address as the last option, start Ray on this machine alone.",
    )
    return ray(workers(command))


def quiet_pool(workers, ray):
    """Makes the `WorkerPool` of a `KerasCommand`; workers start as quietly as the command did."""
    from aiayn_keras.scale.worker_pool import WorkerPool

    is_verbose = click.get_current_context().meta[IS_VERBOSE]
    return WorkerPool(workers, ray, starting=contextlib.nullcontext if is_verbose else quiet_start)


def require_model_folder(folder):
    """Raises a `FileNotFoundError` with the reason if a `pathlib.Path` is not a model folder."""
    if not folder.exists():
        reason = "it does not exist"
    elif is_unfinished(folder):
        reason = "its training is not finished: resume it with `aiayn-keras train`"
    elif (folder / "models.config").is_file():
        reason = (
            "it is a serving kit, which `aiayn-keras serve` and TensorFlow Serving serve; here, "
            "give the folder that it was exported from"
        )
    elif not (folder / "task.json").is_file():
        reason = "it has no task.json; `aiayn-keras train` and `convert` create model folders"
    else:
        return
    raise FileNotFoundError(f"{folder} is not a model folder: {reason}.")


class LocalPath(click.Path):
    """A `pathlib.Path` of a local file or folder; an address would become a folder named `s3:`."""

    def __init__(self, **options):
        super().__init__(path_type=Path, **options)

    def convert(self, value, param, ctx):
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", str(value)):
            shown = f"{str(value).partition('://')[0]}://…"
            self.fail(f"{shown} is an address, and this must be a local path.", param, ctx)
        return super().convert(value, param, ctx)


def is_unfinished(folder):
    """Tells whether a `pathlib.Path` holds a training that is not finished."""
    return has_checkpoints(folder) and not (folder / "evaluation.json").is_file()


def has_checkpoints(folder):
    """Tells whether a `pathlib.Path` holds a training, finished or not."""
    return any((folder / name).is_dir() for name in ("checkpoints", "stopped"))


def is_usable_unfinished(folder):
    """Tells whether a `pathlib.Path` holds an unfinished training whose checkpoints can be read."""
    return is_unfinished(folder) and (folder / "recipe.yaml").is_file()


class _ModelFolderType(LocalPath):
    """A path that must be a model folder, or hold an unfinished training."""

    def convert(self, value, param, ctx):
        folder = super().convert(value, param, ctx)
        if not is_usable_unfinished(folder):
            require_model_folder(folder)
        return folder


class _CheckpointType(click.ParamType):
    """The name of a checkpoint: `best`, `last` or a number of updates."""

    name = "checkpoint"

    def convert(self, value, param, ctx):
        if value in ("best", "last"):
            return value
        if value.isascii() and value.isdigit() and 0 < len(value) < 10:
            return int(value)
        self.fail(f"{value!r} is not best, last or a number of updates.", param, ctx)


MODEL_FOLDER_TYPE = _ModelFolderType()
_CHECKPOINT = "aiayn_keras_cli.checkpoint"
"""Key of a running command's `click.Context.meta`: the checkpoint that was asked for, or None."""


def CHECKPOINT(command):  # noqa: N802  used like the other options
    """Gives a command the option `--checkpoint`, which `asked_checkpoint` returns."""

    def note(context, parameter, value):
        context.meta[_CHECKPOINT] = value

    option = click.option(
        "--checkpoint",
        metavar="best|last|UPDATE",
        type=_CheckpointType(),
        expose_value=False,
        callback=note,
        help="Use this checkpoint of a training. Default: the model that the training has "
        "delivered; before its end, the best checkpoint so far.",
    )
    return option(command)


def MODEL_FOLDER(command):  # noqa: N802  used like the other decorators of this file
    """Gives a command the argument `model_folder` and its option `--checkpoint`."""
    return click.argument("model_folder", metavar="DIR", type=MODEL_FOLDER_TYPE)(
        CHECKPOINT(command)
    )


def asked_checkpoint():
    """The value of `--checkpoint` of the running command; None without it."""
    return click.get_current_context().meta.get(_CHECKPOINT)


def chosen_checkpoint(folder):
    """The checkpoint of a folder to use: a name or a number; None for the delivered model.

    Args:
        folder: Path of a model folder or an unfinished training.
    """
    params = click.get_current_context().params
    systems = filter(has_checkpoints, params.get("systems", ()))
    asks = folder in (params.get("model_folder"), params.get("folder"), *systems)
    asked = asked_checkpoint() if asks else None  # not for --ensemble
    return asked or ("best" if is_unfinished(folder) else None)


def load_model(folder, many_batches=False):
    """Loads the model of a folder, or of a checkpoint in it, which a line on stderr then names.

    Args:
        folder: Path of a model folder or an unfinished training.
        many_batches: Whether it will translate more than one batch; each batch then gets a core.

    Returns:
        A `TransformerSeq2SeqLM`.
    """
    from aiayn_keras.backend import use_one_core_per_batch
    from aiayn_keras.models import TransformerSeq2SeqLM

    if many_batches:
        use_one_core_per_batch()
    checkpoint = chosen_checkpoint(folder)
    if checkpoint is not None:
        from aiayn_keras.training.training_state import load_from_checkpoint

        loaded = load_from_checkpoint(folder, checkpoint)
        say_checkpoint(folder, loaded)
        return loaded.model
    return TransformerSeq2SeqLM.from_preset(str(folder))


def say_checkpoint(folder, checkpoint):
    """Says on stderr which checkpoint of a training is used.

    Args:
        folder: Path of the training.
        checkpoint: A `LoadedCheckpoint` or `FoundCheckpoint`.
    """
    state = "is not finished" if is_unfinished(folder) else "is finished"
    click.echo(
        f"The training in {folder} {state}; {checkpoint.description} is used, that of update "
        f"{checkpoint.updates:,}.",
        err=True,
    )


def _read_constraint(value):
    """Makes a `Constraint` of a name or of a JSON file with its `kind` and fields; None of None."""
    if value is None:
        return None
    with quiet_start():
        from aiayn_keras.decoding.constraints import as_constraint
        from aiayn_keras_light.files import read_bytes

    try:
        if value.endswith(".json"):
            return as_constraint(json.loads(read_bytes(value, _MAX_CONSTRAINT_BYTES)))
        return as_constraint(value)
    except (OSError, ValueError, RecursionError) as error:
        context = click.get_current_context()
        raise click.BadParameter(str(error), context, param_hint="'--constraint'") from error


def _search_option(name):
    default, minimum, maximum, text = SEARCH_OPTIONS[name]
    number = click.FloatRange if isinstance(default, float) else click.IntRange
    return click.option(
        _FLAGS.get(name, "--" + name.replace("_", "-")),
        name,
        type=number(min=minimum, max=maximum),
        default=default,
        show_default=default is not None,
        help=text,
    )
