"""Translates lines with a SavedModel; needs tensorflow and tensorflow-text, not aiayn_keras.

python saved_models/translate.py saved_models/demo_en_de/1 < sentences.txt

All of a line goes to the model: unlike `aiayn-keras translate`, this program does not keep URLs,
{name} and emoji as they are. Of a line beyond the limit in the kit's README (255 wordpieces, about
200 words, in tatoeba_en_es), only the beginning is translated, unless the kit refuses such lines.

A SavedModel is a program. One whose operations are not those of this package's exports is refused.
"""

import argparse
import contextlib
import itertools
import os
import re
import sys
import tempfile

BATCH_SIZE = 64
KNOWN_OPS = """
Abs AddV2 All Any Assert AssignVariableOp BatchMatMulV2 BatchMatMulV3 BiasAdd Bitcast
BitwiseAnd BitwiseXor BroadcastTo Cast ConcatV2 Const Cumsum DenseBincount
DisableCopyOnRead Elu EnsureShape Equal Erfc Exp ExpandDims Expm1 Fill FloorDiv FloorMod
GatherV2 Greater GreaterEqual Identity IdentityN If InvertPermutation LeakyRelu Less
LessEqual Log LogSoftmax LogicalAnd LogicalNot LogicalOr MatMul MatrixDiagV3 Max Maximum
Mean MergeV2Checkpoints Min Minimum Mul Neg NoOp NotEqual OnesLike Pack PartitionedCall
Placeholder Pow Prod RaggedGather RaggedRange RaggedTensorToTensor Range ReadVariableOp
RealDiv Relu Relu6 Reshape RestoreV2 RightShift Roll Round Rsqrt SaveV2 ScatterNd Select
SelectV2 Selu SentenceFragmentsV2 SentencepieceDetokenizeOp SentencepieceIdToStringOp
SentencepieceOp SentencepieceTokenizeOp SentencepieceTokenizeWithOffsetsOp Shape
ShardedFilename Sigmoid Size Softmax Softplus Softsign Split Sqrt Square SquaredDifference
Squeeze StatefulPartitionedCall StatelessIf StatelessWhile StaticRegexFullMatch
StaticRegexReplace StopGradient StridedSlice StringJoin StringLength StringSplit Sub Substr
Sum Tanh TensorScatterUpdate Tile TopKV2 Transpose UnicodeDecodeWithOffsets
UnicodeTranscode Unpack UnsortedSegmentJoin UnsortedSegmentMax UnsortedSegmentMin
UnsortedSegmentSum VarHandleOp Where While ZerosLike
"""
SAVER_OPS = {"MergeV2Checkpoints", "RestoreV2", "SaveV2", "ShardedFilename"}


class ArgumentParser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line."""

    def error(self, message):
        self.exit(2, f"{self.prog}: {message} (--help tells more)\n")


@contextlib.contextmanager
def quiet_start():
    """Keeps TensorFlow's start-up messages off stderr; if the block fails, they are shown."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as messages:
        os.dup2(messages.fileno(), 2)
        try:
            yield
        except Exception:
            messages.seek(0)
            os.write(stderr, messages.read())
            raise
        finally:
            os.dup2(stderr, 2)


@contextlib.contextmanager
def one_line(beginning):
    """Ends the program with one line if the block fails."""
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        sys.exit(f"{beginning}: {reason[:1000]}")


@contextlib.contextmanager
def output():
    """Ends the program in one line if the block cannot write, and silently if the reader left."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for what Python writes at its end
        left = isinstance(error, BrokenPipeError)
        sys.exit(1 if left else f"standard output cannot be written: {error.strerror}")


def read_lines():
    """Yields the lines of standard input; ends the program at one that is not UTF-8."""
    for number, line in enumerate(sys.stdin.buffer, start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            sys.exit(
                f"standard input, line {number} is not UTF-8 (byte {error.start}): convert it, for "
                "example with iconv -f LATIN1 -t UTF-8"
            )


def find_unknown(path):
    """Finds what a graph has that no export has: words for it, or None."""
    from tensorflow.core.protobuf import saved_model_pb2

    saved_model = saved_model_pb2.SavedModel()
    with open(os.path.join(path, "saved_model.pb"), "rb") as file:
        saved_model.ParseFromString(file.read())
    if len(saved_model.meta_graphs) != 1 or not saved_model.meta_graphs[0].HasField(
        "object_graph_def"
    ):
        return "another form than TensorFlow 2 writes"
    graph, objects = (
        saved_model.meta_graphs[0].graph_def,
        saved_model.meta_graphs[0].object_graph_def,
    )
    functions = {each.signature.name: each.node_def for each in graph.library.function}
    nodes = list(itertools.chain(graph.node, *functions.values()))
    unknown = {node.op for node in nodes} - set(KNOWN_OPS.split())
    if unknown:
        return f"the operation {min(unknown)}"
    # The functions that read and write files are called by no other.
    savers = {name for name in functions if any(node.op in SAVER_OPS for node in functions[name])}
    called = {
        name
        for node in itertools.chain(*functions.values())
        for value in node.attr.values()
        for name in (value.func.name, *(each.name for each in value.list.func))
    }
    if savers & (called | set(objects.concrete_functions)):
        return "an operation on files"
    return None


def main():
    """Prints score and translation of every line of standard input."""
    parser = ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", help="folder of the SavedModel, which holds saved_model.pb")
    parser.add_argument(
        "--trust",
        action="store_true",
        help="load it even if it has other operations; it may then do anything",
    )
    parser.add_argument("--verbose", action="store_true", help="show TensorFlow's messages")
    arguments = parser.parse_args()
    path = arguments.path
    if sys.stdout is None:
        sys.exit("standard output is closed, so the translations would be lost.")
    sys.stdout.reconfigure(encoding="utf-8")
    if not os.path.isfile(os.path.join(path, "saved_model.pb")):
        sys.exit(
            f"{path} is not a SavedModel: it has no saved_model.pb. A kit has them in its folders "
            "1, 2 and so on."
        )
    with contextlib.nullcontext() if arguments.verbose else quiet_start():
        import tensorflow as tf
        import tensorflow_text  # noqa: F401 - brings the tokenizer's op

    with one_line(f"{path} cannot be loaded"):
        unknown = None if arguments.trust else find_unknown(path)
        if unknown is not None:
            raise ValueError(
                f"its graph has {unknown}, which no export of this package has. It may do anything "
                "with your files: give --trust only if you trust its author."
            )
        loaded = tf.saved_model.load(path)
        serve = loaded.signatures["serving_default"]
    lines = read_lines()
    while batch := list(itertools.islice(lines, BATCH_SIZE)):
        with one_line(f"{path} cannot translate this"):
            answer = serve(text=tf.constant(batch, tf.string))
        rows = zip(answer["translation"].numpy(), answer["score"].numpy(), strict=True)
        with output():
            for translation, score in rows:
                text = re.sub(r"[\t\n\v\f\r]", " ", translation.decode("utf-8", "replace"))
                print(f"{score:8.3f}  {text}")


if __name__ == "__main__":
    main()
