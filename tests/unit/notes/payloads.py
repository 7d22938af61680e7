"""Paths of known directory traversal attacks, in all their spellings."""

from itertools import product

__all__ = ["OUTSIDE", "TRAVERSALS"]

_TARGETS = ("etc/passwd", "canary.md", "outside/canary.md", "windows/win.ini")
_UP = (
    "../", "..\\", "..//", "..\\\\", ".././", "....//", "....\\\\", "..../\\", "...//", ".../", "..;/", "..%00/",
    "%2e%2e/", "%2e%2e%2f", "%2E%2E%2F", "..%2f", "%2e./", ".%2e/", "%2e%2e%5c", "..%5c", "%2e%2e\\",
    "%252e%252e/", "%252e%252e%252f", "..%252f", "%252e%252e%255c", "..%255c", "%25252e%25252e%25252f",
    "..%c0%af", "%c0%ae%c0%ae/", "%c0%ae%c0%ae%c0%af", "..%c1%9c", "..%c1%1c", "%c0%2e%c0%2e/", "..%e0%80%af",
    "%e0%80%ae%e0%80%ae/", "..%f0%80%80%af", "..%fc%80%80%80%80%af", "..%u2215", "..%u2216", "%uff0e%uff0e/",
    "%u002e%u002e%u002f", "..\u2215", "..\u2216", "\uff0e\uff0e/", "\uff0e\uff0e\uff0f", "..\u2044", "\u2025/",
    "..\x00/", "..\x01/", "..\t/", "..\n/", "../\x00", " ../", ".. /", "..\xa0/", "\u202e../", "\u200b../", "..\u200b/",
    "&#46;&#46;/", "&#x2e;&#x2e;&#x2f;", "\\x2e\\x2e\\x2f", "\\u002e\\u002e/", "0x2e0x2e/", "$HOME/", "~/", "~root/",
    "..\xc0\xaf", "\xc0\xae\xc0\xae/", "a/../../", "./../", "a/b/../../../", ".//..//", "./", ".", "//", "///",
)  # fmt: skip
_ROOTS = (
    "/", "//", "///", "\\", "\\\\", "/./", "/../", "C:/", "C:\\", "c:", "C:\\..\\", "file:///", "file://localhost/",
    "\\\\server\\share\\", "//server/share/", "\\\\?\\C:\\", "\\\\.\\C:\\", "\\\\.\\GLOBALROOT\\", "\\??\\C:\\",
    "/proc/self/root/", "/proc/self/cwd/", "/proc/self/fd/0/", "/dev/fd/0/", "%2f", "%5c", "%252f", "%00/", "\x00/",
)  # fmt: skip
_DEVICES = (
    "con", "CON", "prn", "aux", "NUL", "nul", "clock$", "conin$", "CONOUT$", "com0", "COM1", "com9", "lpt1", "LPT9",
    "COM\u00b9", "lpt\u00b2",
)  # fmt: skip
_PIECES = (
    "", " ",
    ".", "..", "...", "....", "/", "//", "\\", "\x00", "a\x00.md", "a.md\x00", "\x00a.md", "a/", "/a", "a//b.md",
    "a/./b.md", "a/../b.md", "a/..", "a/.", "..a/../../b.md", "a.md/.", "a.md/..", "a.md/../../b.md", "a.md.", "a.md ",
    "a.md. . .", "a. /b.md", "a./b.md", " /b.md", "a.md::$DATA", "a.md:stream", "a:b.md", "a|b.md", "a?.md", "a*.md",
    '"a".md', "<a>.md", "a\nb.md", "a\rb.md", "a\x1b[2J.md", "a\x7f.md", "a\udcff.md", "\ud800.md", ".scrubjay",
    ".scrubjay/vault.json", ".scrubjay/x.md", ".obsidian/app.md", ".git/config", ".hidden.md", "a/.hidden.md", "-rf",
    "x" * 300 + ".md", "x/" * 2100 + "a.md", "d/" * 70 + "a.md", "\u00e9" * 200 + ".md", "a" * 256, "a/" + "b" * 256,
)  # fmt: skip

TRAVERSALS = tuple(
    dict.fromkeys([
        *(up * times + target for up, times, target in product(_UP, (1, 2, 8), _TARGETS)),
        *("notes/" + up * 3 + target for up, target in product(_UP, _TARGETS)),
        *(start + target for start, target in product(_ROOTS, _TARGETS)),
        *map("".join, product(("", "a/"), _DEVICES, ("", ".md", " .md", "/a.md"))),
        *_PIECES,
        *_UP,
        *_ROOTS,
    ])
)  # fmt: skip
OUTSIDE = b"nobody but its owner may read, change or remove this"
