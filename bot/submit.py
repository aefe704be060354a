#!/usr/bin/env python3
"""Submit a RayJob from a workflow, follow its log, and end with its result.

One file for Python 3.9 without packages, copied by `ascend-ci init`. All input is environment, so
no text of a pull request gets into a script. Exit codes: 0 succeeded (--detach: submitted), 1 not
succeeded, 2 wrong use, 3 unreachable or end unknown.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import signal
import sys
import threading
import time
import urllib.request
from array import array
from collections import namedtuple
from contextlib import suppress
from functools import partial
from typing import Any, Callable, Iterator  # noqa: UP035 - one import for 3.9
from urllib.parse import quote

NETWORK_ERRORS = (OSError, http.client.HTTPException)
BAD_ANSWERS = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
ENDS = ("SUCCEEDED", "FAILED", "TIMEOUT", "STOPPED", "NOT_FOUND")
ANNOUNCE_S = 60.0  # the bot answers 409 until it has stored the dispatched run
CANCEL_S = 6.0  # GitHub kills a cancelled step 7.5 s after its first signal
DEADLINE_PATH = "/spec/activeDeadlineSeconds"
ADDRESS = re.compile(r"(?:https?://[^/\s]+\S*)?")
POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)*")
NEEDS = {"add": "value", "replace": "value", "test": "value", "move": "from", "copy": "from"}
NEEDS["remove"] = "path"

# The names of the API, if it has one; then the variables that replace an option, and the help.
OPTIONS = {
    "url": ("SUBMITTER_URL", "the submitter, with SUBMITTER_TOKEN or (OIDC) SUBMITTER_AUDIENCE"),
    "repository": ("GITHUB_REPOSITORY", "owner/name"),
    "commit_sha": ("ASCEND_CI_SHA GITHUB_SHA", "commit under test"),
    "branch": ("ASCEND_CI_BRANCH GITHUB_REF_NAME", "branch, for display"),
    "github_run_id": ("GITHUB_RUN_ID", "Actions run"),
    "github_run_attempt": ("GITHUB_RUN_ATTEMPT", "its attempt"),
    "image": ("ASCEND_CI_IMAGE", "container image"),
    "name_suffix": ("ASCEND_CI_NAME_SUFFIX", "distinguishes the RayJobs of one run"),
    "script": ("ASCEND_CI_SCRIPT", "path of the script inside the container"),
    "args": ("ASCEND_CI_ARGS", "its arguments, a JSON array of strings"),
    "env": ("ASCEND_CI_ENV", "its environment, a JSON object of strings"),
    "worker_replicas": ("ASCEND_CI_WORKER_REPLICAS", "number of workers, default 1"),
    "template_patches": ("ASCEND_CI_TEMPLATE_PATCHES", "JSON array of RFC 6902 operations"),
    "timeout_minutes": ("ASCEND_CI_TIMEOUT_MINUTES", "becomes activeDeadlineSeconds"),
    "bot_url": ("ASCEND_CI_URL", "address of the bot, which is told the job's id"),
    "run": ("ASCEND_CI_RUN", "the bot's id of this run: the workflow's input ascend_ci"),
    "detach": ("ASCEND_CI_DETACH", "true: submit, announce and end"),
    "retry_seconds": ("ASCEND_CI_RETRY_SECONDS", "how long to try a silent submitter, default 600"),
    "silence_seconds": ("ASCEND_CI_SILENCE_SECONDS", "silence before a new watch, default 300"),
}
REQUIRED = ("url", "repository", "commit_sha", "github_run_id", "github_run_attempt", "script")
PLAIN = (*REQUIRED[1:], "branch", "image", "name_suffix")

# The checked inputs: `body` is posted, `run_url` lists the jobs of this run attempt.
Config = namedtuple("Config", "url run_url token body bot_url run detach retry_s silence_s")


def say(text: str, prefix: str = "") -> None:
    """Print to stdout, with a prefix to stderr; at once, and as UTF-8 in any locale."""
    stream = sys.stderr if prefix else sys.stdout
    stream.buffer.write(f"{prefix}{text}\n".encode("utf-8", "replace"))
    stream.buffer.flush()


warn = partial(say, prefix="ascend-ci: ")


def parse(argv: list[str], environ: dict[str, str]) -> Config:
    """Read options and environment; with errors print all of them and exit with 2."""
    parser = argparse.ArgumentParser(prog="ascend-ci submit", description="Submit a RayJob.")
    for name, (variables, text) in OPTIONS.items():
        more: dict[str, Any] = {"nargs": "?", "const": "true"} if name == "detach" else {}
        parser.add_argument("--" + name.replace("_", "-"), help=f"{text} [{variables}]", **more)
    given, raw = vars(parser.parse_args(argv)), dict[str, str]()
    for name, (variables, _) in OPTIONS.items():
        values = [given[name], *map(environ.get, variables.split())]
        raw[name] = next((value.strip() for value in values if value and value.strip()), "")
    flaws = [f"{name} ({OPTIONS[name][0]}) is missing" for name in REQUIRED if not raw[name]]
    bad = (name for name in ("url", "bot_url") if not ADDRESS.fullmatch(raw[name]))
    flaws += [f"{name} ({OPTIONS[name][0]}) must be an http(s) address" for name in bad]
    body, retry_s = _body(raw, flaws), _json(raw, "retry_seconds", 600, flaws)
    silence_s = _json(raw, "silence_seconds", 300, flaws)
    if flaws:
        named = (re.sub(r"^\w+", lambda m: m[0].replace("_", "-"), flaw) for flaw in flaws)
        parser.exit(2, "".join(f"ascend-ci submit: --{flaw}\n" for flaw in named))
    url, bot_url, run = raw["url"].rstrip("/"), raw["bot_url"].rstrip("/"), raw["run"]
    run_id, attempt = (quote(raw[f"github_run_{name}"], safe="") for name in ("id", "attempt"))
    run_url = f"{url}/api/v1/workflows/{run_id}?attempt={attempt}"
    token, audience = (environ.get(f"SUBMITTER_{x}", "").strip() for x in ("TOKEN", "AUDIENCE"))
    auth = token or (audience and partial(oidc_token, audience))  # "", a text or a function
    return Config(url, run_url, auth, body, bot_url, run, raw["detach"], retry_s, silence_s or 1)


def _body(raw: dict[str, str], flaws: list[str]) -> dict[str, Any]:
    args, env = _json(raw, "args", [], flaws), _json(raw, "env", {}, flaws)
    for name, pairs in (("args", enumerate(args)), ("env", env.items())):
        for key, item in pairs:
            if not isinstance(item, str):
                flaws.append(f"{name}: item {key} must be a string, not {json.dumps(item)}")
    names = (name for name in env if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name))
    flaws += [f"env: {name!r} is no name of a variable" for name in names]
    patches = _json(raw, "template_patches", [], flaws)
    named = enumerate(map(_patch_flaw, patches))
    flaws += [f"template_patches: item {index}: {flaw}" for index, flaw in named if flaw]
    limit_s = 60 * _json(raw, "timeout_minutes", 0, flaws)
    if limit_s and DEADLINE_PATH not in str(patches):
        patches.append({"op": "add", "path": DEADLINE_PATH, "value": limit_s})
    values = {"args": args, "env": env, "worker_replicas": _json(raw, "worker_replicas", 1, flaws)}
    return {**{name: raw[name] for name in PLAIN}, **values, "template_patches": patches}


def _json(raw: dict[str, str], name: str, default: Any, flaws: list[str]) -> Any:
    kind = {list: "JSON array", dict: "JSON object", int: "whole number"}[type(default)]
    try:
        value = json.loads(raw[name]) if raw[name] else default
    except (ValueError, RecursionError) as error:
        value = error
    if type(value) is type(default) and (type(value) is not int or value >= 0):
        return value
    why = f" ({value})" if isinstance(value, Exception) else ""
    flaws.append(f"{name} ({OPTIONS[name][0]}) must be a {kind}, not {raw[name][:200]}{why}")
    return default


def _patch_flaw(patch: Any) -> str:
    op = patch.get("op") if isinstance(patch, dict) else None
    if not isinstance(op, str) or op not in NEEDS:
        return f"must be an object whose op is one of {', '.join(NEEDS)}"
    if NEEDS[op] not in patch:
        return f"{op} needs {NEEDS[op]!r}"
    for name in ("path", "from") if NEEDS[op] == "from" else ("path",):
        if not (isinstance(patch.get(name), str) and POINTER.fullmatch(patch[name])):
            return f"{name} must be a JSON pointer (starts with /, ~ only as ~0 or ~1)"
    return ""


def oidc_token(audience: str) -> str:
    """Ask Actions for a token that proves this run attempt."""
    source, proof = (os.environ.get(f"ACTIONS_ID_TOKEN_REQUEST_{x}", "") for x in ("URL", "TOKEN"))
    if not (source and proof):
        raise PermissionError("the job lacks the permission id-token: write")
    answer = call("GET", f"{source}&audience={quote(audience, safe='')}", proof)[1]
    return str(json.loads(answer)["value"])


def send(method: str, url: str, token: Any, **more: Any) -> Any:
    """Open a request; a redirect to another place does not get the token."""
    token = token() if callable(token) else token
    data = json.dumps(more["body"]).encode() if "body" in more else None
    headers = {"Content-Type": "application/json", **more.get("headers", {})}
    made = urllib.request.Request(url, data, headers, method=method)  # noqa: S310 - http(s) alone
    if token:
        made.add_unredirected_header("Authorization", f"Bearer {token}")
    try:
        return urllib.request.urlopen(made, timeout=more.get("timeout_s", 30))  # noqa: S310
    except urllib.request.HTTPError as error:
        return error


def call(method: str, url: str, token: Any, **more: Any) -> tuple[int, bytes]:
    """Call once and return the HTTP answer; only network errors raise."""
    with send(method, url, token, **more) as answer:
        return answer.code, answer.read()


def insist(attempt: Callable[[], Any], limit_s: float, *retried: int) -> tuple[int, str]:
    """Try with growing pauses; return code and text, code 0 when the time is used up."""
    started, pause_s = time.monotonic(), min(1.0, limit_s / 20)
    while True:
        try:
            status, answer = attempt()
            text = answer.decode("utf-8", "replace")
            if status not in (429, 502, 503, 504, *retried):
                return status, f"HTTP {status}: {text[:2000]}" if status >= 300 else text
            problem = f"HTTP {status}: {text[:500]}"
        except (*NETWORK_ERRORS, *BAD_ANSWERS) as error:
            problem = f"{type(error).__name__}: {error}"
        if time.monotonic() - started + pause_s > limit_s:
            return 0, problem
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, 15.0)


def post_job(config: Config) -> tuple[int, str]:
    """Submit; return 0 and the job's id, or an exit code and the reason."""
    body, url = config.body, f"{config.url}/api/v1/rayjobs"
    key = f"ascend-ci-{body['github_run_id']}-{body['github_run_attempt']}-{body['name_suffix']}"
    suffix = body["name_suffix"].lower().encode()
    known: list[set[bytes]] = []  # the run's jobs before each post

    def once() -> tuple[int, bytes]:
        code, listing = call("GET", config.run_url, config.token)
        if code == 200:
            known.append(set(re.findall(rb'"job_id":\s*"([\w.:-]+)"', listing)))
        ours = [job for job in known[-1] - known[0] if suffix in job.lower()] if known else []
        if len(ours) == 1:  # with several only the key helps: they may be other jobs of this run
            return 200, b'{"job_id": "%s"}' % ours[0]
        return call("POST", url, config.token, body=body, headers={"Idempotency-Key": key})

    status, text = insist(once, config.retry_s)
    if not status:
        return 3, f"the submitter at {config.url} is out of reach: {text}"
    with suppress(*BAD_ANSWERS):
        job_id = json.loads(text)["job_id"]
        if re.fullmatch(r"[\w.:-]{1,253}", job_id):
            return 0, job_id
    hint = " (set SUBMITTER_TOKEN or SUBMITTER_AUDIENCE)" * (status == 401)
    return 1, f"the submitter refused the job{hint}: {text[:2000]}"


def announce(config: Config, job_id: str) -> None:
    """Report the job's id to the bot, proven by an OIDC token; a failure is a warning."""
    run = f"runs/{quote(config.run, safe='')}/" if config.run else ""  # else the token says which
    url = f"{config.bot_url}/api/v1/{run}rayjobs"
    once = partial(call, "POST", url, partial(oidc_token, "ascend-ci"), body={"job_id": job_id})
    if config.bot_url:
        limit_s = min(ANNOUNCE_S, config.retry_s) * ("ACTIONS_ID_TOKEN_REQUEST_URL" in os.environ)
        status, text = insist(once, limit_s, 409, 500)
        warn(f"not announced to the bot: {text}") if not 200 <= status < 300 else None


def delete_jobs(config: Config) -> None:
    """Stop every RayJob of this run attempt, and print whether that worked."""
    once = partial(call, "DELETE", config.run_url, config.token, timeout_s=CANCEL_S)
    status, text = insist(once, CANCEL_S, 500)
    is_done = 200 <= status < 300 or status == 404  # 404: there is none
    said = "are deleted" if is_done else f"could NOT be deleted and may run on: {text}"
    warn(f"cancelled; the RayJobs of this run attempt {said}")


class Follower:
    """Prints each event of a job once, whatever its watches repeat or omit."""

    def __init__(self, config: Config, job_id: str) -> None:
        self._config = config
        self._url = f"{config.url}/api/v1/rayjobs/{quote(job_id, safe='')}"
        self._final = self._status = ""
        self._gone = self._seq = 0  # consecutive watches with 404; greatest number printed
        self._at: int | None = None  # last number in this watch
        self._loose = self._again = 0  # lines without a number after `_seq`: printed, seen again
        self._seen = array("q")  # hashes of the printed lines, while events have no numbers
        self._held: list[str] | None = None  # lines that may be a replay, still undecided

    def run(self) -> str:
        """Follow to the end; return its status, UNKNOWN if nobody knows it."""
        heard_at, ended, idle, patience_s = time.monotonic(), 0, 0, self._config.retry_s
        while True:
            before = self._seq, len(self._seen), self._loose
            for block in self._blocks():
                self._take(block)
                if self._final:
                    return self._final
            idle = idle + 1 if before == (self._seq, len(self._seen), self._loose) else 0
            end, is_alive = self._state()
            ended += end != ""
            if ended > 2 or self._gone > 2:  # the last lines had two more chances
                return end or "NOT_FOUND"
            if is_alive or not idle:
                heard_at = time.monotonic()
            elif time.monotonic() - heard_at > patience_s:
                return "UNKNOWN"
            time.sleep(min(patience_s / 20, 0.2 * 2 ** min(idle, 6)))
            self._at, self._again = None, 0
            self._held = [] if self._seen or self._seq else None

    def _state(self) -> tuple[str, bool]:
        """Return the job's end ("": unknown), and whether it is known to live."""
        try:
            job = json.loads(call("GET", self._url, self._config.token)[1])
            word, ended = str(job.get("status") or ""), bool(job.get("ended_at"))
        except (*NETWORK_ERRORS, *BAD_ANSWERS):
            return "", False
        return (word or "UNKNOWN", False) if ended or word in ENDS else ("", word != "")

    def _blocks(self) -> Iterator[bytes]:
        """Yield whole lines of a new watch; an unfinished line comes again."""
        after = f"&after={self._seq}" if self._seq else ""
        url, carry = f"{self._url}/watch?format=ndjson{after}", b""
        try:
            with send("GET", url, self._config.token, timeout_s=self._config.silence_s) as stream:
                self._gone = self._gone + 1 if stream.code == 404 else 0
                if stream.code != 200:
                    return warn(f"the watch was refused: HTTP {stream.code}")
                for chunk in iter(lambda: stream.read1(1 << 18), b""):
                    head, newline, carry = (carry + chunk).rpartition(b"\n")
                    if newline:
                        yield head
            if carry:
                yield carry
        except NETWORK_ERRORS as error:
            warn(f"the watch ended: {type(error).__name__}: {error}")

    def _take(self, block: bytes) -> None:
        shown: list[str] = []
        for text in block.decode("utf-8", "replace").split("\n"):
            try:
                event = json.loads(text)
            except (ValueError, RecursionError):
                event = None
            if event.__class__ is not dict:
                event = {"line": text.rstrip("\r"), "type": "log"}
            seq, line = event.get("seq"), event.get("line")
            number = seq if seq.__class__ is int and seq > 0 else None
            if event.get("type") != "log" or line.__class__ is not str:
                shown += self._other(event, number, text)
            else:  # a space marks lines of the job that look like ours
                shown += self._fresh(number, " " * line.startswith("ascend-ci:") + line)
            if self._final:
                break
        if shown:
            say("\n".join(shown).replace("\0", "\\0"))

    def _other(self, event: dict[str, Any], seq: int | None, text: str) -> list[str]:
        kind, named = event.get("type"), ("status", "job_deployment_status", "message")
        line = f"ascend-ci: {kind} {' '.join(str(event[k]) for k in named if event.get(k))}"
        if kind == "final":
            self._final = str(event.get("status") or "UNKNOWN")
            return [*(self._held or []), line.replace("final", "end", 1)]
        if seq is not None or kind not in ("status", "error"):
            return self._fresh(seq, line if kind in ("status", "error") else text)
        if self._held is not None or line == self._status:
            return []
        self._status = line
        return [line]

    def _fresh(self, seq: int | None, text: str) -> list[str]:
        """Return the lines to print now: none that were printed before."""
        if seq is not None:
            held, self._held, self._at = self._held or [], None, seq
            if seq > self._seq:
                self._seq, self._loose, self._again = seq, 0, 0
                return [*held, text]
        elif not self._seq:
            return self._by_history(text)
        elif self._held is not None:
            self._held.append(text)  # the next number decides whether this is a replay
        elif self._at == self._seq:
            self._again += 1
            if self._again > self._loose:
                self._loose += 1
                return [text]
        return []

    def _by_history(self, text: str) -> list[str]:
        """Without numbers: a watch that begins like the first one is a replay."""
        held, self._held = self._held, None
        if held is not None and hash(text) == self._seen[len(held)]:
            held.append(text)
            self._held = held if len(held) < len(self._seen) else None
            return []
        texts = [*(held or []), text]
        self._seen.extend(map(hash, texts))
        return texts


def main(argv: list[str] | None = None) -> int:
    """Run the helper; return its exit code."""
    config = parse(sys.argv[1:] if argv is None else argv, dict(os.environ))
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell's background job ignores SIGINT
        signal.signal(number, signal.default_int_handler)
    try:
        return _run(config)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner repeats its signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        delete_jobs(config)
        return 1


def _run(config: Config) -> int:
    code, text = post_job(config)
    if code:
        warn(text)
        return code
    say(f"ascend-ci: rayjob {text}")
    teller = threading.Thread(target=announce, args=(config, text), daemon=True)
    teller.start()
    status = ""
    if config.detach.lower() not in ("1", "true", "yes"):
        mark = os.urandom(16).hex() if os.environ.get("GITHUB_ACTIONS") else ""
        say(f"::stop-commands::{mark}") if mark else None  # the log can't command the runner
        status = Follower(config, text).run()
        say(f"::{mark}::") if mark else None
    teller.join()
    say(f"ascend-ci: final {status}") if status else None
    return {"": 0, "SUCCEEDED": 0, "UNKNOWN": 3}.get(status, 1)


if __name__ == "__main__":
    sys.exit(main())
