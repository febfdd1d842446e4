import keras
import pytest

from aiayn_keras.optimization import WarmupSchedule, paper_adam


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
