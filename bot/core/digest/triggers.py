"""The prefilter: a raw line must match it before Python reads the line.

It is one RE2 over whole chunks. It must be generous, because a missed line is lost. It must also
skip the mass of a training log: rank banners, throughput lines, progress bars, configuration dumps.
"""

_WORDS = (
    # failures in words
    "rror", "ERROR", "xception", "Traceback", "ExceptionGroup", "[Ff]ail", "FAIL", "[Ff]atal",
    "FATAL", "[Aa]bort", "ABRT", "[Kk]illed", "OOM", "[Dd]ied", "[Cc]rash", "core dumped",
    "Segmentation", "[Cc]orrupt", "imed out", "[Tt]ime-?out [>(]", "TimeoutE", "[Cc]ancel",
    "[Ii]nterrupt", "SIG[A-Z]{3,4}", "signal", "\\^C", "out of memory",
    "low on (?:resource|memory)", "memory pressure", "bad_alloc", "allocate memory",
    "[Nn]o space", "quota", "[Ss]tale", "No such", "No module", "No match", "No available",
    "No solution", "No NPU", "no tests ran", "non-2xx", "terminate called", "what\\(\\): ",
    "NotFound", "deselected in", "[Nn]ot found", "not available", "not supported",
    "not in struct", "not in list", "[Cc]annot ", "[Cc]an't ", "[Cc]an not", "[Cc]ould not ",
    "[Cc]ouldn't ", "nable to ", "[Dd]enied", "[Rr]efused", "reset by peer", "[Rr]etrying",
    "rate limit", "Too Many Requests", "Bad Gateway", "Unavailable", "toomany", "[Rr]epository",
    "xceeded", "xpected \\d", "is not (?:set|defined|divisible|evenly|valid|a local)",
    "divisible", "unexpected", "nvalid", "nrecognized", "llegal", "ismatch", "ncompatible",
    "nconsistent", "nsatisfi", "onflict", "ndefined", "\\bmissing", "[Mm]andatory", "must be ",
    "should be divisible", "required", "too large", "too old", "arguments", "_argv", "heartbeat",
    "abnormal", "out of range", "overflow", "in use", "less than", "is empty", "ECC", "Xid",
    "fallen off", "hccl", "HCCL error", "nccl[A-Z]", "no longer", "[Dd]eadline", "Unschedulable",
    "nodes are available", "Insufficient", "insufficient", "flavors to pod", "BackOff",
    "Evicted", "evicted", "[Pp]reempt", "NodeLost", "NotReady", "marked dead", "lost ",
    "manifest ", "scheduled", "online with", "exit(?:ed|ing)? ", "exit ?code", "status [1-9]",
    "non-zero", "FAILED", "PASSED", "[Rr]egress", "baseline", "threshold", "ground_truth=",
    "inator", "been closed", "closed by", "early EOF", "resolve host", "curl: ",
    "name resolution", "ilable node", "verify the OPP", "the last training process",
    "npu-?error", "Shutting down", "shutdown signal", "disappeared", "truncated", "BadZip",
    "differ\\b", "stopped", "Input/output", "Read-only", "DiskPressure", "out of disk",
    "up to date", "GLIBC", "static TLS",
    # codes
    "E[A-Z]\\d{4}\\b", "E[1-4]\\d{4}\\b", "ERR\\d{5}", "[Rr]et[Cc]ode", "rrCode", "errcode",
    "runtime result",
    # structure
    "##\\[(?:error|group|warning)", "::error", "\\[rayjob ", "\\[watch raw", "\\.py::",
    "\\] START ", "test session starts", "= (?:FAILURES|ERRORS|RERUNS|short test)",
    "step:\\d+ - ", "'loss': ", "iteration +\\d+/", "[0-9a-z] (?:passed|failed)[ ,]",
    "Successfully (?:installed|built)", "most recent call", "received 0 bytes", "\" 200 OK",
    "Cleaning up orphan", "Complete job", "\\*\\*\\* \\[", "(?:^|Z\\]? )E {2,}",
    "(?:^|: |Z )[A-Z]{1,4}\\d{3,4} ", "Lint for", ": [A-Z]\\d{4}: ",
    "^E: ", "ImageFs", "npm ERR", "the following",
    # ends
    "Post job cleanup", "[Ee]arly[- ]?stop", "\\btimeout -?\\w", "topp?(?:ed|ing) early",
    "提前", "早停", "verride", "Total training steps", "没有那个文件",
    "ascend-ci:   ", "Digest: sha256:", "npu-smi \\d", "Package {2,}Version",
    "^(?:not )?(?:OK|ok)(?: [\\d(]|$)", "% tests passed", "exiting program",
)  # fmt: skip
TRIGGERS = "(?m)" + "|".join(_WORDS)
BARS = r"\| \d{1,9}/\d{1,9} \["  # tqdm: only signs of progress
