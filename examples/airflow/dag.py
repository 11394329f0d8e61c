"""A DAG that clusters the customers of each day."""

from __future__ import annotations

from datetime import datetime, timedelta

from airflow import DAG
from cleave_operator import CleaveOperator

with DAG("customers", schedule="@daily", start_date=datetime(2026, 1, 1), catchup=False) as dag:
    CleaveOperator(
        task_id="cluster",
        data="/data/customers/{{ ds }}.parquet",
        out="/data/customers/{{ ds }}.labels.csv",
        n_clusters=5,
        parameters={"id_column": "customer", "time_limit": 3600},
        server="cleave.internal:7400",
        tls="/etc/cleave/certs/submitter",
        retries=5,
        retry_delay=timedelta(minutes=1),
        execution_timeout=timedelta(hours=2),
    )
