"""A job over parts: what it is about, which of its parts are done, and where their results are."""

import concurrent.futures
import contextlib
import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

import pydantic

from aiayn_keras.common.addresses import (
    delete_file,
    folders_in,
    is_address,
    join,
    read_file,
    sizes_in,
    whole_file,
)
from aiayn_keras.common.files import WRITING
from aiayn_keras.data.token_shards import FileFacts
from aiayn_keras.folder_lock import hold_lock

JOB = "job.json"
LOCK = "job.lock"
VERSION = 1
MAX_BYTES = 1 << 28
"""Greatest size of a job's description, and of a manifest."""
READERS = 32
"""Manifests that are read at a time: an object store takes a while to answer."""


class Manifest(pydantic.BaseModel):
    """Facts about a part that is done; written after its results.

    Attributes:
        lines: Number of its lines.
        bad_lines: Those among them that could not be used.
        files: `FileFacts` of its results, by name.
        records: Number of records in each of its shards, by name; for translations empty.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True)

    lines: int
    bad_lines: int
    files: dict[str, FileFacts]
    records: dict[str, int] = {}

    def is_in(self, sizes):
        """Whether all results are among files, by name, in the sizes that they should have."""
        return all(sizes.get(name) == facts.bytes for name, facts in self.files.items())


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
        """Context manager in which this process alone works on the job, if its folder is here.

        A job of which no part is done may become another. Files that changed since it began, as a
        damaged one that was copied again, are taken as they are now if no part of them is done.

        Args:
            description: Dictionary of JSON values: all that makes the results, in `files` a list
                of each file's address and its version.

        Raises:
            FileExistsError: If the folder holds the results of something else.
            FolderInUseError: If another process works on the job.
        """
        wanted = {"version": VERSION, **description, "parts": [asdict(part) for part in self.parts]}
        wanted = json.loads(json.dumps(wanted))
        is_here = not is_address(self.output)
        with hold_lock(Path(self.output) / LOCK) if is_here else contextlib.nullcontext():
            self._begin(wanted)
            yield

    def _begin(self, wanted):
        names = sizes_in(self.output).keys() - {LOCK}
        if JOB not in names:
            if others := sorted([*names, *_own(folders_in(self.output))]):
                raise FileExistsError(
                    f"{self.output} holds other files or folders, such as {others[0]}. Choose "
                    "another folder."
                )
            write_json(join(self.output, JOB), wanted)
            return
        there = self._description()
        differing = [name for name in wanted if there.get(name) != wanted[name]]
        if not differing:
            return
        is_free = names == {JOB} and not is_address(self.output)  # where another may be at work
        if not is_free and (differing != ["files"] or self._uses(there["files"], wanted, names)):
            remedy = ", or delete this one: no part of it is done" if names == {JOB} else ""
            raise FileExistsError(
                f"{self.output} holds another job, which differs in: {', '.join(differing)}"
                f"{_first_change(there['files'], wanted['files'])}. Choose another folder{remedy}."
            )
        write_json(join(self.output, JOB), wanted)

    def _uses(self, files_there, wanted, names):
        """Whether there is a result of a file that was another when the job began."""
        changed = {file[0] for file in wanted["files"] if file not in files_there}
        of_all = any(not name.startswith("part-") for name in names - {JOB})  # a vocabulary
        return of_all or any(
            f"{stem_of(part)}.json" in names
            for part in self.parts
            if any(piece.address in changed for piece in part.pieces)
        )

    def open_parts(self):
        """The parts that are not done yet, and the manifests of those that are, by number.

        A part is done again if its manifest is damaged, or a file has not the size it says.
        """
        sizes, done = sizes_in(self.output), {}
        written = [part for part in self.parts if f"{stem_of(part)}.json" in sizes]
        with concurrent.futures.ThreadPoolExecutor(READERS) as executor:
            manifests = list(executor.map(self._read, written))
        for part, manifest in zip(written, manifests, strict=True):
            if manifest is not None and manifest.is_in(sizes):
                done[part.number] = manifest
        return [part for part in self.parts if part.number not in done], done

    def finish_part(self, part, lines, bad_lines, files, records=()):
        """Writes a part's list of bad lines and its `Manifest`, which it returns.

        Args:
            part: A `Part`, whose results are written.
            lines: Number of its lines.
            bad_lines: List of tuples of a line's place in the part, from 1, and what is wrong.
            files: As in `Manifest`.
            records: As in `Manifest`.
        """
        list_of_bad = join(self.output, f"{stem_of(part)}.bad.jsonl")
        if bad_lines:
            address = part.pieces[0].address
            rows = [{"file": address, "line": n, "reason": reason} for n, reason in bad_lines]
            with whole_file(list_of_bad) as path:
                path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
        else:  # one of a process that was killed, before the file was mended
            delete_file(list_of_bad)
        manifest = Manifest(
            lines=lines, bad_lines=len(bad_lines), files=files, records=dict(records)
        )
        write_json(self._manifest(part), manifest.model_dump(mode="json"))
        return manifest

    def missing(self):
        """The parts whose manifests are not in the folder, as this process sees it."""
        names = sizes_in(self.output)
        return [part for part in self.parts if f"{stem_of(part)}.json" not in names]

    def clean(self):
        """Deletes temporary files that killed processes left on this machine."""
        if not is_address(self.output):
            for folder in Path(self.output).glob(f"{WRITING}*"):
                with contextlib.suppress(OSError):
                    shutil.rmtree(folder)

    def _read(self, part):
        """A part's manifest, or `None` if it is damaged."""
        try:
            content = read_file(self._manifest(part), MAX_BYTES)
            return Manifest.model_validate_json(content)
        except pydantic.ValidationError:
            return None

    def _description(self):
        address = join(self.output, JOB)
        try:
            there = json.loads(read_file(address, MAX_BYTES))
            files = [[address, *facts] for address, *facts in there["files"]]
            return {**there, "files": files}
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise ValueError(
                f"{address} is damaged: {error}. Choose another folder, or delete this one."
            ) from None

    def _manifest(self, part):
        return join(self.output, f"{stem_of(part)}.json")


def _own(folders):
    """Names of folders that somebody made: no hidden ones, nor that of a volume's root."""
    return [name for name in folders if not name.startswith(".") and name != "lost+found"]


def _first_change(before, now):
    """In brackets, which file is another than when a job began; nothing if all are the same."""
    known, found = ({str(file[0]): file for file in files} for files in (before, now))
    for address, file in found.items():
        if address not in known:
            return f" ({address} was none of its files)"
        if known[address] != file:
            return f" ({address} has changed since it began)"
    gone = [address for address in known if address not in found]
    return f" ({gone[0]} is gone)" if gone else ""


def stem_of(part):
    """Beginning of the names of a part's files."""
    return f"part-{part.number:06d}"


def write_json(address, value):
    """Writes a JSON file that appears whole."""
    with whole_file(address) as path:
        path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
