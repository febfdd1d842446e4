import numpy as np
import pytest

from aiayn_keras.common.kit_files import WARMUP_FILE
from aiayn_keras.export.server_files import BATCH_SIZES
from tests.export.served import Served


def warmup_requests(version_folder):
    import tensorflow as tf
    from tensorflow_serving.apis import prediction_log_pb2

    for record in tf.data.TFRecordDataset(str(version_folder / WARMUP_FILE)):
        log = prediction_log_pb2.PredictionLog.FromString(record.numpy())
        yield log.predict_log.request


@pytest.mark.parametrize(
    "version_folder",
    ["a new kit", pytest.param("the committed kit", marks=pytest.mark.slow)],
    indirect=True,
)
def test_warm_up_requests_replay(version_folder):
    requests = list(warmup_requests(version_folder))
    served = Served(version_folder)
    assert len(requests) <= 1000  # TensorFlow Serving reads no more
    import tensorflow as tf

    for request in requests:
        assert request.model_spec.name == version_folder.parent.name
        inputs = {name: tf.make_ndarray(value) for name, value in request.inputs.items()}
        outputs = served(request.model_spec.signature_name, **inputs)
        (num_rows,) = {len(value) for value in inputs.values()}
        for value in outputs.values():
            assert len(value) == num_rows
            assert value.dtype == object or np.isfinite(value).all()


@pytest.mark.slow
def test_warm_up_asks_every_signature_and_batch_size_with_short_and_long_text(exported, served):
    import tensorflow as tf

    sizes = {}
    for request in warmup_requests(exported):
        first, *_ = request.inputs.values()
        array = tf.make_ndarray(first)
        sizes.setdefault(request.model_spec.signature_name, []).append(len(array))
    assert sizes.keys() == set(served.loaded.signatures)
    # And a text that is translated by sentence.
    assert sorted(sizes["serving_default"]) == sorted([1, *2 * BATCH_SIZES])
    lengths = {
        len(text)
        for request in warmup_requests(exported)
        if request.model_spec.signature_name == "serving_default"
        for text in request.inputs["text"].string_val
    }
    assert max(lengths) > 2 * min(lengths)


@pytest.mark.slow
def test_no_warm_up_text_is_too_long_where_that_is_an_error(model, tmp_path):
    import tensorflow as tf

    texts = ["The girl knows that the old bus arrived yesterday at half past three."]
    options = {"num_beams": 1, "long_text": "error", "max_input_length": 5}
    for version, warmup_texts in enumerate(((), texts), start=1):
        folder = model.export(tmp_path / "small", warmup_texts=warmup_texts, **options)
        served = Served(folder)
        for request in warmup_requests(folder):
            inputs = {name: tf.make_ndarray(value) for name, value in request.inputs.items()}
            served(request.model_spec.signature_name, **inputs)
        assert folder.name == str(version)


@pytest.mark.slow
def test_warm_up_texts_can_be_given(model, tmp_path):
    version = model.export(tmp_path / "small", num_beams=1, warmup_texts=["Ja.", "Nein, danke."])
    texts = {
        text.decode()
        for request in warmup_requests(version)
        if "text" in request.inputs
        for text in request.inputs["text"].string_val
    }
    assert texts > {"Ja.", "Nein, danke."}
    (by_sentence,) = texts - {"Ja.", "Nein, danke."}
    assert by_sentence.startswith("Ja. Nein, danke. Ja. ")
