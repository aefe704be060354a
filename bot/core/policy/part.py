"""The base of all mappings of a policy."""

from pydantic import BaseModel, ConfigDict


class PolicyPart(BaseModel):
    """A mapping of the policy; it refuses unknown keys and never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)
