"""The README of a converted model: where it comes from, its license, and how to run it."""

import json
from pathlib import Path

CARD = """---
tags:
- translation
{license}---

# {name}

A Transformer for the Python package aiayn_keras (Keras 3), converted from
`{origin}`. {terms}

```shell
aiayn-keras translate {name} < sentences.txt
```

If the original came without a SentencePiece model, texts are its tokens with spaces between them.

Other toolkits rank hypotheses by `log-probability / length^α`, most of them with α = 1. A model
folder keeps no settings of a search. To rank as they do, add
`--length-penalty 1 --length-penalty-offset 0`; in Python it is
`model.translate(texts, length_penalty=1.0, length_penalty_offset=0)`.
"""


def write_model_card(folder, origin, license=None):
    """Writes the README of a converted model into its folder.

    Args:
        folder: Path of the folder, whose name is the model's.
        origin: Path or address of the original.
        license: Its license by Hugging Face's name, or a list of several; None if it is not known.
    """
    names = [license] if isinstance(license, str) else license or ["not stated in its files"]
    folder, origin = Path(folder), str(origin)
    text = CARD.format(
        name=folder.name,
        origin=origin if "://" in origin else Path(origin).name,
        license="" if license is None else f"license: {json.dumps(license)}\n",
        terms=f"License of the original: {', '.join(names)}.",
    )
    (folder / "README.md").write_text(text, encoding="utf-8")
