"""Messages that a system prints in Chinese mean the same as in English."""

import pytest

from bot.core.digest.chinese import in_english
from bot.core.digest.digester import Digester
from bot.core.digest.result import Digest
from tests.core.digest.corpus import signatures


def read(log: str) -> Digest:
    digester = Digester(signatures())
    digester.feed(f"开始执行\n{log}\n".encode())
    return digester.end()


@pytest.mark.parametrize(
    ("line", "english"),
    [
        ("run.sh:行3: npu-smi: 未找到命令", "run.sh:line 3: npu-smi: command not found"),
        ("run.sh：行 21：  4711 已杀死  python3", "run.sh: line 21:   4711 Killed  python3"),
        ("run.sh: 第 7 行： 88 段错误（核心已转储）",
         "run.sh: line 7:  88 Segmentation fault (core dumped) "),
        ("致命错误：无法访问 'https://x/'", "fatal: unable to access 'https://x/'"),
        ("E: 无法定位软件包 libnuma", "E: Unable to locate package libnuma"),
        ("已完成第 3 行的训练", "已完成第 3 行的训练"),
        ("plain", "plain"),
    ],
)  # fmt: skip
def test_a_message_is_read_in_english(line: str, english: str) -> None:
    assert in_english(line) == english


@pytest.mark.parametrize(
    ("line", "failure_class", "infra"),
    [
        ("run_npu.sh:行3: npu-smi: 未找到命令", "environment", True),
        ("cp: 写入 '/data/m-00009.safetensors' 时出错: 设备上没有空间", "disk", True),
        ("bash: 无法分配内存", "oom_host", False),
        ("bash: tests/run.sh: 没有那个文件或目录", "config_error", False),
        ("run.sh：行 9： 71 总线错误   python3 x.py", "environment", True),
        ("脚本退出，返回码 137", "oom_host", True),
        ("致命错误：无法访问 'https://github.com/x/'：Failed to connect to github.com port 443",
         "network_download", True),
        ("E: 无法下载 http://mirror/x.deb  连接超时 [IP: 10.0.0.1 80]", "network_download", True),
        ("src/native.c:3:10: 致命错误：numa.h：没有那个文件或目录", "code_failure", False),
    ],
)  # fmt: skip
def test_a_mechanism_is_known_in_chinese(line: str, failure_class: str, *, infra: bool) -> None:
    digest = read(line)
    assert (digest.failure_class, digest.infra, digest.cause) == (failure_class, infra, line)
