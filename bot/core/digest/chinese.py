"""The messages of system programs in Chinese, in the English words that the signatures know.

A shell, git, apt or a compiler under `LANG=zh_CN` translates its messages, and only those. One
table turns them back, so each mechanism stays one signature. The log is shown as it was printed.
"""

import re

_WORDS = {
    # the C library: strerror and strsignal
    "没有那个文件或目录": "No such file or directory",
    "没有该文件或目录": "No such file or directory",
    "没有这样的文件或目录": "No such file or directory",
    "权限不够": "Permission denied",
    "拒绝访问": "Permission denied",
    "不允许的操作": "Operation not permitted",
    "不能分配内存": "Cannot allocate memory",
    "无法分配内存": "Cannot allocate memory",
    "无法申请内存": "Cannot allocate memory",
    "设备上没有空间": "No space left on device",
    "设备空间不足": "No space left on device",
    "超出磁盘限额": "Disk quota exceeded",
    "超出磁盘配额": "Disk quota exceeded",
    "只读文件系统": "Read-only file system",
    "输入/输出错误": "Input/output error",
    "输入输出错误": "Input/output error",
    "失效文件句柄": "Stale file handle",
    "过旧的文件控柄": "Stale file handle",
    "过时的文件句柄": "Stale file handle",
    "拒绝连接": "Connection refused",
    "连接被拒绝": "Connection refused",
    "连接被对方重设": "Connection reset by peer",
    "连接被对方重置": "Connection reset by peer",
    "连接被对端重置": "Connection reset by peer",
    "连接超时": "Connection timed out",
    "没有到主机的路由": "No route to host",
    "网络不可达": "Network is unreachable",
    "地址已在使用": "Address already in use",
    "地址已被使用": "Address already in use",
    "断开的管道": "Broken pipe",
    "未知的名称或服务": "Name or service not known",
    "域名解析暂时失败": "Temporary failure in name resolution",
    "域名解析出现暂时性错误": "Temporary failure in name resolution",
    "可执行文件格式错误": "Exec format error",
    "段错误": "Segmentation fault",
    "段故障": "Segmentation fault",
    "总线错误": "Bus error",
    "浮点数例外": "Floating point exception",
    "非法指令": "Illegal instruction",
    "已杀死": "Killed",
    "已放弃": "Aborted",
    "已中止": "Aborted",
    "已终止": "Terminated",
    "核心已转储": "core dumped",
    "吐核": "core dumped",
    # shells and make
    "未找到命令": "command not found",
    "找不到命令": "command not found",
    "没有规则可制作目标": "No rule to make target",
    # git
    "致命错误": "fatal",
    "无法访问": "unable to access",
    "无法连接到": "Failed to connect to",
    "无法解析主机": "Could not resolve host",
    "无法读取远程仓库": "Could not read from remote repository",
    "无法读取远程版本库": "Could not read from remote repository",
    "远端意外挂断了": "the remote end hung up unexpectedly",
    "远端意外挂断": "the remote end hung up unexpectedly",
    "过早的文件结束符": "early EOF",
    "身份验证失败": "Authentication failed for",
    "认证失败": "Authentication failed for",
    # apt
    "无法定位软件包": "Unable to locate package",
    "软件包": "Package",
    "没有可安装候选": "has no installation candidate",
    "暂时不能解析域名": "Temporary failure in name resolution",
    "无法解析域名": "Temporary failure in name resolution",
    "无法下载": "Failed to fetch",
    "下载失败": "Failed to fetch",
    "校验和不符": "Hash Sum mismatch",
    "校验和不匹配": "Hash Sum mismatch",
    # compilers, wget, kubectl
    "无法解析主机地址": "unable to resolve host address",
    "无法建立 SSL 连接": "Unable to establish SSL connection",
    # words that stand before a message or a number
    "错误": "error",
    "警告": "warning",
    "返回代码": "return code",
    "返回码": "return code",
    "返回值": "return code",
    "退出代码": "exit code",
    "退出状态": "exit status",
    "退出码": "exit code",
    "：": ": ",
    "，": ", ",
    "（": " (",
    "）": ") ",
    "“": "'",
    "”": "'",
    "‘": "'",
    "’": "'",
}  # fmt: skip
_PLAIN = frozenset({"错误", "警告", "软件包", "：", "，", "（", "）", "“", "”", "‘", "’"})
_ANY = re.compile("|".join(re.escape(word) for word in sorted(_WORDS, key=len, reverse=True)))
_LINE = re.compile(r"(?:第 ?(\d+) ?行|行 ?(\d+))(?=[ :：])")
WORDS = tuple(word for word in _WORDS if word not in _PLAIN)  # each of them reports something


def in_english(text: str) -> str:
    """Return a line with its system messages in English; another text stays as it is."""
    if text.isascii():
        return text
    numbered = _LINE.sub(lambda found: f"line {found[1] or found[2]}", text)
    return _ANY.sub(lambda found: _WORDS[found[0]], numbered)
