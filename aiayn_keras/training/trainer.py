"""A recipe carried out: from parallel text to a model folder."""

import contextlib
import importlib.util
import json
import logging
from dataclasses import dataclass
from pathlib import Path

import keras

from aiayn_keras.backend import run_one_operation_at_a_time
from aiayn_keras.data import CorpusError, ProcessRows, UpdateBatches
from aiayn_keras.files import write_text
from aiayn_keras.models import (
    TransformerSeq2SeqLM,
    TransformerTokenizer,
    text_preprocessor,
)
from aiayn_keras.plotting import plot_attention
from aiayn_keras.training.averaging import average_checkpoints
from aiayn_keras.training.bleu import BleuScore
from aiayn_keras.training.callbacks import (
    Checkpoints,
    Progress,
    SeedDropout,
    ValidationBleu,
    copy_weights,
    evaluate_bleu,
)
from aiayn_keras.training.checkpoints import (
    load_last_checkpoint,
    set_aside_damaged_checkpoints,
    skip_random_state,
)
from aiayn_keras.training.run_folder import RunFolder
from aiayn_keras.training.running_mean import ValidateMeanWeights
from aiayn_keras.training.training_data import (
    check_lengths,
    make_batches,
    read_corpus,
    tokenize_pairs,
)
from aiayn_keras.training.validation_history import is_out_of_patience

logger = logging.getLogger(__name__)

NUM_SAMPLES = 5
SMALL_HIDDEN_DIM = 128
"""Width up to which operations are so small that they had better not run side by side."""


@dataclass(frozen=True)
class TrainingResult:
    """What a training gives.

    Attributes:
        model: The trained `TransformerSeq2SeqLM`.
        bleu: Its `BleuScore` on the test sentences.
        samples: The first test sentences as tuples of source, translation and reference.
    """

    model: TransformerSeq2SeqLM
    bleu: BleuScore
    samples: tuple[tuple[str, str, str], ...]


def train(recipe, output):
    """Trains a model as a recipe says, or goes on where an earlier call was stopped.

    Args:
        recipe: A `Recipe`.
        output: Folder to fill, one for all processes: the model's KerasHub preset, `recipe.yaml`,
            `history.json`, `evaluation.json`, `learning_curves.png`, `attention.png`, the last
            checkpoints and, of one process, TensorBoard logs. It must not exist, be empty, or hold
            an unfinished training of the same recipe.

    Returns:
        A `TrainingResult`.

    Raises:
        FileExistsError: If `output` holds anything else.
        CorpusError: For a corpus that cannot be read.
        DevicesError: If there are no such devices as the recipe says.
        ValueError: For a precision that the backend does not have.
    """
    if recipe.model.sizes["hidden_dim"] <= SMALL_HIDDEN_DIM:
        run_one_operation_at_a_time()
    products = recipe.training.products()
    devices = recipe.open_devices()
    logger.info("%s", devices)
    folder = RunFolder(Path(output))
    unfinished = folder.is_unfinished(recipe)
    devices.wait("all have looked at the folder")
    corpus = read_corpus(recipe)
    if unfinished and folder.tokenizer.is_file():
        tokenizer = TransformerTokenizer(proto=folder.tokenizer.read_bytes())
    else:
        tokenizer = corpus.train.make_tokenizer()
    keras.utils.set_random_seed(recipe.training.seed)
    with devices.scope():
        model = recipe.build_model(tokenizer.vocabulary_size())
    translator = _translator_of(model, recipe, tokenizer)
    logger.info("%s parameters.", f"{model.count_params():,}")
    longest = model.backbone.max_sequence_length
    pairs = corpus.train.pairs(tokenizer, longest)
    validation_pairs = tokenize_pairs(corpus.validation, tokenizer, recipe, longest)
    batches = [
        make_batches(pairs, recipe.batches, recipe.training.seed),
        make_batches(validation_pairs, recipe.batches, recipe.training.seed, shuffle=False),
    ]
    for text in (corpus.validation, corpus.test):
        check_lengths(text, tokenizer, longest)
    # Only now, when all that can be wrong with the input would have been found.
    if devices.is_first:
        folder.create(recipe, tokenizer)
        set_aside_damaged_checkpoints(folder.checkpoints)
    devices.wait("the folder is made")
    if folder.tokenizer.read_bytes() != tokenizer.proto:
        raise CorpusError(
            f"The training text of process {devices.process} gives another vocabulary than that "
            f"in {folder.tokenizer}: all processes must read the same files."
        )
    with devices.scope():
        with products:
            _fit(recipe, corpus.validation, *batches, folder, model, translator, devices)
        devices.wait("the last checkpoint is written")
        average_checkpoints(model, folder.chosen_checkpoints(recipe.training))
    copy_weights(model, translator)
    bleu = evaluate_bleu(translator, corpus.test, recipe.evaluation)
    if devices.is_first:
        _write_model(translator, corpus, folder, bleu)
    few = list(corpus.test)[:NUM_SAMPLES]
    translations = translator.translate([source for source, _ in few])
    return TrainingResult(
        model=translator,
        bleu=bleu,
        samples=tuple(
            (source, translation.text, reference)
            for (source, reference), translation in zip(few, translations, strict=True)
        ),
    )


def _translator_of(model, recipe, tokenizer):
    """A model that takes text, with the weights of the one in training, or a copy on one device."""
    backbone = model.backbone
    if recipe.training.devices != "one":
        backbone = recipe.model.build(backbone.vocabulary_size, recipe.training.dtype)
    return TransformerSeq2SeqLM(backbone, text_preprocessor(tokenizer, backbone))


def _fit(recipe, validation_pairs, batches, validation, folder, model, translator, devices):
    training = recipe.training
    batches_per_update = recipe.optimizer.gradient_accumulation_steps
    logger.info("%s", batches)
    done = load_last_checkpoint(model, folder.checkpoints)
    if done:
        skip_random_state(model, done * batches_per_update)
        logger.info("Going on from update %s.", f"{done:,}")
    history = folder.read_history(done)
    if is_out_of_patience(history, training.monitor, training.patience):
        return
    progress = Progress(
        training.updates,
        batches_per_update * batches.real_target_tokens / batches.steps_per_epoch,
        done,
        batches_per_update,
    )
    callbacks = [
        SeedDropout(training.seed),
        ValidationBleu(
            translator,
            validation_pairs,
            training.bleu_every // training.checkpoint_every,
            recipe.evaluation,
        ),
        *([progress] if devices.is_first else []),
        Checkpoints(folder, training, history, writes=devices.is_first),
    ]
    if recipe.optimizer.ema_momentum is not None:
        callbacks.append(ValidateMeanWeights())
    # Keras writes TensorBoard's files with TensorFlow, and computes for it, which all processes of
    # a training must do or none.
    if devices.num_processes == 1 and importlib.util.find_spec("tensorflow"):
        callbacks.append(keras.callbacks.TensorBoard(folder.tensorboard, write_graph=False))
    rows = ProcessRows(devices.num_models, devices.num_processes, devices.process)
    start = done * batches_per_update
    with contextlib.closing(progress):
        model.fit(
            UpdateBatches(batches, batches_per_update).to_iter_dataset(start).map(rows),
            steps_per_epoch=training.checkpoint_every * batches_per_update,
            epochs=training.updates // training.checkpoint_every,
            initial_epoch=done // training.checkpoint_every,
            validation_data=UpdateBatches(validation).to_iter_dataset().map(rows),
            validation_steps=len(validation),
            callbacks=callbacks,
            shuffle=False,
            verbose=0,
        )


def _write_model(translator, corpus, folder, bleu):
    translator.save_to_preset(str(folder.path))
    _write_attention(translator, corpus, folder)
    # Last, since this file says that the training is finished.
    write_text(
        folder.evaluation,
        json.dumps(
            {
                "test": corpus.test.name,
                "sentences": len(corpus.test),
                "bleu": bleu.score,
                "details": bleu.details,
                "signature": bleu.signature,
            },
            indent=1,
        ),
    )


def _write_attention(translator, corpus, folder):
    """A picture of where each word of an unseen sentence's translation looks."""
    source = min(corpus.test.sources, key=lambda text: abs(len(text.split()) - 9))
    translation = translator.translate([source])[0]
    maps = translator.attention_maps(source, translation.text)
    # A row is named by the token that is written next, for which the decoder looks there.
    written = (*maps.target_tokens[1:], maps.source_tokens[-1])
    plot_attention(
        maps.cross[-1].mean(axis=0),
        maps.source_tokens,
        written,
        path=folder.attention,
        title="Where the model looks when it writes each token",
    )
