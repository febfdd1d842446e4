"""A kit's configurations in the text format of protocol buffers.

A small file of its own, since the export and the server read them and import nothing of each other.
"""

from aiayn_keras_light.files import read_bytes

MAX_CONFIG_BYTES = 1 << 20


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
