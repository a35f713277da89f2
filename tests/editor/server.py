"""A language server over its standard streams, as an editor speaks to it; just what the trial asks for."""

import json
import queue
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

PATIENCE_S = 30.0


class Server:
    """One yaml-language-server.

    Args:
        program: Its executable.
        folder: The workspace.
        settings: What the editor keeps for it, by section.
    """

    def __init__(self, program: Path, folder: Path, settings: dict[str, Any]) -> None:
        self.version = json.loads((program.resolve().parents[1] / "package.json").read_text())["version"]
        self._settings = settings
        self._process = subprocess.Popen(
            [program, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder
        )
        self._inbox: queue.Queue[dict[str, Any]] = queue.Queue()
        self._next = 0
        self._said: dict[str, list[str]] = {}
        threading.Thread(target=self._read, daemon=True).start()
        capabilities = {"workspace": {"configuration": True, "didChangeConfiguration": {}}}
        place = {"uri": folder.as_uri(), "name": folder.name}
        self._ask(
            "initialize", processId=None, rootUri=place["uri"], workspaceFolders=[place], capabilities=capabilities
        )
        self._tell("initialized")
        self._tell("workspace/didChangeConfiguration", settings=settings)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def open(self, path: Path, text: str, wanted: int) -> list[str]:
        """Open a file and return what the server says of it, once that is at least so much."""
        document = {"uri": path.as_uri(), "languageId": "yaml", "version": 1, "text": text}
        self._tell("textDocument/didOpen", textDocument=document)
        end = time.monotonic() + PATIENCE_S
        while len(self._said.get(path.as_uri(), ())) < wanted and time.monotonic() < end:
            self._take(end)
        return self._said.get(path.as_uri(), [])

    def complete(self, path: Path, line: int, column: int) -> list[str]:
        """Return the labels that are offered at a place, both from 0."""
        found = self._ask(
            "textDocument/completion",
            textDocument={"uri": path.as_uri()},
            position={"line": line, "character": column},
        )
        items = found["items"] if isinstance(found, dict) else found or []
        return [item["label"] for item in items]

    def _ask(self, method: str, **params: Any) -> Any:
        self._next += 1
        self._send({"id": self._next, "method": method, "params": params})
        end = time.monotonic() + PATIENCE_S
        while True:
            message = self._take(end)
            if message.get("id") == self._next and "method" not in message:
                return message.get("result")

    def _tell(self, method: str, **params: Any) -> None:
        self._send({"method": method, "params": params})

    def _take(self, end: float) -> dict[str, Any]:
        try:
            message = self._inbox.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            raise TimeoutError("the server does not answer") from None
        if message.get("method") == "textDocument/publishDiagnostics":
            params = message["params"]
            self._said[params["uri"]] = [one["message"] for one in params["diagnostics"]]
        elif "method" in message and "id" in message:
            result = None
            if message["method"] == "workspace/configuration":
                result = [self._settings.get(item.get("section")) for item in message["params"]["items"]]
            self._send({"id": message["id"], "result": result})
        return message

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        self._process.stdin.flush()

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        while line := stream.readline():
            length = 0
            while line.strip():
                name, _, value = line.decode().partition(":")
                length = int(value) if name.lower() == "content-length" else length
                line = stream.readline()
            self._inbox.put(json.loads(stream.read(length)))
