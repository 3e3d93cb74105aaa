"""The shape of one sample, which tells the two kinds of data apart: (C, H, W) of an image, (D,) of a feature vector."""

Shape = tuple[int, ...]


def is_vector(shape: Shape) -> bool:
    """Whether samples of `shape` are feature vectors."""
    return len(shape) == 1


def describe_shape(shape: Shape) -> str:
    """The kind and size of samples of `shape`, for a message."""
    if is_vector(shape):
        return f"feature vectors of {shape[0]} values"
    channels, height, width = shape
    return f"images of {width}x{height}x{channels}"
