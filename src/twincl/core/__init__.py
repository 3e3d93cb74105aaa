"""The paper's equations as pure functions on tensors: no files, no configuration, no devices, no global randomness."""
