"""Walks the words of one statement of ours, and reports what was expected where."""

from __future__ import annotations

from spark_trickle.errors import SqlError
from spark_trickle.sql.lexer import Kind, Token, place, tokens


class Cursor:
    """Walks the words of one statement and reports what was expected where."""

    def __init__(self, text: str, example: str) -> None:
        self.text = text
        self.example = example
        self._tokens = list(tokens(text))
        self._at = 0

    @property
    def token(self) -> Token:
        return self._tokens[self._at]

    def next(self) -> Token:
        token = self.token
        if token.kind is not Kind.END:
            self._at += 1
        return token

    def take(self, words: str) -> bool:
        """Step over these words if they come next."""
        wanted = words.split()
        coming = self._tokens[self._at : self._at + len(wanted)]
        if [token.word for token in coming] != wanted:
            return False
        self._at += len(wanted)
        return True

    def need(self, words: str) -> None:
        for word in words.split():
            if not self.take(word):
                raise self.expected(word)

    def expected(self, what: str, found: Token | None = None) -> SqlError:
        token = found or self.token
        shown = "the end of the statement" if token.kind is Kind.END else f"'{token.text}'"
        return self.wrong(f"expected {what}, found {shown}", token)

    def wrong(self, message: str, token: Token) -> SqlError:
        line, column = place(self.text, token.start)
        return SqlError(message, hint=f"Example: {self.example}", line=line, column=column)

    def finish(self) -> None:
        """Nothing but semicolons may follow."""
        closed = False
        while self.take(";"):
            closed = True
        if self.token.kind is Kind.END:
            return
        if closed:
            raise self.wrong(f"a second statement begins at '{self.token.text}': one at a time", self.token)
        raise self.expected("the end of the statement")

    def in_parentheses(self) -> str:
        """A query, as written, between parentheses."""
        opened = self.token
        self.need("(")
        depth, start = 1, opened.end
        while depth:
            token = self.next()
            if token.kind is Kind.END:
                raise self.expected("')' after the query", token)
            depth += {"(": 1, ")": -1}.get(token.text, 0) if token.kind is not Kind.STRING else 0
        return self.text[start : token.start].strip()

    def query(self) -> str:
        """The rest, as written, without a semicolon and what follows its last word."""
        start = self._tokens[self._at - 1].end
        last: Token | None = None
        while self.token.kind is not Kind.END and self.token.text != ";":
            last = self.next()
        if last is None:
            raise self.expected("a query after AS")
        return self.text[start : last.end].strip()
