"""The paper's baseline is TCL whose targets are the given labels in every epoch."""

from dataclasses import replace

import torch

from twincl.augment.images import NATURAL, ImageViews
from twincl.data.batches import Batch
from twincl.methods.baseline import Baseline
from twincl.methods.method import Parts
from twincl.methods.registry import find_method
from twincl.methods.tcl import TCL, TCLSettings
from twincl.nets.preact import SmallNet
from twincl.nets.twin import TwinNet

EPOCHS = 40


def parts() -> Parts:
    torch.manual_seed(0)
    net = TwinNet(SmallNet(3, 8), 3, feat_dim=4, head_bn=True, dropout=0.0)
    views = ImageViews(NATURAL, (0.5, 0.5, 0.5), (0.2, 0.2, 0.2))
    return Parts(net, views, torch.arange(24) % 3, 3, EPOCHS, torch.Generator().manual_seed(0))


def losses(method: TCL, epoch: int) -> dict[str, float]:
    method.clean = torch.full((24,), 0.3)
    method.mixture = replace(method.mixture, means=torch.eye(3, 4))
    images = torch.randint(0, 256, (6, 3, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    terms = method.losses(Batch(torch.arange(6), images, torch.arange(6) % 3), epoch)
    return {name: float(value.detach()) for name, value in terms.items()}


def test_its_last_epoch_is_the_first_of_tcl() -> None:
    settings = TCLSettings(weight_align=2.0, label_epochs=1)
    last = losses(find_method("baseline")(parts(), settings=settings), EPOCHS - 1)
    assert last == losses(TCL(parts(), settings), 0)
    trusting = TCL(parts(), settings)
    trusting.label_epochs = 0
    by_prediction = losses(trusting, 0)
    unlike = {name for name in last if last[name] != by_prediction[name]}
    assert unlike == {"cross", "align_class", "align_mixture"}, "the targets alone differ"
    assert isinstance(Baseline(parts(), settings), TCL)
