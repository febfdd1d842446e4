"""Text files for tests."""


def write(path, data):
    """Writes text or bytes to a file, and returns its path."""
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path
