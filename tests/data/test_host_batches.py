import numpy as np
import pytest

from aiayn_keras.data import HostBatches, PackedBatches, TokenBatches, TokenPairs, UpdateBatches


def batches(kind):
    ids = [[5] * length for length in (1, 2, 3, 4, 5, 6, 7, 3, 4)]
    return UpdateBatches(kind(TokenPairs(ids, ids[::-1]), tokens_per_batch=40), 2)


@pytest.mark.parametrize("kind", [TokenBatches, PackedBatches])
@pytest.mark.parametrize("hosts", [1, 2, 3])
def test_the_hosts_rows_together_are_the_batch(kind, hosts):
    whole = batches(kind)
    parts = [HostBatches(batches(kind), host, hosts) for host in range(hosts)]
    assert all(len(part) == len(whole) for part in parts)
    for index in range(2 * len(whole) + 1):
        x, labels, weights = whole[index]
        shares = [part[index] for part in parts]
        assert len({share[1].shape for share in shares}) == 1
        for name, expected in (*x.items(), ("labels", labels), ("weights", weights)):
            joined = np.concatenate(
                [{**share[0], "labels": share[1], "weights": share[2]}[name] for share in shares]
            )
            np.testing.assert_array_equal(joined[: len(expected)], expected)
            assert not joined[len(expected) :].any()


@pytest.mark.parametrize("host", [-1, 2])
def test_a_host_that_is_not_there_is_refused(host):
    with pytest.raises(ValueError, match=f"Received: host={host}, hosts=2"):
        HostBatches(batches(TokenBatches), host, 2)
