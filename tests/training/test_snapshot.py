import numpy as np
import pytest
import torch

from twincl.augment.images import NATURAL, ImageViews
from twincl.data.batches import Batches
from twincl.data.stores import MemoryImages
from twincl.nets.preact import SmallNet
from twincl.nets.twin import TwinNet
from twincl.training.snapshot import take_snapshot


@pytest.mark.parametrize("training", [True, False])
def test_snapshot_is_one_image_after_the_other_at_rest(pictures, training):
    torch.manual_seed(0)
    pixels, labels = pictures(11, size=8)
    net = TwinNet(SmallNet(3, 8), 3, feat_dim=6, head_bn=True, dropout=0.5)
    views = ImageViews(NATURAL, (0.4, 0.4, 0.4), (0.3, 0.3, 0.3))
    batches = Batches(MemoryImages(pixels), labels, batch_size=4, device=torch.device("cpu"))
    net.train()
    for batch in batches.shuffled(seed=0, epoch=0):  # statistics of batch norm that are not the initial ones
        net(views.plain(batch.images))
    net.train(training)
    before = {name: value.clone() for name, value in net.state_dict().items()}

    snapshot = take_snapshot(net, views, batches.in_order(), amp=False)

    assert net.training is training
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    net.eval()
    for row in range(11):
        image = torch.from_numpy(pixels[row]).permute(2, 0, 1)[None]
        with torch.no_grad():
            embedding, logits = net(views.plain(image))
        torch.testing.assert_close(snapshot.embeddings[row], embedding[0], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(snapshot.probabilities[row], logits[0].softmax(0), rtol=1e-4, atol=1e-5)
    assert not snapshot.embeddings.requires_grad
    np.testing.assert_allclose(snapshot.embeddings.norm(dim=1), 1, rtol=1e-5)
    np.testing.assert_allclose(snapshot.probabilities.sum(1), 1, rtol=1e-5)


def test_bfloat16_gives_nearly_the_same(pictures):
    torch.manual_seed(0)
    pixels, labels = pictures(6, size=8)
    net = TwinNet(SmallNet(3, 8), 3, feat_dim=6, head_bn=True, dropout=0.5)
    views = ImageViews(NATURAL, (0.4, 0.4, 0.4), (0.3, 0.3, 0.3))
    batches = Batches(MemoryImages(pixels), labels, batch_size=3, device=torch.device("cpu"))
    exact = take_snapshot(net, views, batches.in_order(), amp=False)
    rough = take_snapshot(net, views, batches.in_order(), amp=True)
    assert rough.embeddings.dtype == torch.float32
    torch.testing.assert_close(rough.probabilities, exact.probabilities, atol=0.05, rtol=0.1)
    assert not torch.equal(rough.probabilities, exact.probabilities)
