#!/usr/bin/env bash
# Makes the working copy ready: .venv with the versions of constraints.txt, Java, Spark's jars; with --test what only tests need, too.
# Does only what is missing, so it may be run before everything.
set -euo pipefail
cd "$(dirname "$0")/.."

wants_tests=no
if [[ "${1:-}" == "--test" ]]; then wants_tests=yes; fi

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

can_install() { [[ "$(id -u)" == 0 ]] && command -v apt-get >/dev/null; }

install_package() {
    say "installing $1"
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends "$1" >/dev/null 2>&1 && return
    # The list of packages may be older than what the mirror still has.
    apt-get -o DPkg::Lock::Timeout=300 update -q >/dev/null
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends "$1" >/dev/null
}

find_python() {
    local name
    for name in python3 python3.13 python3.12 python3.11; do
        if command -v "$name" >/dev/null && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$name"
            return
        fi
    done
    fail "Python 3.11 or newer is needed, and neither python3 nor python3.11 to python3.13 is that"
}

python_packages() {
    local wanted stamp=.venv/.setup-done
    wanted="$(cat pyproject.toml constraints.txt | cksum)"
    if [[ -x .venv/bin/python && -f $stamp && "$(cat $stamp)" == "$wanted" ]]; then return; fi
    if [[ ! -x .venv/bin/python ]]; then
        say "making .venv"
        "$(find_python)" -m venv .venv || fail "python3 -m venv failed; on Debian and Ubuntu install python3-venv"
    fi
    say "installing Python packages"
    # Dependency groups came with pip 25.1.
    .venv/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
    .venv/bin/python -m pip install --quiet --constraint constraints.txt --editable . --group dev
    echo "$wanted" >$stamp
}

java_version() {
    local java=java
    if [[ -n "${JAVA_HOME:-}" && -x "$JAVA_HOME/bin/java" ]]; then java="$JAVA_HOME/bin/java"; fi
    "$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1 || true
}

java_runtime() {
    local found
    found="$(java_version)"
    if [[ -n "$found" && "$found" -ge 17 ]]; then return; fi
    if can_install; then
        install_package openjdk-17-jre-headless
    else
        fail "Java 17 or newer is needed (found: ${found:-none}). Install it, for example the package openjdk-17-jre-headless, or set JAVA_HOME"
    fi
}

postgresql_server() {
    if command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then return; fi
    if can_install; then
        install_package postgresql
    elif [[ "${CI:-}" == true ]]; then
        fail "the tests need a PostgreSQL server: install the package postgresql"
    else
        say "no PostgreSQL server (package postgresql): the tests that need one will be skipped"
    fi
}

browser() {
    local name
    for name in chromium chromium-browser google-chrome; do
        if command -v "$name" >/dev/null; then return; fi
    done
    if can_install; then
        install_package chromium
    elif [[ "${CI:-}" == true ]]; then
        fail "the tests of the page need a browser: install the package chromium"
    else
        say "no browser (package chromium): the tests that need one will be skipped"
    fi
}

python_packages
java_runtime
.venv/bin/python scripts/fetch_jars.py "$@"
if [[ $wants_tests == yes ]]; then postgresql_server; browser; fi
say "ready"
