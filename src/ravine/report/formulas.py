r"""Formulas in plain text, drawn as formulas: ``‖A^k‖^(1/k)`` becomes MathML.

Claims, captions and findings are sentences with formulas in them, written so that they can be read
in a terminal. A small grammar finds the formulas among the words, and MathML, which browsers draw
themselves, sets them:

    formula = term { (+ | - | = | < | > | <= | >= | ~) term }
    term    = factor { [/] factor }
    factor  = (number | symbol | "(" formulas ")" | "‖" formula "‖" | "√" factor) { tail }
    tail    = "^" script | "_" script | "²" | "³" | "*" | "(" formulas ")"

What has no script, fraction, root, norm or Greek letter in it stays text: "Q = 32" reads well as it
is, and "A" may be an article.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eps": "ε", "theta": "θ", "kappa": "κ",
    "lambda": "λ", "mu": "μ", "rho": "ρ", "sigma": "σ", "omega": "ω",
}  # fmt: skip
_LETTERS = "ABCEHLNPQRVdfghjkmnrsvwxyz"
"""Symbols of one letter; ``a`` is left to English."""

_RELATIONS = {
    "<=": "≤",
    ">=": "≥",
    "<": "&lt;",
    ">": "&gt;",
    "=": "=",
    "~": "∼",
    "+": "+",
    "-": "−",
}

_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<number>\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
    rf"|(?P<symbol>(?:{'|'.join(_GREEK)}|k[1s]|[{_LETTERS}])(?![A-Za-z]))"
    r"|(?P<dots>\.\.\.)"
    r"|(?P<sign><=|>=|[-+=<>~/^_*²³√‖()\[\]{},∞])"
    r"|(?P<word>[A-Za-zÀ-ÖØ-öø-ÿ]+)"
    r"|(?P<other>.)",
    re.DOTALL,
)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str


class _NoFormulaError(Exception):
    """What comes next is not part of a formula."""


class _Reader:
    """Reads formulas from a list of tokens, from any place on."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.structured = False
        self.scripts = 0
        self.insides: dict[str, str] = {}
        """What stands inside brackets, by the markup with the brackets."""

    def peek(self, offset: int = 0) -> _Token:
        """The token ahead, or an empty one behind the end."""
        place = self.at + offset
        return self.tokens[place] if place < len(self.tokens) else _Token("end", "")

    def take(self, text: str) -> bool:
        """Whether the next token is this one; if so it is passed."""
        if self.peek().text != text:
            return False
        self.at += 1
        return True

    def skip_space(self) -> bool:
        """Pass a space; whether there was one."""
        if self.peek().kind != "space":
            return False
        self.at += 1
        return True

    def formula(self) -> str:
        """Terms with relations between them; stops before what is no formula."""
        parts = [self.term()]
        while True:
            before = self.at
            spaced = self.skip_space()
            relation = _RELATIONS.get(self.peek().text)
            if relation is None:
                self.at = before
                return "".join(parts)
            self.at += 1

            # "L-smooth" is a word: a relation has a space on both sides, or on neither.
            try:
                if self.skip_space() != spaced:
                    raise _NoFormulaError
                parts += [f"<mo>{relation}</mo>", self.term()]
            except _NoFormulaError:
                self.at = before
                return "".join(parts)

    def term(self) -> str:
        """Factors side by side, and fractions of them."""
        parts = [self.factor()]
        while True:
            before = self.at
            spaced = self.skip_space()
            try:
                if self.take("/"):
                    self.skip_space()
                    parts[-1] = self.fraction(parts[-1], self.factor())
                    self.structured = True
                elif spaced and self.peek().kind == "number":
                    raise _NoFormulaError
                else:
                    following = self.factor()
                    parts.append(f'<mspace width="0.17em"/>{following}' if spaced else following)
            except _NoFormulaError:
                self.at = before
                return _row(parts)

    def factor(self) -> str:
        """One thing with its scripts."""
        code = self.plain()
        while True:
            if self.take("²") or self.take("³"):
                power = {"²": "2", "³": "3"}[self.tokens[self.at - 1].text]
                code = f"<msup>{code}<mn>{power}</mn></msup>"
            elif self.take("^"):
                code = f"<msup>{code}{self.script()}</msup>"
            elif self.take("_"):
                code = f"<msub>{code}{self.script()}</msub>"
            elif self.take("*"):
                code = f"<msup>{code}<mo>*</mo></msup>"
            elif self.peek().text == "(" and self.peek(-1).kind == "symbol":
                code = _row([code, self.plain()])
                continue
            else:
                return code
            self.structured = True

    def plain(self) -> str:
        """A number, a symbol, or what brackets, bars or a root enclose."""
        token = self.peek()
        if token.text == "‖":
            return self.enclosed("‖", "‖")
        if token.text == "(":
            return self.enclosed("(", ")")

        self.at += 1
        match token.kind:
            case "number":
                return f"<mn>{token.text}</mn>"
            case "dots":
                return "<mo>⋯</mo>"
            case "symbol":
                return self.symbol(token.text)
            case "sign" if token.text == "√":
                self.structured = True
                return f"<msqrt>{self.bare(self.factor())}</msqrt>"
        self.at -= 1
        raise _NoFormulaError

    def fraction(self, above: str, below: str) -> str:
        """With a line where it takes the place of brackets; with a slash in scripts and else."""
        if self.scripts or not (above in self.insides or below in self.insides):
            return f'<mrow>{above}<mo lspace="0" rspace="0">/</mo>{below}</mrow>'
        return f"<mfrac>{self.bare(above)}{self.bare(below)}</mfrac>"

    def bare(self, code: str) -> str:
        """Without the brackets around it: a fraction's line and a root's bar enclose, too."""
        return self.insides.get(code, code)

    def symbol(self, name: str) -> str:
        """A letter; ``k1`` is a letter with its number."""
        if name in _GREEK:
            self.structured = True
            return f"<mi>{_GREEK[name]}</mi>"
        if len(name) == 2:
            self.structured = True
            return f"<msub><mi>{name[0]}</mi><mi>{name[1]}</mi></msub>"
        return f"<mi>{name}</mi>"

    def enclosed(self, left: str, right: str) -> str:
        """What stands between brackets or bars, formulas with commas between them."""
        before = self.at
        self.take(left)
        inner = []
        try:
            while True:
                inner.append(self.signed())
                if self.take(right):
                    break
                if not self.take(","):
                    raise _NoFormulaError
                self.skip_space()
                inner.append("<mo>,</mo>")
        except _NoFormulaError:
            self.at = before
            raise

        if left == "‖":
            self.structured = True
        # Bars do not grow with what they enclose, brackets do: that is how books set them.
        grows = "true" if left == "(" else "false"
        fence = f'<mo stretchy="{grows}" lspace="0" rspace="0">{{}}</mo>'
        code = _row([fence.format(left), *inner, fence.format(right)])
        if left == "(":
            self.insides[code] = f"<mrow>{''.join(inner)}</mrow>"
        return code

    def signed(self) -> str:
        """A formula that may begin with a minus."""
        sign = "<mo>−</mo>" if self.take("-") else ""
        return sign + self.formula()

    def script(self) -> str:
        """What is raised or lowered: a number, a letter, or a formula in brackets."""
        if self.take("∞"):
            return "<mo>∞</mo>"
        for left, right in (("(", ")"), ("{", "}")):
            if self.take(left):
                self.scripts += 1
                inner = self.signed()
                self.scripts -= 1
                if not self.take(right):
                    raise _NoFormulaError
                return f"<mrow>{inner}</mrow>"
        return self.plain()


def _row(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"<mrow>{''.join(parts)}</mrow>"


def with_formulas(text: str) -> str:
    """The text as HTML, escaped, with its formulas as MathML.

    Examples
    --------
    >>> with_formulas("at most rho < 1")
    'at most <math displaystyle="true"><mi>ρ</mi><mo>&lt;</mo><mn>1</mn></math>'
    >>> with_formulas("A root of x & y")
    'A root of x &amp; y'
    """
    tokens = [_Token(str(m.lastgroup), m.group()) for m in _TOKEN.finditer(text)]
    reader = _Reader(tokens)
    parts: list[str] = []
    while reader.at < len(tokens):
        start = reader.at
        reader.structured = False
        reader.scripts = 0
        try:
            code = reader.formula() if _may_begin(tokens, start) else ""
        except _NoFormulaError:
            code = ""

        if code and reader.structured:
            parts.append(f'<math displaystyle="true">{code}</math>')
        else:
            # The longest stretch without structure is text; its tokens are looked at one by one.
            reader.at = start + 1
            parts.append(escape(tokens[start].text, quote=False))
    return "".join(parts)


def _may_begin(tokens: list[_Token], at: int) -> bool:
    """Whether a formula may begin here: not in the middle of a word or of a number."""
    if tokens[at].kind in ("space", "word", "other", "dots", "end"):
        return False
    return at == 0 or tokens[at - 1].kind not in ("word", "number", "symbol")
