"""The translator of lines of `aiayn-keras translate`: a model, or CTranslate2 without Keras.

A model that CTranslate2 has searched for once is kept in its format in the user's cache folder.
From then on, translating with it needs neither Keras nor a backend, and begins seconds earlier.
"""

import functools

import click

from aiayn_keras_cli.options import (
    SEARCH_OPTIONS,
    chosen_checkpoint,
    load_model,
    report_engine,
    say_engine,
)
from aiayn_keras_cli.running import has_started_keras, start_keras


def open_line_translator(model_folder, ensemble, options, many_batches=False):
    """Opens a translator of lines, and says on stderr which engine searches.

    Args:
        model_folder: `pathlib.Path` of a model folder or an unfinished training.
        ensemble: Paths of the folders of further models.
        options: Dictionary of the command's options of `TransformerSeq2SeqLM.translate`.
        many_batches: As in `load_model`.

    Returns:
        A `TransformerSeq2SeqLM` or a `ConvertedModel`, and the options for its `translate`.
    """
    engine = None if ensemble else _engine_without_keras(model_folder, options)
    key = None if engine is None else _cache_key(model_folder)
    names = (*SEARCH_OPTIONS, "batch_size", "long_text", "placeables")
    of_converted = {name: options[name] for name in names}
    load = functools.partial(load_model, model_folder, many_batches)
    converted = _open_converted(key, engine, _loading_later(load, model_folder, key))
    if converted is not None:
        say_engine(engine)
        return converted, of_converted
    start_keras()
    model = load()
    options = {**options, "ensemble": [load_model(folder) for folder in ensemble]}
    is_engine = report_engine(model, **options) == engine
    if is_engine and key is not None and key == _cache_key(model_folder):
        _store_converted(key, model)
        converted = _open_converted(key, engine, lambda: model)
    return (model, options) if converted is None else (converted, of_converted)


def _engine_without_keras(model_folder, options):
    """The engine that does this search without Keras, once the model has been converted for it.

    Returns:
        A name in `aiayn_keras_light.ctranslate2_search.COMPUTE_TYPES`; None if Keras is needed.

    Raises:
        ValueError: For numbers that contradict each other.
    """
    from aiayn_keras_light.ctranslate2_search import (
        AUTOMATIC,
        COMPUTE_TYPES,
        is_installed,
        obstacle,
    )
    from aiayn_keras_light.search_numbers import SearchNumbers

    engines = AUTOMATIC if options["engine"] == "auto" else (options["engine"],)
    engine = next((name for name in engines if name in COMPUTE_TYPES), None)
    needs_keras = (
        has_started_keras()
        or options["constraint"] is not None
        or options["return_alignments"]
        or chosen_checkpoint(model_folder) is not None
    )
    if engine is None or needs_keras or not is_installed():
        return None
    numbers = SearchNumbers(**{name: options[name] for name in SEARCH_OPTIONS})
    return engine if obstacle(numbers) is None else None


def _cache_key(model_folder):
    from aiayn_keras_light.converted_model import cache_key

    return cache_key(model_folder)


def _open_converted(key, engine, load):
    """Opens the model with a key in the cache; None if it is not there, or the key is None."""
    from aiayn_keras_light.converted_model import ConvertedModel, find_entry

    folder = None if key is None else find_entry(key)
    try:
        return None if folder is None else ConvertedModel(folder, engine, load)
    except FileNotFoundError:  # it has just been deleted
        return None


def _loading_later(load, model_folder, key):
    """A function that loads the model in any thread, unless its folder has changed since."""
    context = click.get_current_context()

    def load_later():
        if _cache_key(model_folder) != key:
            raise ValueError(
                f"{model_folder} has changed while the command was running: start it again."
            )
        with context.scope(cleanup=False):  # click knows it in the main thread alone
            start_keras()
            return load()

    return load_later


def _store_converted(key, model):
    from aiayn_keras.export.ctranslate2 import write_converted_model
    from aiayn_keras_light.converted_model import store_entry

    store_entry(key, functools.partial(write_converted_model, model))
