"""The first schema, written down as it was: the tables of today are in ``bot.store.tables``."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

# A line is a table with its columns; an indented line goes on with them. A column is NAME:TYPE,
# then * for the primary key or ? for nullable, then =DEFAULT, then >TABLE.COLUMN for a foreign key.
_TABLES = """
approvals repo_id:big* sha:text* by:text by_id:big* level:text via:text at:big
audit seq:counter* at:big who:text what:text allowed:bool rule:text repo_id:big? number:big?
  sha:text? delivery:text? who_id:big
deliveries seq:counter* guid:text event:text action:text repo_id:big? subject:text received_at:big
  body:bytes? state:text tries:int=0 due:big note:text= LEASE
firings repo_id:big* name:text* at:big* state:text sha:text note:text
heads repo_id:big* number:big* sha:text* pusher:text pusher_id:big seen_at:big since:big?
listed_logins repo_id:big* ref:text* login:text* account_id:big
pauses resource:text* by:text reason:text until:big? at:big
policies repo_id:big* ref:text* blob_sha:text text:text? read_at:big language:text=en
polls name:text* next_at:big
probes id:text* filler:bytes
pull_comments key:text* repo_id:big number:big sha:text body:text deleted_at_sha:text=
  touched_at:big REPORT
pulls repo_id:big* number:big* head_sha:text head_repo_id:big? base_ref:text author:text
  author_id:big open:bool draft:bool changed_files:int updated_at:big? head_ref:text head_owner:text
  head_owner_id:big head_name:text based_at:big? created_at:big?
pushes repo_id:big* sha:text* branch:text* by:text by_id:big at:big
queue_changes seq:counter* repo_id:big run_id:text mark:text
queue_locks repo_id:big*
replies comment_id:big* repo_id:big number:big head:text made_at:big receipt_missing:bool=false
  language:text=en REPORT
repos id:big* owner:text name:text default_branch:text installation_id:big? active:bool
  public:bool
runs id:text* repo_id:big sha:text suite:text essence:text attempt:int snapshot:text
  created_at:big state:text outcome:text? why:text cause:text= infra:bool=false
  failed_tests:text=[]
  origin:text number:big?
  not_before:big? dispatch_id:text? retries:int=0 retry:text= rerun_of:big? label:text?
  npus:int=0 forced:text= actions_run_id:big? actions_attempt:int actions_url:text
  mistaken:bool=false native:bool=false stop_request:text? queue_position:text? dispatched_at:big?
  started_at:big? ended_at:big? due:big? pokes:int=0 LEASE
schedules repo_id:big* name:text* cron:text next:big
selections repo_id:big* sha:text* number:big* policy_sha:text data:text
tokens jti:text* until:big
unjudged repo_id:big* sha:text* number:big* why:text
workflow_jobs job_id:big* label:text* repo_id:big actions_run_id:big state:text at:big
checks external_id:text* repo_id:big sha:text name:text run_id:text?>runs.id number:big=0
  closed:text= proposal:text? remark:text= ended:bool=false shown:text=
  urgent_version:int=1 progress_from:big? touched_at:big retired_at:big? REPORT
claimants run_id:text*>runs.id source:text* auto:bool by:text by_id:big rank:int=3
holds run_id:text*>runs.id repo_id:big resource:text* amount:int since:big
queue run_id:text*>runs.id repo_id:big suite:text since:big rank:int needs:text number:big?
  author:big limits:text
rayjobs run_id:text*>runs.id job_id:text* seen:text confirmed:bool status:text deployment:text
  message:text final:text? final_from:text silent_since:big? last_line_at:big? lines:big
  progress:text? digest:text? resume:text? log_bytes:big complete:bool due:big? LEASE
reply_runs comment_id:big*>replies.comment_id position:int* run_id:text>runs.id
run_events run_id:text*>runs.id source:text* key:text* at:big data:text
"""
_WORDS = {
    "REPORT": "github_id:big? create_tried:bool=false refusals:int=0 note:text= "
    "want_version:int=1 shown_version:int=0 due:big? LEASE",
    "LEASE": "lease_owner:text= lease_number:int=0 lease_until:big=0",
}
_INDEXES = """
audit_at audit at
audit_commit audit repo_id sha
audit_who audit who_id at
deliveries_leased deliveries lease_until WHERE state = 'new' AND lease_until > 0
deliveries_new deliveries subject received_at seq WHERE state = 'new'
deliveries_next deliveries received_at seq WHERE state = 'new'
deliveries_parked deliveries received_at WHERE state = 'parked'
deliveries_received deliveries received_at
heads_at heads repo_id sha number
pulls_at pulls repo_id head_sha number
queue_changes_repo queue_changes repo_id seq
replies_due replies due WHERE due IS NOT NULL
pull_comments_due pull_comments due WHERE due IS NOT NULL
runs_due runs due WHERE due IS NOT NULL
runs_ended runs ended_at
runs_native runs repo_id WHERE native AND NOT state = 'done'
runs_of_actions runs repo_id actions_run_id
runs_of_pull runs repo_id number WHERE state <> 'done'
runs_used runs repo_id ended_at started_at npus number WHERE npus > 0
runs_usual runs repo_id ended_at WHERE outcome = 'success'
unjudged_number unjudged repo_id number
UNIQUE runs_open runs repo_id sha suite essence WHERE state <> 'done'
workflow_jobs_at workflow_jobs at
workflow_jobs_label workflow_jobs repo_id label state
checks_due checks due WHERE due IS NOT NULL
UNIQUE checks_gate checks repo_id sha
  WHERE run_id IS NULL AND proposal IS NULL AND retired_at IS NULL
checks_proposal checks repo_id number WHERE proposal IS NOT NULL
checks_refused checks refusals WHERE refusals > 0
checks_run checks run_id
checks_touched checks touched_at
claimants_source claimants source
holds_sums holds repo_id resource amount
queue_repo queue repo_id
rayjobs_due rayjobs due WHERE due IS NOT NULL
rayjobs_job rayjobs job_id
reply_runs_run reply_runs run_id
"""
_TYPES: dict[str, Any] = {
    "big": sa.BigInteger(),
    "bool": sa.Boolean(),
    "bytes": sa.LargeBinary(),
    # SQLite numbers rows by itself only in a column that is exactly INTEGER.
    "counter": sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
    "int": sa.Integer(),
    "text": sa.Text(),
}
_UNIQUE = {
    "deliveries": [sa.UniqueConstraint("guid")],
    "runs": [
        sa.UniqueConstraint("repo_id", "sha", "suite", "attempt", name="runs_attempt"),
        sa.UniqueConstraint("dispatch_id"),
    ],
}
# Rows of runs change often: leave room for an update on their page.
_OPTIONS: dict[str, dict[str, Any]] = {"runs": {"postgresql_with": {"fillfactor": 70}}}


def upgrade() -> None:
    """Make every table and index."""
    for table, columns in _tables():
        made = [_column(column) for column in columns]
        op.create_table(table, *made, *_UNIQUE.get(table, ()), **_OPTIONS.get(table, {}))
    for line in _lines(_INDEXES):
        _index(line)


def downgrade() -> None:
    """Drop every table."""
    for table, _ in reversed(_tables()):
        op.drop_table(table)


def _tables() -> list[tuple[str, list[str]]]:
    """Return the tables, each after those that it refers to."""
    text = _TABLES
    for word, columns in _WORDS.items():
        text = text.replace(word, columns)
    return [(line.split()[0], line.split()[1:]) for line in _lines(text)]


def _lines(text: str) -> list[str]:
    return text.strip().replace("\n  ", " ").splitlines()


def _column(text: str) -> sa.Column[Any]:
    text, _, refers = text.partition(">")
    text, has_default, default = text.partition("=")
    name, _, kind = text.partition(":")
    key = [sa.ForeignKey(refers, ondelete="CASCADE")] if refers else []
    return sa.Column(
        name,
        _TYPES[kind.rstrip("*?")],
        *key,
        primary_key=kind.endswith("*"),
        nullable=kind.endswith("?"),
        server_default=(sa.false() if default == "false" else default) if has_default else None,
        autoincrement=kind == "counter*",
    )


def _index(text: str) -> None:
    """Make an index: [UNIQUE] NAME TABLE COLUMNS [WHERE CONDITION]."""
    text, _, condition = text.partition(" WHERE ")
    unique = text.startswith("UNIQUE ")
    name, table, *columns = text.removeprefix("UNIQUE ").split()
    where = sa.text(condition) if condition else None
    op.create_index(name, table, columns, unique=unique, sqlite_where=where, postgresql_where=where)
