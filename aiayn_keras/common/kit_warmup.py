"""Recorded requests of a kit, which a server runs before a version answers.

Short: the export times them and the model server runs them, and neither imports the other.
"""

WARMUP_FILE = "assets.extra/tf_serving_warmup_requests"


def run_warmup(folder, run):
    """Runs the recorded requests of a version, if it has any.

    Args:
        folder: `pathlib.Path` of the version.
        run: Function of a signature's name and a dictionary from each input's name to an array.

    Raises:
        tf.errors.DataLossError: If the file is damaged.
    """
    import tensorflow as tf
    from tensorflow_serving.apis import prediction_log_pb2

    path = folder / WARMUP_FILE
    if not path.is_file():
        return
    for record in tf.data.TFRecordDataset(str(path)):
        request = prediction_log_pb2.PredictionLog.FromString(record.numpy()).predict_log.request
        inputs = {name: tf.make_ndarray(value) for name, value in request.inputs.items()}
        run(request.model_spec.signature_name or "serving_default", inputs)
