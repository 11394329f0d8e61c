package coordinator

import (
	"github.com/cleave-project/cleave/internal/security/identity"
)

// anyone is the role of methods that need no caller: whether the coordinator works is not a secret.
const anyone identity.Role = 0

// methodRule says who may call a method, and what the audit log tells of it. Which jobs and data a caller sees is decided where
// they are found.
type methodRule struct {
	needs identity.Role
	audit auditing
}

// auditing is how much the audit log tells of a method.
type auditing uint8

const (
	ends    auditing = iota // a line when the call has ended
	changes                 // also one before it begins: without it, the call is refused
	silent                  // nothing: probes, and what workers do for a job many times a second
)

// methods has a line for every method of the server; a test compares them.
var methods = map[string]methodRule{
	"/cleave.v1.DatasetService/CreateDataset": {identity.Submitter, changes},
	"/cleave.v1.DatasetService/GetDataset":    {identity.Reader, ends},
	"/cleave.v1.DatasetService/ListDatasets":  {identity.Reader, ends},
	"/cleave.v1.DatasetService/DeleteDataset": {identity.Submitter, changes},

	"/cleave.v1.TableService/CreateTable":  {identity.Submitter, changes},
	"/cleave.v1.TableService/GetTable":     {identity.Reader, ends},
	"/cleave.v1.TableService/GetTableRows": {identity.Reader, ends},
	"/cleave.v1.TableService/ListTables":   {identity.Reader, ends},
	"/cleave.v1.TableService/DeleteTable":  {identity.Submitter, changes},

	"/cleave.v1.JobService/PlanJob":          {identity.Submitter, ends},
	"/cleave.v1.JobService/CreateJob":        {identity.Submitter, changes},
	"/cleave.v1.JobService/GetJob":           {identity.Reader, ends},
	"/cleave.v1.JobService/ListJobs":         {identity.Reader, ends},
	"/cleave.v1.JobService/CancelJob":        {identity.Submitter, changes},
	"/cleave.v1.JobService/DeleteJob":        {identity.Submitter, changes},
	"/cleave.v1.JobService/WatchJob":         {identity.Reader, ends},
	"/cleave.v1.JobService/GetResult":        {identity.Reader, ends},
	"/cleave.v1.JobService/GetLabels":        {identity.Reader, ends},
	"/cleave.v1.JobService/GetRowScores":     {identity.Reader, ends},
	"/cleave.v1.JobService/GetModel":         {identity.Reader, ends},
	"/cleave.v1.JobService/GetEmbedding":     {identity.Reader, ends},
	"/cleave.v1.JobService/GetNeighborGraph": {identity.Reader, ends},
	"/cleave.v1.JobService/PredictJob":       {identity.Submitter, ends},
	"/cleave.v1.JobService/EvaluateJob":      {identity.Reader, ends},

	"/cleave.v1.ClusterService/ListWorkers": {identity.Reader, ends},
	"/cleave.v1.ClusterService/GetLimits":   {identity.Reader, ends},
	"/cleave.v1.ClusterService/DrainWorker": {identity.Admin, changes},

	"/cleave.worker.v1.WorkerService/Attach":       {identity.Worker, changes},
	"/cleave.worker.v1.WorkerService/FetchDataset": {identity.Worker, silent},
	"/cleave.worker.v1.WorkerService/FetchPayload": {identity.Worker, silent},
	"/cleave.worker.v1.WorkerService/SendResult":   {identity.Worker, silent},

	"/grpc.health.v1.Health/Check": {anyone, silent},
	"/grpc.health.v1.Health/List":  {anyone, silent},
	"/grpc.health.v1.Health/Watch": {identity.Reader, silent},

	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      {identity.Reader, ends},
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": {identity.Reader, ends},
}
