"""Text files of any size, translated part by part, and folders of documents.

Documents are translated file by file into a folder that keeps their tree of folders.
"""

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from aiayn_keras.common.bad_lines import BadLine
from aiayn_keras.common.file_addresses import (
    absolute,
    file_system,
    is_in,
    is_url,
    join,
    naming_errors,
    read_file,
    whole_file,
)
from aiayn_keras.common.found_files import find_files, fixed_folder
from aiayn_keras.data.token_shards import facts_of
from aiayn_keras.decoding.search_options import SearchOptions
from aiayn_keras.decoding.translation_search import AUTO
from aiayn_keras.documents.formats.document_files import Document, translate_opened
from aiayn_keras.models import TransformerSeq2SeqLM
from aiayn_keras.scale.job import Job, PartWork, Totals, finish_job, stem_of
from aiayn_keras.scale.parts import PART_BYTES, plan_parts, read_lines
from aiayn_keras.scale.worker_pool import WorkerPool, count_lines
from aiayn_keras.training.resume import read_inputs
from aiayn_keras.training.run_folder import RunFolder
from aiayn_keras.training.training_state import find_checkpoint, load_from_checkpoint
from aiayn_keras_light.document_formats import MAX_BYTES, TABLES, format_of
from aiayn_keras_light.files import check_places, digest_of_file, read_bytes
from aiayn_keras_light.text_files import chunk_rows, without_breaks
from aiayn_keras_light.translating import NoTranslationError

_TOKENS_PER_BATCH = 4096
"""Number of source tokens translated together."""
_MAX_ROWS = 256
_BEAMS = SearchOptions.num_beams
"""Number of beams up to which batches are of these sizes; with more, they have fewer rows."""
_NOT_OF_THE_MODEL = "checkpoints", "tensorboard"
"""Folders of a training that its model does not need."""


def translate_files(
    model_folder,
    pattern,
    output,
    *,
    pool=None,
    column="text",
    part_bytes=PART_BYTES,
    engine=AUTO,
    checkpoint=None,
    **options,
):
    """Translates all lines of files into a folder, which may be in an object store.

    `part-000000.txt` has a line for each line of the first part, which is empty where a line cannot
    be translated; such lines are listed in `part-000000.bad.jsonl` with the reasons. A part's
    manifest, `part-000000.json`, is written last. A job that was killed goes on with the parts
    that do not have one.

    Args:
        model_folder: A model folder, at the same path on all machines.
        pattern: Text, `.gz` and `.parquet` files, as in `find_files`.
        output: Path or URL of the folder.
        pool: The `WorkerPool`, by default one process. Each worker loads the model once.
        column: Name of the column of Parquet files.
        part_bytes: As in `plan_parts`.
        engine: As in `TransformerSeq2SeqLM.translate`.
        checkpoint: For the folder of a training, the number of updates of the checkpoint to use;
            `None` for the model that it has delivered.
        **options: Options of the search, as in `TransformerSeq2SeqLM.translate`.

    Returns:
        `Totals`.

    Raises:
        FileNotFoundError: If no file matches.
        FileExistsError: If the folder holds other results.
        CorpusError: For a damaged file, when all parts of other files are finished.
        FolderInUseError: If another process is working on the job.
    """
    output, model_folder = absolute(output), absolute(model_folder)
    if engine != AUTO:
        options["engine"] = engine
    files, parts = plan_parts([pattern], part_bytes, left_out=output)
    job = Job(output, parts)
    description = {
        "task": "translate",
        "files": [[file.address, file.bytes, file.version] for file in files],
        "column": column,
        "model": _digest(Path(model_folder), left_out=output)
        if checkpoint is None
        else _digest_of_checkpoint(model_folder, checkpoint),
        "options": json.loads(json.dumps(options, default=repr)),
    }
    if checkpoint is not None:
        description["checkpoint"] = checkpoint
    with job.opened(description):
        arguments = (model_folder, column, options, checkpoint)
        pool = pool or WorkerPool(workers=1)
        return Totals.of(finish_job(job, pool, _TranslationWork, arguments, uses_accelerator=True))


def checkpoint_of_job(output):
    """The `checkpoint` of a job of `translate_files`; None without one, or if it had none.

    Args:
        output: Path or URL of its folder.

    Raises:
        ValueError: If the job's description is damaged.
    """
    description = Job(absolute(output), []).description()
    updates = None if description is None else description.get("checkpoint")
    return updates if isinstance(updates, int) else None


class _TranslationWork(PartWork):
    """Translates parts with a model that is loaded once.

    Args:
        output: As in `translate_files`.
        model_folder: As in `translate_files`.
        column: As in `translate_files`.
        options: Dictionary of options of the search.
        checkpoint: As in `translate_files`.
    """

    def __init__(self, output, model_folder, column, options, checkpoint=None):
        if checkpoint is None:
            self._model = TransformerSeq2SeqLM.from_preset(model_folder)
        else:
            self._model = load_from_checkpoint(model_folder, checkpoint).model
        self._output, self._column, self._options = output, column, options

    def write(self, part):
        """Writes the translations of a `Part`; see `PartWork`."""
        bad, count, name = [], 0, f"{stem_of(part)}.txt"
        with whole_file(join(self._output, name)) as path:
            with path.open("w", encoding="utf-8", newline="") as file:
                rows = map(_text_and_reason, read_lines(part, self._column))
                for window in chunk_rows(rows):
                    texts, reasons = self._translate(window)
                    file.writelines(f"{text}\n" for text in texts)
                    bad += [(count + place + 1, reasons[place]) for place in sorted(reasons)]
                    count += len(window)
            facts = facts_of(path)
        return Job(self._output, [part]).finish_part(part, count, bad, {name: facts})

    def _translate(self, rows):
        """Translations of rows of text and problem, and the problems of untranslated rows."""
        texts = [text for text, _ in rows]
        reasons = {place: reason for place, (_, reason) in enumerate(rows) if reason}
        tokenizer = self._model.preprocessor.tokenizer
        positions = self._model.backbone.max_sequence_length
        lengths = [len(ids) + len(tokenizer.source_ids) for ids in tokenizer(texts)]
        for place, length in enumerate(lengths):
            if length > positions and self._options.get("long_text", "error") == "error":
                reasons[place] = f"{length} tokens are more than the model's {positions} positions"
        found = [""] * len(rows)
        places_left = [n for n in range(len(rows)) if n not in reasons]
        for places in _batches(places_left, lengths, self._options.get("num_beams", _BEAMS)):
            try:
                translations = self._model.translate(
                    [texts[n] for n in places], batch_size=len(places), **self._options
                )
            except NoTranslationError as error:
                translations = error.translations
            for place, translation in zip(places, translations, strict=True):
                if translation is None:
                    reasons[place] = "no translation satisfies the constraint"
                else:
                    found[place] = without_breaks(translation.text)
            count_lines(len(places))
        return found, reasons


def _text_and_reason(line):
    """A line as a tuple of text and problem, one of which is empty."""
    return ("", line.reason) if isinstance(line, BadLine) else (line, "")


def _batches(places, lengths, num_beams):
    """Lists of places of similar length, longest first; their sizes are powers of two.

    The memory of a search grows with its rows, their tokens and the beams of each.
    """
    places = sorted(places, key=lambda n: (-lengths[n], n))
    while places:
        longest = max(1, lengths[places[0]])  # an empty line may not have a token
        rows = min(_MAX_ROWS, _TOKENS_PER_BATCH // longest)
        rows = max(1, rows * _BEAMS // max(_BEAMS, num_beams))
        size = 1 << (rows.bit_length() - 1)
        yield places[:size]
        places = places[size:]


def _digest(folder, left_out):
    """SHA-256 of all files of a model folder except its checkpoints and those in `left_out`."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if (
            path.is_file()
            and not is_in(str(path), left_out)
            and name.parts[0] not in _NOT_OF_THE_MODEL
        ):
            digest.update(f"{name.as_posix()}\0{digest_of_file(path)}\n".encode())
    return digest.hexdigest()


def _digest_of_checkpoint(folder, updates):
    """SHA-256 of what the model of a checkpoint is made from."""
    inputs = read_inputs(RunFolder(Path(folder)))
    facts = {} if inputs is None else inputs.model_dump(exclude={"recipe"})  # which may change
    facts["checkpoint"] = find_checkpoint(folder, updates).path.name  # with a checksum
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class DocumentFile:
    """A document to translate.

    Attributes:
        address: Path or URL.
        name: Path relative to the folder that contains all documents; the translation has the same
            path in the folder of the translations.
        format: A key of `FORMATS`; None for a file of lines.
    """

    address: str
    name: str
    format: str | None


def find_documents(pattern, output=None, format=None):
    """Finds the files that match a pattern, with their formats by their endings.

    Args:
        pattern: As in `find_files`.
        output: Folder whose files are left out.
        format: The format of all files, regardless of their endings.

    Returns:
        Non-empty list of `DocumentFile`s.

    Raises:
        FileNotFoundError: If no file matches.
        ValueError: For a file of a format that is known and not supported.
    """
    folder = fixed_folder(pattern).rstrip("/")
    addresses = [file.address for file in find_files(pattern)]
    if output is not None:
        addresses = [each for each in addresses if not is_in(each, absolute(output))]
    if not addresses:
        raise FileNotFoundError(f"No file outside {output} matches {pattern}.")
    return [
        DocumentFile(address, address[len(folder) + 1 :], format or format_of(address))
        for address in addresses
    ]


def open_document(address, format, columns=None):
    """Reads a document and finds its texts; errors name the file.

    Args:
        address: Path or URL.
        format: A key of `FORMATS`.
        columns: As in `Document`; ignored for files that are not tables.

    Returns:
        A `Document`.

    Raises:
        ValueError: If it is not a valid document of the format.
    """
    try:
        read = read_file if is_url(address) else read_bytes
        data = read(address, MAX_BYTES)
        return Document(data, format, columns if format in TABLES else None)
    except RecursionError:
        raise ValueError(f"{address}: it is nested too deeply.") from None
    except ValueError as error:
        message = str(error)
        if not message.startswith(str(address)):
            message = f"{address}: {message}"
        raise ValueError(message) from error


def check_columns(documents, columns):
    """Raises a `ValueError` if there are columns and no table among documents."""
    if columns and not any(each.format in TABLES for each in documents):
        raise ValueError(
            f"`columns` are for tables ({', '.join(sorted(TABLES))}), and {documents[0].address} "
            f"is {documents[0].format}."
        )


def translate_document_files(load_model, documents, output, *, columns=None, **options):
    """Translates documents into a folder, each under its name below the pattern's folder.

    All documents are read before the first is translated, so that one that cannot be read, or whose
    place is taken, is named before anything is written.

    Args:
        load_model: Function that returns a `TransformerSeq2SeqLM`, called once.
        documents: List of `DocumentFile`s, as `find_documents` gives them.
        output: Path or URL of the folder.
        columns: As in `Document`, for the tables.
        **options: Of `TransformerSeq2SeqLM.translate`.

    Raises:
        FileExistsError: If the file of a translation exists already.
        OSError: If something else is in its place, or a link is where a folder should be.
        ValueError: If a document cannot be read.
    """
    documents = [dataclasses.replace(each, format=each.format or "text") for each in documents]
    check_columns(documents, columns)
    _check_places(documents, output)
    for each in documents:
        open_document(each.address, each.format, columns)
    model = load_model()
    for each in documents:
        document = open_document(each.address, each.format, columns)
        translated = translate_opened(model, document, **options)
        with whole_file(join(output, each.name)) as path:
            path.write_bytes(translated)


def _check_places(documents, output):
    if not is_url(output):
        check_places(Path(output), [each.name for each in documents])
    for each in documents:
        address = join(output, each.name)
        system, path = file_system(address)
        with naming_errors(address):
            is_taken = system.exists(path)
        if is_taken:
            raise FileExistsError(
                f"{address} exists already: choose a different folder, or delete it."
            )
