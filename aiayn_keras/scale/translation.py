"""Text of any size translated in parts."""

import hashlib
import json
from pathlib import Path

from aiayn_keras.data.addresses import join, whole_file
from aiayn_keras.data.shard_index import facts_of
from aiayn_keras.files import digest_of_file
from aiayn_keras.scale.engines import Engine
from aiayn_keras.scale.job import Job, stem_of
from aiayn_keras.scale.part_lines import BadLine, read_lines
from aiayn_keras.scale.parts import PART_BYTES, plan_parts
from aiayn_keras.scale.running import finish_job, totals

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
    engine=None,
    column="text",
    part_bytes=PART_BYTES,
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
        engine: The `Engine`, whose workers load the model once; one process if not given.
        column: Column of Parquet files.
        part_bytes: As in `plan_parts`.
        **options: Of the search, as in `TransformerSeq2SeqLM.translate`.

    Returns:
        `Totals`.

    Raises:
        FileNotFoundError: If there is no file.
        FileExistsError: If the folder holds something else.
        CorpusError: For a damaged file.
    """
    files, parts = plan_parts([pattern], part_bytes)
    job = Job(str(output), parts)
    job.open(
        {
            "task": "translate",
            "files": [[file.address, file.bytes, file.version] for file in files],
            "column": column,
            "model": _digest(Path(model_folder)),
            "options": json.loads(json.dumps(options, default=repr)),
        }
    )
    arguments = (str(model_folder), column, options)
    engine = engine or Engine(workers=1)
    return totals(finish_job(job, engine, TranslationWork, arguments, uses_accelerator=True))


class TranslationWork:
    """Translates parts with a model that is loaded once.

    Args:
        output: As in `translate_files`.
        model_folder: As in `translate_files`.
        column: As in `translate_files`.
        options: Dictionary of the search's options.
    """

    def __init__(self, output, model_folder, column, options):
        from aiayn_keras.models import TransformerSeq2SeqLM

        self._model = TransformerSeq2SeqLM.from_preset(model_folder)
        self._output, self._column, self._options = output, column, options

    def __call__(self, part):
        """Writes the results of a `Part`, and then its `Manifest`; gives its number and that."""
        bad, count, name = [], 0, f"{stem_of(part)}.txt"
        with whole_file(join(self._output, name)) as path:
            with path.open("w", encoding="utf-8", newline="") as file:
                for window in _windows(read_lines(part, self._column)):
                    texts, reasons = self._translate(window)
                    file.writelines(f"{text}\n" for text in texts)
                    bad += [(count + place + 1, reasons[place]) for place in sorted(reasons)]
                    count += len(window)
            facts = facts_of(path)
        manifest = Job(self._output, [part]).finish_part(part, count, bad, {name: facts})
        return part.number, manifest

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
        found = [""] * len(lines)
        for places in _batches([n for n in range(len(lines)) if n not in reasons], lengths):
            sources = [texts[n] for n in places]
            rows = self._model.translate(sources, batch_size=len(places), **self._options)
            for place, translation in zip(places, rows, strict=True):
                if translation.hypotheses:
                    found[place] = translation.text.replace("\n", " ")
                else:
                    reasons[place] = "no translation keeps the constraint"
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
            digest.update(f"{name.as_posix()}\0{digest_of_file(path)}\n".encode())
    return digest.hexdigest()
