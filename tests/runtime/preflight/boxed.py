"""A package whose verifier wants a box; installed for workers by `conftest.py`."""

from typing import Annotated

import assay


class Ran(assay.Signals, frozen=True):
    ok: Annotated[bool, assay.signal(better="up")]


@assay.verifier("boxed.shell", version=1, timeout="30s", needs=assay.Needs(sandbox=True))
async def shell(answer: str | None, box: assay.Sandbox) -> Ran:
    """Run the answer in the box."""
    return Ran(ok=(await box.exec(["/bin/sh", "-c", answer or "exit 1"])).ok)


@assay.hookimpl
def assay_verifiers() -> list[object]:
    return [shell]
