import keras
import numpy as np
import pytest

from aiayn_keras.optimization import WarmupSchedule, paper_adam
from tests.helpers import assert_close


def rates(schedule, steps):
    return [float(schedule(step)) for step in steps]


def test_rates_are_equation_3():
    # d = 16, 4 warm-up steps: 1/4 · min(n^-½, n/8) for update n = 1, 2, 3 …
    schedule = WarmupSchedule(hidden_dim=16, warmup_steps=4)
    assert_close(
        rates(schedule, [0, 1, 2, 3, 4, 8, 15, 99]),
        [0.03125, 0.0625, 0.09375, 0.125, 0.1118034, 0.0833333, 0.0625, 0.025],
    )


def test_the_paper_s_peak_comes_with_update_4000():
    schedule = WarmupSchedule(hidden_dim=512)
    assert_close(rates(schedule, [0, 3999, 99_999]), [1.746928e-7, 6.987712e-4, 1.397542e-4])
    updates = np.array(rates(schedule, range(3990, 4010)))
    assert updates.argmax() == 9


def test_the_peak_can_be_given():
    schedule = WarmupSchedule(hidden_dim=512, warmup_steps=4, peak_learning_rate=0.8)
    assert_close(rates(schedule, [0, 1, 3, 15]), [0.2, 0.4, 0.8, 0.4])


def test_the_first_update_of_an_optimizer_is_step_1():
    weight = keras.Variable([1.0])
    optimizer = keras.optimizers.SGD(WarmupSchedule(hidden_dim=16, warmup_steps=4))
    optimizer.build([weight])
    for expected in (1 - 0.03125, 1 - 0.03125 - 0.0625):
        optimizer.apply([keras.ops.ones(1)], [weight])
        assert_close(weight, [expected])


def test_accumulated_batches_make_one_step():
    schedule = WarmupSchedule(hidden_dim=16, warmup_steps=4, gradient_accumulation_steps=3)
    expected = rates(WarmupSchedule(hidden_dim=16, warmup_steps=4), [0, 0, 0, 1, 1, 1, 2])
    assert_close(rates(schedule, range(7)), expected)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "float32"])
def test_steps_may_be_of_any_type(dtype):
    schedule = WarmupSchedule(hidden_dim=16, warmup_steps=4)
    rate = schedule(keras.ops.convert_to_tensor(3, dtype=dtype))
    assert keras.backend.standardize_dtype(rate.dtype) == "float32"
    assert_close(rate, 0.125)


@pytest.mark.parametrize("peak", [None, 5e-3])
def test_config_round_trip(peak):
    schedule = WarmupSchedule(
        48, warmup_steps=7, peak_learning_rate=peak, gradient_accumulation_steps=3
    )
    optimizer = keras.optimizers.Adam(schedule)
    other = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    copy = other._learning_rate
    assert isinstance(copy, WarmupSchedule)
    assert copy.get_config() == {
        "hidden_dim": 48,
        "warmup_steps": 7,
        "peak_learning_rate": peak,
        "gradient_accumulation_steps": 3,
    }
    assert rates(copy, range(20)) == rates(schedule, range(20))


@pytest.mark.parametrize("name", ["warmup_steps", "gradient_accumulation_steps"])
def test_counts_less_than_one_are_refused(name):
    with pytest.raises(ValueError, match=rf"must be at least 1.*{name}=0"):
        WarmupSchedule(hidden_dim=512, **{name: 0})


def test_the_constants_are_those_of_section_5_3():
    optimizer = paper_adam(512)
    assert isinstance(optimizer, keras.optimizers.Adam)
    assert (optimizer.beta_1, optimizer.beta_2, optimizer.epsilon) == (0.9, 0.98, 1e-9)
    assert optimizer._learning_rate.get_config() == WarmupSchedule(512, 4000).get_config()
    assert optimizer.gradient_accumulation_steps is None
    assert not optimizer.use_ema


def test_the_schedule_is_the_one_asked_for():
    schedule = paper_adam(48, 7, 0.02, gradient_accumulation_steps=3)._learning_rate
    assert schedule.get_config() == WarmupSchedule(48, 7, 0.02, 3).get_config()


@pytest.mark.parametrize("share", [0, 1, 1.5])
def test_an_ema_that_keeps_nothing_or_all_is_refused(share):
    with pytest.raises(ValueError, match=f"`ema_momentum` must be.*{share}"):
        paper_adam(16, ema_momentum=share)


@pytest.mark.parametrize("batches", [1, 3])
def test_an_update_keeps_the_share_of_the_ema_that_is_asked_for(batches):
    optimizer = paper_adam(16, gradient_accumulation_steps=batches, ema_momentum=0.75)
    assert optimizer.use_ema
    # Keras moves the average with every batch.
    assert optimizer.ema_momentum**batches == pytest.approx(0.75)
