"""A verifier's own time stands still while its judge is asked, and goes on afterwards."""

import asyncio

import pytest

from assay.runtime.verify.ask import OwnTime


def test_time_stands_still_while_a_judge_is_asked() -> None:
    async def run() -> bool:
        async with asyncio.timeout(0.02) as scope:
            own = OwnTime(scope)
            own.stop()
            own.stop()
            await asyncio.sleep(0.04)
            own.go_on()
            assert scope.when() is None
            own.go_on()
        return True

    assert asyncio.run(run())


def test_time_goes_on_after_the_answer() -> None:
    async def run() -> None:
        async with asyncio.timeout(0.02) as scope:
            own = OwnTime(scope)
            own.stop()
            own.go_on()
            deadline = scope.when()
            assert deadline is not None
            assert deadline < asyncio.get_running_loop().time() + 0.1
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        asyncio.run(run())
