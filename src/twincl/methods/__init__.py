"""Ways to learn from labels nobody trusts: one method, one file; `registry` lists them."""
