"""The paper's algorithms: what clients compute, what the server does with noisy sums. No transport, no noise formulas, no I/O."""
