"""The one place that turns a configuration into objects and lets them work: prepare, train, predict, demo."""
