"""From what lies on disk to batches of images with their given labels.

`read` finds the images and labels, `classes` numbers the labels, `images` decodes, `batches` serves.
"""
