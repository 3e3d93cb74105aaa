"""A small perceptron for feature vectors, where another network has done the seeing."""

from torch import Tensor, nn


class MLP(nn.Module):
    """Two layers over D features: (B,D) -> (B,width)."""

    def __init__(self, features: int, width: int = 256) -> None:
        super().__init__()
        self.dim = width
        self.layers = nn.Sequential(*_layer(features, width), *_layer(width, width))

    def forward(self, features: Tensor) -> Tensor:
        """(B,D) -> (B,dim)."""
        hidden: Tensor = self.layers(features)
        return hidden


def _layer(inputs: int, outputs: int) -> tuple[nn.Module, ...]:
    return nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.ReLU(inplace=True)
