"""Messages of a dialogue: a role and a list of typed parts."""

from typing import Any, Literal

import msgspec

from assay.core.blob import BlobRef

Role = Literal["system", "user", "assistant", "tool"]


class TextPart(msgspec.Struct, frozen=True, array_like=True, tag="text"):
    """Plain text."""

    text: str


class ImagePart(msgspec.Struct, frozen=True, array_like=True, tag="image"):
    """An image by reference, with its media type such as `image/png`."""

    blob: BlobRef
    media_type: str


class ToolCallPart(msgspec.Struct, frozen=True, array_like=True, tag="tool_call"):
    """A call the policy asked for; `is_valid` is False where it did not parse or named no tool."""

    call_id: str
    tool: str
    arguments: dict[str, Any]
    is_valid: bool = True


class ToolResultPart(msgspec.Struct, frozen=True, array_like=True, tag="tool_result"):
    """What a tool answered; `is_error` marks an error the policy can read and react to."""

    call_id: str
    text: str
    is_error: bool = False


Part = TextPart | ImagePart | ToolCallPart | ToolResultPart


class Message(msgspec.Struct, frozen=True, array_like=True):
    """One message."""

    role: Role
    parts: tuple[Part, ...]

    @classmethod
    def of_text(cls, role: Role, text: str) -> "Message":
        """Return a message of one text part."""
        return cls(role, (TextPart(text),))

    @property
    def text(self) -> str:
        """All text parts joined; other parts are left out."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))
