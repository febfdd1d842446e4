"""A job over parts: what it is about, which of its parts are done, and where their results are."""

import hashlib
import json
from dataclasses import asdict, dataclass

import pydantic

from aiayn_keras.scale.addresses import join, names_in, read_file, whole_file

JOB = "job.json"
VERSION = 1
MOST_BYTES = 1 << 28
"""Greatest size of a job's description, and of a manifest."""


class Manifest(pydantic.BaseModel):
    """Facts about a part that is done; written after its results.

    Attributes:
        lines: Number of its lines.
        bad_lines: Those among them that could not be used.
        bytes: Size of the results.
        sha256: Their checksum, in hexadecimal.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True)

    lines: int
    bad_lines: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Job:
    """The folder of a job's results.

    Attributes:
        output: Its path or URL.
        parts: List of all `Part`s.
        ending: Of the names of result files, such as `.txt`.
    """

    output: str
    parts: list
    ending: str

    def result(self, part):
        """Address of a part's results."""
        return join(self.output, f"{self._stem(part)}{self.ending}")

    def bad_lines(self, part):
        """Address of the list of a part's bad lines."""
        return join(self.output, f"{self._stem(part)}.bad.jsonl")

    def manifest(self, part):
        """Address of a part's manifest."""
        return join(self.output, f"{self._stem(part)}.json")

    def open(self, description):
        """Begins the job, or goes on with it.

        Args:
            description: Dictionary of JSON values: all that makes the results.

        Raises:
            FileExistsError: If the folder holds the results of something else.
        """
        wanted = {"version": VERSION, **description, "parts": [asdict(part) for part in self.parts]}
        wanted = json.loads(json.dumps(wanted))
        names = names_in(self.output)
        if JOB in names:
            there = json.loads(read_file(join(self.output, JOB), MOST_BYTES))
            differing = [name for name in wanted if there.get(name) != wanted[name]]
            if differing:
                raise FileExistsError(
                    f"{self.output} holds an unfinished job, or its results, that differs in: "
                    f"{', '.join(differing)}. Choose another folder."
                )
        elif names:
            raise FileExistsError(f"{self.output} holds other files. Choose another folder.")
        else:
            write_json(join(self.output, JOB), wanted)

    def open_parts(self):
        """The parts that are not done yet, and the manifests of those that are, by number."""
        names, done = names_in(self.output), {}
        for part in self.parts:
            if f"{self._stem(part)}.json" in names and f"{self._stem(part)}{self.ending}" in names:
                content = read_file(self.manifest(part), MOST_BYTES)
                done[part.number] = Manifest.model_validate_json(content)
        return [part for part in self.parts if part.number not in done], done

    def _stem(self, part):
        return f"part-{part.number:06d}"


def write_json(address, value):
    """Writes a JSON file that appears whole."""
    with whole_file(address) as path:
        path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def describe(path):
    """Size and SHA-256 of a file, as fields of a `Manifest`."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}
