"""A recipe carried out: from parallel text to a model folder."""

import contextlib
import json
import logging
from dataclasses import dataclass
from pathlib import Path

import keras

from aiayn_keras.models import (
    TransformerSeq2SeqLM,
    TransformerSeq2SeqLMPreprocessor,
    TransformerTokenizer,
)
from aiayn_keras.plotting import plot_attention
from aiayn_keras.training.averaging import average_checkpoints
from aiayn_keras.training.bleu import BleuScore
from aiayn_keras.training.callbacks import Checkpoints, Progress, ValidationBleu, evaluate_bleu
from aiayn_keras.training.checkpoints import list_checkpoints, load_checkpoint, skip_random_state
from aiayn_keras.training.files import atomic_path, write_text
from aiayn_keras.training.run_folder import RunFolder
from aiayn_keras.training.training_data import make_batches, read_corpus, train_tokenizer

logger = logging.getLogger(__name__)

NUM_SAMPLES = 5


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
        output: Folder to fill: the model's KerasHub preset, `recipe.yaml`, `history.json`,
            `evaluation.json`, `learning_curves.png`, `attention.png`, TensorBoard logs and the
            last checkpoints. It must not exist, be empty, or hold an unfinished training of the
            same recipe.

    Returns:
        A `TrainingResult`.

    Raises:
        FileExistsError: If `output` holds anything else.
        CorpusError: For a corpus that cannot be read.
    """
    corpus = read_corpus(recipe.corpus)
    folder = RunFolder(Path(output))
    if folder.open(recipe):
        logger.info("Going on with the training in %s.", folder.path)
    tokenizer = _tokenizer(recipe, corpus, folder)
    keras.utils.set_random_seed(recipe.training.seed)
    model = recipe.build_model(tokenizer.vocabulary_size())
    # The same weights, and text instead of token ids.
    translator = TransformerSeq2SeqLM(model.backbone, TransformerSeq2SeqLMPreprocessor(tokenizer))
    logger.info("%s parameters.", f"{model.count_params():,}")
    _fit(recipe, corpus, folder, model, translator)

    average_checkpoints(model, folder.last_checkpoints(recipe.training.average_checkpoints))
    bleu = evaluate_bleu(translator, corpus.test, recipe.evaluation)
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


def _tokenizer(recipe, corpus, folder):
    if not folder.tokenizer.is_file():
        tokenizer = train_tokenizer(recipe.tokenizer, corpus.train)
        with atomic_path(folder.tokenizer) as path:
            path.write_bytes(tokenizer.proto)
    return TransformerTokenizer(proto=folder.tokenizer.read_bytes())


def _fit(recipe, corpus, folder, model, translator):
    training = recipe.training
    tokenizer = translator.preprocessor.tokenizer
    positions = model.backbone.max_sequence_length
    batches, validation = (
        make_batches(pairs, tokenizer, recipe.batches, positions, training.seed, shuffle)
        for pairs, shuffle in ((corpus.train, True), (corpus.validation, False))
    )
    logger.info("%s", batches)

    checkpoints = list_checkpoints(folder.checkpoints)
    done = 0
    if checkpoints:
        done, path = checkpoints[-1]
        load_checkpoint(model, path)
        skip_random_state(model, done)
        logger.info("Going on from update %s.", f"{done:,}")
    history = folder.read_history(done)
    progress = Progress(
        training.updates, batches.real_target_tokens / batches.steps_per_epoch, done
    )
    callbacks = [
        ValidationBleu(
            translator,
            corpus.validation,
            training.bleu_every // training.checkpoint_every,
            recipe.evaluation,
        ),
        keras.callbacks.TensorBoard(folder.tensorboard, write_graph=False),
        progress,
        Checkpoints(folder, training.checkpoint_every, training.average_checkpoints, history),
    ]
    with contextlib.closing(progress):
        model.fit(
            batches.to_iter_dataset(start_step=done),
            steps_per_epoch=training.checkpoint_every,
            epochs=training.updates // training.checkpoint_every,
            initial_epoch=done // training.checkpoint_every,
            validation_data=validation.to_iter_dataset(),
            validation_steps=len(validation),
            callbacks=callbacks,
            shuffle=False,
            verbose=0,
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
