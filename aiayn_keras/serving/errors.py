"""Errors between a client and a server."""


class ServingError(RuntimeError):
    """A request got no answer."""


class ServerUnavailableError(ServingError):
    """No server listens, it is loading or overloaded, or the connection broke."""


class DeadlineExceededError(ServingError):
    """The answer did not come in time."""


class RequestRefusedError(ServingError):
    """The server refuses the request, now and later: unknown model, text too long, and so on."""
