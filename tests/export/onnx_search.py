"""Exported ONNX graphs run by ONNX Runtime, and a beam search over them."""

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

SUPPRESSED = [0, 1, 2]
"""Padding, unknown and start."""
START, END = 2, 3


class OnnxModel:
    """The graphs of an exported folder, on one thread.

    Args:
        folder: Path of the folder.
        suffix: End of the graphs' names.
    """

    def __init__(self, folder, suffix=""):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.encoder, self.decoder = (
            onnxruntime.InferenceSession(folder / "onnx" / f"{name}{suffix}.onnx", options)
            for name in ("encoder_model", "decoder_model_merged")
        )
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.shapes = {each.name: each.shape for each in self.decoder.get_inputs()}

    def encode(self, ids, mask):
        """The decoder's inputs that stay the same for a batch."""
        memory = self.encoder.run(None, {"input_ids": ids, "attention_mask": mask})[0]
        return {"encoder_hidden_states": memory, "encoder_attention_mask": mask}

    def step(self, memory, ids, cache=None):
        """Logits `(B, T, V)` of new tokens `(B, T)`, and the cache with them."""
        results, cache = self.all_of_step(memory, ids, cache)
        return results["logits"], cache

    def all_of_step(self, memory, ids, cache=None):
        """Everything the decoder returns for new tokens, by name, and the cache with them."""
        is_first = cache is None
        if is_first:
            cache = {
                name: np.zeros([len(ids), shape[1], 0, shape[3]], "float32")
                for name, shape in self.shapes.items()
                if name.startswith("past")
            }
        inputs = {"input_ids": ids, "use_cache_branch": np.array([not is_first])}
        values = self.decoder.run(None, {**memory, **inputs, **cache})
        names = [each.name for each in self.decoder.get_outputs()]
        results = dict(zip(names, values, strict=True))
        present = (name.replace("past_key_values", "present") for name in cache)
        return results, dict(zip(cache, map(results.get, present), strict=True))

    def teacher_forced(self, ids, mask, targets, *lengths):
        """Logits `(B, T, V)` of targets, taken in steps of so many tokens."""
        memory, cache, logits = self.encode(ids, mask), None, []
        for chunk in np.split(targets, np.cumsum(lengths), axis=1):
            found, cache = self.step(memory, chunk, cache)
            logits.append(found)
        return np.concatenate(logits, axis=1)

    def translate(self, text, num_beams=1, most_tokens=60):
        """The most probable translation that our beam search finds, and its log-probability."""
        ids = np.array([self.tokenizer.encode(text).ids])
        memory = self.encode(ids, np.ones_like(ids))
        live, cache, finished = [(0.0, [START])], None, []
        for _ in range(most_tokens):
            memory = {name: np.repeat(each[:1], len(live), axis=0) for name, each in memory.items()}
            last = np.array([tokens[-1:] for _, tokens in live])
            logits, cache = self.step(memory, last, cache)
            candidates = _candidates(live, _log_softmax(logits[:, -1]), num_beams)
            finished += [each for each in candidates[:num_beams] if each[1][-1] == END]
            candidates = [each for each in candidates if each[1][-1] != END][:num_beams]
            if not candidates or max(finished, default=(-np.inf,))[0] >= candidates[0][0]:
                break
            rows = [row for *_, row in candidates]
            cache = {name: each[rows] for name, each in cache.items()}
            live = [candidate[:2] for candidate in candidates]
        score, tokens, *_ = max(finished, default=live[0])
        return self.tokenizer.decode(tokens), score


def _candidates(live, log_probs, num_beams):
    """The best `2 · num_beams` ways to go on, as (score, tokens, row), best first."""
    log_probs[:, SUPPRESSED] = -np.inf
    scores = log_probs + np.array([[score] for score, _ in live])
    best = np.argsort(-scores, axis=None)[: 2 * num_beams]
    return [
        (scores[row, token], [*live[row][1], int(token)], row)
        for row, token in zip(*np.unravel_index(best, scores.shape), strict=True)
    ]


def _log_softmax(logits):
    logits = logits.astype("float64")
    top = logits.max(axis=-1, keepdims=True)
    return logits - top - np.log(np.exp(logits - top).sum(axis=-1, keepdims=True))
