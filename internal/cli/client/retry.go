package client

import (
	"fmt"
	"path"
	"strings"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// retryPolicy is the gRPC service config by which a call is repeated when the coordinator is UNAVAILABLE.
// Its answer may have been lost on the way, so that only those methods are named that may be called twice:
// jobs are created with a request id, and data sets and tables are identified by their content. A second
// DeleteDataset would fail.
func retryPolicy() string {
	var names []string
	for _, method := range []string{
		cleavev1.JobService_PlanJob_FullMethodName,
		cleavev1.JobService_CreateJob_FullMethodName,
		cleavev1.JobService_GetJob_FullMethodName,
		cleavev1.JobService_ListJobs_FullMethodName,
		cleavev1.JobService_CancelJob_FullMethodName,
		cleavev1.JobService_DeleteJob_FullMethodName,
		cleavev1.JobService_WatchJob_FullMethodName,
		cleavev1.JobService_GetResult_FullMethodName,
		cleavev1.JobService_GetLabels_FullMethodName,
		cleavev1.JobService_GetModel_FullMethodName,
		cleavev1.JobService_GetEmbedding_FullMethodName,
		cleavev1.JobService_PredictJob_FullMethodName,
		cleavev1.JobService_EvaluateJob_FullMethodName,
		cleavev1.DatasetService_CreateDataset_FullMethodName,
		cleavev1.DatasetService_GetDataset_FullMethodName,
		cleavev1.DatasetService_ListDatasets_FullMethodName,
		cleavev1.TableService_CreateTable_FullMethodName,
		cleavev1.TableService_GetTable_FullMethodName,
		cleavev1.TableService_GetTableRows_FullMethodName,
		cleavev1.TableService_ListTables_FullMethodName,
		cleavev1.TableService_DeleteTable_FullMethodName,
		cleavev1.ClusterService_ListWorkers_FullMethodName,
		cleavev1.ClusterService_DrainWorker_FullMethodName,
	} {
		service, name := path.Split(method)
		names = append(names, fmt.Sprintf(`{"service": %q, "method": %q}`, strings.Trim(service, "/"), name))
	}
	return `{"methodConfig": [{"name": [` + strings.Join(names, ", ") + `], "retryPolicy": {
		"maxAttempts": 5, "initialBackoff": "0.1s", "maxBackoff": "2s", "backoffMultiplier": 2,
		"retryableStatusCodes": ["UNAVAILABLE"]}}]}`
}
