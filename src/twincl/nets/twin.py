"""The network that is trained: one encoder, two heads."""

from typing import NamedTuple

from torch import Tensor, nn

from twincl.nets.heads import Classifier, Projector


class Outputs(NamedTuple):
    """What a forward pass gives, float32: `embeddings` (B,D) of unit length and `logits` (B,K)."""

    embeddings: Tensor
    logits: Tensor


class TwinNet(nn.Module):
    """An encoder (a module with its feature width as `dim`) under two heads: projector f and classifier g."""

    def __init__(self, encoder: nn.Module, num_classes: int, *, feat_dim: int, head_bn: bool, dropout: float) -> None:
        super().__init__()
        dim = encoder.dim
        assert isinstance(dim, int)
        self.encoder = encoder
        self.feat_dim = feat_dim
        self.projector = Projector(dim, feat_dim, head_bn=head_bn)
        self.classifier = Classifier(dim, num_classes, head_bn=head_bn, dropout=dropout)

    def forward(self, images: Tensor) -> Outputs:
        """(B,C,H,W) images or (B,D) features, normalised -> embeddings and logits, one pass through the encoder."""
        features = self.encoder(images)
        return Outputs(self.projector(features), self.classifier(features))
