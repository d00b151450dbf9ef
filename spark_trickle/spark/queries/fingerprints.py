"""What users' functions do, as short texts to compare: the body of a function may change under its name.

A Python function is told by its code, its defaults and what it closes over, and so are functions of its own package
that it uses; those of others by their names. Line numbers and files do not count. A SQL function is told by its text.
Of functions of the JVM nothing is known.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from spark_trickle.sql.parse import tokenize

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_trickle.spark.workspaces.workspace import Workspace

_IN_SQL, _IN_PYTHON = "sql_udf", "python_udf"
_PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
_PLAIN = (str, bytes, int, float, complex, bool, type(None), type(Ellipsis))


def fingerprints(workspace: Workspace, query: str) -> dict[str, str]:
    """Of those of users' functions in a query that can be told, by name in lower case."""
    names = functions_named(query, workspace.functions)
    return _of_names(workspace.session, names) if names else {}


def functions_named(query: str, functions: Iterable[str]) -> list[str]:
    """The users' functions that a word of the query may name."""
    known = {name.lower() for name in functions}
    return sorted({word.text.lower() for word in tokenize(query)} & known) if known else []


def function_notices(workspace: Workspace, query: str) -> tuple[str, ...]:
    """What users should know who let a stream table depend on functions of theirs."""
    names = functions_named(query, workspace.functions)
    told = _of_names(workspace.session, names) if names else {}
    return tuple(
        f"it uses function '{name}': a refresh that finds its body changed computes everything again; the scheduler "
        "looks when a source has changed, refresh_stream_table at once; what the function reads elsewhere is not seen"
        if name in told
        else f"it uses function '{name}', whose body cannot be compared: after a change of it run "
        "refresh_stream_table(..., mode='FULL')"
        for name in names
    )


def _of_names(session: SparkSession, names: Iterable[str]) -> dict[str, str]:
    state: Any = session._jsparkSession
    jvm: Any = session._jvm
    registry = state.sessionState().functionRegistry()
    identifier = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier
    found = {name: _of_entry(jvm, registry, identifier(name)) for name in names}
    return {name: told for name, told in found.items() if told is not None}


def _of_entry(jvm: Any, registry: Any, name: Any) -> str | None:
    info, builder = registry.lookupFunction(name), registry.lookupFunctionBuilder(name)
    if not info.isDefined() or not builder.isDefined():
        return None
    written_in = str(info.get().getSource())
    if written_in == _IN_SQL:
        return f"sql:{_digest([str(info.get().getUsage())])}"
    if written_in != _IN_PYTHON:
        return None
    function = builder.get().apply(jvm.org.apache.spark.api.python.PythonUtils.toSeq(jvm.java.util.ArrayList())).func()
    return of_command(bytes(function.command().toArray(jvm.scala.reflect.ClassTag.Byte())))


def of_command(pickled: bytes) -> str:
    """Of a function as PySpark hands it to its workers: with the type that it gives."""
    from pyspark import cloudpickle

    function, *rest = cloudpickle.loads(pickled)
    return f"{_PYTHON}:{_digest([*_Teller(_package(function)).told(function), repr(rest)])}"


def _digest(parts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode(errors="surrogatepass"))
    return digest.hexdigest()[:32]


def _package(value: Any) -> str:
    return str(getattr(value, "__module__", None) or "").partition(".")[0]


@dataclass(slots=True)
class _Teller:
    """Says what values are, in words and in an order that are the same in every process."""

    home: str
    """The package whose code counts; that of others is known by name."""
    seen: dict[int, Any] = field(default_factory=dict)
    """By address, and kept: the next value may come to lie where one lay that is gone."""

    def told(self, value: Any) -> Iterator[str]:
        if isinstance(value, _PLAIN):
            yield repr(value)
            return
        if id(value) in self.seen:
            yield "again"
            return
        self.seen[id(value)] = value
        if isinstance(value, CodeType):
            yield from self._code(value)
        elif isinstance(value, FunctionType) and _package(value) in (self.home, "__main__"):
            yield from self._function(value)
        elif isinstance(value, ModuleType):
            yield value.__name__
        else:
            yield from self._collection(value)

    def _collection(self, value: Any) -> Iterator[str]:
        match value:
            case tuple() | list():
                yield type(value).__name__
                for item in value:
                    yield from self.told(item)
            case set() | frozenset():
                yield from sorted(_digest(self.told(item)) for item in value)
            case dict():
                for item in value.items():
                    yield from self.told(item)
            case _:
                yield from self._object(value)

    def _code(self, code: CodeType) -> Iterator[str]:
        yield code.co_code.hex()
        yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_argcount, code.co_flags))
        for constant in code.co_consts:
            yield from self.told(constant)

    def _function(self, function: FunctionType) -> Iterator[str]:
        yield from self.told(function.__code__)
        yield from self.told((function.__defaults__, function.__kwdefaults__))
        for cell in function.__closure__ or ():
            yield from self.told(cell.cell_contents)
        for name in sorted(_names_in(function.__code__)):
            if name in function.__globals__:
                yield name
                yield from self.told(function.__globals__[name])

    def _object(self, value: Any) -> Iterator[str]:
        """Anything else: by its name, if it has one, and by its state."""
        from pyspark import cloudpickle

        kind = value if isinstance(value, type) else type(value)
        yield f"{kind.__module__}.{kind.__qualname__}.{getattr(value, '__qualname__', '')}"
        if _package(kind) in (self.home, "__main__"):
            for name, item in sorted(vars(kind).items()):
                if isinstance(item, FunctionType | property | classmethod | staticmethod):
                    yield name
                    yield from self.told(getattr(item, "__wrapped__", None) or getattr(item, "fget", None) or item)
            if not isinstance(value, type):
                yield from self.told(getattr(value, "__dict__", {}))
        elif not isinstance(value, type) and not callable(value):
            try:
                yield hashlib.sha256(cloudpickle.dumps(value)).hexdigest()  # type: ignore[no-untyped-call]
            except Exception:  # noqa: BLE001  what cannot be pickled can be told by its class only
                yield ""


def _names_in(code: CodeType) -> set[str]:
    """Names that a function looks up outside of itself, with those of the functions inside it."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _names_in(constant)
    return found
