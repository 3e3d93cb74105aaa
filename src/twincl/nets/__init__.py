"""Encoders, heads, and the network that joins them."""
