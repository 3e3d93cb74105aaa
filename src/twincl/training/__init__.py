"""The loop that any method runs in: batches, schedule, expectation steps, checkpoints. It knows no method."""
