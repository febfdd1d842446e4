"""A first recipe for a parallel text: sizes that its amount suggests, and the time they take.

The sizes grow with the number of pairs, between those of the package's recipes: Multi30k (29,000
pairs), Tatoeba (114,000) and the paper (4.5 million).
"""

import dataclasses
import math
import time

import numpy as np
import yaml

from aiayn_keras.data import UpdateBatches, filter_pairs
from aiayn_keras.data.token_pairs import TokenPairs
from aiayn_keras.models import TransformerTokenizer
from aiayn_keras.training.training_data import make_batches

_MAX_SAMPLE = 30_000
"""Number of pairs that a vocabulary is tried on."""
_MIN_VOCABULARY = 100
_MEASURED_TOKENS = 2_048
"""Maximum number of positions of a batch whose training is timed."""
_MEASURED_UPDATES = 3
_BLEU_TOKENIZERS = {
    **dict.fromkeys(("zh", "yue", "wuu"), "zh"),
    **dict.fromkeys(("ja", "th", "km", "lo", "my", "dz"), "char"),
}
"""sacreBLEU's tokenizers for languages without spaces, if they need no further packages."""


@dataclasses.dataclass(frozen=True)
class Size:
    """Sizes of a model and its training.

    Attributes:
        max_pairs: Number of pairs up to which they fit.
        vocabulary_size: Number of tokens.
        model: Fields of the section `model`.
        tokens_per_batch: Positions in a batch, on either side.
        peak_learning_rate: The peak; None for the paper's.
    """

    max_pairs: float
    vocabulary_size: int
    model: dict
    tokens_per_batch: int = 4096
    peak_learning_rate: float | None = None


_TINY = {"preset": "transformer_tiny"}
_SMALL = {
    "preset": "transformer_base_d256",
    "num_layers": 3,
    "num_heads": 4,
    "intermediate_dim": 1024,
}
_BASE = {"preset": "transformer_base"}
SIZES = (
    Size(3_000, 1_000, {**_TINY, "num_layers": 2}, 2048, 0.002),
    Size(10_000, 2_000, {**_TINY, "num_layers": 3}, 2048, 0.003),
    Size(60_000, 8_000, _TINY, 4096, 0.0035),
    Size(300_000, 8_000, {**_SMALL, "dropout": 0.15}, 4096, 0.002),
    Size(1_500_000, 16_000, {**_BASE, "num_layers": 4}, 8192, 0.001),
    Size(10_000_000, 32_000, _BASE, 25_000),
    Size(math.inf, 37_000, {"preset": "transformer_big"}, 25_000),
)
"""Sizes in the order of the numbers of pairs."""
_KNOWN_PASSES = ((1_000, 60), (29_000, 75), (114_000, 20), (4_500_000, 18))
"""Passes over the text that trainings needed, by their numbers of pairs."""


@dataclasses.dataclass(frozen=True)
class TextFacts:
    """Facts about a training text that its recipe depends on.

    Attributes:
        pairs: Number of usable pairs.
        source_language: Code of the sources' language, or `None`.
        target_language: Code of the targets' language, or `None`.
        vocabulary_size: Number of tokens that its pairs allow, at most that of the size.
        tokens_per_pair: Mean number of target tokens, the end token included.
        longest: Number of tokens that 99.9 % of all sides do not exceed.
    """

    pairs: int
    source_language: str | None
    target_language: str | None
    vocabulary_size: int
    tokens_per_pair: float
    longest: int


def size_for(num_pairs):
    """Returns the `Size` for a number of pairs."""
    return next(size for size in SIZES if num_pairs <= size.max_pairs)


def passes_for(num_pairs):
    """Interpolates the number of passes through the text for a training on `num_pairs` pairs."""
    sizes, passes = zip(*_KNOWN_PASSES, strict=True)
    return float(np.exp(np.interp(np.log(num_pairs), np.log(sizes), np.log(passes))))


def updates_for(facts):
    """Computes the number of updates, a round one, for `TextFacts`."""
    size = size_for(facts.pairs)
    tokens = passes_for(facts.pairs) * facts.pairs * facts.tokens_per_pair
    updates = max(200, tokens / (0.9 * size.tokens_per_batch))  # some positions are padding
    digit = 10 ** (int(math.log10(updates)) - 1)
    return int(round(updates / digit) * digit)


def measure_text(pairs, sides):
    """Learns a vocabulary from a sample of pairs, and counts their tokens.

    Args:
        pairs: List of pairs of source and target.
        sides: Tuple of the languages of sources and targets, or `None`s.

    Returns:
        Tuple of the `TextFacts` and the `TokenPairs` of the sample.

    Raises:
        ValueError: If there is too little text for a vocabulary.
    """
    sample = pairs[:: -(-len(pairs) // _MAX_SAMPLE) or 1]
    tokenizer = _largest_tokenizer(sample, size_for(len(pairs)).vocabulary_size)
    source_ids, target_ids = (tokenizer(list(side)) for side in zip(*sample, strict=True))
    lengths = [[len(ids) for ids in side] for side in (source_ids, target_ids)]
    kept, _ = filter_pairs(*lengths, max_length=250, max_ratio=3.0)
    tokens = TokenPairs(
        *(
            [ids for ids, is_kept in zip(side, kept, strict=True) if is_kept]
            for side in (source_ids, target_ids)
        )
    )
    facts = TextFacts(
        pairs=len(pairs),
        source_language=sides[0],
        target_language=sides[1],
        vocabulary_size=tokenizer.vocabulary_size(),
        tokens_per_pair=float(np.mean(lengths[1])) + 1,
        longest=int(np.quantile(np.concatenate(lengths), 0.999)) + 1,
    )
    return facts, tokens


def _largest_tokenizer(sample, vocabulary_size):
    """Learns a tokenizer, with a smaller vocabulary if the text does not yield that many tokens."""
    while True:
        try:
            return TransformerTokenizer.train(
                (source for source, _ in sample),
                vocabulary_size=vocabulary_size,
                normalization="clean_nfkc",
                target_texts=(target for _, target in sample),
                target_normalization="nfc",
            )
        except ValueError:
            if vocabulary_size // 2 < _MIN_VOCABULARY:
                raise
            vocabulary_size //= 2


def recipe_fields(facts, corpus):
    """Makes the sections of a first recipe.

    Args:
        facts: `TextFacts`.
        corpus: Dictionary of the section `corpus`.

    Returns:
        Dictionary of sections, for `Recipe.model_validate`.
    """
    size, updates = size_for(facts.pairs), updates_for(facts)
    checkpoint_every = max(10, updates // 40)
    optimizer = {"warmup_steps": min(4000, max(50, updates // 5))}
    if size.peak_learning_rate is not None:
        optimizer["peak_learning_rate"] = size.peak_learning_rate
    evaluation = {"num_beams": 4, "length_penalty": 0.6}
    if facts.target_language in _BLEU_TOKENIZERS:
        evaluation["bleu_tokenizer"] = _BLEU_TOKENIZERS[facts.target_language]
    return {
        "corpus": corpus,
        "tokenizer": {
            "vocabulary_size": facts.vocabulary_size,
            "normalization": "clean_nfkc",
            "target_normalization": "nfc",
        },
        "model": dict(size.model),
        "batches": {"tokens_per_batch": size.tokens_per_batch, "packing": True},
        "optimizer": optimizer,
        "training": {
            "updates": updates,
            "checkpoint_every": checkpoint_every,
            "bleu_every": 4 * checkpoint_every,
        },
        "evaluation": evaluation,
    }


def commented_yaml(fields, comments, head):
    """Writes sections as YAML with comments.

    Args:
        fields: Dictionary of sections.
        comments: Dictionary from `section.field` to the comment after it.
        head: Lines of the comment at the top.

    Returns:
        The text of a recipe.

    Example:
        >>> print(commented_yaml({"a": {"b": 1}}, {"a.b": "one"}, ["A text."]), end="")
        # A text.
        a:
          b: 1  # one
    """
    lines = [f"# {part}" for line in head for part in line.splitlines()]
    for section, values in fields.items():
        lines.append(f"{section}:")
        for name, value in values.items():
            written = _in_one_line({name: value})[1:-1]  # without the braces
            comment = comments.get(f"{section}.{name}")
            lines.append(f"  {written}" + (f"  # {comment}" if comment else ""))
    return "".join(f"{line}\n" for line in lines)


def _in_one_line(value):
    options = {"default_flow_style": True, "allow_unicode": True, "width": math.inf}
    written = yaml.safe_dump(value, **options).strip()
    if "\n" not in written:
        return written
    # Only double quotation marks write the line breaks in a name of a file as escapes.
    return yaml.safe_dump(value, **options, default_style='"').strip()


def measure_hours(recipe, facts, tokens):
    """Trains for a few updates on this machine, and computes the hours of the whole training.

    The time of checkpoints, BLEU and the compilation is not included.

    Args:
        recipe: The `Recipe`.
        facts: `TextFacts`.
        tokens: `TokenPairs` of a sample.

    Returns:
        Number of hours.
    """
    wanted = recipe.batches.tokens_per_batch
    positions = max(min(wanted, _MEASURED_TOKENS), facts.longest)
    section = recipe.batches.model_copy(update={"tokens_per_batch": positions})
    batches = UpdateBatches(make_batches(tokens, section, seed=1), 1)
    model = recipe.build_model(facts.vocabulary_size)
    data = iter(batches.to_iter_dataset())
    seconds = []
    for _ in range(1 + _MEASURED_UPDATES):
        batch = next(data)
        start = time.perf_counter()
        model.train_on_batch(*batch)
        seconds.append(time.perf_counter() - start)
    # The first update is compiled. A larger batch takes proportionally longer.
    return float(np.median(seconds[1:])) * wanted / positions * recipe.training.updates / 3600
