"""Text of any size translated in parts."""

import hashlib
import json
from pathlib import Path

from aiayn_keras.progress import SECONDS_BETWEEN_LINES, open_progress
from aiayn_keras.scale.addresses import whole_file
from aiayn_keras.scale.engines import run_on_processes, run_on_ray
from aiayn_keras.scale.job import Job, Manifest, describe, write_json
from aiayn_keras.scale.part_lines import BadLine, read_part
from aiayn_keras.scale.parts import PART_BYTES, plan_parts

WINDOW = 10_000
"""Lines that are in memory at a time."""
TOKENS_PER_BATCH = 4096
"""Source tokens that are computed together."""
MOST_ROWS = 256


def translate_files(
    model_folder,
    pattern,
    output,
    *,
    part_bytes=PART_BYTES,
    column="text",
    workers=None,
    on_ray=False,
    ray_address=None,
    **options,
):
    """Translates all lines of files into a folder, which may be an object store's.

    `part-000000.txt` has a line for each line of the first part, an empty one for a line that
    cannot be translated; those are listed in `part-000000.bad.jsonl` with their reasons. A part's
    manifest, `part-000000.json`, is written last. A job that was killed goes on with the parts
    that have none.

    Args:
        model_folder: A model folder, on all machines at the same path.
        pattern: Text, `.gz` and `.parquet` files, as in `find_files`.
        output: Path or URL of the folder.
        part_bytes: As in `plan_parts`.
        column: Column of Parquet files.
        workers: Number of processes or of Ray's actors, each of which loads the model; one
            process, or an actor for each core of the cluster, if not given.
        on_ray: Whether to work on a Ray cluster.
        ray_address: Its address; a cluster of this machine if not given.
        **options: Of the search, as in `TransformerSeq2SeqLM.translate`.

    Returns:
        A `Manifest` of all parts together, without checksum.

    Raises:
        FileNotFoundError: If there is no file.
        FileExistsError: If the folder holds something else.
        ValueError: For a damaged file.
    """
    files, parts = plan_parts(pattern, part_bytes)
    job = Job(str(output), parts, ".txt")
    job.open(
        {
            "task": "translate",
            "files": [[file.address, file.bytes, file.version] for file in files],
            "column": column,
            "model": _digest(Path(model_folder)),
            "options": json.loads(json.dumps(options, default=repr)),
        }
    )
    left, done = job.open_parts()
    arguments = (str(model_folder), job, column, options)
    if not left:
        results = ()
    elif on_ray:
        results = run_on_ray(TranslationWork, arguments, left, workers, ray_address)
    else:
        results = run_on_processes(TranslationWork, arguments, left, min(workers or 1, len(left)))
    manifests = list(done.values())
    with open_progress(
        SECONDS_BETWEEN_LINES, total=len(parts), initial=len(done), unit=" parts"
    ) as bar:
        for manifest in results:
            manifests.append(manifest)
            lines = sum(each.lines for each in manifests)
            bar.set_postfix_str(f"{lines:,} lines", refresh=False)
            bar.update()
    return Manifest(
        lines=sum(each.lines for each in manifests),
        bad_lines=sum(each.bad_lines for each in manifests),
        bytes=sum(each.bytes for each in manifests),
        sha256="",
    )


class TranslationWork:
    """Translates parts with a model that is loaded once.

    Args:
        model_folder: Path of a model folder.
        job: The `Job`.
        column: Column of Parquet files.
        options: Dictionary of the search's options.
    """

    def __init__(self, model_folder, job, column, options):
        from aiayn_keras.models import TransformerSeq2SeqLM

        self._model = TransformerSeq2SeqLM.from_preset(model_folder)
        self._job, self._column, self._options = job, column, options

    def __call__(self, part):
        """Writes the results of a `Part`, and then its `Manifest`, which it returns."""
        bad, count = [], 0
        with whole_file(self._job.result(part)) as path:
            with path.open("w", encoding="utf-8", newline="") as file:
                for window in _windows(read_part(part, self._column)):
                    texts, reasons = self._translate(window)
                    file.writelines(f"{text}\n" for text in texts)
                    bad += [{"line": count + n + 1, "reason": reasons[n]} for n in sorted(reasons)]
                    count += len(window)
            facts = describe(path)
        if bad:
            with whole_file(self._job.bad_lines(part)) as path:
                path.write_text("".join(f"{json.dumps(each)}\n" for each in bad), "utf-8")
        manifest = Manifest(lines=count, bad_lines=len(bad), **facts)
        write_json(self._job.manifest(part), manifest.model_dump())
        return manifest

    def _translate(self, lines):
        """Translations of lines, and the reasons of those that have none, by place."""
        reasons = {n: line.reason for n, line in enumerate(lines) if isinstance(line, BadLine)}
        texts = ["" if n in reasons else line for n, line in enumerate(lines)]
        tokenizer = self._model.preprocessor.tokenizer
        positions = self._model.backbone.max_sequence_length
        lengths = [len(ids) + len(tokenizer.source_ids) for ids in tokenizer(texts)]
        for place, length in enumerate(lengths):
            if length > positions:
                reasons[place] = f"{length} tokens are more than the model's {positions} positions"
                texts[place] = ""
        found = [""] * len(lines)
        for places in _batches([n for n in range(len(lines)) if n not in reasons], lengths):
            sources = [texts[n] for n in places]
            rows = self._model.translate(sources, batch_size=len(places), **self._options)
            for place, translation in zip(places, rows, strict=True):
                found[place] = translation.text.replace("\n", " ")
        return found, reasons


def _windows(lines):
    window = []
    for line in lines:
        window.append(line)
        if len(window) == WINDOW:
            yield window
            window = []
    if window:
        yield window


def _batches(places, lengths):
    """Lists of places of like length, longest first, each a power of two but for the last."""
    places = sorted(places, key=lambda n: (-lengths[n], n))
    while places:
        rows = max(1, min(MOST_ROWS, TOKENS_PER_BATCH // lengths[places[0]]))
        size = 1 << (rows.bit_length() - 1)
        yield places[:size]
        places = places[size:]


def _digest(folder):
    """SHA-256 over all files of a model folder but its checkpoints."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and name.parts[0] not in ("checkpoints", "tensorboard"):
            digest.update(f"{name.as_posix()}\0{describe(path)['sha256']}\n".encode())
    return digest.hexdigest()
