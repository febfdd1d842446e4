"""The gain of a fine-tuning on its own text, and its cost on the text that it must remember."""

import logging
from typing import NamedTuple

from aiayn_keras.training.run_folder import DomainFigures
from aiayn_keras.training.translation_scores import (
    BleuScore,
    ChrfScore,
    corpus_bleu,
    corpus_chrf,
    engine_of_recipe,
    translate_as_recipe,
)

logger = logging.getLogger(__name__)


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


def score_translations(model, pairs, evaluation):
    """Translates a `ParallelText` as an `EvaluationSection` says; returns its `Scores`."""
    translations = translate_as_recipe(model, pairs.sources, evaluation)
    references = list(pairs.targets)
    return Scores(
        translations,
        corpus_bleu(translations, references, evaluation.bleu_tokenizer, evaluation.lowercase),
        corpus_chrf(translations, references, evaluation.lowercase),
        engine_of_recipe(model, evaluation),
    )


def compare_with_initial(run, scores):
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
        texts.append((old, score_translations(run.translator, old, evaluation)))
    figures = []
    for text, after in texts:
        before = score_translations(run.initial.model, text, evaluation)
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
