"""Stream tables in an Airflow that loads their sources: close the gate, load, open it, refresh, check.

Untried under Airflow. It runs the command line, so that Airflow's Python and ours need not agree on any version. Where
`trickle run` is at work, leave the task `refresh` out.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from airflow import DAG
from airflow.operators.bash import BashOperator

TRICKLE = "/opt/trickle/bin/trickle --warehouse /lake"

with DAG(
    "orders",
    schedule="0 * * * *",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=1)},
) as dag:
    close = BashOperator(task_id="gate", bash_command=f"{TRICKLE} gate orders order_items")
    load = BashOperator(task_id="load", bash_command="load_orders --since '{{ data_interval_start }}'")
    opened = BashOperator(task_id="ungate", bash_command=f"{TRICKLE} ungate orders order_items")
    # Exit code 1: something failed. 4: somebody else was at work, and it is tried again.
    refresh = BashOperator(task_id="refresh", bash_command=f"{TRICKLE} tick")
    check = BashOperator(task_id="check", bash_command=f"{TRICKLE} status --check")
    close >> load >> opened >> refresh >> check
