"""What a run leaves behind: metrics, issue table, model file. Below the assembly, only this sees true labels."""
