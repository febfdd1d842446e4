"""A whole training, as a recipe describes it: from parallel text to a model folder."""

import contextlib
import logging
from dataclasses import dataclass
from pathlib import Path

import keras

from aiayn_keras.backend import run_one_operation_at_a_time
from aiayn_keras.common.folder_lock import hold_lock
from aiayn_keras.models import TransformerSeq2SeqLM
from aiayn_keras.plotting import plot_attention
from aiayn_keras.training.averaging import average_checkpoints, chosen_checkpoints
from aiayn_keras.training.bleu import (
    BleuScore,
    ChrfScore,
    corpus_bleu,
    corpus_chrf,
    translate_as_recipe,
    try_bleu_tokenizer,
)
from aiayn_keras.training.building import (
    build_model,
    build_translator,
    copy_weights,
    read_initial,
    read_sizes,
    save_trained,
)
from aiayn_keras.training.checkpoints import set_aside_damaged_checkpoints
from aiayn_keras.training.fitting import TrainingRun, fit
from aiayn_keras.training.resume import (
    check_folder,
    check_inputs,
    check_recipe,
    digest_inputs,
    read_tokenizer,
)
from aiayn_keras.training.run_folder import Evaluation, RunFolder, set_aside_damaged_history
from aiayn_keras.training.training_data import (
    check_lengths,
    copies_without_letters,
    make_batches,
    read_corpus,
    tokenize_pairs,
)

logger = logging.getLogger(__name__)

_NUM_SAMPLES = 5
_SMALL_HIDDEN_DIM = 128
"""Maximum width of a model whose operations are too small to be run in parallel."""


@dataclass(frozen=True)
class TrainingResult:
    """The result of a training.

    Attributes:
        model: The trained `TransformerSeq2SeqLM`.
        bleu: Its `BleuScore` on the test sentences.
        chrf: Its `ChrfScore` on the test sentences.
        samples: The first test sentences, each a tuple of source, translation and reference.
    """

    model: TransformerSeq2SeqLM
    bleu: BleuScore
    chrf: ChrfScore
    samples: tuple[tuple[str, str, str], ...]


def train(recipe, output):
    """Trains a model as a recipe says, or goes on where an interrupted training stopped.

    Args:
        recipe: A `Recipe`.
        output: Folder to write to, shared by all processes: the model's KerasHub preset,
            `recipe.yaml`, `history.json`, `evaluation.json`, `learning_curves.png`,
            `attention.png`, the last checkpoints, TensorBoard logs if there is one process, and
            after a fine-tuning with LoRA `adapters.h5`, which are also merged into the model. The
            folder must not exist, be empty, or hold an unfinished training of the same recipe.

    Returns:
        A `TrainingResult`.

    Raises:
        FileExistsError: If `output` holds anything else.
        FolderInUseError: If another process works there.
        CorpusError: If the corpus cannot be read, or has changed since the training began.
        OSError: If `model.initial` is not a model folder.
        DevicesError: If the devices that the recipe asks for do not exist.
        ValueError: If the backend does not have the precision, the BLEU tokenizer cannot be used,
            or sizes contradict `model.initial`.
    """
    folder = RunFolder(Path(output))
    check_folder(folder)
    if read_sizes(recipe)["hidden_dim"] <= _SMALL_HIDDEN_DIM:
        run_one_operation_at_a_time()
    with recipe.training.matmul_precision():
        devices = recipe.open_devices()
        logger.info("%s", devices)
        with hold_lock(folder.lock) if devices.is_first else contextlib.nullcontext():
            return _train(recipe, folder, devices)


def _train(recipe, folder, devices):
    """Trains in a folder that is locked for other trainings."""
    run = _prepare(recipe, folder, devices)
    # Nothing is written before all input has been checked.
    _open_folder(run)
    with devices.scope():
        fit(run)
        devices.wait("the last checkpoint is written")
        average_checkpoints(run.model, chosen_checkpoints(folder, recipe.training))
    copy_weights(run.model, run.translator)
    test, evaluation = run.corpus.test, recipe.evaluation
    texts, references = (
        translate_as_recipe(run.translator, test.sources, evaluation),
        list(test.targets),
    )
    bleu = corpus_bleu(texts, references, evaluation.bleu_tokenizer, evaluation.lowercase)
    result = TrainingResult(
        run.translator,
        bleu,
        corpus_chrf(texts, references, evaluation.lowercase),
        tuple(zip(test.sources[:_NUM_SAMPLES], texts, references, strict=False)),
    )
    if devices.is_first:
        _write_model(run, result)
    return result


def _prepare(recipe, folder, devices):
    """Reads and checks all input and builds the model; writes nothing."""
    check_recipe(folder, recipe)  # under the lock: no other process can write one now
    try_bleu_tokenizer(recipe.evaluation.bleu_tokenizer)
    initial = read_initial(recipe)
    tokenizer = initial.tokenizer if initial else read_tokenizer(folder)
    devices.wait("every process has looked at the folder")
    corpus = read_corpus(recipe)
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
    validation_pairs = tokenize_pairs(corpus.validation, tokenizer, recipe, longest)
    for text in (corpus.validation, corpus.test):
        check_lengths(text, tokenizer, longest)
    seed = recipe.training.seed
    return TrainingRun(
        recipe=recipe,
        folder=folder,
        devices=devices,
        corpus=corpus,
        inputs=inputs,
        batches=make_batches(pairs, recipe.batches, seed, tokenizer.source_end),
        validation_batches=make_batches(
            validation_pairs, recipe.batches, seed, tokenizer.source_end, shuffle=False
        ),
        model=model,
        translator=build_translator(model, recipe, tokenizer, initial),
    )


def _check_constraint(recipe, tokenizer):
    """Refuses a constraint that translations cannot keep with this vocabulary."""
    constraint = recipe.evaluation.search_options().constraint
    if constraint is not None:
        constraint.rules(tokenizer.of_targets())


def _open_folder(run):
    """Makes the folder, or prepares that of an unfinished training; the first process does so."""
    folder = run.folder
    if run.devices.is_first:
        folder.create(run.recipe, run.translator.preprocessor.tokenizer, run.inputs)
        set_aside_damaged_history(folder.history)
        set_aside_damaged_checkpoints(folder.checkpoints)
    run.devices.wait("the folder is made")
    if not run.devices.is_first:
        check_inputs(folder, run.recipe, run.inputs)  # against those that the first has written


def _write_model(run, result):
    """Writes the model, a picture of its attention and, last of all, its scores."""
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
