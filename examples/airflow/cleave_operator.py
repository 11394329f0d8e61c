"""An operator of Airflow that clusters a table on a Cleave server."""

from __future__ import annotations

import os
from typing import Any, Dict, Optional

import pandas as pd
from airflow.exceptions import AirflowException, AirflowFailException

try:
    from airflow.sdk import BaseOperator  # Airflow 3
except ImportError:
    from airflow.models import BaseOperator

from cleave import Cleave, CleaveError, Client


class CleaveOperator(BaseOperator):
    """Clusters the rows of a table, and writes their labels.

    A task may be killed at any moment and tried again: all tries of a task in a run of its DAG share one job. If the task is
    killed by Airflow (cleared, marked as failed, timed out), the job is canceled; if its machine is lost, the job goes on, and
    the next try continues with it. Airflow repeats a task only after temporary errors.

    Args:
        data: A CSV or Parquet file, with a row for each point.
        out: The CSV file to write. It appears when it is complete.
        n_clusters: The number of clusters.
        constraints: A CSV file of pairs, with the columns i and j, which are numbers of rows, and kind, which is must or cannot.
        class_column: The column of the table that has the known classes of some rows.
        parameters: Other parameters of cleave.Cleave, such as algorithm, ignore or time_limit.
        server: The address of the server, and the others of cleave.Client to reach it: tls, ca_file, token.
        request_id: Identifies the job. A job that was canceled is not run again under the same id, so clearing the task of such a
            job needs another one.
    """

    template_fields = ("data", "out", "constraints", "parameters", "server", "request_id")

    def __init__(
        self,
        *,
        data: str,
        out: str,
        n_clusters: int,
        constraints: Optional[str] = None,
        class_column: Optional[str] = None,
        parameters: Optional[Dict[str, Any]] = None,
        server: Optional[str] = None,
        tls: Optional[str] = None,
        ca_file: Optional[str] = None,
        token: Optional[str] = None,
        request_id: str = "{{ dag.dag_id }}/{{ run_id }}/{{ task.task_id }}/{{ ti.map_index }}",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.data = data
        self.out = out
        self.n_clusters = n_clusters
        self.constraints = constraints
        self.class_column = class_column
        self.parameters = parameters or {}
        self.server = server
        self.tls = tls
        self.ca_file = ca_file
        self.token = token
        self.request_id = request_id
        self._killed = False

    def execute(self, context: Any) -> Dict[str, Any]:
        """Runs the job, and returns its id, its objective, the number of clusters, and the file of the labels."""
        try:
            model = self._fit()
        except CleaveError as error:
            if error.temporary:
                raise AirflowException(str(error)) from error
            raise AirflowFailException(str(error)) from error
        finally:
            if self._killed:
                self._cancel()  # the job may have been created after on_kill looked for it
        labels = pd.DataFrame({"row": range(len(model.labels_)), "label": model.labels_, "confidence": model.confidence_})
        partial = f"{self.out}.{os.getpid()}.partial"
        labels.to_csv(partial, index=False)
        os.replace(partial, self.out)
        return {"job_id": model.job_id_, "objective": model.objective_, "n_clusters": model.n_clusters_, "labels": self.out}

    def on_kill(self) -> None:
        """Cancels the job."""
        self._killed = True
        self._cancel()

    def _fit(self) -> Cleave:
        frame = pd.read_parquet(self.data) if self.data.endswith(".parquet") else pd.read_csv(self.data)
        supervision: Dict[str, Any] = {}
        if self.constraints is not None:
            pairs = pd.read_csv(self.constraints)
            for kind in ("must", "cannot"):
                supervision[kind + "_link"] = pairs.loc[pairs["kind"] == kind, ["i", "j"]]
        if self.class_column is not None:
            supervision["partial_labels"] = frame.pop(self.class_column)
        model = Cleave(
            self.n_clusters,
            **{"verbose": False, **self.parameters},
            server=self.server,
            tls=self.tls,
            ca_file=self.ca_file,
            token=self.token,
        )
        return model.fit(frame, **supervision, request_id=self.request_id)

    def _cancel(self) -> None:
        with Client(self.server, tls=self.tls, ca_file=self.ca_file, token=self.token) as client:
            for job in client.list_jobs(request_id=self.request_id):
                self.log.info("canceling job %s", job.job_id)
                client.cancel_job(job.job_id)
