"""Contracts: what must hold of every plugin of a kind, as classes that pytest collects.

A plugin author imports them from `assay.testing`, which is a list of names over the modules of this folder:

    from assay.testing import Case, VerifierContract

    TestMatch = VerifierContract.of(match, cases=[Case("two one", {"expected": "two one"}, {"equal": True})])

or, where more is set or added, as a class: `class TestMatch(VerifierContract): verifier = match; cases = [...]`.

How a contract is written (one module per kind, named after it: `sampler.py` holds `SamplerContract`):

* It derives from `Contract`, states `kind` (a value of `assay.core.hook.NAMED`) and declares what the author sets as
  annotated class attributes with defaults. The plugin itself is set under the name of the kind.
* Each clause is a method `test_<truth>`: one clause, one truth, no parameter. Its docstring says what is claimed, and
  what is not. `Contract` brings the clauses that hold of every kind (installed, offered once, found again by its
  reference, documented, light to declare); a contract adds those of its own.
* A clause says what is wrong with `self.require(holds, must, got=..., todo=...)`, or `self.broken(...)` at once. The
  message has the shape of every error: what must hold, what came, whose it is, the way out. It always names the plugin
  and its distribution.
* A clause that says nothing about this plugin (order of answers for a verifier that declares itself random) is named
  by `left_out`, and is then not collected: it neither passes nor is skipped.
* What costs time (a worker, a model) is opened at first use through `self.resource(name, make)`, shared by the clauses
  of one class and closed after the last.
* Nothing here imports pytest: clauses raise `ContractBroken`, which is an AssertionError. A heavy import is made in the
  clause that needs it.
* Every clause has been seen red: `tests/runtime/testing/test_<kind>.py` holds a wrong plugin for each.

An example package per kind lies in `examples/<kind>/`; its tests are the contract and little else.
"""
