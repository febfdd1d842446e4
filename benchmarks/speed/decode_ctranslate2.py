"""CTranslate2 on the same weights."""

import os
import time

from benchmarks.speed.decode_systems import EXTRA_LENGTH, NUM_BEAMS, Translator


def load_ctranslate2(task):
    """CTranslate2 with the fastest number of threads here: for small batches one may beat two."""
    import ctranslate2

    supported = ctranslate2.get_supported_compute_types(_device())
    if task.precision not in supported:
        raise ValueError(
            f"{task.precision} is not supported here, only {', '.join(sorted(supported))}"
        )
    num_cpus = os.cpu_count()
    choices = {(1, num_cpus), (num_cpus, 1) if task.has_many_batches else (1, 1)}
    systems = [
        build_translator(task, inter_threads=inter, intra_threads=intra)
        for inter, intra in sorted(choices)
    ]
    return min(systems, key=lambda system: _second_time(system.translate, task.texts))


def _device():
    import ctranslate2

    return "cuda" if ctranslate2.get_cuda_device_count() else "cpu"


def build_translator(task, **threads):
    """A `Translator` with this number of threads."""
    import ctranslate2
    import sentencepiece

    pieces = sentencepiece.SentencePieceProcessor(f"{task.artifact}/sentencepiece.model")
    translator = ctranslate2.Translator(
        task.artifact, device=_device(), compute_type=task.precision, **threads
    )
    options = {"min_decoding_length": 0}  # 1 by default; ours may be empty
    if task.forced_length is not None:
        options = {
            "min_decoding_length": task.forced_length,
            "max_decoding_length": task.forced_length,
            "suppress_sequences": [["<pad>"], ["<s>"]],
        }

    def translate(texts):
        sources = pieces.encode(texts, out_type=str)
        limits = {"max_decoding_length": max(map(len, sources)) + EXTRA_LENGTH, **options}
        results = translator.translate_batch(
            sources,
            beam_size=NUM_BEAMS,
            length_penalty=0.0,
            max_batch_size=task.batch_size,
            disable_unk=True,
            **limits,
        )
        return [pieces.decode(result.hypotheses[0]) for result in results]

    return Translator(translate, ", ".join(f"{name}={number}" for name, number in threads.items()))


def _second_time(translate, texts):
    """Seconds of a run after a first one."""
    translate(texts)
    start = time.perf_counter()
    translate(texts)
    return time.perf_counter() - start
