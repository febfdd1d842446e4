"""Refusals: their codes and words, in one file because every other file here raises them."""

HTTP_STATUS = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "NOT_FOUND": 404,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
"""Status of HTTP for each name of a gRPC status code, as in TensorFlow Serving."""

NO_TABLES = {
    "classify": "Expected one or two output Tensors, found 3",
    "regress": "Expected one output Tensor.",
}
"""TensorFlow Serving's words for signatures that neither classify nor regress."""


class RefusedError(Exception):
    """A request that is answered with an error.

    Args:
        code: A key of `HTTP_STATUS`.
        message: Text for the client: TensorFlow Serving's words, where it refuses the same.
    """

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def invalid(message):
    """Makes the `RefusedError` for a wrong request."""
    return RefusedError("INVALID_ARGUMENT", message)
