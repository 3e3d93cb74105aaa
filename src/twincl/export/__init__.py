"""A finished run in the formats of other tools: tables, image folders, annotation tools, model files.

One file a format; each has a function `write(run, output, ...)` that returns a sentence about what it wrote.
"""
