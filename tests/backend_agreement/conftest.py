import functools

import pytest

from tests.backend_agreement.comparison import BACKENDS, ask, is_installed
from tests.backend_agreement.toy import save_toy


@pytest.fixture(scope="session")
def answers(tmp_path_factory):
    """Function of a backend's name: its answers, asked for once. Skips what is not installed."""
    if sum(map(is_installed, BACKENDS)) < 2:
        pytest.skip("one backend alone has none to agree with")
    folder = tmp_path_factory.mktemp("toy")
    save_toy(folder)
    asked = functools.cache(ask)

    def of(backend):
        if not is_installed(backend):
            pytest.skip(f"{backend} is not installed")
        return asked(backend, folder)

    return of
