"""ONNX Runtime on the same weights, with a beam search in NumPy, since the format has none."""

from pathlib import Path

import numpy as np

from benchmarks.speed.decode_systems import EXTRA_LENGTH, NUM_BEAMS, Translator

SUPPRESSED = [0, 1, 2]
START, END = 2, 3


def load_onnx(task):
    """The graphs of an export, with ONNX Runtime's own choice of threads."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(f"{task.artifact}/tokenizer.json")
    tokenizer.enable_padding(pad_id=0, pad_token="<pad>")
    sessions = _sessions(task.artifact)

    def translate(texts):
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        found = {}
        for start in range(0, len(order), task.batch_size):
            batch = order[start : start + task.batch_size]
            sources = tokenizer.encode_batch([texts[i] for i in batch])
            written = Search(*sessions, sources).run(task.forced_length)
            found.update(zip(batch, tokenizer.decode_batch(written), strict=True))
        return [found[i] for i in range(len(texts))]

    return Translator(translate, "search in NumPy")


def _sessions(folder):
    import onnxruntime

    paths = sorted((Path(folder) / "onnx").glob("*.onnx"), reverse=True)
    return [onnxruntime.InferenceSession(path) for path in paths]  # encoder, decoder


class Search:
    """A beam search for a batch; finished sentences leave it.

    Args:
        encoder: Session of the encoder.
        decoder: Session of the decoder.
        sources: Encodings of the texts, padded to one length.
    """

    def __init__(self, encoder, decoder, sources):
        mask = np.array([source.attention_mask for source in sources])
        inputs = {"input_ids": np.array([source.ids for source in sources]), "attention_mask": mask}
        memory = encoder.run(None, inputs)[0]
        self.decoder = decoder
        self.most_tokens = mask.sum(axis=1).max() + EXTRA_LENGTH
        self.fixed = {
            "encoder_hidden_states": np.repeat(memory, NUM_BEAMS, axis=0),
            "encoder_attention_mask": np.repeat(mask, NUM_BEAMS, axis=0),
        }
        self.past = {
            each.name: np.zeros([len(mask) * NUM_BEAMS, each.shape[1], 0, each.shape[3]], "float32")
            for each in decoder.get_inputs()
            if each.name.startswith("past")
        }
        self.sentences = np.arange(len(mask))
        self.tokens = np.full((len(mask), NUM_BEAMS, 1), START)
        self.scores = np.tile([0.0] + [-np.inf] * (NUM_BEAMS - 1), (len(mask), 1))
        self.best = [(-np.inf, [])] * len(mask)

    def run(self, forced_length=None):
        """Token ids of the best translation of each source."""
        for step in range(forced_length or self.most_tokens):
            self._keep(*self._candidates(self._log_probs(step, forced_length)))
            if not len(self.sentences):
                break
        for i, tokens in zip(self.sentences, self.tokens[:, 0], strict=True):
            if forced_length or not len(self.best[i][1]):
                self.best[i] = 0, tokens
        return [[int(token) for token in tokens] for _, tokens in self.best]

    def _log_probs(self, step, forced_length):
        """Log-probabilities `(B·W, V)` of the next token."""
        last = {"input_ids": self.tokens[..., -1].reshape(-1, 1)}
        last["use_cache_branch"] = np.array([step > 0])
        logits, *present = self.decoder.run(None, {**self.fixed, **last, **self.past})
        self.past = dict(zip(self.past, present, strict=True))
        logits = logits[:, -1] - logits[:, -1].max(axis=-1, keepdims=True)
        logits -= np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        logits[:, SUPPRESSED + ([END] if forced_length else [])] = -np.inf
        return logits

    def _candidates(self, log_probs):
        """The best 2·W continuations: scores, beams and tokens, each `(B, 2·W)`, best first."""
        size = log_probs.shape[-1]
        scores = log_probs.reshape(*self.scores.shape, size) + self.scores[..., None]
        scores = scores.reshape(len(scores), -1)
        best = np.argpartition(-scores, 2 * NUM_BEAMS, axis=1)[:, : 2 * NUM_BEAMS]
        found = np.take_along_axis(scores, best, axis=1)
        order = np.argsort(-found, axis=1)
        found, best = (np.take_along_axis(each, order, axis=1) for each in (found, best))
        return found, best // size, best % size

    def _keep(self, scores, beams, ids):
        """Takes those that end out, and the best others as live hypotheses."""
        is_end = ids == END
        for i, j in np.argwhere(is_end[:, :NUM_BEAMS]):
            if scores[i, j] > self.best[self.sentences[i]][0]:
                self.best[self.sentences[i]] = scores[i, j], self.tokens[i, beams[i, j]]
        live = np.argsort(is_end, axis=1, kind="stable")[:, :NUM_BEAMS]
        scores, beams, ids = (np.take_along_axis(each, live, 1) for each in (scores, beams, ids))
        bests = np.array([self.best[i][0] for i in self.sentences])
        rows = np.flatnonzero(bests < scores[:, 0])  # of sentences that may still find a better one
        written = np.take_along_axis(self.tokens, beams[..., None], axis=1)
        self.tokens = np.concatenate([written, ids[..., None]], axis=2)[rows]
        self.sentences, self.scores = self.sentences[rows], scores[rows]
        kept = (rows[:, None] * NUM_BEAMS + beams[rows]).ravel()
        is_whole = len(rows) == len(bests)
        for arrays in (self.fixed, self.past):
            for name, array in arrays.items():
                if ".decoder." in name or not is_whole:  # a sentence's beams have one memory
                    arrays[name] = array[kept]
