"""Fuzzing (`make fuzz`): random and damaged input for everything that reads what others wrote.

The rule for every target: it gives a value or the error it documents, in bounded time and memory, whatever the input.

A target draws an input from a seed and checks it; one module holds the targets of one subject. Case `n` of a target
with a seed is always the same input, so a failure is repeated with `make fuzz TARGET=… SEED=… CASE=n`. When a case
fails, fix the defect and add the input (made smaller) to the `examples` of its target, which `make test` runs.
"""
