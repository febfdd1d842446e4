"""One run: a row trained with a seed, measured, and written as a result file."""

import logging
import shutil
import time

import numpy as np

from aiayn_keras.models import TransformerSeq2SeqLM, text_preprocessor
from aiayn_keras.models.model_folder import WEIGHTS
from aiayn_keras.training import RunFolder, corpus_bleu, corpus_chrf, list_checkpoints, train
from aiayn_keras.training.resume import read_tokenizer
from aiayn_keras.training.training_data import make_batches, read_corpus
from aiayn_keras.training.translation_scores import translate_as_recipe
from experiments.machine import commit, processor, versions
from experiments.table3.results import Result, Scores, write_result
from experiments.table3.row_recipe import fingerprint, row_recipe

logger = logging.getLogger(__name__)


def run(row, seed, base, folder, result_path):
    """Trains, measures and writes one result; continues where an earlier call was killed.

    Args:
        row: The `Row`.
        seed: The seed.
        base: Path of the base model's recipe.
        folder: Folder of the training; deleted when the result is written.
        result_path: Path of the result file.

    Raises:
        ValueError: If the training diverges, or the folder holds one with a different recipe.
        FileExistsError: If the folder holds files that are not a training's.
    """
    start, cpu_start = time.monotonic(), time.process_time()
    code = commit()  # now, since another may be checked out during the training
    recipe, files = row_recipe(row, base, seed), RunFolder(folder)
    resumed_from = 0
    if files.checkpoints.is_dir():
        resumed_from = max((update for update, _ in list_checkpoints(files.checkpoints)), default=0)
    # `train` itself would go on with the new recipe, and the result would be neither's.
    if files.recipe.is_file() and files.recipe.read_text("utf-8") != recipe.to_yaml():
        raise ValueError(f"{folder} holds a training with a different recipe: delete it.")
    if not files.evaluation.is_file():
        train(recipe, folder)
    model, corpus = _load(recipe, files), read_corpus(recipe)
    validation, bleu, chrf = _measure(model, corpus.validation, recipe.evaluation)
    test, *_ = _measure(model, corpus.test, recipe.evaluation)
    result = Result(
        row=row.name,
        seed=seed,
        fingerprint=fingerprint(row, base),
        parameters=sum(int(np.prod(each.shape)) for each in model.trainable_variables),
        updates=recipe.training.updates,
        target_tokens=_target_tokens(recipe, corpus, model),
        num_beams=recipe.evaluation.num_beams,
        length_penalty=recipe.evaluation.length_penalty,
        validation=validation,
        test=test,
        bleu_signature=bleu.signature,
        chrf_signature=chrf.signature,
        commit=code,
        versions=versions(),
        machine=processor(),
        resumed_from=resumed_from,
        seconds=time.monotonic() - start,
        cpu_seconds=time.process_time() - cpu_start,
    )
    write_result(result_path, result)
    shutil.rmtree(folder)
    return result


def _load(recipe, files):
    """The trained model; `from_preset` does not know the classes of some rows."""
    tokenizer = read_tokenizer(files)
    backbone = recipe.model.build(tokenizer.vocabulary_size(), recipe.training.dtype)
    backbone.load_weights(files.path / WEIGHTS)
    return TransformerSeq2SeqLM(backbone, text_preprocessor(tokenizer, backbone))


def _measure(model, text, evaluation):
    """The `Scores` of a model on a `ParallelText`, and its `BleuScore` and `ChrfScore`."""
    translations = translate_as_recipe(model, text.sources, evaluation)
    references = list(text.targets)
    bleu = corpus_bleu(translations, references, evaluation.bleu_tokenizer, evaluation.lowercase)
    chrf = corpus_chrf(translations, references, evaluation.lowercase)
    tokens = np.concatenate(model.score(list(text.sources), references, per_token=True))
    perplexity = float(np.exp(-tokens.mean(dtype="float64")))
    scores = Scores(
        text=text.name,
        sentences=len(text),
        bleu=bleu.score,
        chrf=chrf.score,
        perplexity=perplexity,
    )
    return scores, bleu, chrf


def _target_tokens(recipe, corpus, model):
    """Real target tokens in the recipe's updates: the mean per update times their number."""
    tokenizer = model.preprocessor.tokenizer
    pairs = corpus.train.pairs(tokenizer, model.backbone.max_sequence_length)
    batches = make_batches(pairs, recipe.batches, recipe.training.seed, tokenizer.source_end)
    per_update = batches.real_target_tokens / batches.steps_per_epoch
    batches_per_update = recipe.optimizer.gradient_accumulation_steps
    return round(per_update * batches_per_update * recipe.training.updates)
