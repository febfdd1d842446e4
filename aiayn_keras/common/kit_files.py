"""Files of a kit that both its export and its server read: configurations and recorded requests.

The export and the server import nothing of each other.
"""

from aiayn_keras_light.files import read_bytes

MAX_CONFIG_BYTES = 1 << 20
WARMUP_FILE = "assets.extra/tf_serving_warmup_requests"
"""Requests that a server runs before a version answers."""


def parse_config(path, message, **options):
    """Reads a configuration.

    Args:
        path: A `pathlib.Path`.
        message: An empty message of protocol buffers, which is filled.
        **options: Those of `google.protobuf.text_format.Parse`.

    Returns:
        The text of the file.

    Raises:
        OSError: If the file does not exist.
        ValueError: If it has other content.
    """
    from google.protobuf import text_format

    try:
        text = read_bytes(path, MAX_CONFIG_BYTES).decode("utf-8")
        text_format.Parse(text, message, **options)
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a TensorFlow Serving configuration: {error}") from error
    return text


def read_served_model(path):
    """Reads the one model of a `models.config`.

    Args:
        path: A `pathlib.Path`.

    Returns:
        TensorFlow Serving's message `ModelConfig`, and the text of the file.

    Raises:
        OSError: If the file does not exist.
        ValueError: If it is not the configuration of one model with a name.
    """
    from tensorflow_serving.config import model_server_config_pb2

    config = model_server_config_pb2.ModelServerConfig()
    text = parse_config(path, config)
    models = config.model_config_list.config
    if len(models) != 1 or not models[0].name:
        raise ValueError(
            f"{path} must configure one model, with a name. Received: {len(models)} models."
        )
    return models[0], text


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
