"""What can go wrong between a client and a server."""


class ServingError(RuntimeError):
    """A request has no answer."""


class ServerUnavailableError(ServingError):
    """Nobody listens, the server is loading or overloaded, or the connection broke."""


class DeadlineExceededError(ServingError):
    """The answer did not come in time."""


class RequestRefusedError(ServingError):
    """The server will not answer this request, now or later: unknown model, text too long, ..."""
