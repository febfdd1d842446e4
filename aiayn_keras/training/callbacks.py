"""What happens around the updates: progress, validation BLEU, checkpoints, curves."""

import json
import logging
import math
import sys
import tempfile

import keras
import numpy as np
from tqdm.auto import tqdm

from aiayn_keras.backend import seed_torch_dropout
from aiayn_keras.files import write_text
from aiayn_keras.plotting import plot_learning_curves
from aiayn_keras.training.bleu import corpus_bleu
from aiayn_keras.training.checkpoints import prune_checkpoints, save_checkpoint
from aiayn_keras.training.running_mean import mean_weights
from aiayn_keras.training.validation_history import best_update, is_out_of_patience

logger = logging.getLogger(__name__)


class Progress(keras.callbacks.Callback):
    """A bar over all updates, with loss, target tokens per second and time left.

    Args:
        updates: Number of updates of the whole training.
        tokens_per_update: Mean number of real target tokens in an update.
        done: Updates done before, when a training goes on.
        batches_per_update: Batches that make an update.
    """

    def __init__(self, updates, tokens_per_update, done=0, batches_per_update=1):
        super().__init__()
        self.updates = updates
        self.tokens_per_update = tokens_per_update
        self.done = done
        self.batches_per_update = batches_per_update
        self._bar = None

    def on_train_begin(self, logs=None):
        self._bar = tqdm(
            total=self.updates, initial=self.done, unit="update", dynamic_ncols=True, smoothing=0.1
        )

    def on_train_batch_end(self, batch, logs=None):
        if (batch + 1) % self.batches_per_update:
            return
        self._bar.update()
        rate = self._bar.format_dict["rate"]
        if rate:
            self._bar.set_postfix_str(
                f"loss {float(logs['loss']):.3f}, {rate * self.tokens_per_update:,.0f} tokens/s",
                refresh=False,
            )

    def on_epoch_end(self, epoch, logs=None):
        figures = {
            key: logs[key] for key in ("val_loss", "val_perplexity", "val_bleu") if key in logs
        }
        shown = ", ".join(f"{key} {value:.3f}" for key, value in figures.items())
        # On standard error, as the bar: standard output is for results.
        self._bar.write(
            f"update {self._bar.n:,}: loss {logs['loss']:.3f}, {shown}", file=sys.stderr
        )

    def close(self):
        """Ends the bar, also after an interruption."""
        if self._bar is not None:
            self._bar.close()


def copy_weights(model, translator):
    """Gives a translator the weights of the model in training, if it is a copy."""
    if translator.backbone is not model.backbone:
        translator.backbone.set_weights(model.backbone.get_weights())


class SeedDropout(keras.callbacks.Callback):
    """Seeds PyTorch's dropout by the epoch, so that a resumed training draws the same.

    No checkpoint holds the state of torch's own generator, but each epoch ends with a checkpoint.
    On the other backends this does nothing: there see `skip_random_state`.

    Args:
        seed: The training's seed.
    """

    def __init__(self, seed):
        super().__init__()
        self.seed = seed
        self._epoch = 0

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch

    def on_train_batch_begin(self, batch, logs=None):
        if batch == 0:  # Before it, torch draws a seed for reading data, in the first epoch alone.
            seed_torch_dropout(self.seed, self._epoch)


class ValidationBleu(keras.callbacks.Callback):
    """Translates the validation sentences; logs `val_bleu`, and `val_perplexity` per wordpiece.

    Args:
        translator: `TransformerSeq2SeqLM` with a preprocessor, of the model in training or of a
            copy that is given its weights each time.
        pairs: `ParallelText` to translate.
        every: Epochs between two BLEUs; the perplexity is logged in every epoch.
        evaluation: The recipe's `EvaluationSection`.

    Attributes:
        signature: sacreBLEU's signature, once there was a score.
    """

    def __init__(self, translator, pairs, every, evaluation):
        super().__init__()
        self.translator = translator
        self.pairs = pairs
        self.every = every
        self.evaluation = evaluation
        self.signature = None
        tokenizer = translator.preprocessor.tokenizer
        self._num_tokens = sum(len(ids) + 1 for ids in tokenizer(list(pairs.targets)))

    def on_epoch_end(self, epoch, logs=None):
        with mean_weights(self.model):
            copy_weights(self.model, self.translator)
            self._measure(epoch, logs)

    def _measure(self, epoch, logs):
        scores = self.translator.score(self.pairs.sources, self.pairs.targets)
        logs["val_perplexity"] = float(np.exp(-scores.sum(dtype="float64") / self._num_tokens))
        if (epoch + 1) % self.every == 0:
            bleu = evaluate_bleu(self.translator, self.pairs, self.evaluation)
            if self.signature is None:
                logger.info("Validation BLEU: %s", bleu.signature)
            self.signature = bleu.signature
            logs["val_bleu"] = bleu.score


class Checkpoints(keras.callbacks.Callback):
    """Saves the history and a checkpoint after every epoch; draws the learning curves.

    The last checkpoints and the best one are kept; when patience ends, the training does.

    Args:
        run_folder: The `RunFolder`.
        training: The recipe's `TrainingSection`.
        history: List of dictionaries, one per epoch; extended in place.
        writes: Whether this process writes; of several, the first one does.
    """

    def __init__(self, run_folder, training, history, writes=True):
        super().__init__()
        self.writes = writes
        self.run_folder = run_folder
        self.training = training
        self.history = history

    def on_epoch_end(self, epoch, logs=None):
        training = self.training
        update = (epoch + 1) * training.checkpoint_every
        if not all(math.isfinite(logs[name]) for name in ("loss", "val_loss")):
            raise ValueError(
                f"The loss became {logs['loss']} before update {update}, {logs['val_loss']} on "
                "the validation sentences. The checkpoints before "
                "are kept; train anew with a lower `optimizer.peak_learning_rate` or more "
                "`optimizer.warmup_steps`."
            )
        values = {
            "updates": update,
            "learning_rate": float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate)),
            **{key: float(value) for key, value in logs.items()},
        }
        self.history.append(values)
        if self.writes:
            self._write(update)
        else:
            # Keras computes the learning rate when it saves, which takes all processes.
            with tempfile.TemporaryDirectory() as folder:
                save_checkpoint(self.model, folder, update)
        if is_out_of_patience(self.history, training.monitor, training.patience):
            logger.info("No better `%s` for %s checks: done.", training.monitor, training.patience)
            self.model.stop_training = True

    def _write(self, update):
        folder, training = self.run_folder, self.training
        write_text(folder.history, json.dumps(self.history, indent=1))
        save_checkpoint(self.model, folder.checkpoints, update)
        prune_checkpoints(
            folder.checkpoints,
            training.average_checkpoints,
            best_update(self.history, training.monitor),
        )
        plot_learning_curves(as_columns(self.history), folder.learning_curves)


def as_columns(history):
    """A list of dictionaries as a dictionary of lists, NaN where a value was not measured."""
    keys = dict.fromkeys(key for row in history for key in row)
    return {key: [row.get(key, math.nan) for row in history] for key in keys}


def evaluate_bleu(model, pairs, evaluation):
    """BLEU of a model's translations of `pairs`, searched and measured as `evaluation` says."""
    translations = model.translate(
        pairs.sources,
        num_beams=evaluation.num_beams,
        length_penalty=evaluation.length_penalty,
    )
    return corpus_bleu(
        [translation.text for translation in translations],
        list(pairs.targets),
        tokenizer=evaluation.bleu_tokenizer,
        lowercase=evaluation.lowercase,
    )
