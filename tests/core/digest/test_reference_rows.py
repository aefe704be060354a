"""Every row of the reference's tables: the line alone gives class and retry."""

# ruff: noqa: E501 - one line of a log is one line here

import pytest

from bot.core.digest.digester import Digester
from tests.core.digest.corpus import signatures

RAISED = 'Traceback (most recent call last):\n  File "/verl/a.py", line 3, in f\n    x()\n'
YES, NO = True, False
STATUS = "[rayjob status] status=FAILED rayjob_status= deployment_status=Failed "
ROWS = [
    # memory
    ("RuntimeError: NPU out of memory. Tried to allocate 4.64 GiB (NPU 1; 60.96 GiB total capacity)", "oom_device", NO),
    ("EL0004: [PID: 1] 2026-01-01-00:00:00.1 Failed to allocate memory.", "oom_device", NO),
    ("RuntimeError: call aclrtMalloc failed, error code is 207001", "oom_device", NO),
    ("RuntimeError: HCCL function error: HcclAllReduce(x), error code is 24", "oom_device", NO),
    ("ValueError: Free memory on device (3.1/60.9 GiB) on startup is less than desired GPU memory utilization", "environment", YES),
    ("ValueError: No available memory for the cache blocks.", "oom_device", NO),
    ("ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.", "oom_host", NO),
    ("(raylet) 3 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed", "oom_host", NO),
    ("run.sh: line 3: 77 Killed   python3 x.py", "unknown", NO),
    ("command terminated with exit code 137", "oom_host", YES),
    ("exitcode  : -9 (pid: 77)", "oom_host", YES),
    ("run.sh: line 3: 77 Bus error   python3 x.py", "environment", YES),
    ("command terminated with exit code 135", "environment", YES),
    ("RuntimeError: unable to open shared memory object </torch_1> in read-write mode", "environment", YES),
    # device and operators
    ("RuntimeError: NPU function error: AclrtSynchronizeDeviceWithTimeout, error code is 507010", "device_fault", YES),
    ("EL0001: [PID: 1] 2026-01-01-00:00:00.1 Device not found or invalid.", "device_fault", YES),
    ("RuntimeError: NPU function error: aclInit, error code is 507899", "device_fault", YES),
    ("RuntimeError: ACL stream synchronize failed, error code:507053", "device_fault", YES),
    ("RuntimeError: ACL stream synchronize failed, error code:507901", "device_fault", YES),
    ("RuntimeError: aclrtSetDevice failed, error code is 507033", "environment", YES),
    ("E30006: [PID: 1] 2026-01-01-00:00:00.1 Failed to verify the OPP.", "environment", YES),
    ("RuntimeError: aclrtMallocPhysical failed, error code is 207000", "environment", YES),
    *[(f"RuntimeError: ACL stream synchronize failed, error code:{n}", "code_failure", NO)
      for n in (507035, 507034, 507015, 507014, 507018, 507017, 507011, 507048, 507049, 507050)],
    ("RuntimeError: call aclnnAdd failed, error code is 161001", "code_failure", NO),
    ("RuntimeError: call aclnnAdd failed, error code is 561002", "code_failure", NO),
    ("RuntimeError: call aclnnAdd failed, error code is 561003", "environment", YES),
    ("error: ub overflow, requires 3145728 bits while 1572864 bits available!", "code_failure", NO),
    ("RuntimeError: ACL stream synchronize failed, error code:507046", "timeout_hang", YES),
    ("RuntimeError: SetPrecision failed, error code is 107002", "code_failure", NO),
    ("RuntimeError: Cannot re-initialize NPU in forked subprocess.", "code_failure", NO),
    ("Fatal Python error: Segmentation fault", "code_failure", NO),
    ("*** SIGSEGV received at time=1767582121 on cpu 12 ***", "code_failure", NO),
    ("command terminated with exit code 139", "code_failure", NO),
    ("python: /x/y.cpp:1: void f(): Assertion `a' failed.", "code_failure", NO),
    ("command terminated with exit code 134", "code_failure", NO),
    # communication
    ("EI0006: [PID: 1] 2026-01-01-00:00:00.1 Getting socket times out.", "hccl_comm", YES),
    ("EI0002: [PID: 1] 2026-01-01-00:00:00.1 The wait execution of the Notify register times out.", "hccl_comm", YES),
    ("EI0013: [PID: 1] 2026-01-01-00:00:00.1 An error CQE occurred during operator execution.", "hccl_comm", YES),
    ("EI0009: [PID: 1] 2026-01-01-00:00:00.1 Transport init error.", "hccl_comm", YES),
    ("EJ0001: 2024-05-21-11:57:54.167.645 Failed to initialize the HCCP process.", "hccl_comm", YES),
    ("EJ0002: [PID: 1] 2026-01-01-00:00:00.1 The network port is down.", "hccl_comm", YES),
    ("EJ0003: [PID: 1] 2026-01-01-00:00:00.1 The IP address and port have already been bound.", "hccl_comm", YES),
    ("EI0020: [PID: 1] 2026-01-01-00:00:00.1 The NPU socket cannot bind.", "hccl_comm", YES),
    ("EI0005: [PID: 1] 2026-01-01-00:00:00.1 The arguments are inconsistent.", "code_failure", NO),
    ("EI0003: [PID: 1] 2026-01-01-00:00:00.1 A collective got an illegal argument.", "code_failure", NO),
    ("EI0001: [PID: 1] 2026-01-01-00:00:00.1 Environment variable [HCCL_IF_IP] is invalid.", "config_error", NO),
    ("EI0014: [PID: 1] 2026-01-01-00:00:00.1 Rank table check failed.", "config_error", NO),
    ("EI0008: [PID: 1] 2026-01-01-00:00:00.1 HCCL versions differ.", "environment", YES),
    ("RuntimeError: HCCL function error: hcclCommInitRootInfoConfig(x), error code is 4", "hccl_comm", YES),
    ("OSError: [Errno 98] Address already in use", "environment", YES),
    # Python, plug-ins, tests, configuration
    ("TypeError: f() missing 2 required positional arguments: 'a' and 'b'", "code_failure", NO),
    ("TypeError: f() got an unexpected keyword argument 'x'", "code_failure", NO),
    ("ImportError: cannot import name 'x' from 'vllm'", "code_failure", NO),
    ("AttributeError: module 'vllm' has no attribute 'x'", "code_failure", NO),
    ("ImportError: libatb.so: cannot open shared object file: No such file or directory", "environment", YES),
    ("ImportError: libgomp.so.1: cannot allocate memory in static TLS block", "environment", YES),
    ("RuntimeError: torch_npu detected, but NPU device is not available or visible.", "device_fault", YES),
    ("AssertionError: only support equal chunk. Got size of DataProto 5 and chunk 8.", "config_error", NO),
    ("AssertionError: real_train_batch_size (5) must be divisible by minimal possible batch size (8)", "config_error", NO),
    ("AssertionError: First dimension of the tensor should be divisible by tensor parallel size", "config_error", NO),
    ("RuntimeError: world_size (16) is not divisible by 32", "config_error", NO),
    ("ValueError: Total available GPUs 8 is less than total desired GPUs 16", "config_error", NO),
    ("Expected 2 workers, found 1", "cluster_scheduling", YES),
    ("AssertionError: local_world_size (8) must be less than or equal to the number of visible devices (4).", "config_error", NO),
    ("AssertionError: local_world_size (8) must be less than or equal to the number of visible devices (0).", "device_fault", YES),
    ("Could not override 'a.b'.", "config_error", NO),
    ("Could not find 'model/qwen9'", "config_error", NO),
    ("omegaconf.errors.MissingMandatoryValue: Missing mandatory value: a.b", "config_error", NO),
    ("ValueError: Some specified arguments are not used by the HfArgumentParser: ['--x']", "config_error", NO),
    ("ValueError: remaining_argv: ['--x']", "config_error", NO),
    ("ValueError: Weight model.embed(torch.Size([2])) is too large to fit in the bucket.", "config_error", NO),
    ("KeyError: 'decoder.layers.3.mlp.weight'", "code_failure", NO),
    ("gsm8k | acc: ground_truth=0.89 | measured=0.70 | success=❌", "baseline_regression", NO),
    ("Accuracy verification failed: 0.70 against 0.89", "baseline_regression", NO),
    ("Performance verification failed. The current throughput is 6, not 0.97 * baseline 7.", "baseline_regression", NO),
    # files, network, packages
    ("OSError: [Errno 122] Disk quota exceeded", "disk", YES),
    ("OSError: [Errno 116] Stale file handle", "disk", YES),
    ("Evicted: The node was low on resource: ephemeral-storage.", "disk", YES),
    ("FileNotFoundError: Unable to find '/root/data/gsm8k/train.parquet'", "data_missing", YES),
    ("FileNotFoundError: [Errno 2] No such file or directory: '/root/data/gsm8k/train.parquet'", "data_missing", YES),
    ("safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge", "data_missing", YES),
    ("RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory", "data_missing", YES),
    ("socket.gaierror: [Errno -3] Temporary failure in name resolution", "network_download", YES),
    ("requests.exceptions.HTTPError: 503 Server Error: Service Unavailable for url: https://hf.co/x", "network_download", YES),
    ("requests.exceptions.HTTPError: 429 Client Error: Too Many Requests for url: https://hf.co/x", "network_download", YES),
    ("huggingface_hub.errors.LocalEntryNotFoundError: An error happened while trying to locate the file", "network_download", YES),
    ("requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://hf.co/x", "network_download", NO),
    ("huggingface_hub.errors.GatedRepoError: Access to model x is restricted", "network_download", NO),
    ("fatal: unable to access 'https://github.com/x/': Could not resolve host: github.com", "network_download", YES),
    ("ERROR: ResolutionImpossible: for help visit https://pip.pypa.io", "dependency_install", NO),
    ("ERROR: No matching distribution found for x==1", "dependency_install", NO),
    ("ERROR: Failed building wheel for x", "dependency_install", NO),
    # cluster, runner, time
    ("Warning  FailedScheduling  0/3 nodes are available: 3 Insufficient huawei.com/Ascend910.", "cluster_scheduling", YES),
    ("couldn't assign flavors to pod set head: insufficient unused quota for cpu", "cluster_scheduling", YES),
    ('Failed to pull image "x": toomanyrequests: rate limit', "cluster_scheduling", YES),
    ("Error: pod failed to come online with error: x Pending: backoff timeout", "cluster_scheduling", YES),
    ("Error: No available node types can fulfill resource request {'NPU': 16.0}", "cluster_scheduling", YES),
    ("Job supervisor actor could not be scheduled: no node", "cluster_scheduling", YES),
    ("Job supervisor actor died: The actor died unexpectedly", "cluster_scheduling", YES),
    ("ray.exceptions.ActorDiedError: The actor died because its node has died. Node Id: 1", "cluster_scheduling", YES),
    ("ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.", "unknown", NO),
    (STATUS + "DeadlineExceeded: The RayJob has passed the activeDeadlineSeconds.", "timeout_hang", YES),
    (STATUS + "The RayJob has passed the preRunningDeadlineSeconds. PreRunningDeadlineSeconds: 1800", "cluster_scheduling", YES),
    (STATUS + "Job submission has failed. Reason: BackoffLimitExceeded", "cluster_scheduling", YES),
    (STATUS + "JobDeploymentStatusTransitionGracePeriodExceeded", "cluster_scheduling", YES),
    (STATUS + "Ray head pod not found.", "cluster_scheduling", YES),
    (STATUS + "Ray head pod container ray-head terminated with exit code 137: Error", "oom_host", YES),
    (STATUS + "Ray head pod container ray-head terminated with exit code 139: Error", "code_failure", NO),
    ("pod x-worker-1 Preempted by pod y", "cluster_scheduling", YES),
    ("##[error]The runner has received a shutdown signal.", "runner_lost", YES),
    ("##[error]The operation was canceled.", "cancelled", NO),
    ("received SIGINT", "cancelled", NO),
    ("##[error]The action 'Run' has timed out after 60 minutes.", "timeout_hang", YES),
    ("TimeoutError: RPC call to execute_model timed out.", "timeout_hang", YES),
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "failure_class", "infra"), ROWS, ids=[row[0][:70] for row in ROWS]
)
def test_a_row_of_the_reference(line: str, failure_class: str, *, infra: bool) -> None:
    raised = line.split(":", maxsplit=1)[0].endswith(("Error", "Value"))
    digester = Digester(signatures(), repo_roots=["/verl"])
    digester.feed(f"the log begins\n{RAISED if raised else ''}{line}\n".encode())
    digest = digester.end()
    assert (digest.failure_class, digest.infra) == (failure_class, infra)
    assert digest.root_cause_line == (5 if raised else 2)
