"""A resource of Dagster that clusters tables on a Cleave server."""

from __future__ import annotations

from typing import Any, Optional

from cleave import Cleave, CleaveError, Client
from dagster import ConfigurableResource, DagsterRunStatus, Failure, RetryRequested


class CleaveResource(ConfigurableResource):
    """A Cleave server, for ops and assets.

    Attributes:
        server: The address of the server, HOST:PORT.
        tls: A folder with certificates, as ``cleave certs`` writes it.
        ca_file: The certificates of the authority alone.
        token: A token of ``cleave token create``.
        max_retries: How often a step is repeated after temporary errors.
        retry_seconds: The pause before it is repeated.
    """

    server: str
    tls: Optional[str] = None
    ca_file: Optional[str] = None
    token: Optional[str] = None
    max_retries: int = 5
    retry_seconds: int = 60

    def fit(self, context: Any, model: Cleave, X: Any, *, name: str = "", **supervision: Any) -> Cleave:
        """Fits a model on the server, and returns it.

        A step may be killed at any moment and repeated: all attempts of a step in a run, and in later runs that continue it from
        a failure, share one job. If somebody terminates the run, the job is canceled.

        Args:
            context: The context of the op or asset.
            model: The model; its server is that of the resource.
            X: The rows, see cleave.Cleave.fit, also for the supervision.
            name: Tells the jobs of one step apart, if it has several.
        """
        root = context.run.root_run_id or context.run_id
        step = getattr(context, "op_execution_context", context).op_handle.to_string()
        partition = context.partition_key if context.has_partition_key else ""
        request_id = "/".join(part for part in (root, step, partition, name) if part)
        model.set_params(server=self.server, tls=self.tls, ca_file=self.ca_file, token=self.token)
        try:
            return model.fit(X, **supervision, request_id=request_id)
        except CleaveError as error:
            if error.temporary:
                raise RetryRequested(max_retries=self.max_retries, seconds_to_wait=error.retry_after or self.retry_seconds) from error
            raise Failure(str(error), metadata={"reason": error.reason, "job_id": error.job_id}, allow_retries=False) from error
        except BaseException:  # Dagster interrupts a step that is terminated, or whose machine is taken away
            if context.instance.get_run_by_id(context.run_id).status in (DagsterRunStatus.CANCELING, DagsterRunStatus.CANCELED):
                self._cancel(request_id)
            raise

    def _cancel(self, request_id: str) -> None:
        with Client(self.server, tls=self.tls, ca_file=self.ca_file, token=self.token) as client:
            for job in client.list_jobs(request_id=request_id):
                client.cancel_job(job.job_id)
