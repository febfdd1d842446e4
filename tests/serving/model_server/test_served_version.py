"""A version runs its recorded requests before it answers. Short: the other tests of a version are
those of the server, in `tests/serving`.
"""

import gc
import shutil

import pytest

pytest.importorskip("tensorflow_serving")

from aiayn_keras.common.kit_files import WARMUP_FILE
from aiayn_keras.serving.model_server.served_kit import ServedVersion


class NotingVersion(ServedVersion):
    """Notes what runs, and runs it."""

    def __init__(self, folder):
        super().__init__(folder)
        self.noted = []

    def run(self, signature, inputs):
        outputs = super().run(signature, inputs)
        self.noted.append((signature, set(inputs), len(next(iter(outputs.values())))))
        return outputs


@pytest.mark.slow
def test_every_recorded_request_runs(kit):
    import tensorflow as tf
    from tensorflow_serving.apis import prediction_log_pb2

    folder = kit / "1"
    version = NotingVersion(folder)
    version.warm_up()
    records = tf.data.TFRecordDataset(str(folder / WARMUP_FILE))
    expected = []
    for record in records:
        log = prediction_log_pb2.PredictionLog.FromString(record.numpy())
        request = log.predict_log.request
        first = next(iter(request.inputs.values()))
        rows = first.tensor_shape.dim[0].size
        expected.append((request.model_spec.signature_name, set(request.inputs), rows))
    assert version.noted == expected
    assert {name for name, _, _ in expected} == {
        name for name in version.signature_defs if not name.startswith("__")
    }


def test_an_empty_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^There is no file .*saved_model\.pb\.$"):
        ServedVersion(tmp_path)


def test_a_kit_without_recorded_requests_is_served_cold(kit, tmp_path):
    folder = shutil.copytree(kit / "1", tmp_path / "1")
    (folder / WARMUP_FILE).unlink()
    (folder / "SHA256SUMS").unlink()
    version = NotingVersion(folder)
    version.warm_up()
    assert version.noted == []


def test_an_unloaded_version_leaves_no_functions_behind(kit):
    from tensorflow.python.eager import context

    def count_functions():
        gc.collect()
        return len(context.context().list_function_names())

    counts = []
    for _ in range(2):  # the first time, TensorFlow also makes functions of its own
        version = ServedVersion(kit / "1")
        assert count_functions() > 10
        del version
        counts.append(count_functions())
    assert counts[1] == counts[0]
