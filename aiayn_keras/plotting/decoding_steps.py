"""A page that plays a beam search step by step, from a record of it."""

import base64
import math

import numpy as np

from aiayn_keras.plotting.figures import visible
from aiayn_keras.plotting.interactive_page import InteractivePage, offline_page

ATTRIBUTES = (
    "source",
    "source_tokens",
    "searches",
    "longest",
    "length_penalty_offset",
    "key_dim",
    "cache_width",
)
FATES = ("lives", "finishes", "is dropped")
LEVELS = 65535  # 16 bits between the smallest and the largest score
DIGITS = 5  # of log-probabilities, behind the point
HEIGHT = 860


class DecodingSteps(InteractivePage):
    """An interactive page of a beam search; a notebook shows it as a cell's last line."""

    frame_title = "Beam search, step by step"


def decoding_steps(record, title=None):
    """Makes an interactive page that plays a translation step by step (paper 3.2, 6.1).

    Every step shows the live hypotheses, how they are extended, which finish and which are dropped;
    the cross-attention of one of them, and the keys and values in the cache. A slider chooses the
    number of beams among the recorded searches. One for α ranks the finished hypotheses anew, and
    chooses the recorded search of the nearest α. One for the divisor of the scores, √d_k in the
    paper, computes the weights of attention anew.

    ```python
    steps = decoding_steps(model.record_search(source))
    steps.save("steps.html")
    ```

    Args:
        record: What `model.record_search(source)` returns, a `SearchRecord` of
            `aiayn_keras.decoding.recording`, or another object with its attributes.
        title: Heading of the page, or `None` for the source.

    Returns:
        `DecodingSteps`: a notebook shows it, `save(path)` writes it.

    Raises:
        TypeError: If `record` lacks one of these attributes.
        ValueError: If it holds no search, or scores that are not finite.
    """
    missing = [name for name in ATTRIBUTES if not hasattr(record, name)]
    if missing:
        raise TypeError(
            "`record` must be what `model.record_search(source)` returns. "
            f"Received: {type(record).__name__}, which lacks {', '.join(missing)}."
        )
    if not record.searches:
        raise ValueError("`record` must have at least one search. Received: none.")
    pieces, scores = _Numbering(), _Numbering()
    searches = [_packed_search(search, pieces, scores) for search in record.searches]
    data = {
        "title": str(title) if title else str(record.source),
        "source": [visible(token) for token in record.source_tokens],
        "longest": record.longest,
        "offset": record.length_penalty_offset,
        "keyDim": record.key_dim,
        "cacheWidth": record.cache_width,
        "pieces": [visible(piece) for piece in pieces.values],
        "scores": _packed_scores(np.stack(scores.values)),
        "searches": searches,
    }
    return DecodingSteps(page=offline_page("decoding_steps", data), height=HEIGHT)


class _Numbering:
    """Numbers for things that occur many times, by their keys."""

    def __init__(self):
        self.values, self._numbers = [], {}

    def of(self, key, value):
        """The number of the key, which gets the value when it is new."""
        if key not in self._numbers:
            self._numbers[key] = len(self.values)
            self.values.append(value)
        return self._numbers[key]


def _packed_search(search, pieces, scores):
    """A `RecordedSearch` for JSON; hypotheses with the same wordpieces share their scores."""
    steps = [
        {
            "scores": [
                scores.of(hypothesis, row)
                for hypothesis, row in zip(step.hypotheses, step.scores, strict=True)
            ],
            "candidates": [
                [beam, pieces.of(token, token), round(log_prob, DIGITS), FATES.index(fate)]
                for beam, token, log_prob, fate in step.candidates
            ],
        }
        for step in search.steps
    ]
    finished = [
        [each.step, each.text, len(each.tokens) + 1, round(each.log_prob, DIGITS)]
        for each in search.finished
    ]
    recorded = [
        {"alpha": alpha, "steps": count, "best": search.best[alpha]}
        for alpha, count in sorted(search.num_steps.items())
    ]
    return {
        "beams": search.num_beams,
        "steps": steps,
        "finished": finished,
        "recorded": recorded,
    }


def _packed_scores(scores):
    """Scores `(M, N, H, S)` as 16-bit whole numbers between their extremes."""
    low, high = float(scores.min()), float(scores.max())
    if not math.isfinite(low) or not math.isfinite(high):
        raise ValueError(f"The scores of `record` must be finite. Received: {low} to {high}.")
    span = (high - low) or 1.0
    whole = np.rint((scores.astype("float64") - low) * (LEVELS / span)).astype("<u2")
    values = base64.b64encode(whole.tobytes()).decode("ascii")
    return {"shape": scores.shape, "low": low, "span": span, "values": values}
