"""A kit's versions and labels, loaded, asked and moved by TensorFlow Serving's rules.

`models.config` is read again and again while the server runs. A label that is in use only moves to
a version that is AVAILABLE: otherwise nothing of the configuration holds, as in
`ServerCore::ReloadConfig`. A version that cannot be loaded is tried again, twice at most, and its
thread does nothing else meanwhile.
"""

import concurrent.futures
import contextlib
import gc
import logging
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from aiayn_keras.common.kit_files import check_kit_graph, run_warmup
from aiayn_keras.serving.answers import one_line
from aiayn_keras.serving.model_server.configuration import read_models_config, version_folders
from aiayn_keras.serving.model_server.metrics import LOAD_MICROSECONDS, LOADS, Metrics
from aiayn_keras.serving.model_server.refusals import RefusedError, invalid
from aiayn_keras_light.files import check_checksums, check_is_utf8, check_regular_file

_CODES = {
    3: "INVALID_ARGUMENT",
    4: "DEADLINE_EXCEEDED",
    5: "NOT_FOUND",
    8: "RESOURCE_EXHAUSTED",
    9: "FAILED_PRECONDITION",
    12: "UNIMPLEMENTED",
    14: "UNAVAILABLE",
}
"""Names of the codes of TensorFlow's errors; any other is INTERNAL."""

_NO_TRACES = "<stack traces unavailable>\n"
_LOADING = threading.Lock()
"""TensorFlow loads one SavedModel at a time."""
LOG = logging.getLogger(__name__)
POLL_SECONDS = 5.0
"""Default time between two readings of `models.config`; TensorFlow Serving has 60 in a kit."""
RETRY_SECONDS = 30.0
MAX_RETRIES = 2
NUM_LOAD_THREADS = 2
"""Retries and threads for loading, as in a kit's flags for TensorFlow Serving."""
_MAX_ERROR = 1_000
"""Maximum number of characters of a version's error."""
START, LOADING, AVAILABLE, END = "START", "LOADING", "AVAILABLE", "END"


class ServedVersion:
    """A version that answers requests; threads may share it.

    Args:
        folder: `pathlib.Path` of the version.
        trust: Whether to load a graph that may do more than those of this package's exports.

    Attributes:
        signature_defs: Dictionary from a signature's name to its `SignatureDef`.

    Raises:
        OSError: If a file is missing.
        ValueError: If its graph has operations that no export of this package has; if it is not a
            SavedModel, or one of its files is damaged.
        ImportError: If TensorFlow or TensorFlow Text is not installed.
    """

    def __init__(self, folder, trust=False):
        import tensorflow as tf
        import tensorflow_text  # noqa: F401 - the graph has its ops
        from tensorflow.core.protobuf import saved_model_pb2

        check_is_utf8(folder)
        check_regular_file(folder / "saved_model.pb")
        check_checksums(folder)
        if not trust:
            check_kit_graph(folder)
        with _LOADING, _no_gradients():
            self._module = tf.saved_model.load(str(folder))
        saved = saved_model_pb2.SavedModel()
        saved.ParseFromString((folder / "saved_model.pb").read_bytes())
        self.signature_defs = dict(saved.meta_graphs[0].signature_def)
        self._functions = self._module.signatures
        self._folder = folder

    def input_types(self, signature):
        """Finds the inputs of a signature.

        Args:
            signature: Its name.

        Returns:
            Dictionary from an input's name to a `tf.TensorSpec`; None for an unknown signature.
        """
        if signature not in self._functions:
            return None
        return self._functions[signature].structured_input_signature[1]

    def warm_up(self):
        """Runs the recorded requests, as TensorFlow Serving does before a version is available."""
        run_warmup(self._folder, self.run)

    def run(self, signature, inputs):
        """Computes the outputs of a signature.

        Args:
            signature: Its name.
            inputs: Dictionary from each input's name to an array; texts are bytes.

        Returns:
            Dictionary from an output's name to an array.

        Raises:
            RefusedError: With the error of the graph.
        """
        import tensorflow as tf

        function = self._functions[signature]
        specs = function.structured_input_signature[1]
        try:
            outputs = function(
                **{name: tf.constant(value, specs[name].dtype) for name, value in inputs.items()}
            )
        except tf.errors.OpError as error:
            code = _CODES.get(error.error_code, "INTERNAL")
            raise RefusedError(code, _message(error)) from error
        except (TypeError, ValueError) as error:
            raise invalid(str(error)) from error
        return {name: value.numpy() for name, value in outputs.items()}


@contextlib.contextmanager
def _no_gradients():
    """Has TensorFlow forget the custom gradients of a SavedModel that the block loads.

    Its registry would keep them, and with them all functions of the graph, until the process ends.
    A server differentiates nothing.
    """
    from tensorflow.python.framework import ops

    registered = ops.gradient_registry._registry  # TensorFlow has no public way to take one out
    before = {*registered}
    try:
        yield
    finally:
        for name in registered.keys() - before:
            del registered[name]


def _message(error):
    """The error of the graph itself, as a server gives it, without what TensorFlow adds to it."""
    text = error.message.rpartition(_NO_TRACES)[2]
    return text.rpartition(" [Op:")[0] or text


@dataclass
class _Entry:
    """A version's state, its `ServedVersion` while it is AVAILABLE, and its last error."""

    state: str = START
    loaded: object = None
    error: str = ""
    has_failed: bool = False
    is_wanted: bool = True
    left: threading.Event = field(default_factory=threading.Event)
    """Set when the version is no longer wanted."""


class ServedKit:
    """The versions of a kit that its `models.config` names.

    Args:
        kit: `pathlib.Path` of the folder.
        trust: See `ServedVersion`.
        warm_up: Whether a version runs its recorded requests before it is AVAILABLE.
        poll_seconds: Time between two readings of `models.config`.
        retry_seconds: Time between two attempts to load a version.
        load: Function of a version's folder that gives a `ServedVersion`.

    Attributes:
        name: Name under which the model is served.
        labels: Dictionary from a label to a version's number.
        problem: Sentence that says why the last `models.config` does not hold; "" if it does.
        metrics: `Metrics` of the attempts to load versions.

    Raises:
        OSError: If `models.config` does not exist.
        ValueError: If it is not the configuration of one model.
    """

    def __init__(
        self,
        kit,
        trust=False,
        warm_up=True,
        poll_seconds=POLL_SECONDS,
        retry_seconds=RETRY_SECONDS,
        load=None,
    ):
        self.kit = Path(kit)
        self._load = load or (lambda folder: ServedVersion(folder, trust))
        self._warm_up, self._poll_seconds = warm_up, poll_seconds
        self._retry_seconds = retry_seconds
        self._config = read_models_config(self.kit)
        self.name, self.labels = self._config.name, {}
        self.problem = ""
        self.metrics = Metrics()
        self._entries = {}
        self._folders = {}  # from the number of each version that exists to its folder
        self._changed = threading.Condition()
        self._is_over = threading.Event()
        self._loaders = concurrent.futures.ThreadPoolExecutor(NUM_LOAD_THREADS, "loading")
        self._poller = threading.Thread(target=self._poll, name="models.config", daemon=True)

    def start(self):
        """Loads the versions, and goes on reading `models.config`.

        Returns when every version is AVAILABLE or has failed once.

        Raises:
            FileNotFoundError: If none of the versions exists.
            RuntimeError: If none of them can be loaded.
        """
        self._apply(self._config)
        if not self._entries:
            listed = ", ".join(map(str, self._config.listed or ())) or "any version"
            raise FileNotFoundError(
                f"{self.kit} has no version that its models.config names: {listed}."
            )
        with self._changed:
            entries = self._entries.values()
            while any(e.state in (START, LOADING) and not e.has_failed for e in entries):
                self._changed.wait()
            if not any(entry.state == AVAILABLE for entry in entries):
                errors = {number: entry.error for number, entry in self._entries.items()}
                number, error = max(errors.items())
                raise RuntimeError(f"Version {number} of {self.kit} cannot be loaded: {error}")
        self._poller.start()

    def reload(self):
        """Reads `models.config` and takes it over, unless it breaks a rule: see `problem`."""
        try:
            config = read_models_config(self.kit)
            problem = self._refusal(config)
            if not problem:
                self._apply(config)
        except (OSError, ValueError) as error:
            problem = str(error)
        if problem and problem != self.problem:
            LOG.warning("models.config is not used: %s", problem)
        elif self.problem and not problem:
            LOG.info("models.config is used again.")
        self.problem = problem

    def close(self):
        """Ends reading and loading. A version that is being loaded may go on for a while."""
        self._is_over.set()
        if self._poller.is_alive():
            self._poller.join()
        with self._changed:
            for entry in self._entries.values():
                entry.left.set()
        self._loaders.shutdown(wait=False, cancel_futures=True)

    def find(self, name, version=None, label=None):
        """Finds the version that answers a request.

        Args:
            name: Name of the model.
            version: Number of a version, or None.
            label: Label, or None. With neither, the newest version that is AVAILABLE answers.

        Returns:
            The version's number, and its `ServedVersion`.

        Raises:
            RefusedError: If no version can answer.
        """
        if version is not None and label is not None:
            raise invalid(
                f"Both model version ({version}) and model version label ({label}) cannot be "
                "supplied."
            )
        with self._changed:
            number = version
            if label is not None:
                number = self._number_of(name, label)
            available = {n: e.loaded for n, e in self._entries.items() if e.state == AVAILABLE}
            if number is None and available:
                number = max(available)
            if name == self.name and number in available:
                return number, available[number]
        asked = f"Latest({name})" if version is label is None else f"Specific({name}, {number})"
        raise RefusedError("NOT_FOUND", f"Servable not found for request: {asked}")

    def states(self, name, version=None, label=None):
        """Lists the states of versions, those that were unloaded or failed among them.

        Args:
            name: Name of the model.
            version: Number of a version, or None.
            label: Label, or None. With neither, all versions are listed.

        Returns:
            Dictionary from a version's number to its state and the text of its error, newest first.

        Raises:
            RefusedError: If the version is not known.
        """
        with self._changed:
            if label is not None:
                version = self._number_of(name, label)
            known = self._entries if name == self.name else {}
            found = {
                number: (known[number].state, known[number].error)
                for number in sorted(known, reverse=True)
                if version in (None, number)
            }
        if found:
            return found
        if version is None:
            raise RefusedError("NOT_FOUND", f"Could not find any versions of model {name}")
        raise RefusedError("NOT_FOUND", f"Could not find version {version} of model {name}")

    def _number_of(self, name, label):
        if name != self.name or label not in self.labels:
            raise invalid(f"Unrecognized servable version label: {label}")
        return self.labels[label]

    def _poll(self):
        while not self._is_over.wait(self._poll_seconds):
            self.reload()

    def _refusal(self, config):
        """Gives the reason why a configuration is not taken over; "" if it is."""
        if config.name != self.name:
            return f"it names the model {config.name}, and the server runs {self.name}."
        with self._changed:
            for label, number in config.labels.items():
                entry = self._entries.get(number)
                is_moved = self.labels.get(label, number) != number
                if is_moved and (entry is None or entry.state != AVAILABLE):
                    return (
                        f"it moves the label {label} to version {number}, which is not available. "
                        "List the version first, and move the label when it is loaded: "
                        "`aiayn-keras release` does both."
                    )
        return ""

    def _apply(self, config):
        """Takes a configuration over."""
        self._folders = version_folders(self.kit)
        wanted = config.wanted(self._folders)
        with self._changed:
            self._config = config
            for label, number in config.labels.items():
                if self.labels.get(label, number) != number:
                    LOG.info("%s is version %d.", label, number)
            self.labels = dict(config.labels)
            for number, entry in self._entries.items():
                entry.is_wanted = number in wanted
                if not entry.is_wanted:
                    entry.left.set()
            for number in sorted(wanted):
                entry = self._entries.get(number)
                if entry is None or (entry.left.is_set() and entry.state == END):
                    entry = self._entries[number] = _Entry()
                    self._loaders.submit(self._load_version, number, entry)
                elif entry.state == AVAILABLE:
                    entry.left.clear()
        self._unload_unwanted()

    def _load_version(self, number, entry):
        """Runs in a thread of its own: loads a version, in several attempts if need be."""
        model_path = f"{self._config.base_path}/{number}"
        for attempt in range(1 + MAX_RETRIES):
            if attempt and entry.left.wait(self._retry_seconds):
                break
            if entry.left.is_set():
                break
            self._note(entry, LOADING, entry.error)
            begin = time.monotonic()
            try:
                loaded = self._loaded(number, model_path)
            except Exception as error:  # a broken version may raise anything
                self._note(entry, LOADING, one_line(str(error), _MAX_ERROR) or type(error).__name__)
                LOG.warning("Version %d cannot be loaded: %s", number, entry.error)
                continue
            LOG.info("Version %d is available, after %.1f s.", number, time.monotonic() - begin)
            entry.loaded = loaded
            self._note(entry, AVAILABLE, "")
            del loaded  # an unloaded version must not stay in memory
            self._unload_unwanted()
            return
        self._note(entry, END, entry.error)

    def _loaded(self, number, model_path):
        begin = time.monotonic()
        try:
            loaded = self._load(self._folders.get(number, self.kit / str(number)))
        except Exception:
            self.metrics.count(LOADS, model_path=model_path, status="fail")
            raise
        micros = round(1e6 * (time.monotonic() - begin))
        self.metrics.count(LOAD_MICROSECONDS, micros, model_path=model_path)
        self.metrics.count(LOADS, model_path=model_path, status="success")
        if self._warm_up:
            loaded.warm_up()
        return loaded

    def _note(self, entry, state, error):
        with self._changed:
            entry.state, entry.error = state, error
            entry.has_failed |= bool(error)
            self._changed.notify_all()

    def _unload_unwanted(self):
        """Unloads versions that are not wanted, once a wanted one can answer in their place."""
        with self._changed:
            entries = self._entries.values()
            can_answer = any(e.is_wanted and e.state == AVAILABLE for e in entries)
            if not can_answer and any(e.is_wanted for e in entries):
                return
            unwanted = {
                number: entry
                for number, entry in self._entries.items()
                if not entry.is_wanted and entry.state == AVAILABLE
            }
            for number, entry in unwanted.items():
                entry.state, entry.loaded = END, None
                LOG.info("Version %d is unloaded.", number)
        if unwanted:
            gc.collect()  # a SavedModel holds itself in cycles
