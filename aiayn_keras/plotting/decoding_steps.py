"""An interactive page that replays a recorded beam search step by step."""

import base64
import math

import numpy as np

from aiayn_keras.plotting.figures import visible
from aiayn_keras.plotting.interactive_page import InteractivePage, offline_page

_ATTRIBUTES = (
    "source",
    "source_tokens",
    "searches",
    "longest",
    "length_penalty_offset",
    "key_dim",
    "cache_width",
)
_FATES = ("lives", "finishes", "is dropped")
_LEVELS = 65535  # 16 bits between the smallest and the largest score
_DIGITS = 5  # decimal places of log-probabilities
_HEIGHT = 860


class DecodingSteps(InteractivePage):
    """An interactive page of a beam search, displayed by notebooks."""

    frame_title = "Beam search, step by step"


def decoding_steps(record, title=None):
    """Creates an interactive page that replays a translation step by step (paper 3.2, 6.1).

    Every step shows the live hypotheses, their extensions, the hypotheses that finish and those
    that are dropped, the cross-attention of a selected hypothesis, and the keys and values in the
    cache. One slider selects the number of beams from the recorded searches. A second changes α: it
    ranks the finished hypotheses again and selects the recorded search with the closest α. A third
    changes the divisor of the scores, √d_k in the paper, and recomputes the attention weights.

    ```python
    steps = decoding_steps(model.record_search(source))
    steps.save("steps.html")
    ```

    Args:
        record: The `SearchRecord` returned by `model.record_search(source)`, or any object with the
            same attributes.
        title: Heading of the page; `None` for the source.

    Returns:
        A `DecodingSteps`, which notebooks display and `save(path)` writes to a file.

    Raises:
        TypeError: If an attribute is missing from `record`.
        ValueError: If `record` contains no searches, or scores that are not finite.
    """
    return DecodingSteps(offline_page("decoding_steps", steps_data(record, title)), _HEIGHT)


def steps_data(record, title=None):
    """Data of the page, any JSON value; arguments and errors are those of `decoding_steps`."""
    missing = [name for name in _ATTRIBUTES if not hasattr(record, name)]
    if missing:
        raise TypeError(
            "`record` must be the result of `model.record_search(source)`. "
            f"Received: {type(record).__name__}, which lacks {', '.join(missing)}."
        )
    if not record.searches:
        raise ValueError("`record` must contain at least one search. Received: none.")
    pieces, scores = _Numbering(), _Numbering()
    searches = [_packed_search(search, pieces, scores) for search in record.searches]
    return {
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


class _Numbering:
    """Assigns consecutive numbers to values, with the same number for the same key."""

    def __init__(self):
        self.values, self._numbers = [], {}

    def of(self, key, value):
        """Returns the number of a key, and stores the value if the key is new."""
        if key not in self._numbers:
            self._numbers[key] = len(self.values)
            self.values.append(value)
        return self._numbers[key]


def _packed_search(search, pieces, scores):
    """Converts a `RecordedSearch` for JSON; equal hypotheses share their scores."""
    steps = [
        {
            "scores": [
                scores.of(hypothesis, row)
                for hypothesis, row in zip(step.hypotheses, step.scores, strict=True)
            ],
            "candidates": [
                [beam, pieces.of(token, token), round(log_prob, _DIGITS), _FATES.index(fate)]
                for beam, token, log_prob, fate in step.candidates
            ],
        }
        for step in search.steps
    ]
    finished = [
        [each.step, each.text, len(each.tokens) + 1, round(each.log_prob, _DIGITS)]
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
    """Quantizes scores `(M, N, H, S)` to 16-bit integers between their minimum and maximum."""
    low, high = float(scores.min()), float(scores.max())
    if not math.isfinite(low) or not math.isfinite(high):
        raise ValueError(f"The scores of `record` must be finite. Received: {low} to {high}.")
    span = (high - low) or 1.0
    whole = np.rint((scores.astype("float64") - low) * (_LEVELS / span)).astype("<u2")
    values = base64.b64encode(whole.tobytes()).decode("ascii")
    return {"shape": scores.shape, "low": low, "span": span, "values": values}
