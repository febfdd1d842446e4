"""The number of fields of a gRPC answer, counted before it is parsed.

A field of two bytes can take a hundred in memory once it is parsed. See
https://protobuf.dev/programming-guides/encoding for the format.
"""

from aiayn_keras.serving.answers import MAX_PARTS
from aiayn_keras.serving.errors import BadAnswerError

VARINT, LENGTH = 0, 2
FIXED = {1: 8, 5: 4}
"""Wire types: an integer, bytes after their length, and so many bytes."""

OPAQUE, REFUSED, INTEGERS = "opaque", "refused", "integers"
TENSOR = {
    2: {2: {}},  # tensor_shape: dim
    14: REFUSED,  # resource_handle_val
    15: REFUSED,  # variant_val
    **dict.fromkeys((7, 10, 11, 16, 17), INTEGERS),  # int_val and its like, packed
}
RESPONSE = {1: {2: TENSOR}}  # outputs: value
"""Fields by number: those of a message inside, or one of the three words above."""


def check_num_parts(answer):
    """Counts the fields of a serialized `PredictResponse`, and eight packed integers as one.

    Args:
        answer: Bytes.

    Raises:
        BadAnswerError: If there are more than `MAX_PARTS`, or it is no message.
    """
    try:
        _Counter(answer).walk(0, len(answer), RESPONSE)
    except IndexError as error:
        raise BadAnswerError("a field of the answer has no end.") from error


class _Counter:
    def __init__(self, data):
        self._data, self._num_parts = data, 0

    def walk(self, position, end, fields):
        """Counts the fields from `position` to `end`."""
        while position < end:
            self._add(1)
            tag, position = self._varint(position)
            kind = tag & 7
            if kind == LENGTH:
                length, position = self._varint(position)
                self._enter(position, min(position + length, end), fields.get(tag >> 3, OPAQUE))
                position += length
            elif kind == VARINT:
                _, position = self._varint(position)
            elif kind in FIXED:
                position += FIXED[kind]
            else:
                raise BadAnswerError("the answer has a field of an unknown kind.")

    def _enter(self, position, end, content):
        if content is REFUSED:
            raise BadAnswerError("the answer holds resources or variants.")
        if content is INTEGERS:
            self._add((end - position) // 8)
        elif content is not OPAQUE:
            self.walk(position, end, content)

    def _add(self, num_parts):
        self._num_parts += num_parts
        if self._num_parts > MAX_PARTS:
            raise BadAnswerError(f"the answer has more than {MAX_PARTS} fields.")

    def _varint(self, position):
        """Value of an integer and the position after it."""
        value = shift = 0
        while True:
            byte = self._data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, position
            shift += 7
            if shift > 63:
                raise BadAnswerError("an integer of the answer has no end.")
