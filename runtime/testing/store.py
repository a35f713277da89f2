"""The contract of a store: what was synced is there, whatever was killed; what is not there is never made up.

Where its bytes lie in files of its folder, the files are damaged too: cut off, as a power cut leaves them, and changed.
"""

import contextlib
import hashlib
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import msgspec

from assay.core.blob import BlobRef
from assay.core.error import StoreError
from assay.core.leaf import Factory
from assay.core.store import Store
from assay.runtime.testing.factory import FactoryContract, run_code

BLOBS = (b"", b"one", b"\x00" * 4096, bytes(range(256)) * 300)
_KILLED = """
import json, os, pkgutil, signal, sys
from pathlib import Path
import msgspec
target, folder, options = sys.argv[1:]
store = pkgutil.resolve_name(target)(Path(folder), "writer-0", **json.loads(options))
refs = [store.put(bytes([number]) * 1000) for number in range(20)]
store.sync()
sys.stdout.buffer.write(msgspec.msgpack.encode(refs))
sys.stdout.flush()
store.put(b"never synced")
os.kill(os.getpid(), signal.SIGKILL)
"""


class _Opened:
    """Handles of clauses that broke before they closed them."""

    def __init__(self) -> None:
        self.stores: list[Store] = []

    def close(self) -> None:
        for store in self.stores:
            with contextlib.suppress(Exception):
                store.close()


class StoreContract(FactoryContract):
    """What holds of a store.

    Attributes:
        store: Its factory, called as `factory(folder, writer, **options)`; `writer` is None for a handle that reads.
        has_files: Bytes lie in files of the folder; False for a store elsewhere, whose files nobody can damage.
    """

    kind = "store"
    store: ClassVar[Factory]
    has_files: ClassVar[bool] = True

    @classmethod
    def left_out(cls) -> tuple[str, ...]:
        """Leave out damaged files where there are none."""
        torn = ("test_a_torn_end_takes_nothing_else_with_it", "test_changed_bytes_are_never_given")
        return () if cls.has_files else torn

    def test_what_was_put_is_given_back(self) -> None:
        """Bytes of all sizes, and a memoryview; the reference holds their SHA-256 and length."""
        store = self._open(self.new_folder(), "writer-0")
        refs = [store.put(data) for data in BLOBS]
        refs.append(store.put(memoryview(BLOBS[-1])))
        store.sync()
        for data, ref in zip((*BLOBS, BLOBS[-1]), refs, strict=True):
            expected = (hashlib.sha256(data).hexdigest(), len(data))
            self.require(
                expected == (ref.digest, ref.num_bytes), "a reference must hold digest and length", got=ref.digest
            )
            self._gives(store, ref, data)
        store.close()

    def test_a_writer_reads_its_own_bytes_before_they_are_synced(self) -> None:
        """As a stage does that looks again at what it has just put."""
        store = self._open(self.new_folder(), "writer-0")
        self._gives(store, store.put(b"fresh"), b"fresh")
        store.close()

    def test_every_handle_reads_what_was_synced(self) -> None:
        """A handle that only reads, also one that was open before, and another writer's."""
        folder = self.new_folder()
        writer, other = self._open(folder, "writer-0"), self._open(folder, "writer-1")
        early = self._open(folder, None)
        refs = [writer.put(b"mine"), other.put(b"yours"), other.put(b"mine")]
        writer.sync()
        other.sync()
        late = self._open(folder, None)
        for store in (writer, other, early, late):
            for ref, data in zip(refs, (b"mine", b"yours", b"mine"), strict=True):
                self._gives(store, ref, data)
        for store in (writer, other, early, late):
            store.close()

    def test_a_writer_that_comes_back_goes_on(self) -> None:
        """What it put before it was closed is there, and it puts more; closing twice is safe."""
        folder = self.new_folder()
        store = self._open(folder, "writer-0")
        first = store.put(b"first")
        store.close()  # it syncs
        store.close()
        again = self._open(folder, "writer-0")
        second = again.put(b"second")
        self._gives(again, first, b"first")
        self._gives(again, second, b"second")
        again.close()

    def test_what_was_synced_survives_a_kill(self) -> None:
        """A process puts, syncs, puts more and is killed by SIGKILL; its successor reads what was synced and writes."""
        folder = self.new_folder()
        done = run_code(_KILLED, self.plugin.object_name, str(folder), json.dumps(dict(self.options)))
        self.require(
            done.returncode == -signal.SIGKILL,
            "a store must be opened in a process of its own",
            got=done.stderr.decode(errors="replace").strip().splitlines()[-1:],
        )
        refs = msgspec.msgpack.decode(done.stdout, type=list[BlobRef])
        again = self._open(folder, "writer-0")
        for number, ref in enumerate(refs):
            self._gives(again, ref, bytes([number]) * 1000)
        self._gives(again, again.put(b"after"), b"after")
        again.close()

    def test_what_is_not_there_is_a_store_error(self) -> None:
        """A digest nobody put, a place that does not exist, and one outside the folder."""
        folder = self.new_folder()
        store = self._open(folder, "writer-0")
        ref = store.put(b"here")
        store.sync()
        wrong = hashlib.sha256(b"elsewhere").hexdigest()
        for missing in (
            msgspec.structs.replace(ref, digest=wrong),
            BlobRef(wrong, 9, "nowhere", 0),
            BlobRef(wrong, 9, "../nowhere", 0),
            BlobRef("../../nowhere", 9, ref.store, ref.offset),
        ):
            self._refuses(store, missing)
        store.close()

    def test_a_torn_end_takes_nothing_else_with_it(self) -> None:
        """The last byte of the last blob's files is gone: that blob is refused, all others and new ones are given."""
        folder, before, last = self._two_blobs()
        self._damage(folder, before, lambda data: data[:-1])
        store = self._open(folder, "writer-0")
        after = store.put(b"after")
        store.sync()
        self._refuses(store, last)
        self._gives(store, self._whole, b"whole" * 100)
        self._gives(store, after, b"after")
        store.close()

    def test_changed_bytes_are_never_given(self) -> None:
        """A bit of the last blob's files is flipped: it is refused, with whatever handle."""
        folder, before, last = self._two_blobs()
        self._damage(folder, before, lambda data: data[:-1] + bytes([data[-1] ^ 1]))
        store = self._open(folder, None)
        self._refuses(store, last)
        self._gives(store, self._whole, b"whole" * 100)
        store.close()

    _whole: BlobRef

    def _two_blobs(self) -> tuple[Path, dict[Path, int], BlobRef]:
        """Return a folder with a blob and then another one, and the sizes of its files in between."""
        folder = self.new_folder()
        store = self._open(folder, "writer-0")
        self._whole = store.put(b"whole" * 100)
        store.sync()
        before = {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
        last = store.put(b"last" * 100)
        store.close()
        return folder, before, last

    def _damage(self, folder: Path, before: dict[Path, int], change: Callable[[bytes], bytes]) -> None:
        grown = [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size > before.get(path, 0)]
        self.require(grown, "a store with files must have put a blob into one", todo="Set `has_files = False`")
        for path in grown:
            path.chmod(0o600)
            path.write_bytes(change(path.read_bytes()))

    def _open(self, folder: Path, writer: str | None) -> Store:
        store: Store = self.make(folder, writer)
        self.resource("opened", _Opened).stores.append(store)
        return store

    def _gives(self, store: Store, ref: BlobRef, data: bytes) -> None:
        try:
            found = store.get(ref)
        except StoreError as error:
            self.broken("a store must give what was put", got=error)
        self.require(found == data, "a store must give what was put", got=found[:40])

    def _refuses(self, store: Store, ref: BlobRef) -> None:
        try:
            found = store.get(ref)
        except StoreError:
            return
        except Exception as error:  # whatever else it raises is the fault that is looked for
            self.broken("what is not there must be a StoreError", got=f"{type(error).__name__}: {error}")
        self.broken("what is not there must be a StoreError", got=found[:40])
