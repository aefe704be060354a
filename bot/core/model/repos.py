"""A repository and the policy file of one of its branches."""

from dataclasses import dataclass
from datetime import datetime

from bot.core.model.ids import RepoId
from bot.core.policy.models import Language


@dataclass(frozen=True, slots=True)
class Repo:
    """A repository, known by its number: names change."""

    id: RepoId
    owner: str
    name: str
    default_branch: str
    installation_id: int | None = None  # None: not in the payload, to be asked for
    active: bool = True  # False once suspended or removed: nothing is called
    public: bool = False  # GitHub said so last; what is not known is not shown to everybody

    @property
    def full_name(self) -> str:
        """Return ``owner/name``."""
        return f"{self.owner}/{self.name}"

    def differs(self, other: "Repo") -> bool:
        """Return True if what decides is not as in another report: name, branch, who may see it."""
        ours = (self.full_name, self.default_branch, self.public)
        return ours != (other.full_name, other.default_branch, other.public)


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """The policy file of one branch as last read.

    Without a text, ``blob_sha`` is that of a file whose name is not read, or empty.
    """

    repo_id: RepoId
    ref: str
    blob_sha: str
    text: str | None  # None: there is no file
    read_at: datetime
    language: Language = Language.EN  # of the last text without errors
