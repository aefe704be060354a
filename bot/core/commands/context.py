"""What the commands of one comment are decided on, and the decisions that verbs share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.core.github.events import IssueCommentEvent
from bot.core.github.markdown import code, prose
from bot.core.messages import Messages
from bot.core.model.ids import Sha, short
from bot.core.model.pulls import Head, Pull
from bot.core.planning.offers import line
from bot.core.planning.permissions import Refusal, commit_for, first_head_seen, head_seen
from bot.core.planning.plan import AuditEntry, RunClaimants
from bot.core.planning.plan_builder import PlanBuilder
from bot.core.planning.pull_request import Evaluation, suites_awaiting_approval
from bot.core.planning.starts import Starter, StartRequest
from bot.core.planning.trust import Person
from bot.core.policy.models import Policy


@dataclass(frozen=True, slots=True)
class CommandContext:
    """All that the commands of one comment are decided on."""

    event: IssueCommentEvent
    evaluation: Evaluation  # of the head
    person: Person  # the comment's author
    heads: tuple[Head, ...]  # oldest first, the head last
    requests: Mapping[Sha, StartRequest]  # of the head, and of former heads that are named
    claimed: tuple[RunClaimants, ...]  # the open runs that run for this pull request
    overruled: frozenset[int]  # pull requests that do not count for the gate of the head
    usages: Mapping[str, str]  # how each verb is typed, by its name
    starts: Starter
    messages: Messages
    now: datetime

    @property
    def pull(self) -> Pull:
        """Return the pull request that was commented on."""
        return self.evaluation.pull

    @property
    def policy(self) -> Policy:
        """Return the policy in force."""
        return self.evaluation.at.policy

    @property
    def head(self) -> StartRequest:
        """Return the request for the head."""
        return self.requests[self.pull.head_sha]

    def request_for(
        self, line: str, commit: str | None, builder: PlanBuilder
    ) -> StartRequest | None:
        """Return the request for the commit that a command means.

        None: the command is refused, for its author may not know the commit.
        """
        found = commit_for(self.messages, line, self.pull, self.heads, commit)
        if isinstance(found, Refusal):
            builder.refuse(found)
            return None
        request = self.requests[found]
        refusal = None if commit else self._not_seen(line, request)
        if refusal:
            builder.refuse(refusal)
            return None
        return request

    def _not_seen(self, line: str, request: StartRequest) -> Refusal | None:
        """Refuse a command whose author may not have seen the head."""
        written_at, trusted = self.event.created_at, request.requester.trust.trusted
        refusal = head_seen(self.messages, line, self.heads, written_at, trusted=trusted)
        if refusal or self.heads[-1].seen_at.replace(microsecond=0) <= written_at:
            return refusal
        return first_head_seen(self.messages, line, self.pull, written_at, trusted=trusted)

    @property
    def is_older_than_head(self) -> bool:
        """Return True if the comment was written before the head was known."""
        seen_at = self.heads[-1].seen_at.replace(microsecond=0)
        return len(self.heads) > 1 and seen_at > self.event.created_at

    def start(
        self, request: StartRequest, line: str, names: list[str], builder: PlanBuilder
    ) -> None:
        """Start suites, under a line that says which command on which commit."""
        if names:
            sha = code(short(request.requester.sha))
            builder.said.append(self.messages("reply_for", command=code(line), sha=sha))
        self.starts.start(request, names, builder, self.now)

    def approval_missing(self, names: Sequence[str] = ()) -> str:
        """Say that suites only wait for an approval; "" if they do not, or none would start."""
        waits = set(suites_awaiting_approval(self.evaluation))
        if not (waits.intersection(names) if names else waits):
            return ""
        return self.messages(
            "nothing_yet",
            sha=code(short(self.pull.head_sha)),
            why=prose(self.messages.render(self.evaluation.trust.why)),
            needed=self.messages(f"level_{self.policy.trust.approve}"),
            command=code(line("approve", sha=self.pull.head_sha)),
        )

    def nothing_runs(self) -> str:
        """Say that nothing has run on the head, and how suites start."""
        sha = code(short(self.pull.head_sha))
        return self.approval_missing() or self.messages(
            "nothing_runs", sha=sha, command=code(line("explain"))
        )

    def audit(self, what: str, rule: str, *, allowed: bool, sha: Sha | None = None) -> AuditEntry:
        """Return the audit's entry of something that the comment's author asked for."""
        where = (self.event.repo.id, self.event.number, sha or self.pull.head_sha)
        who = self.event.author
        return AuditEntry(self.now, who.login, what, allowed, rule, *where, who_id=who.id)


def refused(refusals: list[Refusal], builder: PlanBuilder) -> bool:
    """Say what can't be followed; one such word stops its whole command."""
    for refusal in refusals:
        builder.refuse(refusal)
    return bool(refusals)
