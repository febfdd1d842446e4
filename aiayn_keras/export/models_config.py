"""`models.config` of a kit: its labels, the versions that the server loads, and the way back."""

import re
from dataclasses import dataclass, field

from aiayn_keras.common.kit_files import read_served_model

LABELS = ("stable", "canary")

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
