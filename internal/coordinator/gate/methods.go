package gate

import (
	"maps"
	"slices"

	"github.com/cleave-project/cleave/internal/security/identity"
)

// anyone is the role of methods that need no credentials, such as health checks.
const anyone identity.Role = 0

// methodRule says who may call a method and what the audit log records of it. Which jobs and data a caller may see is
// decided where they are looked up.
type methodRule struct {
	needs identity.Role
	audit auditing
}

// auditing says what the audit log records of a method.
type auditing uint8

const (
	ends    auditing = iota // one line when the call has ended
	changes                 // also one before it begins; if that cannot be written, the call is refused
	silent                  // nothing: health checks, and calls that workers make many times a second
)

// heavy are the unary methods that read data or solve something. All other unary methods only look something up.
var heavy = map[string]bool{
	"/cleave.v1.JobService/PlanJob":     true,
	"/cleave.v1.JobService/CreateJob":   true,
	"/cleave.v1.JobService/EvaluateJob": true,
}

// methods has a line for every method of the server.
var methods = map[string]methodRule{
	"/cleave.v1.DatasetService/CreateDataset": {identity.Submitter, changes},
	"/cleave.v1.DatasetService/GetUpload":     {identity.Submitter, ends},
	"/cleave.v1.DatasetService/GetDataset":    {identity.Reader, ends},
	"/cleave.v1.DatasetService/ListDatasets":  {identity.Reader, ends},
	"/cleave.v1.DatasetService/DeleteDataset": {identity.Submitter, changes},

	"/cleave.v1.TableService/CreateTable":  {identity.Submitter, changes},
	"/cleave.v1.TableService/ImportTable":  {identity.Submitter, changes},
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
	"/cleave.v1.ClusterService/Backup":      {identity.Admin, changes},

	"/cleave.worker.v1.WorkerService/Attach":       {identity.Worker, changes},
	"/cleave.worker.v1.WorkerService/Distribute":   {identity.Worker, silent},
	"/cleave.worker.v1.WorkerService/FetchDataset": {identity.Worker, silent},
	"/cleave.worker.v1.WorkerService/FetchPayload": {identity.Worker, silent},
	"/cleave.worker.v1.WorkerService/SendResult":   {identity.Worker, silent},

	"/grpc.health.v1.Health/Check": {anyone, silent},
	"/grpc.health.v1.Health/List":  {anyone, silent},
	"/grpc.health.v1.Health/Watch": {identity.Reader, silent},

	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      {identity.Reader, ends},
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": {identity.Reader, ends},
}

// HasRule reports whether a method has a rule. The server must not have a method without one.
func HasRule(method string) bool {
	_, has := methods[method]
	return has
}

// Methods returns the full names of all methods that have a rule.
func Methods() []string { return slices.Sorted(maps.Keys(methods)) }
