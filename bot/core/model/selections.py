"""What was selected for a commit: kept for its gate, its audit and its explanation."""

from dataclasses import dataclass
from datetime import datetime

from bot.core.messages import NOTHING, Message
from bot.core.model.ids import RepoId, Sha
from bot.core.policy.levels import Level
from bot.core.policy.models import Comment, Language, Mode, Tier
from bot.core.policy.quarantine import Quarantine
from bot.core.policy.selection import Choice, Selection


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run of a suite takes at most."""

    nodes: int = 1
    npus: int = 0  # a node
    minutes: int = 0  # its time limit; not kept with a selection
    npu_hours: float = 0.0  # of a run that takes all its time
    where: str = ""  # the pool or the label; explained for a native suite: all its jobs' labels


@dataclass(frozen=True, slots=True)
class SuiteSelection:
    """Whether a suite was selected, and all that the gate says of it before it runs."""

    choice: Choice
    cost: Cost
    tier: Tier = Tier.STANDARD
    required: bool = False
    auto: bool = True  # starts by itself
    native: bool = False  # GitHub starts it
    by_command: bool = True  # a command that names it starts it
    passed_at: Sha | None = None  # a commit with the same files, where it passed
    essence: str = ""  # only results of the same essence count; "": it is not selected
    labels: tuple[str, ...] = ()  # and only those from one of these runners
    quarantine: tuple[Quarantine, ...] = ()  # the policy's entries for it


@dataclass(frozen=True, slots=True)
class MergeGroup:
    """The merge group that the commit is of."""

    number: int | None = None  # the pull request in its name
    over_at: datetime | None = None  # set when it was merged or given up


@dataclass(frozen=True, slots=True)
class SelectionDetails:
    """The policy's word about a commit, as it was when the suites were selected."""

    policy_ref: str = ""
    unprotected: str = ""  # a listed base without a policy of its own, for it is not protected
    mode: Mode = Mode.ON
    trusted: bool | None = None  # None: nothing depended on it, so nobody was asked about
    trust_reason: Message = NOTHING
    approve: Level = Level.WRITE  # the level that an approval needs
    draft: bool = False  # a draft, on which nothing starts
    gate: str = ""
    changed_files: int = 0
    truncated: bool = False
    protected: tuple[str, ...] = ()
    suites: tuple[SuiteSelection, ...] = ()
    group: MergeGroup | None = None
    policy_errors: tuple[Message, ...] = ()  # the policy is broken: nothing was selected
    language: Language | None = None  # of the texts; None: not known yet
    comment: Comment = Comment.NEVER  # when the pull request gets a comment

    @property
    def selection(self) -> Selection:
        """Return the selection alone."""
        choices = tuple(suite.choice for suite in self.suites)
        return Selection(choices, self.protected, self.truncated)


@dataclass(frozen=True, slots=True)
class StoredSelection:
    """What was selected for a pull request or a merge group at one commit."""

    repo_id: RepoId
    sha: Sha
    number: int  # 0: not of a pull request
    policy_sha: str
    data: SelectionDetails

    @property
    def is_over(self) -> bool:
        """Return True if this is a merge group's, which was merged or given up."""
        return self.data.group is not None and self.data.group.over_at is not None
