#!/usr/bin/env bash
# Makes .venv-peers: an environment for each engine that 'make bench PEERS=1' measures beside ours, with the versions of its constraints.
# Two, because they want different versions of the same packages. Does only what is missing. Some 2.5 GB.
set -euo pipefail
cd "$(dirname "$0")/.."

environment() {
    local folder=.venv-peers/$1 package=$2 constraints=bench/peers/$1.constraints.txt
    local stamp=$folder/.setup-done wanted
    wanted="$(cksum <"$constraints")"
    if [[ -f $stamp && "$(cat "$stamp")" == "$wanted" ]]; then return; fi
    printf 'setup: installing %s\n' "$package"
    if [[ ! -x $folder/bin/python ]]; then .venv/bin/python -m venv "$folder"; fi
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --constraint "$constraints" "$package"
    echo "$wanted" >"$stamp"
}

environment pathway pathway
environment flink apache-flink
printf 'setup: peers ready\n'
