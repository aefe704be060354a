"""The next steps of failures, by the English ones of `config/signatures.yml` and of the digest."""

HINTS = {
    "A check of the repository failed: the lines below say what it found.": "仓库自己的检查失败："
    "下面几行写明发现的问题。",
    "A hook reformats files: run it before the commit.": "hook 会重新格式化文件：请在提交前运行。",
    "A linter names the line: mend it, or run the formatter.": "静态检查指出了行号：请修正，"
    "或运行格式化工具。",
    "The CI runner vanished (node or pod lost). Run it again.": "CI runner 失联（节点或 Pod 丢失）"
    "，请重跑。",
    "The runner was told to stop (pod "
    "evicted or node drained). Run it again.": "runner 被要求停止（Pod 被驱逐或节点排空），请重跑"
    "。",
    "The time limit ended the job: look at the last step or test and the time of its last "
    "progress; a stall is worth one retry.": "作业因时限结束：查看最后的步骤或测试及其最后进展的时"
    "间；如果是卡住，值得重跑一次。",
    "The RayJob ran into its active "
    "deadline: look at the last step and its time.": "RayJob 达到时限：查看最后一步及其时间。",
    "The run was cancelled (newer push, a "
    "failed sibling, or by hand). Nothing to fix here.": "运行被取消（有新的推送、并列作业失败或人"
    "工取消），无需处理。",
    "The run was cancelled (newer push or by "
    "hand). Nothing to fix, no automatic retry.": "运行被取消（有新的推送或人工取消），无需处理，"
    "不自动重跑。",
    "Device memory is used up: smaller micro batch or token limit per device, shorter sequences, "
    "offload, or max_split_size_mb.": "显存已用尽：调小 micro batch 或每卡 token 上限，缩短序列，"
    "开启 offload，或设置 max_split_size_mb。",
    "Device memory is used up: smaller "
    "batch, offload; HCCL buffers (HCCL_BUFFSIZE) count too.": "显存已用尽：调小 batch，或开启 "
    "offload；HCCL 缓冲（HCCL_BUFFSIZE）也占显存。",
    "HCCL found no device memory: lower HCCL_BUFFSIZE or the batch.": "HCCL 申请不到显存：调小 "
    "HCCL_BUFFSIZE 或 batch。",
    "The card was occupied before the job began: free it and retry.": "作业开始前卡已被占用：释放"
    "后重跑。",
    "Another process or container holds the card: free it and retry.": "卡被其他进程或容器占用：释"
    "放后重跑。",
    "The driver of the node is not usable from the container: its mount, its version, or the "
    "rights on the device.": "容器内无法使用节点的驱动：检查挂载、版本和设备权限。",
    "Weights leave no room for the KV cache: "
    "utilisation, model length or tensor parallel size.": "权重占满显存，没有留给 KV cache 的空间"
    "：调整显存利用率、模型长度或张量并行度。",
    "Host memory is exhausted by the workers of the job: less offload, fewer loader workers, "
    "smaller buffers, fewer workers a node.": "作业的 worker 耗尽了主机内存：减少 offload、数据加"
    "载进程、缓冲，或每节点的 worker 数。",
    "The container hit its memory limit: "
    "raise it, or lower offload, buffers and workers.": "容器达到内存上限：调大上限，或减少 "
    "offload、缓冲和 worker。",
    "The kernel ran out of memory and killed "
    "a process: its next line names it.": "内核内存不足，杀掉了一个进程：下一行写明是哪个。",
    "The node ran out of memory and evicted the pod.": "节点内存不足，驱逐了 Pod。",
    "The kernel killed the process: most "
    "likely the memory limit of the container.": "进程被内核杀掉，多半是达到了容器内存上限。",
    "Host memory is exhausted: fewer loader "
    "workers, less offload, smaller buffers.": "主机内存耗尽：减少数据加载进程、offload 或缓冲。",
    "The shared memory of the container is too small: raise /dev/shm.": "容器共享内存过小：调大 "
    "/dev/shm。",
    "Killed without evidence why: "
    "out-of-memory killer, eviction or a force kill.": "进程被杀，原因没有记录：可能是内存不足、被"
    "驱逐或强制终止。",
    "The NPU stopped answering the driver: "
    "take the node out, look at npu-smi, retry elsewhere.": "NPU 不再响应驱动：下线该节点，用 "
    "npu-smi 检查，换节点重跑。",
    "Hardware fault of the card: replace or drain it, retry elsewhere.": "卡的硬件故障：更换或下线"
    "，换节点重跑。",
    "No usable device in the container: "
    "mount, driver, or a card taken by another job.": "容器内没有可用的设备：检查挂载、驱动，或卡"
    "是否被其他作业占用。",
    "The driver reports no usable device (missing mount, busy, or fault): look at npu-smi, retry "
    "elsewhere.": "驱动报告没有可用设备（未挂载、被占用或故障）：用 npu-smi 检查，换节点重跑。",
    "Driver, firmware and toolkit or operator package do not fit together.": "驱动、固件与 "
    "toolkit 或算子包不匹配。",
    "Feature not supported: the driver or "
    "firmware is older than the toolkit wants.": "不支持该特性：驱动或固件版本低于 toolkit 的要求"
    "。",
    "The kernel binary for this chip is not "
    "installed: add the OPP kernels package to the image.": "没有安装该芯片的算子二进制：在镜像中"
    "加入 OPP kernels 包。",
    "A kernel read out of range (block table, slot mapping, index); the stack is asynchronous, "
    "rerun with ASCEND_LAUNCH_BLOCKING=1.": "算子读取越界（block table、slot mapping 或索引）；调"
    "用栈是异步的，请设置 ASCEND_LAUNCH_BLOCKING=1 后重跑。",
    "A kernel failed or got bad input; the stack is asynchronous, rerun with "
    "ASCEND_LAUNCH_BLOCKING=1 to find the operator.": "算子执行失败或输入有误；调用栈是异步的，请"
    "设置 ASCEND_LAUNCH_BLOCKING=1 后重跑以定位算子。",
    "An operator was called with a null or "
    "illegal argument: shapes, types, optional tensors.": "算子收到空指针或不合法的参数：检查形状"
    "、类型和可选张量。",
    "The operator does not take these shapes "
    "or layouts (tiling or shape inference).": "算子不支持这些形状或数据排布（tiling 或形状推导）"
    "。",
    "The Triton tile is larger than the unified buffer, or the kernel does not compile: smaller "
    "blocks.": "Triton tile 超过 unified buffer，或 kernel 无法编译：请用更小的 block。",
    "The Triton kernel does not compile: "
    "look at the line the compiler names; smaller blocks.": "Triton kernel 编译失败：查看编译器指"
    "出的行；请用更小的 block。",
    "A kernel or a collective never "
    "finished: find the first rank that stopped.": "算子或集合通信没有结束：找到最先停下的 rank。",
    "The device was not set in this thread or process.": "当前线程或进程没有设置设备。",
    "A runtime call got an illegal argument or device id.": "运行时接口收到不合法的参数或设备号。",
    "The operator is not supported or does not compile for this chip.": "该芯片不支持该算子，或算"
    "子无法编译。",
    "The start method must be spawn; "
    "something touched the NPU before the fork.": "启动方式须为 spawn；fork 之前已使用了 NPU。",
    "A device kernel failed; the stack is "
    "asynchronous, rerun with blocking launches.": "设备 kernel 失败；调用栈是异步的，请用同步启动"
    "方式重跑。",
    "The device or its driver failed: retry on another machine.": "设备或其驱动故障：换机器重跑。",
    "Native crash: the frame list gives the place.": "原生代码崩溃：栈帧列表指出位置。",
    "A native assertion failed: the line with the assertion says which.": "原生断言失败：断言所在"
    "行写明是哪一条。",
    "A native exception was not caught: its text says why.": "有未捕获的原生异常：异常信息写明原因"
    "。",
    "The process aborted: the message before the stack says why.": "进程中止：调用栈之前的信息写明"
    "原因。",
    "Native crash in a test process: the cause stands above.": "测试进程中原生代码崩溃：原因见上文"
    "。",
    "An earlier training process still holds "
    "the NPU: kill it, wait 10 s, retry.": "之前的训练进程仍占用 NPU：结束它，等待 10 秒后重跑。",
    "The card's network port is down: check with hccn_tool, drain the node.": "卡的网口未连接：用 "
    "hccn_tool 检查，并下线该节点。",
    "A port is taken on a shared host: "
    "another job runs there; retry or pick another port.": "共享主机上的端口被其他作业占用：重跑，"
    "或换一个端口。",
    "Two jobs share a host: set "
    "HCCL_IF_BASE_PORT and the socket port ranges.": "两个作业共用一台主机：请设置 "
    "HCCL_IF_BASE_PORT 和 socket 端口范围。",
    "Ranks call different collectives or shapes.": "各 rank 调用的集合通信或形状不同。",
    "A HCCL variable, configuration or rank table is not valid.": "HCCL 的环境变量、配置或 rank "
    "table 无效。",
    "The ranks run different toolkit versions: align the images.": "各 rank 的 toolkit 版本不同："
    "请统一镜像。",
    "A rank did not join in time: look for the rank or node with another error or none; "
    "HCCL_CONNECT_TIMEOUT, NPU network.": "有 rank 没有按时加入通信域：查找报其他错误或没有日志的 "
    "rank 或节点；检查 HCCL_CONNECT_TIMEOUT 和 NPU 网络。",
    "The RoCE link broke, or the peer left "
    "first: check both ends with hccn_tool.": "RoCE 链路中断，或对端先退出：用 hccn_tool 检查两端"
    "。",
    "Some rank died or hung; the block names the remote rank to look at.": "有 rank 退出或卡住；日"
    "志块中写明要查看的对端 rank。",
    "A link could not be set up: the other end has the cause.": "链路无法建立：原因在对端。",
    "A collective call failed: look for an EI or EJ code next to it or on another rank; NPU "
    "network, leftover processes.": "集合通信调用失败：在附近或其他 rank 上查找 EI 或 EJ 错误码；"
    "检查 NPU 网络和残留进程。",
    "A collective call failed: look for the rank that failed first.": "集合通信失败：找到最先失败"
    "的 rank。",
    "The owner of the store (rank 0) died first.": "store 的所有者（rank 0）先退出。",
    "A collective timed out: look for the first dead or stuck rank.": "集合通信超时：找到最先退出"
    "或卡住的 rank。",
    "The engine reports a failure of a "
    "worker: look for the first error of a worker.": "引擎报告 worker 失败：查找 worker 的第一个错"
    "误。",
    "An operator failed: the CANN block "
    "above says why; rerun with ASCEND_LAUNCH_BLOCKING=1.": "算子失败：上方的 CANN 日志块写明原因"
    "；请设置 ASCEND_LAUNCH_BLOCKING=1 后重跑。",
    "A child process failed: its own error stands above.": "子进程失败：它自己的错误见上文。",
    "The error of the task stands below or above.": "任务的错误见上文或下文。",
    "torch_npu does not load: the exception above says why.": "torch_npu 无法加载：上方的异常写明"
    "原因。",
    "The launcher reports a failed rank: look at the rank that failed first.": "启动器报告有 rank "
    "失败：查看最先失败的 rank。",
    "A command failed: its own error stands next to it.": "命令失败：它自己的错误就在旁边。",
    "The Ray job failed: its own log says why.": "Ray 作业失败：原因见它自己的日志。",
    "The members of the group say what failed.": "异常组中的各个异常写明失败原因。",
    "The build failed: the first compiler error says why.": "构建失败：编译器的第一个错误写明原因"
    "。",
    "The package index did not answer: retry, mirror, cache.": "包索引没有响应：重跑，或使用镜像源"
    "或缓存。",
    "No such version for this platform: fix the pin.": "没有适用于该平台的版本：请修正版本限定。",
    "Requirement pins conflict: name the two pins and loosen one.": "依赖版本冲突：找出冲突的两个"
    "限定，放宽其中一个。",
    "A wheel did not build: the first compiler error says why.": "wheel 构建失败：编译器的第一个错"
    "误写明原因。",
    "The pinned hash is not that of the file: refresh the lock file, or find out who changed the "
    "package.": "锁定的哈希与文件不符：更新锁文件，或查明谁改动了该包。",
    "Another apt or dpkg runs on this runner: retry.": "该 runner 上有其他 apt 或 dpkg 在运行：请"
    "重跑。",
    "The package is not in the configured sources.": "已配置的软件源中没有该包。",
    "A write was cut short: most often the disk is full.": "写入中断，多半是磁盘已满。",
    "The node or volume is full: clean "
    "checkpoints, Ray spill and caches, or enlarge the volume.": "节点或卷已满：清理检查点、Ray 溢"
    "出文件和缓存，或扩容。",
    "The shared volume failed: lock files on NFS, or a mount that went away.": "共享卷故障：NFS 上"
    "的锁文件，或挂载已失效。",
    "The pod was evicted for its disk use: "
    "clean up, or ask for more ephemeral storage.": "Pod 因磁盘用量被驱逐：请清理，或申请更多临时"
    "存储。",
    "Packages of the runtime environment could not be fetched: retry.": "运行环境的包下载失败：请"
    "重跑。",
    "Packages or working directory of the runtime environment are wrong.": "运行环境的包或工作目录"
    "有误。",
    "The token lacks access, or the name is "
    "wrong: asking again gives the same answer.": "令牌没有权限，或名字有误：重跑结果相同。",
    "The local server died first: read its log.": "本地服务先退出：查看它的日志。",
    "The server died first: read its log.": "服务先退出：查看它的日志。",
    "A hub did not answer: retry, or use the mirror or the local cache.": "hub 没有响应：重跑，或"
    "使用镜像或本地缓存。",
    "The checkout could not reach the server: retry.": "检出代码时无法连接服务器：请重跑。",
    "A hub or index did not answer: retry, "
    "or use the mirror or the local cache.": "hub 或索引没有响应：重跑，或使用镜像或本地缓存。",
    "The other side closed the connection: look for what died first.": "对端关闭了连接：查找最先退"
    "出的一方。",
    "A file in the cache is truncated: delete it and fetch again.": "缓存中的文件不完整：删除后重"
    "新下载。",
    "The model, checkpoint or data set is not on this runner (mount or cache), or the path is "
    "mistyped.": "该 runner 上没有这个模型、检查点或数据集（挂载或缓存），或路径有误。",
    "A library is not on the loader path or does not fit: source set_env.sh, mount the toolkit, "
    "or fix the image.": "库不在加载路径上或不匹配：执行 set_env.sh，挂载 toolkit，或修正镜像。",
    "Preload the library (libgomp) before Python starts.": "启动 Python 之前预加载该库（libgomp）"
    "。",
    "The batch is not divisible by the number of workers.": "batch 不能被 worker 数整除。",
    "Sizes do not fit: TP x PP x CP x EP x "
    "DP against the NPUs, or batch against the workers.": "规模不匹配："
    "TP x PP x CP x EP x DP 与卡数不符，或 batch 与 worker 数不符。",
    "The cluster is smaller than the request: nodes, or NPUs a node.": "集群小于申请的规模：节点数"
    "或每节点卡数不足。",
    "A Ray worker did not join: node, image or network.": "有 Ray worker 没有加入：检查节点、镜像"
    "或网络。",
    "More ranks than visible cards.": "rank 数多于可见的卡数。",
    "An override names a configuration key that does not exist (any more): fix the script or use "
    "+key=.": "覆盖了不存在（或已移除）的配置项：请修正脚本，或使用 +key=。",
    "The script and the program do not fit: "
    "an argument is unknown, missing or not allowed.": "脚本与程序不符：参数未知、缺失或不被允许。",
    "The configuration is not valid: the lines below name the field.": "配置无效：下面几行写明字段"
    "。",
    "Raise update_weights_bucket_megabytes.": "请调大 update_weights_bucket_megabytes。",
    "The workflow file or an input of an action is wrong.": "工作流文件或 action 的输入有误。",
    "The converter and the model definition "
    "differ in weight names or shapes.": "转换脚本与模型定义的权重名或形状不同。",
    "A call does not match the signature or name on the other side (API drift between the "
    "plug-in and vLLM, torch or transformers).": "调用与对方的签名或名字不符（插件与 vLLM、torch "
    "或 transformers 的接口已变化）。",
    "A module is missing: not installed in the image, or renamed.": "缺少模块：镜像中没有安装，或"
    "已改名。",
    "The run ended, but accuracy or speed is below the recorded baseline: compare metric, value "
    "and baseline.": "运行结束，但精度或性能低于基线：请对比指标、数值和基线。",
    "The run ended, but a metric left the "
    "recorded baseline: compare metric, value and baseline.": "运行结束，但有指标偏离基线：请对比"
    "指标、数值和基线。",
    "The run left no log to check: look at "
    "the runner and at the job that wrote it.": "运行没有留下可检查的日志：查看 runner 和写日志的"
    "作业。",
    "A native test failed: the lines below compare the values.": "原生测试失败：下面几行对比了数值"
    "。",
    "A test ran into its time limit: look "
    "where it stood; a stall is worth one retry.": "测试达到时限：查看它停在哪里；如果是卡住，值得"
    "重跑一次。",
    "A worker or command did not answer in "
    "time: look for the one that stopped.": "worker 或命令没有按时响应：查找停下的一方。",
    "A tool that the node or its image "
    "brings is missing here: another runner may have it.": "这里缺少节点或镜像应有的工具：其他 "
    "runner 上可能有。",
    "The command names a script that is not there: its path, the checkout or the working "
    "directory.": "命令指向的脚本不存在：检查路径、检出的代码或工作目录。",
    "Give the script its executable bit (`git update-index --chmod=+x`), or run it through its "
    "interpreter.": "给脚本加上执行权限（`git update-index --chmod=+x`），或用解释器运行它。",
    "The command is mistyped, or the image "
    "lacks it or its path: a retry finds it missing again.": "命令写错，或镜像中没有该命令或路径："
    "重跑结果相同。",
    "The runner may not use the file: a mount, its owner, or its mode.": "runner 不能使用该文件："
    "检查挂载、所有者或权限位。",
    "Driver, firmware and toolkit in the image do not fit together.": "镜像中的驱动、固件与 "
    "toolkit 不匹配。",
    "Tests could not be collected: the error below says why.": "测试收集失败：下面的错误写明原因。",
    "The path or the selection matches no test.": "路径或筛选条件没有匹配任何测试。",
    "No node has enough free NPUs: wait for capacity and retry.": "没有节点有足够的空闲 NPU：等待"
    "空闲后重跑。",
    "The queue has no unused quota: wait and retry.": "队列没有剩余配额：等待后重跑。",
    "The registry refuses this name or these "
    "credentials: asking again gives the same answer.": "镜像仓库拒绝该镜像名或凭据："
    "重跑结果相同。",
    "The node could not mount a volume of "
    "the pod: the node or its storage; retry elsewhere.": "节点无法挂载 Pod 的卷：节点或其存储有问"
    "题，换节点重跑。",
    "The image could not be pulled: registry or tag.": "镜像拉取失败：检查镜像仓库或标签。",
    "The job pod never started: capacity or image.": "作业 Pod 没有启动：资源不足或镜像问题。",
    "The cluster has no node for the request: wait, or ask for less.": "集群中没有满足申请的节点："
    "请等待，或减少申请。",
    "Ray could not place or keep the driver of the job: head node trouble.": "Ray 无法启动或保持作"
    "业的 driver：head 节点有问题。",
    "A node was lost: retry.": "节点丢失：请重跑。",
    "The head node died (often host memory): look at its pod.": "head 节点退出（多半是主机内存）："
    "查看它的 Pod。",
    "The pod was preempted or does not stay up: retry.": "Pod 被抢占或无法保持运行：请重跑。",
    "The submitter or the head was lost: retry.": "提交服务或 head 失联：请重跑。",
    "The RayJob manifest is not valid (for "
    "example a name over 47 characters).": "RayJob 的 manifest 无效（例如名字超过 47 个字符）。",
    "The job never started: look for the "
    "reason of its pods (capacity, image).": "作业没有启动：查看其 Pod 的原因（资源不足或镜像）。",
    "A Ray worker died and the log does not "
    "say why: ask for the worker's own log.": "Ray worker 退出，日志没有写明原因：查看 worker 自己"
    "的日志。",
    "A package did not build: the compiler's first error says why.": "包构建失败：编译器的第一个错"
    "误写明原因。",
    "Something did not answer in time: look for what stopped.": "有一方没有按时响应：查找停下的一"
    "方。",
    "Look at the last line of the traceback that is in this repository.": "查看调用栈中最后一行属于"
    "本仓库的代码。",
    "A test's own assertion failed: compare the values.": "测试自身的断言失败：请对比数值。",
    "Look at the events of the pod and the memory of the node: the process was killed, and the "
    "log does not say by what.": "查看 Pod 的事件和节点的内存：进程被杀，日志没有写明原因。",
    "The process died of a signal. Run it with faulthandler to see where.": "进程因信号退出。用 "
    "faulthandler 运行可看到位置。",
    "The process could not use its memory: look at the size of /dev/shm.": "进程无法使用内存：检查"
    " /dev/shm 的大小。",
    "pytest was interrupted: look for an error while tests were collected.": "pytest 被中断：查找"
    "收集测试时的错误。",
    "pytest itself failed: look for INTERNALERROR.": "pytest 自身出错：查找 INTERNALERROR。",
    "pytest did not understand its arguments: look at the command.": "pytest 无法识别参数：检查命"
    "令。",
    "The command ran into the time limit it "
    "was started with: look at its last output.": "命令达到启动时设定的时限：查看它的最后输出。",
    "A file is there, but can't be executed: look at its mode.": "文件存在但不能执行：检查权限位。",
    "A command was not found: look at its name and at the image.": "找不到命令：检查命令名和镜像。",
    "The process aborted: the message before it says why.": "进程异常中止：前面的信息写明原因。",
    "The code or an override uses a key that the configuration does not have: its name, or the "
    "version of the configuration.": "代码或覆盖项使用了配置中没有的键：检查键名或配置的版本。",
    "A value is None where the code expects an object: "
    "look for what should have set it.": "代码期望对象的位置得到了 None：查找本应为它赋值的地方。",
    "The Docker daemon of the runner does not answer: "
    "another runner may have one.": "runner 上的 Docker daemon 无响应：换一个 runner 可能正常。",
    "The API server of the cluster did not answer: retry.": "集群的 API server 没有响应：请重跑。",
}
