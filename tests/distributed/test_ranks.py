import subprocess
import sys
from pathlib import Path

import pytest
import torch

from twincl.errors import InputError
from twincl.ranks import ALONE, Ranks, join, launched, launched_rank, restarted


@pytest.mark.parametrize("world", [1, 2, 3, 5])
@pytest.mark.parametrize("count", [0, 1, 4, 7, 30])
def test_shares_are_contiguous_complete_and_almost_equal(world, count):
    parts = [range(count)[Ranks(rank, world).share(count)] for rank in range(world)]
    assert [row for part in parts for row in part] == list(range(count))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_rows_are_equal_shares_or_refused():
    assert [Ranks(rank, 3).rows(6) for rank in range(3)] == [slice(0, 2), slice(2, 4), slice(4, 6)]
    assert ALONE.rows(7) == slice(0, 7)
    with pytest.raises(ValueError, match="7 rows cannot be shared equally by 3"):
        Ranks(1, 3).rows(7)


def test_alone_everything_is_the_identity():
    tensor = torch.ones(2, requires_grad=True)
    assert ALONE.gather(tensor) is tensor
    assert torch.equal(ALONE.gather_uneven(tensor), tensor)
    ALONE.same_([tensor])
    ALONE.barrier()
    assert ALONE.first
    assert (ALONE.any(True), ALONE.any(False)) == (True, False)


def test_gathered_rows_are_in_order_of_rank(found, duties):
    whole = duties.normal(12, 5)
    for rank in found:
        assert torch.equal(rank["gathered"]["whole"], whole)
        assert torch.equal(rank["gathered"]["plain"], whole)
        assert torch.equal(rank["gathered"]["transposed"], duties.normal(5, 12).T)


def test_gradients_of_gathered_rows_are_summed_over_the_losses_of_all_ranks(found, duties):
    alone = duties.gathered(ALONE)["gradient"]
    times = sum(range(1, len(found) + 1))
    torch.testing.assert_close(torch.cat([rank["gathered"]["gradient"] for rank in found]), times * alone)


def test_uneven_tensors_are_gathered(found):
    for rank in found:
        assert rank["uneven"]["shares"].tolist() == list(range(7))
        assert rank["uneven"]["some_empty"].tolist() == [[r] * 3 for r in range(len(found)) for _ in range(2 * r)]
        assert len(rank["uneven"]["last_empty"]) == 4 * (len(found) - 1)
        assert not rank["uneven"]["last_empty"].requires_grad
        assert rank["uneven"]["all_empty"].shape == (0, 3)


def test_all_get_the_tensors_of_the_first_rank(found):
    for rank in found:
        assert [tensor.shape for tensor in rank["same"]] == [(2, 3), (2, 3), ()]
        assert not any(tensor.any() for tensor in rank["same"])


def test_a_flag_of_any_rank_is_known_to_all(found):
    for rank in found:
        assert rank["agreed"] == [False] + [True] * len(found)


LEAVING = """
import sys, torch
from twincl.errors import TrainingError
from twincl.ranks import join
try:
    with join("cpu") as ranks:
        ranks.barrier()
        if ranks.first:
            raise KeyError("own error")
        ranks.gather(torch.ones(3))
except KeyError:
    sys.exit(7)
except TrainingError as error:
    sys.exit(f"sentence: {error}")
"""


def test_a_rank_that_fails_ends_and_the_one_that_waits_for_it_is_told(run_group):
    codes, said = run_group(2, [sys.executable, "-c", LEAVING])
    assert codes == [7, 1], said
    assert "sentence: another process of this training has ended" in said[1]


PARTING = """
import sys
from pathlib import Path
import torch.distributed as dist
from twincl.config import build_config
from twincl.runs.listener import Silence
from twincl.runs.train import train

photos, output, interrupted = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "interrupted"
left = []

def threads_of_gloo():
    return sum("gloo" in task.read_text() for task in Path("/proc/self/task").glob("*/comm"))

def observed(end):
    def ends():
        left.append(threads_of_gloo())
        end()
        left.append(threads_of_gloo())
    return ends

dist.destroy_process_group = observed(dist.destroy_process_group)
dist.distributed_c10d._abort_process_group = observed(dist.distributed_c10d._abort_process_group)

class Interrupting(Silence):
    def epoch(self, record, epochs):
        raise KeyError("own error")

settings = {"data.path": str(photos), "optim.epochs": 1, "optim.batch_size": 8, "amp": False}
try:
    train(build_config(settings=settings), output, listener=Interrupting() if interrupted else None)
except Exception:
    if not interrupted:
        raise
sys.exit(f"threads of gloo before the end and after it: {left}" if len(left) != 2 or not left[0] or left[1] else 0)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the names of threads are read from Linux's /proc")
@pytest.mark.parametrize("end", ["complete", "interrupted"])
def test_nothing_holds_the_group_when_it_is_ended(run_group, photos, tmp_path, end):
    codes, said = run_group(2, [sys.executable, "-c", PARTING, str(photos), str(tmp_path / "run"), end])
    assert codes == [0, 0], said


@pytest.fixture
def environment(monkeypatch):
    def become(**variables: str) -> None:
        for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return become


@pytest.mark.parametrize("variables", [{}, {"RANK": "0", "WORLD_SIZE": "1"}, {"WORLD_SIZE": "4"}, {"RANK": "1"}])
def test_without_others_one_is_alone(environment, variables):
    environment(**variables)
    with join("cuda") as ranks:
        assert ranks is ALONE
    assert not launched()
    assert launched_rank() == 0, "who is alone writes the results"
    assert not torch.distributed.is_initialized()


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"RANK": "1", "WORLD_SIZE": "2"}, "cannot find each other.*MASTER_ADDR"),
        ({"RANK": "x", "WORLD_SIZE": "2"}, "RANK is 'x'"),
        ({"RANK": "0", "WORLD_SIZE": ""}, "WORLD_SIZE is ''"),
    ],
)
def test_a_broken_environment_is_refused(environment, variables, message):
    environment(**variables)
    with pytest.raises(InputError, match=message), join("cpu"):
        pass
    assert not torch.distributed.is_initialized()


@pytest.mark.skipif(torch.cuda.device_count() > 7, reason="needs a machine with fewer GPUs than processes")
def test_a_process_without_a_gpu_is_refused(environment):
    environment(RANK="7", WORLD_SIZE="8", LOCAL_RANK="7")
    with pytest.raises(InputError, match="process 8 of this machine has no GPU"), join("cuda"):
        pass


def test_what_the_launcher_says(environment):
    environment()
    assert (launched_rank(), restarted()) == (0, False)
    environment(RANK="3", WORLD_SIZE="4", TORCHELASTIC_RESTART_COUNT="0")
    assert (launched(), launched_rank(), restarted()) == (True, 3, False)
    environment(TORCHELASTIC_RESTART_COUNT="2")
    assert restarted()


def test_asking_for_the_rank_does_not_import_torch():
    code = "import sys\nfrom twincl.ranks import ALONE, launched_rank, join\nlaunched_rank(), ALONE.any(True)\n"
    code += "with join('cpu') as ranks: print('torch' in sys.modules, ranks.world)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["False", "1"], done.stderr
