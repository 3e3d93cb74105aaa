"""The 3x3 convolution on maps of one place, where bfloat16's gradient on CPU was once made up."""

import pytest
import torch
from torch.nn import functional as F

from twincl.nets.convolution import Conv3x3
from twincl.nets.precision import precision
from twincl.nets.registry import create_encoder


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("side", [1, 2, 3, 8])
def test_it_is_the_plain_convolution(stride: int, side: int) -> None:
    torch.manual_seed(0)
    conv, images = Conv3x3(4, 6, stride), torch.randn(3, 4, side, side)
    torch.testing.assert_close(conv(images), F.conv2d(images, conv.weight, stride=stride, padding=1))


def test_the_gradient_on_one_place_is_the_same_in_bfloat16() -> None:
    torch.manual_seed(0)
    for _ in range(20):  # memory that was never written is sometimes zero
        conv, images = Conv3x3(32, 64, 2).to(memory_format=torch.channels_last), torch.randn(64, 32, 1, 1)
        gradients = []
        for amp in (False, True):
            conv.zero_grad()
            with precision(images.device, amp):
                maps = conv(images.to(memory_format=torch.channels_last))
            maps.float().square().sum().backward()
            gradients.append(conv.weight.grad.clone())
        torch.testing.assert_close(gradients[1], gradients[0], rtol=0.05, atol=0.05 * float(gradients[0].abs().max()))


@pytest.mark.parametrize("name", ["small", "preact_resnet18", "resnet18", "resnet50"])
def test_gradients_of_encoders_of_tiny_images_have_a_size_that_makes_sense(name: str) -> None:
    torch.manual_seed(0)
    encoder = create_encoder(name, shape=(3, 8, 8)).to(memory_format=torch.channels_last)
    images = torch.randn(8, 3, 8, 8).to(memory_format=torch.channels_last)
    for _ in range(3):
        encoder.zero_grad()
        with precision(images.device, True):
            features = encoder(images)
        features.float().square().mean().backward()
        assert max(float(weight.grad.abs().max()) for weight in encoder.parameters()) < 1e3
