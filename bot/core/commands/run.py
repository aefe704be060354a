"""`/ascend-e2e [run]`: start suites on a commit.

Needs the level of each suite's tier on a trusted commit, as the policy's ``trust`` says.
"""

import re
from dataclasses import dataclass, replace

from bot.core.commands.context import CommandContext, refused
from bot.core.commands.verb import SHA, Command, MistakeError, Option, Verb
from bot.core.github.markdown import code
from bot.core.messages.words import joined
from bot.core.model.ids import Sha, short
from bot.core.planning.permissions import by_command, named
from bot.core.planning.plan_builder import PlanBuilder
from bot.core.planning.pull_request import Evaluation
from bot.core.policy.models import Tier

_LABEL = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)
_SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*=.*", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True)
class RunCommand(Command):
    """Start suites; if none is named, those that the files of the head select."""

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """Return the inputs to set, in the order given."""
        given = (value.partition("=") for name, value in self.typed.options if name == SET.name)
        return tuple((key, value) for key, _, value in given)

    def carry_out(self, context: CommandContext, builder: PlanBuilder) -> None:
        """Start the suites, or say that nothing is selected."""
        request = context.request_for(self.line, self.sha, builder)
        if request is None:
            return
        names, refusals = named(context.messages, context.policy, self.words)
        if refused(refusals, builder):
            return
        if not self.words:
            names = selected_by_files(request.evaluation)
        if not names:
            builder.said.append(_nothing(context, request.requester.sha))
        request = replace(
            request,
            runner=self.typed.value(RUNNER),
            settings=self.settings,
            force=self.typed.value(FORCE) is not None,
        )
        context.start(request, self.line, names, builder)


def _nothing(context: CommandContext, sha: Sha) -> str:
    """Say why nothing starts on a commit, and which suites a command may name."""
    named = [name for name, suite in context.policy.suites.items() if by_command(suite)]
    names = joined(map(code, named))
    todo = context.messages("name_one", names=names) if names else ""
    key = "nothing_selected" if sha == context.pull.head_sha else "files_unknown"
    return context.messages(key, sha=code(short(sha)), todo=todo).rstrip()


def selected_by_files(evaluation: Evaluation) -> list[str]:
    """Return the selected suites that need no name in a command; heavy ones need it."""
    policy = evaluation.at.policy
    return [
        name
        for name in evaluation.selection.selected
        if by_command(policy.suites[name]) and policy.suites[name].tier is Tier.STANDARD
    ]


def _label(value: str) -> str:
    if not _LABEL.fullmatch(value):
        raise MistakeError(key="mistake_word", word=code(value))
    return value


def _setting(value: str) -> str:
    if not _SETTING.fullmatch(value):
        raise MistakeError(key="mistake_setting", value=code(value))
    return value


RUNNER = Option("--runner", "LABEL", _label)
SET = Option("--set", "KEY=VALUE", _setting, repeated=True)
FORCE = Option("--force")


RUN = Verb("run", RunCommand, words="[SUITE…]", options=(SHA, RUNNER, SET, FORCE), implied=True)
