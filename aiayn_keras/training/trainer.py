"""A whole training, as a recipe describes it: from parallel text to a model folder."""

import contextlib
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np

from aiayn_keras.backend import divide_batches_among_cores, run_one_operation_at_a_time
from aiayn_keras.common.bad_lines import bad_lines_as_json
from aiayn_keras.common.folder_lock import hold_lock
from aiayn_keras.models import TransformerSeq2SeqLM
from aiayn_keras.plotting import plot_attention
from aiayn_keras.training.building import (
    build_model,
    build_translator,
    copy_weights,
    has_own_class,
    read_initial,
    read_sizes,
    save_trained,
)
from aiayn_keras.training.checkpoints import newest_update, set_aside_damaged_checkpoints
from aiayn_keras.training.delivery import Delivery, deliver
from aiayn_keras.training.fitting import TrainingRun, fit
from aiayn_keras.training.recipe import Recipe, load_recipe
from aiayn_keras.training.recipe_changes import (
    next_batch,
    next_changes,
    read_changes,
    same_place,
    without_unused,
    write_changes,
)
from aiayn_keras.training.resume import (
    check_folder,
    check_inputs,
    check_recipe,
    digest_inputs,
    read_tokenizer,
    with_begun_normalization,
)
from aiayn_keras.training.run_folder import (
    DomainFigures,
    Evaluation,
    RunFolder,
    set_aside_damaged_history,
)
from aiayn_keras.training.training_data import (
    check_lengths,
    copies_without_letters,
    make_batches,
    read_corpus,
    tokenize_pairs,
)
from aiayn_keras.training.translation_scores import (
    BleuScore,
    ChrfScore,
    corpus_bleu,
    corpus_chrf,
    engine_of_recipe,
    translate_as_recipe,
    try_bleu_tokenizer,
    warn_of_missing_spaces,
)
from aiayn_keras.training.validation import load_monitor, load_own, warn_of_shared_pairs
from aiayn_keras_light.files import write_text
from aiayn_keras_light.search_numbers import SEARCH_FILE

logger = logging.getLogger(__name__)

_BATCHES = "batches.", "optimizer.gradient_accumulation_steps"
"""Beginnings of the names of the fields that decide what is in a batch, or in an update."""
_CALLBACKS_THAT_REPLACE_WEIGHTS = (
    keras.callbacks.BackupAndRestore,
    keras.callbacks.SwapEMAWeights,
)
_NUM_SAMPLES = 5
_LEARNED_SHARE = 0.99
"""The learned length is one that this share of the training text's sources do not exceed."""
_SMALL_HIDDEN_DIM = 128
"""Maximum width of a model whose operations are too small to be run in parallel."""


class Scores(NamedTuple):
    """Translations of a text, and their scores.

    Attributes:
        translations: List of strings.
        bleu: Their `BleuScore`.
        chrf: Their `ChrfScore`.
        engine: Name of the engine that searched.
    """

    translations: list
    bleu: BleuScore
    chrf: ChrfScore
    engine: str


def _score_translations(model, pairs, evaluation):
    """Translates a `ParallelText` as an `EvaluationSection` says; returns its `Scores`."""
    translations = translate_as_recipe(model, pairs.sources, evaluation)
    references = list(pairs.targets)
    return Scores(
        translations,
        corpus_bleu(translations, references, evaluation.bleu_tokenizer, evaluation.lowercase),
        corpus_chrf(translations, references, evaluation.lowercase),
        engine_of_recipe(model, evaluation),
    )


def _compare_with_initial(run, scores):
    """Compares the result of a fine-tuning with the model that it began with.

    Args:
        run: The `TrainingRun`, whose translator has the delivered weights.
        scores: The `Scores` of the test text.

    Returns:
        Tuple of `DomainFigures`: of the test text, and of that of `corpus.mix` if there is one;
        empty if the training began with random weights.
    """
    if run.initial is None:
        return ()
    logger.info("The initial model translates the test text, for comparison.")
    evaluation, old = run.recipe.evaluation, run.corpus.mix_test
    texts = [(run.corpus.test, scores)]
    if old is not None:
        texts.append((old, _score_translations(run.translator, old, evaluation)))
    figures = []
    for text, after in texts:
        before = _score_translations(run.initial.model, text, evaluation)
        figures.append(
            DomainFigures(
                text=text.name,
                sentences=len(text),
                bleu_before=before.bleu.score,
                bleu_after=after.bleu.score,
                chrf_before=before.chrf.score,
                chrf_after=after.chrf.score,
            )
        )
    return tuple(figures)


@dataclass(frozen=True)
class TrainingResult:
    """The result of a training.

    Attributes:
        model: The trained `TransformerSeq2SeqLM`.
        bleu: Its `BleuScore` on the test sentences.
        chrf: Its `ChrfScore` on the test sentences.
        samples: The first test sentences, each a tuple of source, translation and reference.
        delivery: The `Delivery`: which weights were chosen, and among which candidates.
        domains: After a fine-tuning, `DomainFigures` of the test text, and of that of `corpus.mix`.
        engine: Name of the engine that translated the test sentences, such as `"keras"`.
    """

    model: TransformerSeq2SeqLM
    bleu: BleuScore
    chrf: ChrfScore
    samples: tuple[tuple[str, str, str], ...]
    delivery: Delivery
    domains: tuple[DomainFigures, ...] = ()
    engine: str | None = None


def train(recipe, output):
    """Trains a model as a recipe says, or goes on where an interrupted training stopped.

    The recipe of a training in the folder, unfinished or finished, may differ in the fields that
    its sections call `changeable`, such as `training.updates`. Ctrl-C and SIGTERM end the training
    after the update in progress, with a checkpoint.

    Args:
        recipe: A `Recipe`.
        output: Folder to write to, shared by all processes: the model's KerasHub preset,
            `recipe.yaml`, `history.json`, `changes.json`, `candidates.json`, `evaluation.json`,
            `learning_curves.png`, `attention.png`, the last checkpoints, TensorBoard logs if there
            is one process, and after a fine-tuning with LoRA `adapters.h5`, which are also merged
            into the model. The folder must be missing, empty, or hold a training to go on with.

    Returns:
        A `TrainingResult`.

    Raises:
        FileExistsError: If `output` holds anything else, a training whose recipe differs in other
            fields, or a finished one whose recipe does not differ.
        FolderInUseError: If another process works there.
        CorpusError: If the corpus cannot be read, or has changed since the training began.
        OSError: If `model.initial` is not a model folder.
        DevicesError: If the devices that the recipe asks for do not exist.
        ValueError: If the backend does not have the precision, the BLEU tokenizer cannot be used,
            or sizes contradict `model.initial`.
    """
    folder = RunFolder(Path(output))
    check_folder(folder)
    _share_cores(recipe)
    with recipe.training.matmul_precision():
        devices = recipe.open_devices()
        logger.info("%s", devices)
        with hold_lock(folder.lock) if devices.is_first else contextlib.nullcontext():
            return _train(recipe, folder, devices)


def _share_cores(recipe):
    """Sets TensorFlow's threads as is best for a recipe's model."""
    is_small = read_sizes(recipe)["hidden_dim"] <= _SMALL_HIDDEN_DIM
    is_on_one = recipe.training.devices == "one" and not recipe.training.jit_compile
    can_be_divided = is_on_one and not has_own_class(recipe)
    if not (can_be_divided and divide_batches_among_cores()) and is_small:
        run_one_operation_at_a_time()


def _train(recipe, folder, devices):
    """Trains in a folder that is locked for other trainings."""
    run, before = _prepare(recipe, folder, devices)
    # Nothing is written before all input has been checked.
    _open_folder(run, before)
    with devices.scope():
        fit(run)
        devices.wait("the last checkpoint is written")
        delivery = deliver(run)
    copy_weights(run.model, run.translator)
    test = run.corpus.test
    scores = _score_translations(run.translator, test, recipe.evaluation)
    samples = zip(test.sources[:_NUM_SAMPLES], scores.translations, test.targets, strict=False)
    result = TrainingResult(
        run.translator,
        scores.bleu,
        scores.chrf,
        tuple(samples),
        delivery,
        _compare_with_initial(run, scores),
        scores.engine,
    )
    if devices.is_first:
        _write_model(run, result)
    return result


def _prepare(recipe, folder, devices):
    """Reads and checks all input and builds the model; writes nothing.

    Returns:
        The `TrainingRun`, and `_Before` for the training in the folder, if there is one.
    """
    recipe = with_begun_normalization(folder, recipe)
    changed = check_recipe(folder, recipe)  # under the lock: no other process can write one now
    for sentence in recipe.fields_without_effect():
        logger.warning("%s", sentence)
    own_callbacks = _make_callbacks(recipe.training)
    load_monitor(recipe.training)
    try_bleu_tokenizer(recipe.evaluation.bleu_tokenizer)
    initial = read_initial(recipe)
    tokenizer = initial.tokenizer if initial else read_tokenizer(folder)
    devices.wait("every process has looked at the folder")
    corpus = read_corpus(recipe)
    warn_of_missing_spaces(corpus.validation.targets, recipe.evaluation.bleu_tokenizer)
    for text in dict.fromkeys((corpus.validation, corpus.test)):
        warn_of_shared_pairs(corpus.train.unchanged, text)
    if tokenizer is None:
        tokenizer = corpus.train.make_tokenizer()
    verdicts = corpus.train.copies_without_letters(), copies_without_letters(corpus.validation)
    tokenizer.copy_without_letters = False not in verdicts
    _check_constraint(recipe, tokenizer)
    inputs = digest_inputs(recipe, corpus, tokenizer, initial)
    check_inputs(folder, recipe, inputs)
    keras.utils.set_random_seed(recipe.training.seed)
    with devices.scope():
        model = build_model(recipe, tokenizer, initial)
    logger.info("%s parameters.", f"{model.count_params():,}")
    longest = model.backbone.max_sequence_length
    pairs = corpus.train.pairs(tokenizer, longest)
    tokenizer.learned_length = _learned_length(pairs, tokenizer, initial)
    inputs = inputs.model_copy(update={"learned_length": tokenizer.learned_length})
    validation_pairs = tokenize_pairs(corpus.validation, tokenizer, recipe, longest)
    for text in filter(None, (corpus.validation, corpus.test, corpus.mix_test)):
        check_lengths(text, tokenizer, longest)
    seed, end = recipe.training.seed, tokenizer.source_end
    run = TrainingRun(
        recipe=recipe,
        folder=folder,
        devices=devices,
        corpus=corpus,
        inputs=inputs,
        batches=make_batches(pairs, recipe.batches, seed, end),
        validation_batches=make_batches(validation_pairs, recipe.batches, seed, end, shuffle=False),
        model=model,
        translator=build_translator(model, recipe, tokenizer, initial),
        own_callbacks=own_callbacks,
        initial=initial,
    )
    engine_of_recipe(run.translator, recipe.evaluation)
    before = None
    if folder.recipe.is_file():
        old, batches = load_recipe(folder.recipe), run.batches
        if old.batches != recipe.batches:
            batches = make_batches(pairs, old.batches, seed, end)
        before = _Before(old, changed, batches.steps_per_epoch)
    return run, before


def _learned_length(pairs, tokenizer, initial):
    """Length of the longest sources that a model learns to read, rare ones left out."""
    length = round(np.quantile(pairs.source_lengths, _LEARNED_SHARE)) + len(tokenizer.source_ids)
    before = None if initial is None else initial.tokenizer.learned_length
    return length if before is None else max(length, before)


@dataclass(frozen=True)
class _Before:
    """The training in the folder, as it was until now.

    Attributes:
        recipe: Its `Recipe`.
        changed: The fields in which the new one differs, as `differences` gives them.
        batches_per_epoch: Number of its batches that went once through the text.
    """

    recipe: Recipe
    changed: dict
    batches_per_epoch: int


def _make_callbacks(training):
    """Makes the callbacks that a `TrainingSection` names."""
    callbacks = []
    for name in training.callbacks:
        callback = load_own("training.callbacks", name)()
        if not isinstance(callback, keras.callbacks.Callback):
            raise ValueError(
                f"`training.callbacks`: {name} must make a `keras.callbacks.Callback`. "
                f"Received: {callback!r:.100}."
            )
        if isinstance(callback, _CALLBACKS_THAT_REPLACE_WEIGHTS):
            raise ValueError(
                f"`training.callbacks`: {name} is a {type(callback).__name__}, which replaces the "
                "weights that the training keeps itself: it goes on after an interruption, and "
                "measures and saves the average of `optimizer.ema_momentum`. Leave it out."
            )
        if getattr(callback, "restore_best_weights", False):
            raise ValueError(
                f"`training.callbacks`: {name} has `restore_best_weights`, which replaces the "
                "weights that the training keeps itself. Leave that out: `training.keep: best` "
                "compares the best checkpoint with the others."
            )
        callbacks.append(callback)
    return tuple(callbacks)


def _check_constraint(recipe, tokenizer):
    """Refuses a constraint that translations cannot keep with this vocabulary."""
    constraint = recipe.evaluation.search_options().constraint
    if constraint is not None:
        constraint.rules(tokenizer.of_targets())


def _open_folder(run, before):
    """Makes the folder, or prepares that of an earlier training; only the first process does so."""
    folder = run.folder
    if run.devices.is_first:
        if before is not None:
            folder.check_places()
            set_aside_damaged_history(folder.history)
            for checkpoints in (folder.checkpoints, folder.stopped):
                set_aside_damaged_checkpoints(checkpoints)
            check_folder(folder)  # a finished training must still have a checkpoint
            _note_changes(run, before)  # before `create` replaces the recipe
        folder.create(run.recipe, run.translator.preprocessor.tokenizer, run.inputs)
        _list_bad_lines(run)
        _write_search_defaults(run)
        if before is None:
            write_changes(folder.changes, next_changes([], 0, {}, 1))
    run.devices.wait("the folder is made")
    if not run.devices.is_first:
        check_inputs(folder, run.recipe, run.inputs)  # against those that the first has written
    run.changes.extend(read_changes(folder.changes))


def _write_search_defaults(run):
    """Writes the model's search defaults, for commands that use a checkpoint.

    A model that was delivered keeps the defaults that it was delivered with.
    """
    path = run.folder.path / SEARCH_FILE
    if (run.folder.path / "task.json").exists():
        return
    if run.translator.search_defaults:
        write_text(path, json.dumps(run.translator.search_defaults, indent=1) + "\n")
    else:
        path.unlink(missing_ok=True)


def _list_bad_lines(run):
    """Lists the lines that were left out; prepared shards have their own list."""
    if run.corpus.bad_lines:
        write_text(run.folder.bad_lines, bad_lines_as_json(run.corpus.bad_lines))
    else:  # the text may have been mended
        run.folder.bad_lines.unlink(missing_ok=True)


def _note_changes(run, before):
    """Adds to `changes.json`, and takes back that the training is finished."""
    folder, changed, batch = run.folder, before.changed, None
    steps = before.recipe.optimizer.gradient_accumulation_steps
    updates = max(newest_update(folder.checkpoints), newest_update(folder.stopped))
    changes = without_unused(read_changes(folder.changes), before.recipe)
    if any(name.startswith(_BATCHES) for name in changed):
        batch = same_place(
            next_batch(next_changes(changes, updates, {}, steps), updates, steps),
            before.batches_per_epoch,
            run.batches.steps_per_epoch,
            run.recipe.optimizer.gradient_accumulation_steps,
        )
    write_changes(folder.changes, next_changes(changes, updates, changed, steps, batch))
    for name, (old, new) in changed.items():
        logger.info("From update %s on: `%s` %s instead of %s.", f"{updates:,}", name, new, old)
    for result in (folder.evaluation, folder.candidates):
        result.unlink(missing_ok=True)


def _write_model(run, result):
    """Writes the model, a picture of its attention and, last of all, its scores."""
    result.delivery.write(run.folder.candidates)
    save_trained(run.model, run.translator, run.folder)
    _draw_attention(run)
    evaluation = Evaluation(
        test=run.corpus.test.name,
        sentences=len(run.corpus.test),
        bleu=result.bleu.score,
        details=result.bleu.details,
        signature=result.bleu.signature,
        chrf=result.chrf.score,
        chrf_signature=result.chrf.signature,
        domains=list(result.domains) or None,
        engine=result.engine,
    )
    evaluation.write(run.folder.evaluation)


def _draw_attention(run):
    """Draws the cross-attention of the last layer for a test sentence of about nine words."""
    model, tokenizer = run.translator, run.translator.preprocessor.tokenizer
    source = min(run.corpus.test.sources, key=lambda text: abs(len(text.split()) - 9))
    (pieces,) = tokenizer([source])
    (translation,) = model.translate(
        [source],
        num_beams=run.recipe.evaluation.num_beams,
        # A bad model may never end its translation; the beginning is enough.
        max_length=min(2 * len(pieces) + 10, model.backbone.max_sequence_length - 1),
        return_alignments=True,
    )
    if translation.alignment is None:  # no sentence has words
        return
    plot_attention(
        translation.alignment,
        tuple(map(tokenizer.id_to_token, (*pieces, *tokenizer.source_ids))),
        (*translation.tokens, tokenizer.id_to_token(tokenizer.end_token_id)),
        path=run.folder.attention,
        title="Where the model looks when it writes each token",
        x_label="source",
        y_label="translation",
    )
