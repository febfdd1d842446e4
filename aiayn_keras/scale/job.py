"""A job over parts: its description, its finished parts, and the work on the others."""

import abc
import concurrent.futures
import contextlib
import functools
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pydantic

from aiayn_keras.common.file_addresses import (
    delete_file,
    folders_in,
    is_url,
    join,
    read_file,
    sizes_in,
    whole_file,
)
from aiayn_keras.common.folder_lock import hold_lock, lock_files
from aiayn_keras.common.found_files import check_unchanged
from aiayn_keras.data.token_shards import FileFacts, facts_of
from aiayn_keras_light.files import WRITING, digest_of_file
from aiayn_keras_light.progress import SECONDS_BETWEEN_LINES, open_progress
from aiayn_keras_light.text_files import CorpusError

_JOB = "job.json"
_LOCK = "job.lock"
_MANIFEST = re.compile(r"part-\d+\.json")
_VERSION = 2
_MAX_MANIFEST_BYTES = 1 << 28
"""Maximum size of a job's description, and of a manifest."""
_READERS = 32
"""Number of manifests read at the same time, since an object store answers slowly."""


class Manifest(pydantic.BaseModel):
    """Facts about a finished part, written after its results.

    Attributes:
        lines: Number of its lines.
        bad_lines: Number of unusable lines among them.
        files: `FileFacts` of its results and of its list of unusable lines, by name.
        records: Number of records in each of its shards, by name; empty for translations.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True)

    lines: int
    bad_lines: int
    files: dict[str, FileFacts]
    records: dict[str, int] = {}

    def is_in(self, sizes):
        """Returns whether a dictionary of sizes by name has all results with the right sizes."""
        return all(sizes.get(name) == facts.bytes for name, facts in self.files.items())


class Totals(NamedTuple):
    """Sums over all parts of a job.

    Attributes:
        lines: Number of lines.
        bad_lines: Number of unusable lines among them.
    """

    lines: int
    bad_lines: int

    @classmethod
    def of(cls, manifests):
        """The sums over a list of `Manifest`s."""
        return cls(sum(each.lines for each in manifests), sum(each.bad_lines for each in manifests))


@dataclass(frozen=True)
class Job:
    """The folder of a job's results.

    Attributes:
        output: Its path or URL.
        parts: List of all `Part`s.
    """

    output: str
    parts: list

    @contextlib.contextmanager
    def opened(self, description):
        """Context manager that makes this process the only one on the job, if its folder is local.

        While no part of a job is finished, it may be replaced by a different one. Files that
        changed since it began, such as a damaged one that was copied again, are accepted as they
        are now if no part of theirs is finished, and all finished parts keep their numbers.

        Args:
            description: Dictionary of JSON values with everything that determines the results;
                `files` is a list of each file's address and version.

        Raises:
            FileExistsError: If the folder holds other results, or a file is in its place.
            FolderInUseError: If another process is working on the job.
        """
        parts = [part.described() for part in self.parts]
        wanted = {"version": _VERSION, **description, "parts": parts}
        wanted = json.loads(json.dumps(wanted))
        is_local = not is_url(self.output)
        if is_local and Path(self.output).is_file():
            raise FileExistsError(
                f"{self.output} is a file, and the results need a folder: name a new or empty one."
            )
        with hold_lock(Path(self.output) / _LOCK) if is_local else contextlib.nullcontext():
            self._begin(wanted)
            yield

    def _begin(self, wanted):
        names = sizes_in(self.output).keys() - {path.name for path in lock_files(Path(_LOCK))}
        if _JOB not in names:
            if others := sorted([*names, *_visible(folders_in(self.output))]):
                raise FileExistsError(
                    f"{self.output} holds other files or folders, such as {others[0]}. Choose a "
                    "different folder."
                )
            _write_json(join(self.output, _JOB), wanted)
            return
        there = self._description()
        differing = [name for name in wanted if there.get(name) != wanted[name]]
        if not differing:
            return
        # Another process may be working at a URL.
        is_free = names == {_JOB} and not is_url(self.output)
        if not is_free and not self._goes_on(there, wanted, differing, names):
            remedy = (
                ", or delete this one: none of its parts is finished" if names == {_JOB} else ""
            )
            raise FileExistsError(
                f"{self.output} holds a different job, which differs in: "
                f"{', '.join(_differences(there, {name: wanted[name] for name in differing}))}"
                f"{_first_change(there['files'], wanted['files'])}. Choose a different folder"
                f"{remedy}."
            )
        _write_json(join(self.output, _JOB), wanted)

    def description(self):
        """The description of the job in the folder, a dictionary; None if there is none.

        Raises:
            ValueError: If it is damaged.
        """
        return self._description() if _JOB in sizes_in(self.output) else None

    def _goes_on(self, there, wanted, differing, names):
        """Returns whether only input files have changed that no result comes from.

        A file that was repaired may have another size, so its part ends elsewhere.
        """
        before, now = ([file[0] for file in each["files"]] for each in (there, wanted))
        of_all = any(not name.startswith("part-") for name in names - {_JOB})  # a vocabulary
        if of_all or before != now or not set(differing) <= {"files", "parts"}:
            return False
        changed = {file[0] for file in wanted["files"] if file not in there["files"]}
        kept = {
            stem_of(part)
            for part, *described in zip(self.parts, there["parts"], wanted["parts"], strict=False)
            if described[0] == described[1]
            and not any(piece.address in changed for piece in part.pieces)
        }
        finished = {name.removesuffix(".json") for name in names if _MANIFEST.fullmatch(name)}
        written = {name[: len(stem_of(self.parts[0]))] for name in names - {_JOB}}
        return finished <= kept and written <= set(map(stem_of, self.parts))

    def open_parts(self):
        """The unfinished parts, and the manifests of the finished ones by number.

        A part is unfinished if its manifest is damaged, or a file does not have the size given
        there or, in a local folder, the checksum.
        """
        sizes, done = sizes_in(self.output), {}
        written = [part for part in self.parts if f"{stem_of(part)}.json" in sizes]
        with concurrent.futures.ThreadPoolExecutor(_READERS) as executor:
            manifests = list(executor.map(functools.partial(self._read_whole, sizes), written))
        for part, manifest in zip(written, manifests, strict=True):
            if manifest is not None:
                done[part.number] = manifest
        return [part for part in self.parts if part.number not in done], done

    def finish_part(self, part, lines, bad_lines, files, records=()):
        """Writes a part's list of unusable lines and its `Manifest`, which it returns.

        Args:
            part: A `Part` whose results are written.
            lines: Number of its lines.
            bad_lines: List of tuples of a line's number in the part, from 1, and its problem.
            files: `FileFacts` of its results, by name.
            records: As in `Manifest`.
        """
        list_of_bad = join(self.output, f"{stem_of(part)}.bad.jsonl")
        if bad_lines:
            address = part.pieces[0].address
            rows = [{"file": address, "line": n, "reason": reason} for n, reason in bad_lines]
            with whole_file(list_of_bad) as path:
                path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
                files = {**files, path.name: facts_of(path)}
        else:  # one that a killed process wrote before the file was repaired
            delete_file(list_of_bad)
        manifest = Manifest(
            lines=lines, bad_lines=len(bad_lines), files=files, records=dict(records)
        )
        _write_json(self._manifest(part), manifest.model_dump(mode="json"))
        return manifest

    def missing(self):
        """The parts whose manifests this process does not see in the folder."""
        names = sizes_in(self.output)
        return [part for part in self.parts if f"{stem_of(part)}.json" not in names]

    def check_files(self):
        """Raises a `CorpusError` if a file is no longer what its parts were read from."""
        files = {piece.file: None for part in self.parts for piece in part.pieces}
        with concurrent.futures.ThreadPoolExecutor(_READERS) as executor:
            for _ in executor.map(check_unchanged, files):
                pass

    def clean(self):
        """Deletes temporary files that killed processes left on this machine."""
        if not is_url(self.output):
            for folder in Path(self.output).glob(f"{WRITING}*"):
                with contextlib.suppress(OSError):
                    shutil.rmtree(folder)

    def _read_whole(self, sizes, part):
        """A part's manifest, or `None` if it is damaged or its results are not what it says."""
        try:
            content = read_file(self._manifest(part), _MAX_MANIFEST_BYTES)
            manifest = Manifest.model_validate_json(content)
        except pydantic.ValidationError:
            return None
        if not manifest.is_in(sizes):
            return None
        if not is_url(self.output):  # from an object store, all results would have to be read
            for name, facts in manifest.files.items():
                if digest_of_file(Path(self.output) / name) != facts.sha256:
                    return None
        return manifest

    def _description(self):
        address = join(self.output, _JOB)
        try:
            there = json.loads(read_file(address, _MAX_MANIFEST_BYTES))
            files = [[address, *facts] for address, *facts in there["files"]]
            return {**there, "files": files, "parts": list(there["parts"])}
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise ValueError(
                f"{address} is damaged: {error}. Choose a different folder, or delete this one."
            ) from None

    def _manifest(self, part):
        return join(self.output, f"{stem_of(part)}.json")


def stem_of(part):
    """Beginning of the names of a part's files."""
    return f"part-{part.number:06d}"


def _visible(folders):
    """Names of folders without hidden ones and the one at the root of a volume."""
    return [name for name in folders if not name.startswith(".") and name != "lost+found"]


def _differences(there, here, prefix=""):
    """Names of the fields of `here` that differ; for a field inside a field, with both values."""
    texts = []
    for name, value in here.items():
        known = there.get(name)
        if isinstance(known, dict) and isinstance(value, dict):
            texts += _differences(known, {**dict.fromkeys(known), **value}, f"{prefix}{name}.")
        elif known != value:
            values = f" ({known!s:.60} there, {value!s:.60} here)" if prefix else ""
            texts.append(f"{prefix}{name}{values}")
    return texts


def _first_change(before, now):
    """Text in brackets about the first file that changed since a job began; "" if none did."""
    known, found = ({str(file[0]): file for file in files} for files in (before, now))
    for address, file in found.items():
        if address not in known:
            return f" ({address} was not one of its files)"
        if known[address] != file:
            return f" ({address} has changed since it began)"
    gone = [address for address in known if address not in found]
    return f" ({gone[0]} is gone)" if gone else ""


def _write_json(address, value):
    """Writes a JSON file that appears whole."""
    with whole_file(address) as path:
        path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


# ---- Working on the parts ----


class PartWork(abc.ABC):
    """Work on the parts of a `Job`, for `finish_job`."""

    @abc.abstractmethod
    def write(self, part):
        """Writes the results of a `Part` and then its `Manifest`, which it returns.

        Raises:
            CorpusError: If its file is damaged; then there is no manifest.
        """

    def __call__(self, part):
        """The number of a `Part`, and its `Manifest` or the `CorpusError`."""
        try:
            return part.number, self.write(part)
        except CorpusError as error:
            return part.number, error


def finish_job(job, pool, work_class, arguments, *, uses_accelerator=False, description=""):
    """Works on the unfinished parts of a job, with a progress bar.

    Args:
        job: An opened `Job`.
        pool: `WorkerPool`.
        work_class: A subclass of `PartWork`; its constructor takes the job's output first.
        arguments: Tuple of the other arguments of the constructor.
        uses_accelerator: As in `WorkerPool.run`.
        description: Text before the progress bar.

    Returns:
        List of the `Manifest`s of all parts, in order.

    Raises:
        CorpusError: For the first damaged file, or the first that changed while the job ran, when
            all parts of other files are finished.
        RuntimeError: If workers wrote into a folder that this process does not see.
    """
    left, done = job.open_parts()
    lines, problems, work = 0, [], (work_class, (job.output, *arguments))
    with (
        open_part_progress(len(job.parts), description, initial=len(done)) as (bar, show),
        contextlib.closing(
            pool.run(*work, left, uses_accelerator=uses_accelerator, progress=show)
        ) as results,
    ):
        for number, manifest in results:
            if isinstance(manifest, CorpusError):
                problems.append(manifest)
                continue
            done[number] = manifest
            lines += manifest.lines
            show(lines, refresh=False)
            bar.update()
    job.clean()
    job.check_files()
    if problems:
        raise first_of(
            problems, "All other parts are finished; the same command goes on with these."
        ) from problems[0]
    if job.missing():
        raise RuntimeError(
            f"Workers wrote into a {job.output} that is not this machine's: give a folder that all "
            "machines share, or a URL."
        )
    return [done[part.number] for part in job.parts]


@contextlib.contextmanager
def open_part_progress(parts, description, initial=0):
    """Opens a progress bar of parts.

    Args:
        parts: Number of all parts.
        description: Text before the bar.
        initial: Number of parts that are finished already.

    Yields:
        The bar, and a function that shows a number of lines behind it: the largest so far, as lines
        of unfinished parts are counted only now and then.
    """
    options = {"total": parts, "initial": initial, "unit": "part", "desc": description}
    most = 0
    with open_progress(SECONDS_BETWEEN_LINES, **options) as bar:

        def show(lines, refresh=True):
            nonlocal most
            most = max(most, lines)
            rate = most / max(bar.format_dict["elapsed"], 1e-9)
            bar.set_postfix_str(f"{most:,} lines, {rate:,.0f} lines/s", refresh)

        yield bar, show


def first_of(problems, consequence):
    """One error for all parts whose files are damaged, with the text of the first.

    Args:
        problems: List of `CorpusError`s.
        consequence: Sentence that says what happens next.
    """
    others = f" Parts with such errors: {len(problems)}." if len(problems) > 1 else ""
    return CorpusError(f"{problems[0]}{others} {consequence}")
