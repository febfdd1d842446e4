"""The fit of a training: its batches and callbacks, from the place where it was stopped."""

import contextlib
import importlib.util
import logging
from dataclasses import dataclass

import keras

from aiayn_keras.backend import Devices, with_free_shapes
from aiayn_keras.data import BatchSequence, ProcessRows, UpdateBatches
from aiayn_keras.models import TransformerSeq2SeqLM
from aiayn_keras.training.callbacks import Checkpoints
from aiayn_keras.training.ema import ValidateEMA
from aiayn_keras.training.inputs import RunInputs
from aiayn_keras.training.interruption import watch_interrupts
from aiayn_keras.training.progress import Progress
from aiayn_keras.training.recipe import Recipe
from aiayn_keras.training.resume import SeedDropout, resume
from aiayn_keras.training.run_folder import RunFolder
from aiayn_keras.training.training_data import RecipeCorpus

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrainingRun:
    """All that a training works with.

    Attributes:
        recipe: The `Recipe`.
        folder: The `RunFolder`.
        devices: The `Devices`.
        corpus: The `RecipeCorpus`.
        inputs: The `RunInputs`.
        batches: Batches to train on.
        validation_batches: Batches of the validation sentences.
        model: The compiled `TransformerSeq2SeqLM` in training, which takes token ids.
        translator: The `TransformerSeq2SeqLM` that takes text: its backbone is the model's, or a
            copy of it on one device.
    """

    recipe: Recipe
    folder: RunFolder
    devices: Devices
    corpus: RecipeCorpus
    inputs: RunInputs
    batches: BatchSequence
    validation_batches: BatchSequence
    model: TransformerSeq2SeqLM
    translator: TransformerSeq2SeqLM


def fit(run):
    """Fits a `TrainingRun`'s model until all updates are done or patience ends."""
    training = run.recipe.training
    batches_per_update = run.recipe.optimizer.gradient_accumulation_steps
    logger.info("%s", run.batches)
    start = resume(run.model, run.folder)
    checkpoints = Checkpoints(run, start.history)
    if start.is_measured:
        checkpoints.complete()
    if checkpoints.is_out_of_patience():
        return
    updates = UpdateBatches(run.batches, batches_per_update)
    tokens_per_batch = run.batches.real_target_tokens / run.batches.steps_per_epoch
    progress = Progress(
        training.updates, batches_per_update * tokens_per_batch, start.updates, batches_per_update
    )
    devices = run.devices
    rows = ProcessRows(devices.num_models, devices.num_processes, devices.process)
    data = updates.to_iter_dataset(start.updates * batches_per_update).map(rows)
    if len(run.batches.shapes) > 1:
        data = with_free_shapes(data)
    with contextlib.closing(progress), watch_interrupts() as watch:
        run.model.fit(
            data,
            steps_per_epoch=training.checkpoint_every * batches_per_update,
            epochs=training.updates // training.checkpoint_every,
            initial_epoch=start.updates // training.checkpoint_every,
            validation_data=UpdateBatches(run.validation_batches).to_iter_dataset().map(rows),
            validation_steps=len(run.validation_batches),
            callbacks=[watch, *_callbacks(run, checkpoints, progress)],
            shuffle=False,
            verbose=0,
        )
    if run.model.stop_training:
        logger.info("No better `%s` for %s checks: done.", training.monitor, training.patience)


def _callbacks(run, checkpoints, progress):
    """Makes the callbacks, in the order in which they add to an epoch's figures and read them."""
    callbacks = [SeedDropout(run.recipe), checkpoints]
    if run.devices.is_first:
        callbacks.append(progress)
    if run.recipe.optimizer.ema_momentum is not None:
        callbacks.append(ValidateEMA())
    # TensorBoard's callback writes with TensorFlow, and computes the learning rate, which all
    # processes must do or none.
    if run.devices.num_processes == 1 and importlib.util.find_spec("tensorflow"):
        callbacks.append(keras.callbacks.TensorBoard(run.folder.tensorboard, write_graph=False))
    return callbacks
