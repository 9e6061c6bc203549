"""Mutation testing (`make mutate`): small changes to the source, each of which some test must notice.

A mutant is the source with one expression or statement changed (`<` becomes `<=`, a `raise` is left out). It is killed
when a test fails, and survives when all pass: then nothing tests what was changed. For each mutant only the tests that
execute the changed line are run, those in files of a similar name first. Which tests those are is measured once for a
file of tests, and again when that file changes; a line that has moved since is found by its text.

A survivor is either a missing test or a change without an effect. Those of the second kind are listed, each with its
reason, in `equivalent.toml`.
"""
