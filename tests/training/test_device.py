import time

import pytest
import torch

from twincl.errors import InputError
from twincl.nets.precision import precision
from twincl.training.device import (
    choose_device,
    mixed_precision_pays,
    processor_seconds,
    seed_everything,
    threads,
    undisturbed,
)


def test_devices_by_name():
    assert choose_device("cpu") == torch.device("cpu")
    assert choose_device("auto").type in ("cpu", "cuda")


@pytest.mark.parametrize("name", ["gpu", "cuda:99", "cpu:x", ""])
def test_a_device_that_is_not_there_is_one_sentence(name):
    with pytest.raises(InputError, match=rf"device '{name}' cannot be used \(.+\); try --device cpu"):
        choose_device(name)


def test_precision_is_measured_or_given():
    assert mixed_precision_pays(torch.device("cpu")) in (True, False)
    assert mixed_precision_pays(torch.device("meta")) is False
    for amp, expected in ((True, torch.bfloat16), (False, torch.float32)):
        with precision(torch.device("cpu"), amp):
            assert torch.nn.functional.linear(torch.ones(2, 2), torch.ones(2, 2)).dtype == expected


def test_measuring_precision_leaves_the_threads_as_they_were():
    with threads(3):
        mixed_precision_pays.cache_clear()
        mixed_precision_pays(torch.device("cpu"))
        assert torch.get_num_threads() == 3


def test_processor_seconds_count_neither_the_first_time_nor_waiting():
    calls: list[int] = []
    assert processor_seconds(lambda: calls.append(1), repeats=3) >= 0
    assert len(calls) == 4
    assert processor_seconds(lambda: time.sleep(0.2), repeats=1) < 0.1


def test_undisturbed_puts_back_generators_and_switches():
    def state() -> tuple[object, ...]:
        kernels, memory = torch.backends.cudnn, torch.utils.deterministic
        switches = kernels.deterministic, kernels.benchmark, memory.fill_uninitialized_memory
        return torch.get_rng_state().tolist(), torch.get_deterministic_debug_mode(), *switches

    def disturb() -> None:
        with undisturbed(torch.device("cpu")):
            seed_everything(1)
            assert state() != before
            raise KeyboardInterrupt

    before = state()
    with pytest.raises(KeyboardInterrupt):
        disturb()
    assert state() == before
