"""Makes GitHub show what the rows say, coalesced, and never what it shows already."""

import asyncio
import hashlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import assert_never

from bot.core.model.people import Account
from bot.core.model.repos import Repo
from bot.core.model.views import RECEIPT, CheckWrite, GateView, Proposal
from bot.core.policy.changes import Comparison
from bot.core.report.comment import COMMENT_MARKER, pull_comments
from bot.core.report.context import Context
from bot.core.report.gate import gate_check
from bot.core.report.plot_links import PlotLinks
from bot.core.report.policy_change import policy_check
from bot.core.report.reply import reply_body, reply_marker
from bot.core.report.standing import gate_state
from bot.core.report.suite import suite_check
from bot.ports.errors import Lost, Permanent, Transient
from bot.services.workers import LEASE_S, Deps, Service
from bot.store.checks import DueCheck, Written
from bot.store.published import NotShown, Published
from bot.store.pull_comments import DueComment
from bot.store.replies import DueReply
from bot.telemetry import bind_context, get_log

Due = DueCheck | DueReply | DueComment

BATCH = 8
_TRY_AGAIN = timedelta(seconds=10)
_LONGEST_WAIT = timedelta(hours=1)  # what is refused is tried again, less and less often
_TRIES = 32  # about a day; from then on only a new state is tried
_FIRST_COMMENT = datetime(2008, 1, 1, tzinfo=UTC)  # GitHub has none that is older
_FILES_LOOKED_FOR = 5  # annotated files whose being there is asked for


@dataclass(frozen=True, slots=True)
class Where:
    """Where reports are shown and what they link to."""

    html_url: str  # GitHub's pages
    public_url: str  # the bot's own pages, "" for none
    plots: PlotLinks | None = None  # None: no plots


class Reporter(Service):
    """Writes due check runs, replies and comments of pull requests."""

    def __init__(self, deps: Deps, where: Where) -> None:
        super().__init__(deps)
        self._where = where
        self._log = get_log("reporter")

    async def step(self) -> bool:
        """Write the reports that are due; return True if there were any."""
        now = self._clock.now()
        checks = await self._store.checks.claim(
            self._worker.owner, now, lease_s=LEASE_S, limit=BATCH
        )
        replies = await self._store.replies.claim(
            self._worker.owner, now, lease_s=LEASE_S, limit=BATCH
        )
        comments: tuple[DueComment, ...] = ()
        if len(checks) < BATCH:  # or else more check runs are due, which come first
            comments = await self._store.pull_comments.claim(
                self._worker.owner, now, lease_s=LEASE_S, limit=BATCH
            )
        found: tuple[Due, ...] = (*checks, *replies, *comments)
        async with asyncio.TaskGroup() as group:
            for due in found:
                group.create_task(self._guarded(due))
        return bool(found)

    async def _guarded(self, due: Due) -> None:
        log = self._log.bind(repo=due.repo.full_name, key=due.lease.key)
        bind_context(key=due.lease.key)  # this task is the report's
        try:
            await self._write(due)
        except (Transient, Permanent) as error:
            reason = self._reason(due, error)
            if not (isinstance(error, Transient) and error.is_told):
                log.warning("a report has to wait", why=reason.note, refused=reason.refused)
            if not (isinstance(error, Lost) or due.create_tried):
                await self._rows(due).not_created(due.lease)
            await self._failed(due, reason)
        except Exception as error:  # noqa: BLE001  one broken report must not stop the others
            self._worker.failed("reporter", error, log)
            await self._failed(due, NotShown(self._clock.now() + _TRY_AGAIN, str(error)))

    async def _write(self, due: Due) -> None:
        match due:
            case DueCheck():
                await self._check(due)
            case DueReply():
                await self._reply(due)
            case DueComment():
                await self._comment(due)
            case _:
                assert_never(due)

    def _rows(self, due: Due) -> Published:
        match due:
            case DueCheck():
                return self._store.checks
            case DueReply():
                return self._store.replies
            case DueComment():
                return self._store.pull_comments
            case _:
                assert_never(due)

    async def _failed(self, due: Due, reason: NotShown) -> None:
        now, version = self._clock.now(), due.want_version
        await self._rows(due).failed(due.lease, reason, version=version, now=now)

    def _reason(self, due: Due, error: Transient | Permanent) -> NotShown:
        """Return when to try again; what is refused for a day only when it changes."""
        now = self._clock.now()
        if isinstance(error, Transient):
            wait = timedelta(seconds=error.retry_after_s or _TRY_AGAIN.total_seconds())
            return NotShown(now + wait, str(error))
        wait = min(_TRY_AGAIN * 2.0**due.refusals, _LONGEST_WAIT)
        return NotShown(now + wait if due.refusals < _TRIES else None, str(error), refused=True)

    async def _check(self, due: DueCheck) -> None:
        if (
            due.ended
            and isinstance(due.view, GateView)
            and gate_state(due.view).status != "completed"
        ):
            # A completed gate has to open again, which takes a new check run.
            await self._store.checks.replace(due.lease, self._clock.now())
            return
        check = await self._render(due)
        if due.remark:
            check = replace(check, summary=f"{due.remark}\n\n{check.summary}")
        if due.github_id is not None:
            await self._update(due, due.github_id, check)
        elif due.create_tried and (found := await self._find(due)):
            await self._patch(due, found, check)
        else:
            await self._create(due, check)

    async def _render(self, due: DueCheck) -> CheckWrite:
        ctx = self._context(due)
        now = self._clock.now()
        if isinstance(due.view, GateView):
            return gate_check(due.view, await self._gate_context(due, due.view), now)
        if isinstance(due.view, Proposal):
            return policy_check(due.view, await self._compared(due.view), ctx, now)
        run = due.view.run
        ctx = replace(
            ctx,
            gate=run.snapshot.gate,
            policy_ref=run.snapshot.policy_ref,
            policy_sha=run.snapshot.policy_sha,
            redact=run.snapshot.log.redact,
            language=run.snapshot.language,
        )
        check = suite_check(due.view, ctx, now)
        return await self._only_real_files(due.repo, check)

    def _context(self, due: DueCheck) -> Context:
        return Context(
            full_name=due.repo.full_name,
            public_url=self._where.public_url,
            html_url=self._where.html_url,
            gate=due.name,
            external_id=due.external_id,
            plots=self._where.plots if due.repo.public else None,
        )

    async def _gate_context(self, due: DueCheck, view: GateView) -> Context:
        language = view.language or await self._policies.language(due.repo)
        return replace(self._context(due), language=language)

    async def _compared(self, proposal: Proposal) -> Comparison:
        old, new = (
            text.encode() if text is not None else None for text in (proposal.old, proposal.new)
        )
        today = self._clock.now().date()
        return await self._policies.checker.compare(old, new, today, Account(proposal.by))

    async def _only_real_files(self, repo: Repo, check: CheckWrite) -> CheckWrite:
        """Leave out annotations of files that are not there at this commit, or not shown to us."""
        paths = list(dict.fromkeys(item.path for item in check.annotations))
        real = set()
        for path in paths[:_FILES_LOOKED_FOR]:
            try:
                if await self._github.file(repo, path, check.head_sha) is not None:
                    real.add(path)
            except Permanent as error:
                self._log.warning("an annotation is left out", path=path, why=str(error))
        kept = tuple(item for item in check.annotations if item.path in real)
        return replace(check, annotations=kept)

    async def _find(self, due: DueCheck) -> int | None:
        """Look for a check run whose creation was sent and never answered."""
        return await self._github.find_check(due.repo, due.sha, due.name, due.external_id)

    async def _create(self, due: DueCheck, check: CheckWrite) -> None:
        if not await self._store.checks.creating(due.lease, self._clock.now()):
            return
        github_id = await self._github.create_check(due.repo, check)
        await self._shown(due, github_id, check)

    async def _update(self, due: DueCheck, github_id: int, check: CheckWrite) -> None:
        """Rewrite a check run if it changed; one that GitHub does not know twice is made anew."""
        if due.shows(_contents(check)):
            await self._shown(due, github_id, check)
            return
        try:
            await self._patch(due, github_id, check)
        except Permanent as error:
            if not (error.is_gone and due.refusals):
                raise
            found = await self._find(due)
            if found == github_id:
                raise
            await (self._patch(due, found, check) if found else self._create(due, check))

    async def _patch(self, due: DueCheck, github_id: int, check: CheckWrite) -> None:
        await self._github.update_check(due.repo, github_id, check)
        await self._shown(due, github_id, check)

    async def _shown(self, due: DueCheck, github_id: int, check: CheckWrite) -> None:
        now, written = self._clock.now(), Written(_contents(check))
        if isinstance(due.view, GateView):
            comments = pull_comments(due.view, await self._gate_context(due, due.view), now)
            written = replace(written, comments=comments)
        await self._store.checks.shown(
            due.lease,
            github_id=github_id,
            version=due.want_version,
            ended=check.status == "completed",
            now=now,
            written=written,
        )

    async def _reply(self, due: DueReply) -> None:
        """Post or edit the one reply of a comment."""
        ctx = Context(
            full_name=due.repo.full_name,
            public_url=self._where.public_url,
            html_url=self._where.html_url,
            language=due.reply.language,
        )
        now = self._clock.now()
        body = reply_body(due.reply, due.runs, due.check_ids, ctx, now)
        github_id = due.github_id
        if github_id is None and due.create_tried:
            marker = reply_marker(due.reply.comment_id)
            since = now - timedelta(days=1)
            github_id = await self._github.find_comment(due.repo, due.reply.number, marker, since)
        if github_id is None or not await self._github.edit_comment(due.repo, github_id, body):
            if not await self._store.replies.creating(due.lease, now):
                return
            github_id = await self._github.comment(due.repo, due.reply.number, body)
        missing = due.reply.receipt_missing and not await self._github.react(
            due.repo, due.reply.comment_id, RECEIPT
        )
        await self._store.replies.shown(
            due.lease,
            github_id=github_id,
            version=due.want_version,
            now=now,
            receipt_missing=missing,
        )

    async def _comment(self, due: DueComment) -> None:
        """Post or edit the one comment of a pull request; one that a person deleted stays so.

        GitHub's list is asked before the first one, too: an earlier database may have known it.
        """
        github_id = due.github_id or await self._github.find_comment(
            due.repo, due.number, COMMENT_MARKER, _FIRST_COMMENT
        )
        if github_id is None:
            if not await self._store.pull_comments.creating(due.lease, self._clock.now()):
                return
            github_id = await self._github.comment(due.repo, due.number, due.body)
        elif not await self._github.edit_comment(due.repo, github_id, due.body):
            await self._store.pull_comments.deleted(due.lease)
            return
        await self._store.pull_comments.shown(
            due.lease, github_id=github_id, version=due.want_version, now=self._clock.now()
        )


def _contents(check: CheckWrite) -> str:
    """Return a name of what a check run says; when it was completed is no part of it."""
    text = repr(replace(check, completed_at=None))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
