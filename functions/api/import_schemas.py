"""Schemas: files of other schedulers."""

from pydantic import Field

from .schemas import Strict


class DocumentBody(Strict):
    """A file of another scheduler; it is sent as it is, and comes in here (`documents.py`)."""

    document: str = Field(description="The text of the file.")


class CrontabBody(DocumentBody):
    """A crontab."""

    not_utf8: list[int] = Field(default_factory=list, description="Lines that were not UTF-8, and read as Latin-1.")
