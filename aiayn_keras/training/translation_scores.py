"""BLEU, chrF and TER by sacreBLEU, never without its signature (https://aclanthology.org/W18-6319)."""

import dataclasses
import logging
from dataclasses import dataclass
from urllib.error import URLError

import sacrebleu

from aiayn_keras.decoding.translation_search import EngineError, choose_engine
from aiayn_keras_light.checks import check_sides
from aiayn_keras_light.spaces import UNSPACED_LETTER
from aiayn_keras_light.translating import NoTranslationError

logger = logging.getLogger(__name__)

_TOKENIZERS_BY_SPACES = ("13a", "intl")
_MAX_LETTERS_OF_A_WORD = 3
"""A text of `UNSPACED_LETTER`s is not divided into words if it has more letters than this between
spaces, on average."""


@dataclass(frozen=True)
class BleuScore:
    """A corpus BLEU.

    Attributes:
        score: BLEU, 0 to 100.
        details: N-gram precisions, brevity penalty and lengths, as sacreBLEU prints them.
        signature: sacreBLEU's signature; only scores with the same signature are comparable.
    """

    score: float
    details: str
    signature: str

    def __str__(self):
        return f"{self.details} {self.signature}"


@dataclass(frozen=True)
class ChrfScore:
    """A corpus chrF2.

    Attributes:
        score: chrF2, 0 to 100: F-score of n-grams of 1 to 6 characters, with recall weighted twice.
        signature: sacreBLEU's signature; only scores with the same signature are comparable.
    """

    score: float
    signature: str

    def __str__(self):
        return f"chrF2 = {self.score:.2f} {self.signature}"


@dataclass(frozen=True)
class TerScore:
    """A corpus TER.

    Attributes:
        score: Translation edit rate in percent of the references' words; lower is better.
        signature: sacreBLEU's signature; only scores with the same signature are comparable.
    """

    score: float
    signature: str

    def __str__(self):
        return f"TER = {self.score:.2f} {self.signature}"


def corpus_bleu(hypotheses, references, tokenizer="13a", lowercase=False):
    """Computes the BLEU of translations against one or more references each.

    Args:
        hypotheses: List of strings.
        references: List of strings, one for each hypothesis, at least one; or a list of such lists.
        tokenizer: sacreBLEU's tokenizer, such as `"13a"`, or `"none"` for tokenized text.
        lowercase: Whether to ignore case.

    Returns:
        A `BleuScore`.

    Raises:
        ValueError: If the lists are strings, empty or of different lengths, or the tokenizer is
            unknown or cannot be used.
    """
    references = _as_sets(hypotheses, references)
    bleu = open_bleu(check_bleu_tokenizer(tokenizer), lowercase)
    result = bleu.corpus_score(hypotheses, references)
    return BleuScore(
        score=float(result.score),
        details=result.format(width=2),
        signature=str(bleu.get_signature()),
    )


def corpus_chrf(hypotheses, references, lowercase=False):
    """Computes the chrF2 of translations against one or more references each.

    Args:
        hypotheses: List of strings.
        references: List of strings, one for each hypothesis, at least one; or a list of such lists.
        lowercase: Whether to ignore case.

    Returns:
        A `ChrfScore`.

    Raises:
        ValueError: If the lists are strings, empty or of different lengths.
    """
    references = _as_sets(hypotheses, references)
    chrf = sacrebleu.CHRF(lowercase=lowercase)
    result = chrf.corpus_score(hypotheses, references)
    return ChrfScore(score=float(result.score), signature=str(chrf.get_signature()))


def corpus_ter(hypotheses, references, lowercase=False):
    """Computes the TER of translations against one or more references each.

    Args:
        hypotheses: List of strings.
        references: As in `corpus_bleu`.
        lowercase: Whether to ignore case.

    Returns:
        A `TerScore`.

    Raises:
        ValueError: If the lists are strings, empty or of different lengths.
    """
    references = _as_sets(hypotheses, references)
    ter = sacrebleu.TER(case_sensitive=not lowercase)
    result = ter.corpus_score(hypotheses, references)
    return TerScore(score=float(result.score), signature=str(ter.get_signature()))


def _as_sets(hypotheses, references):
    """References as a list of lists, each as long as the hypotheses."""
    for name, texts in (("hypotheses", hypotheses), ("references", references)):
        if isinstance(texts, str):  # would be scored letter by letter
            raise ValueError(f"`{name}` must be a list of strings. Received: {texts!r:.60}.")
    is_single = not references or isinstance(references[0], str)
    sets = [references] if is_single else references
    for each in sets:
        check_sides(hypotheses, each)
    return sets


def check_bleu_tokenizer(name):
    """Returns the name of a sacreBLEU tokenizer, or raises a `ValueError` that lists them."""
    if name not in sacrebleu.BLEU.TOKENIZERS:
        raise ValueError(
            f"Unknown BLEU tokenizer {name!r}. sacreBLEU has: "
            f"{', '.join(sacrebleu.BLEU.TOKENIZERS)}."
        )
    return name


def try_bleu_tokenizer(name):
    """Uses a sacreBLEU tokenizer once: some need packages, or files that they download.

    Raises:
        ValueError: If it is unknown or cannot be used; the message says why.
    """
    corpus_bleu(["a"], ["a"], tokenizer=name)


def warn_of_missing_spaces(references, tokenizer=None, has_ter=False):
    """Warns of scores that would take whole sentences as words, as in Chinese or Thai.

    Args:
        references: Sequence of strings.
        tokenizer: Name of sacreBLEU's tokenizer, such as `"13a"`; None without BLEU.
        has_ter: Whether TER is computed too; it always splits words at spaces.
    """
    letters = sum(sum(map(str.isalpha, text)) for text in references)
    unspaced = sum(len(UNSPACED_LETTER.findall(text)) for text in references)
    words = sum(len(text.split()) for text in references)
    if 2 * unspaced <= letters or unspaced < _MAX_LETTERS_OF_A_WORD * words:
        return
    if tokenizer in _TOKENIZERS_BY_SPACES:
        logger.warning(
            "The references have no spaces between words, so BLEU with the tokenizer %s takes "
            "sentences as words, and is near 0 for any translations: choose zh for Chinese, "
            "or char (`evaluation.bleu_tokenizer` in a recipe, `--tokenize` in a command).",
            tokenizer,
        )
    if has_ter:
        logger.warning(
            "The references have no spaces between words, so TER takes sentences as words: look at "
            "chrF2, or at BLEU by characters."
        )


def warn_of_empty_references(references):
    """Warns of empty references, which sacreBLEU treats like any others.

    Args:
        references: List of lists of strings, one for each set of references.
    """
    for number, lines in enumerate(references, start=1):
        empty = [line for line, text in enumerate(lines, start=1) if not text.strip()]
        if empty:
            logger.warning(
                "Empty references in set %d: %s, the first in line %d. BLEU and TER "
                "count translations of texts without other references as wrong, and chrF2 leaves "
                "them out; TER also divides by the mean length of all references of a text. Leave "
                "such lines out of all files.",
                number,
                f"{len(empty):,}",
                empty[0],
            )


def open_bleu(tokenizer, lowercase):
    """Makes sacreBLEU's `BLEU`, or raises a `ValueError` if its tokenizer cannot be used."""
    try:
        # `force` only silences the warning that the text looks tokenized.
        return sacrebleu.BLEU(tokenize=tokenizer, lowercase=lowercase, force=True)
    except URLError as error:
        problem = f"it needs the network once, to download its vocabulary ({error.reason})"
    except (ImportError, OSError, RuntimeError) as error:
        problem = " ".join(str(error).split())
    raise ValueError(
        f"sacreBLEU's tokenizer {tokenizer!r} cannot be used: {problem}. Remedy that, or choose "
        "another one, such as 13a or char."
    )


def evaluate_bleu(model, pairs, evaluation):
    """Computes the BLEU of a model on a `ParallelText`, as an `EvaluationSection` says."""
    return corpus_bleu(
        translate_as_recipe(model, pairs.sources, evaluation),
        list(pairs.targets),
        tokenizer=evaluation.bleu_tokenizer,
        lowercase=evaluation.lowercase,
    )


def engine_of_recipe(model, evaluation):
    """Names the engine that searches in `translate_as_recipe`.

    Raises:
        EngineError: If the recipe's engine cannot do the search.
    """
    try:
        return choose_engine(evaluation.engine, (model,), evaluation.search_options())
    except EngineError as error:
        raise EngineError(f"`evaluation.engine`={evaluation.engine}: {error}") from error


def translate_as_recipe(model, sources, evaluation):
    """Translates sentences as an `EvaluationSection` says.

    A sentence without a translation that keeps the constraint gets an empty one, with a warning: it
    must not end a training.

    Args:
        model: A `TransformerSeq2SeqLM` that takes text.
        sources: Sequence of strings.
        evaluation: The `EvaluationSection`.

    Returns:
        List of strings.
    """
    options = dataclasses.asdict(evaluation.search_options())
    try:
        translations = model.translate(sources, engine=evaluation.engine, **options)
    except NoTranslationError as error:
        logger.warning(
            "%d of %d sentences have no translation that keeps `evaluation.constraint`; the first "
            "is %.60r. Empty translations are evaluated instead.",
            len(error.rows),
            len(sources),
            sources[error.rows[0]],
        )
        translations = error.translations
    return ["" if each is None else each.text for each in translations]
