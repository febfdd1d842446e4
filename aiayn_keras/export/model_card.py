"""The README of a kit: the model, its versions, and how to run the server and query it."""

import dataclasses
import re

from aiayn_keras.decoding.search_options import SearchOptions
from aiayn_keras.export.kubernetes import image_tag, kubernetes_name
from aiayn_keras.export.preparation import render
from aiayn_keras.export.server_files import BATCH_SIZES, NEWEST, SERVERS


def model_card(name, versions, labels, loaded, flags, batched):
    """Writes the text of a kit's README.

    Args:
        name: Name under which the model is served.
        versions: Dictionary from a version's number to its `VersionNotes`.
        labels: Dictionary from a label to a version's number.
        loaded: List of the numbers of the versions that the server loads.
        flags: List of flags of the server.
        batched: Whether the server batches requests.

    Returns:
        Markdown.
    """
    newest = versions[max(versions)]
    options = newest.options
    long_text = render(
        f"long_text_{options['long_text']}.md", max_input_length=options["max_input_length"]
    )
    batching = render(
        "batching_on.md" if batched else "batching_off.md", max_batch_size=BATCH_SIZES[-1]
    )
    return render(
        "README.md",
        name=name,
        image=NEWEST.image,
        servers=_table(["image", "TensorFlow Text"], [(each.image, each.text) for each in SERVERS]),
        facts=_table(["fact", "value"], newest.card.items()),
        versions=_versions(versions, labels),
        long_text=long_text.rstrip(),
        source_content="`pieces </s>`" if newest.source_end else "`pieces`",
        paragraphs=_paragraphs(newest),
        documents=f"\n{render('documents.md')}" if options["documents"] else "",
        object=kubernetes_name(name),
        tag=image_tag(labels, loaded),
        flags=" \\\n".join(f"    {flag}" for flag in flags),
        batching=batching.rstrip(),
    )


def _paragraphs(notes):
    """The sentences on texts of several sentences."""
    if notes.longest_whole_text is not None:
        return render("paragraphs_split.md", longest_whole_text=notes.longest_whole_text).rstrip()
    or_document = ", or to `translate_document`" if notes.options["documents"] else ""
    return render("paragraphs_whole.md", or_document=or_document).rstrip()


def _versions(versions, labels):
    """The table of versions; search options without a column are listed where they are used."""
    others = {version: _other_options(notes.options) for version, notes in versions.items()}
    has_others = any(others.values())
    rows = []
    for version, notes in versions.items():
        options = notes.options
        of_version = [label for label, number in labels.items() if number == version]
        rows.append(
            [
                version,
                ", ".join(of_version),
                _number_formats(notes),
                options["num_beams"],
                options["length_penalty"],
                options["num_return_sequences"],
                options["max_length"] or f"source + {options['extra_length']}",
                f"{options['max_input_length']}, then {options['long_text']}",
                notes.tensorflow,
                *([others[version]] if has_others else []),
            ]
        )
    heads = ["version", "label", "precision", "beams", "α", "n-best", "longest translation"]
    heads += ["longest text", "TensorFlow", *(["other options"] if has_others else [])]
    return _table(heads, rows)


def _number_formats(notes):
    kept = "" if notes.weights == "float32" else f", matrices kept in {notes.weights}"
    return notes.precision + kept


def _other_options(options):
    """The search options that have no column and are not the default, as text."""
    shown = {"num_beams", "length_penalty", "num_return_sequences", "max_length", "extra_length"}
    return ", ".join(
        f"{field.name} {_short(options[field.name])}"
        for field in dataclasses.fields(SearchOptions)
        if field.name not in shown and options.get(field.name, field.default) != field.default
    )


def _short(value):
    """A value as text; of a constraint, its name."""
    return value["kind"] if isinstance(value, dict) else value


def _table(heads, rows):
    cells = [[_plain(str(cell)) for cell in row] for row in (heads, *rows)]
    cells.insert(1, ["---"] * len(heads))
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _plain(text):
    """Escapes text so that Markdown shows it verbatim, in one line: no markup, links or HTML."""
    return re.sub(r"([\\`*\[\]<>|~&#]|_(?=\W|$)|(?<!\w)_)", r"\\\1", " ".join(text.split()))
