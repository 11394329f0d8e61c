"""Assets: a table of customers, and their clusters."""

from __future__ import annotations

import pandas as pd
from cleave_resource import CleaveResource
from dagster import AssetExecutionContext, Definitions, EnvVar, MaterializeResult, asset

from cleave import Cleave


@asset
def customers() -> pd.DataFrame:
    return pd.read_parquet("/data/customers.parquet")


@asset
def customer_clusters(context: AssetExecutionContext, customers: pd.DataFrame, cleave: CleaveResource) -> MaterializeResult:
    model = cleave.fit(context, Cleave(5, id_column="customer", verbose=False), customers)
    labels = pd.DataFrame({"customer": customers["customer"], "label": model.labels_, "confidence": model.confidence_})
    labels.to_parquet("/data/customer_clusters.parquet")
    return MaterializeResult(metadata={"job_id": model.job_id_, "objective": model.objective_, "method": model.method_})


defs = Definitions(assets=[customers, customer_clusters], resources={"cleave": CleaveResource(server=EnvVar("CLEAVE_SERVER"))})
