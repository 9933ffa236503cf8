"""Programs and shapes drawn at random, beside the best peer: a judge that cannot be tuned to."""
