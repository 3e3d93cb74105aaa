"""Batched augmentations: draw parameters from a generator, then apply them to tensors."""
