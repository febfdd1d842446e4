"""The whole check of a machine's devices, in parts that are stored one by one.

Every part runs in its own process and leaves a JSON file, `PART.json`. A part whose file is there
is not run again, so an interrupted check goes on where it stopped.
"""

import fnmatch
import importlib.util
import json
import tempfile
import time
from pathlib import Path
from statistics import median

from tqdm import tqdm

from aiayn_keras_light.files import atomic_path
from benchmarks.accelerator.answers import MODEL, NUM_UPDATES, TEXTS, compare
from benchmarks.accelerator.training_step import training_table
from benchmarks.processes import Worker, WorkerError
from benchmarks.report import digits, markdown_table
from benchmarks.speed.artifacts import make_artifact
from benchmarks.speed.systems import BACKENDS

PEER = "ctranslate2"
TORCH_MODES = ("eager", "compiled")
ROUNDS = 3  # of a search, after the first, which compiles
NUM_SINGLE_TEXTS = 10


def part_names():
    """Names of all parts, in the order in which they run."""
    return (
        *(f"{kind}-{backend}" for backend in BACKENDS for kind in ("answers", "train", "decode")),
        *(f"train-torch-nn-{mode}" for mode in TORCH_MODES),
        f"decode-{PEER}",
    )


def run_parts(folder, patterns, training, num_texts=None, updates=NUM_UPDATES):
    """Runs the parts that have no result yet.

    Args:
        folder: `pathlib.Path` of the results; it is created.
        patterns: Patterns of the names of parts, such as `"answers-*"`.
        training: Dictionary of the attributes of a `Training`.
        num_texts: Number of texts to translate; None for all.
        updates: Number of updates of the training whose losses are compared.

    Returns:
        Two dictionaries by the names of parts: results, and for parts that could not run the
        reason in one line.
    """
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [
        name for name in part_names() if any(fnmatch.fnmatch(name, each) for each in patterns)
    ]
    results, refusals = {}, {}
    with tqdm(chosen, desc="parts", disable=None) as bar:
        for name in bar:
            bar.set_postfix_str(name)
            path = folder / f"{name}.json"
            if not path.exists():
                try:
                    result = _run_part(name, folder, training, num_texts, updates)
                except WorkerError as error:
                    refusals[name] = str(error)
                    continue
                with atomic_path(path) as temporary:
                    temporary.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
            results[name] = json.loads(path.read_text(encoding="utf-8"))
    return results, refusals


def _run_part(name, folder, training, num_texts, updates):
    kind, _, system = name.partition("-")
    package = system.partition("-")[0]
    if importlib.util.find_spec(package) is None:
        raise WorkerError(f"`{package}` is not installed")
    start = time.perf_counter()
    # PyTorch's own module is trained beside our model's sizes, which Keras on PyTorch computes.
    backend = package if package in BACKENDS else "torch"
    with Worker(folder / f"{name}.log", backend, with_gpus=True) as worker:
        if kind == "answers":
            arguments = {"num_texts": num_texts, "updates": updates}
            answers = worker.call("benchmarks.accelerator.answers:compute_answers", **arguments)
            result = compare(answers)
        elif kind == "train":
            result = _train(worker, system, training)
        else:
            result = _decode(worker, system, num_texts)
        if "device" not in result:
            device = "benchmarks.accelerator.training_step:device_name"
            result = {"device": worker.call(device), **result}
    return result | {"part_seconds": time.perf_counter() - start}


def _train(worker, system, training):
    measure = "benchmarks.accelerator.training_step:measure_"
    if system in BACKENDS:
        return worker.call(f"{measure}training", **training)
    return worker.call(f"{measure}torch", mode=system.rpartition("-")[2], **training)


def _decode(worker, system, num_texts):
    texts = TEXTS.read_text(encoding="utf-8").splitlines()[:num_texts]
    loader = "ctranslate2:load_ctranslate2" if system == PEER else "ours:load_ours"
    result = {"texts": len(texts), "single_texts": min(len(texts), NUM_SINGLE_TEXTS)}
    with tempfile.TemporaryDirectory() as folder:
        artifact = Path(folder) / PEER
        if system == PEER:
            make_artifact(PEER, MODEL, artifact)
        for batch_size, lines in ((64, texts), (1, texts[:NUM_SINGLE_TEXTS])):
            worker.keep(
                "benchmarks.speed.decode_systems:LoadedTask",
                loader=f"benchmarks.speed.decode_{loader}",
                task={
                    "model": str(MODEL),
                    "artifact": str(artifact),
                    "precision": "float32",
                    "texts": lines,
                    "batch_size": batch_size,
                },
            )
            seconds = [worker.call("run")["seconds"] for _ in range(1 + ROUNDS)]
            result |= {
                f"first_seconds_{batch_size}": seconds[0],
                f"seconds_{batch_size}": median(seconds[1:]),
            }
    return result


# === Tables ===


def report_parts(results, refusals):
    """The results as Markdown."""

    def of(kind):
        return {
            name.partition("-")[2]: result
            for name, result in results.items()
            if name.startswith(f"{kind}-")
        }

    tables = [
        _answers_table(of("answers")),
        training_table(of("train")),
        _decode_table(of("decode")),
    ]
    shown = [table for table in tables if table.count("\n") > 1]
    left_out = [f"- {name}: {reason}." for name, reason in refusals.items()]
    if left_out:
        shown.append("\n".join(["Left out:", *left_out]))
    return "\n\n".join(shown)


def _answers_table(results):
    heads = ["backend", "device", "agrees", "logits differ by", "equal translations",
             "scores differ by", "losses differ by", "seconds"]  # fmt: skip
    rows = [
        [
            name,
            result["device"],
            "yes" if result["agrees"] else "NO",
            f"{result['logit_difference']:.1e}",
            f"{result['equal']} of {result['texts']}",
            f"{result['score_difference']:.1e}",
            f"{result['loss_difference']:.2%} in {result['updates']} updates",
            f"{result['part_seconds']:.0f}",
        ]
        for name, result in results.items()
    ]
    return markdown_table(heads, rows, "llrrrrrr")


def _decode_table(results):
    heads = ["system", "device", "first time, s", "sentences/s, batches of 64",
             "one after another", f"relative to {PEER}"]  # fmt: skip
    peer = results.get(PEER)
    rows = []
    for name, result in results.items():
        speeds = _speeds(result)
        ratios = (
            [f"{ours / theirs:.2f}" for ours, theirs in zip(speeds, _speeds(peer), strict=True)]
            if peer
            else ["–"]
        )
        cells = [f"{result['first_seconds_64']:.1f}", *map(digits, speeds), ", ".join(ratios)]
        rows.append([name, result["device"], *cells])
    return markdown_table(heads, rows, "llrrrr")


def _speeds(result):
    return (
        result["texts"] / result["seconds_64"],
        result["single_texts"] / result["seconds_1"],
    )
