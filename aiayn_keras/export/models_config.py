"""`models.config` of a kit: its labels, the versions that the server loads, and the way back."""

import os
import re
from dataclasses import dataclass, field

from aiayn_keras.common.kit_files import read_served_model

CONFIG = "models.config"
LABELS = ("stable", "canary")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

_BEFORE = re.compile(rf"^# before: ({'|'.join(LABELS)}) ([1-9]\d{{0,18}})$", re.MULTILINE)
"""A comment, which the server skips: a label and the version that had it."""


@dataclass(frozen=True)
class ModelsConfig:
    """The one model of a `models.config`.

    Attributes:
        name: Name under which the model is served.
        base_path: Folder of the versions on the server.
        labels: Dictionary from a label to a version's number.
        versions: List of the numbers of the versions that the server loads.
        before: Dictionary from a label to the version that had it before its last move.
    """

    name: str
    base_path: str
    labels: dict[str, int]
    versions: list[int]
    before: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, path):
        """Reads a file.

        Args:
            path: A `pathlib.Path`.

        Raises:
            OSError: If the file does not exist.
            ValueError: If it is not a configuration of one model.
        """
        model, text = read_served_model(path)
        return cls(
            name=model.name,
            base_path=model.base_path,
            labels=dict(model.version_labels),
            versions=list(model.model_version_policy.specific.versions),
            before={label: int(version) for label, version in _BEFORE.findall(text)},
        )

    def to_text(self):
        """Writes the text of the file."""
        from google.protobuf import text_format
        from tensorflow_serving.config import model_server_config_pb2

        config = model_server_config_pb2.ModelServerConfig()
        model = config.model_config_list.config.add(
            name=self.name, base_path=self.base_path, model_platform="tensorflow"
        )
        model.model_version_policy.specific.versions.extend(self.versions)
        model.version_labels.update(self.labels)
        comments = [f"# before: {label} {version}\n" for label, version in self.before.items()]
        return "".join(comments) + text_format.MessageToString(config)


def check_name(name):
    """Raises a ValueError for a model's name that paths, URLs and configurations do not take."""
    if not NAME.fullmatch(name):
        raise ValueError(
            "The name of a served model is 1 to 100 letters of ASCII, digits, `.`, `_` and `-`, "
            f"the first a letter or a digit. Received: {name!r:.120}."
        )


def kit_name(folder):
    """The name under which the model of a kit is served: that of its folder.

    It is the link's own if the folder is one, or, as in older kits, that of the folder behind it.

    Args:
        folder: `pathlib.Path` of the folder `<name>`; it need not exist.

    Raises:
        ValueError: For a kit whose folder had another name when it was made.
    """
    names = os.path.basename(os.path.abspath(folder)), folder.resolve().name
    if not (folder / CONFIG).exists():
        return names[0]
    served = ModelsConfig.read(folder / CONFIG).name
    if served not in names:
        raise ValueError(
            f"{folder / CONFIG} serves the model {served!r:.120}, and its folder is {names[0]!r}: "
            "an export would rename the model, and running servers would lose it. Rename the "
            f'folder, or, for a model of its own, give that file `name: "{names[0]}"` and '
            f'`base_path: "/models/{names[0]}"`.'
        )
    return served
