"""The form of a verb: how it is typed, and the command that a typed line becomes."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from bot.core.commands.context import CommandContext
from bot.core.github.markdown import code
from bot.core.messages import Field, Message
from bot.core.model.command import COMMAND, SHA_CHARS
from bot.core.planning.permissions import Refusal
from bot.core.planning.plan_builder import PlanBuilder

_SHA = re.compile(rf"[0-9a-f]{{{SHA_CHARS},64}}")


class MistakeError(Exception):
    """A message's key, with its fields made safe as Markdown: how a line is typed wrongly."""

    def __init__(self, *, key: str, **fields: Field) -> None:
        super().__init__(key)
        self.key = key
        self.fields = fields


def keep(value: str) -> str:
    """Return an option's value unchanged: any value will do."""
    return value


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a verb; ``check`` returns its value, or raises a mistake."""

    name: str
    value: str = ""  # how the usage calls the value; "" for an option without one
    check: Callable[[str], str] = keep
    repeated: bool = False  # values are KEY=VALUE; each key may be given once

    @property
    def usage(self) -> str:
        """Return how the option is typed."""
        return f"[{self.name} {self.value}]" if self.value else f"[{self.name}]"

    def identity(self, value: str) -> str:
        """Return what a line may hold once: the option, or the option with this key."""
        return f"{self.name} {value.partition('=')[0]}" if self.repeated else self.name


def _commit(value: str) -> str:
    sha = value.lower()
    if not _SHA.fullmatch(sha):
        raise MistakeError(key="mistake_sha", sha=code(value), least=SHA_CHARS)
    return sha


SHA = Option("--sha", "SHA", _commit)


@dataclass(frozen=True, slots=True)
class TypedLine:
    """A command line taken apart."""

    text: str
    words: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()  # names with their checked values, in order

    def value(self, option: Option) -> str | None:
        """Return the value of an option, None if it was not given."""
        return dict(self.options).get(option.name)


@dataclass(frozen=True, slots=True)
class Command(ABC):
    """What one line of a comment asks for."""

    typed: TypedLine

    @property
    def line(self) -> str:
        """Return the line as it was typed."""
        return self.typed.text

    @property
    def words(self) -> tuple[str, ...]:
        """Return the words after the verb."""
        return self.typed.words

    @property
    def sha(self) -> str | None:
        """Return the commit that the command names, None for the head."""
        return self.typed.value(SHA)

    @abstractmethod
    def carry_out(self, context: CommandContext, builder: PlanBuilder) -> None:
        """Add to the plan what the command does, and to the reply what it says."""


@dataclass(frozen=True, slots=True)
class Mistake(Command):
    """A line that can't be followed; the fields of ``text`` are Markdown made safe."""

    text: Message

    def carry_out(self, context: CommandContext, builder: PlanBuilder) -> None:
        """Say what is wrong with the line; nothing starts."""
        builder.refuse(Refusal(context.messages.render(self.text)))


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb: parser, usage, help and guesses are all derived from it."""

    name: str
    command: Callable[[TypedLine], Command]
    words: str = ""  # how the usage calls the words after the verb; "" if it takes none
    options: tuple[Option, ...] = ()
    implied: bool = False  # a line without a verb means this one

    @property
    def usage(self) -> str:
        """Return how the command is typed."""
        name = f"[{self.name}]" if self.implied else self.name
        parts = (COMMAND, name, self.words, *(option.usage for option in self.options))
        return " ".join(part for part in parts if part)
