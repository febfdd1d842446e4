"""Result files of Table 3 on a small scale: one per row and seed, in the repository."""

from typing import Annotated

import pydantic
from pydantic import Field, PositiveInt

from aiayn_keras_light.checks import parse
from aiayn_keras_light.files import read_bytes, write_text
from experiments.table3.rows import ROWS

MAX_BYTES = 1 << 14

Text = Annotated[str, Field(max_length=200)]
Score = Annotated[float, Field(ge=0.0, le=100.1)]


class _Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False
    )


class Scores(_Strict):
    """A model's figures on one text.

    Attributes:
        text: Name of the text.
        sentences: Number of its sentences.
        bleu: BLEU, 0 to 100.
        chrf: chrF2, 0 to 100.
        perplexity: Perplexity per wordpiece.
    """

    text: Text
    sentences: PositiveInt
    bleu: Score
    chrf: Score
    perplexity: Annotated[float, Field(ge=1.0)]


class Result(_Strict):
    """The content of a result file.

    Attributes:
        row: Name of the `Row`.
        seed: Seed of the first weights, the order of batches and dropout.
        fingerprint: That of `row_recipe.fingerprint`.
        parameters: Number of trainable parameters.
        updates: Number of updates.
        target_tokens: Number of real target tokens in all updates.
        num_beams: Beam size of the search.
        length_penalty: Its α.
        validation: `Scores` that decide.
        test: `Scores` that are reported.
        bleu_signature: sacreBLEU's signature of BLEU.
        chrf_signature: Its signature of chrF.
        commit: The commit that ran.
        versions: Versions of Python and packages.
        machine: Number of cores and the processor's name.
        resumed_from: The update from which the last of several processes continued, else 0.
        seconds: Wall-clock time of the last process, training and measuring.
        cpu_seconds: CPU time of the same.
    """

    row: Text
    seed: PositiveInt
    fingerprint: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    parameters: PositiveInt
    updates: PositiveInt
    target_tokens: PositiveInt
    num_beams: PositiveInt
    length_penalty: Annotated[float, Field(ge=0.0)]
    validation: Scores
    test: Scores
    bleu_signature: Text
    chrf_signature: Text
    commit: Text
    versions: dict[Text, Text]
    machine: Text
    resumed_from: Annotated[int, Field(ge=0)]
    seconds: Annotated[float, Field(gt=0.0)]
    cpu_seconds: Annotated[float, Field(gt=0.0)]


def result_path(folder, row, seed):
    """Path of the result file of a `Row` and a seed."""
    return folder / f"{row.name}-{seed}.json"


def write_result(path, result):
    """Writes a `Result`, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, result.model_dump_json(indent=1) + "\n")


def read_result(path, fingerprint):
    """Reads a `Result`.

    Args:
        path: The file.
        fingerprint: The present fingerprint of its row.

    Raises:
        OSError: If there is no such regular file.
        ValueError: If it is not a result, or its settings or name differ.
    """
    result = parse(Result, read_bytes(path, MAX_BYTES), path, "It is not a result of Table 3.")
    if path.stem != f"{result.row}-{result.seed}":
        raise ValueError(f"{path} is the result of {result.row}-{result.seed}: rename it.")
    if result.fingerprint != fingerprint:
        raise ValueError(
            f"{path} was made with settings that differ from the present ones of the row "
            f"{result.row}, and cannot be put in the same table. Move it elsewhere to have it made "
            "again."
        )
    return result


def read_results(folder, fingerprints):
    """Reads all result files of a folder.

    Args:
        folder: The folder; one that does not exist has no results.
        fingerprints: Dictionary of the rows' fingerprints by their names.

    Returns:
        Dictionary of lists of `Result` by row name, in the order of the rows and seeds; rows
        without results are left out.

    Raises:
        ValueError: If a file is not a result of these rows.
    """
    results = {}
    for row in ROWS:
        paths = folder.glob(f"{row.name}-*.json")
        found = [read_result(path, fingerprints[row.name]) for path in paths]
        if found:
            results[row.name] = sorted(found, key=lambda result: result.seed)
    return results


def core_hours(results):
    """Hours of one core that a list of `Result` took, training and measuring.

    For a training that was killed, they include only the last process.
    """
    return sum(result.cpu_seconds for result in results) / 3600


def core_hours_in_words(results):
    """`core_hours`, and for how many of a list of `Result` they are incomplete."""
    num_resumed = sum(result.resumed_from > 0 for result in results)
    runs = "run" if num_resumed == 1 else "runs"
    without = f" (not counting processes that were killed, in {num_resumed} resumed {runs})"
    return f"{core_hours(results):.1f} core-hours{without if num_resumed else ''}"
