"""Just enough C++ lexing for the tidy rules: comments, strings, includes, function bodies."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Comments, raw strings, strings and character literals. A quote between digits (1'000) is none.
_TOKEN = re.compile(
    r"""
      (?P<comment> //[^\n]* | /\*.*?\*/ )
    | (?P<raw>     R"(?P<tag>[^()\s\\]{0,16})\(.*?\)(?P=tag)" )
    | (?P<string>  "(?:\\.|[^"\\\n])*" )
    | (?P<char>    (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+' )
    """,
    re.VERBOSE | re.DOTALL,
)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
_NOT_FUNCTION = re.compile(
    r"^(?:\s|\[\[\w+\]\])*(?:if|for|while|switch|catch|do|else|try|return|enum)\b"
)
_SCOPE = re.compile(r"\b(?:namespace|class|struct|union|extern)\b[^()=]*$")
_INITIALIZER_LIST = re.compile(r"\)\s*(?:noexcept\s*)?:\s*[^;]*[\w>]$", re.DOTALL)


@dataclass(frozen=True)
class Include:
    line: int
    system: bool  # in angle brackets
    path: str


@dataclass(frozen=True)
class Function:
    line: int
    line_count: int
    head: str


def _blank(text: str) -> str:
    """Spaces instead of every character, so that line and column numbers stay."""
    return re.sub(r"[^\n]", " ", text)


def without_comments(text: str) -> str:
    return _TOKEN.sub(lambda m: _blank(m.group()) if m.group("comment") else m.group(), text)


def code_only(text: str) -> str:
    """Neither comments nor the contents of strings; quotes of includes are blanked too."""
    return _TOKEN.sub(lambda m: _blank(m.group()), text)


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def includes(text: str) -> list[Include]:
    stripped = without_comments(text)
    return [
        Include(line_of(stripped, m.start(1)), m.group(1) == "<", m.group(2))
        for m in _INCLUDE.finditer(stripped)
    ]


def functions(text: str) -> list[Function]:
    """Outermost function bodies, found by their braces; good to what clang-format leaves."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: _blank(m.group()), code_only(text),
                  flags=re.MULTILINE)
    found: list[Function] = []
    kinds: list[str] = []  # of the open braces: scope, function or other
    head_start = 0
    body_start = 0
    for match in re.finditer(r"[{};]", code):
        position = match.start()
        inside_function = "function" in kinds
        if match.group() == "{":
            head = code[head_start:position].strip()
            kind = "other" if inside_function else _kind_of_brace(head)
            if kind == "function":
                body_start = head_start + len(code[head_start:position]) - len(
                    code[head_start:position].lstrip())
            kinds.append(kind)
            if kind == "initializer":
                continue
        elif match.group() == "}" and kinds:
            kind = kinds.pop()
            if kind == "initializer":
                continue
            if kind == "function":
                first = line_of(code, body_start)
                head = code[body_start:position].split("{")[0]
                found.append(Function(first, line_of(code, position) - first + 1,
                                      " ".join(head.split())))
        elif _unbalanced(code[head_start:position]):
            continue  # a semicolon inside parentheses, as in for (;;)
        head_start = match.end()
    return found


def _kind_of_brace(head: str) -> str:
    if _SCOPE.search(head):
        return "scope"
    if _NOT_FUNCTION.match(head) or "(" not in head or _unbalanced(head):
        return "other"
    if _INITIALIZER_LIST.search(head) and not head.endswith(("const", "noexcept", "override")):
        return "initializer"
    return "function"


def _unbalanced(text: str) -> bool:
    return text.count("(") > text.count(")")
