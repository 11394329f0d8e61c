package gate

import (
	"maps"
	"slices"

	"github.com/cleave-project/cleave/internal/security/identity"
)

// anyone is the role of methods that need no credentials, such as health checks.
const anyone identity.Role = 0

// methodRule says who may call a method, what the audit log records of it, and which slots limit it. Which jobs and data a
// caller may see is decided where they are looked up.
type methodRule struct {
	needs identity.Role
	audit auditing
	takes slotKind
}

// auditing says what the audit log records of a method.
type auditing uint8

const (
	ends    auditing = iota // one line when the call has ended
	changes                 // also one before it begins; if that cannot be written, the call is refused
	silent                  // nothing: health checks, and calls that workers make many times a second
)

// slotKind is which of the limited slots a call takes, see Limits.
type slotKind uint8

const (
	noSlot     slotKind = iota // calls of workers
	callSlot                   // unary calls that read data or solve something
	readSlot                   // unary calls that only look something up
	streamSlot                 // streams
	probeSlot                  // health checks
)

// methods has a line for every method of the server.
var methods = map[string]methodRule{
	"/cleave.v1.DatasetService/CreateDataset": {identity.Submitter, changes, streamSlot},
	"/cleave.v1.DatasetService/GetUpload":     {identity.Submitter, ends, readSlot},
	"/cleave.v1.DatasetService/GetDataset":    {identity.Reader, ends, readSlot},
	"/cleave.v1.DatasetService/ListDatasets":  {identity.Reader, ends, readSlot},
	"/cleave.v1.DatasetService/DeleteDataset": {identity.Submitter, changes, readSlot},

	"/cleave.v1.TableService/CreateTable":  {identity.Submitter, changes, streamSlot},
	"/cleave.v1.TableService/ImportTable":  {identity.Submitter, changes, streamSlot},
	"/cleave.v1.TableService/GetTable":     {identity.Reader, ends, readSlot},
	"/cleave.v1.TableService/GetTableRows": {identity.Reader, ends, streamSlot},
	"/cleave.v1.TableService/ListTables":   {identity.Reader, ends, readSlot},
	"/cleave.v1.TableService/DeleteTable":  {identity.Submitter, changes, readSlot},

	"/cleave.v1.JobService/PlanJob":          {identity.Submitter, ends, callSlot},
	"/cleave.v1.JobService/CreateJob":        {identity.Submitter, changes, callSlot},
	"/cleave.v1.JobService/GetJob":           {identity.Reader, ends, readSlot},
	"/cleave.v1.JobService/ListJobs":         {identity.Reader, ends, readSlot},
	"/cleave.v1.JobService/CancelJob":        {identity.Submitter, changes, readSlot},
	"/cleave.v1.JobService/DeleteJob":        {identity.Submitter, changes, readSlot},
	"/cleave.v1.JobService/WatchJob":         {identity.Reader, ends, streamSlot},
	"/cleave.v1.JobService/GetResult":        {identity.Reader, ends, readSlot},
	"/cleave.v1.JobService/GetLabels":        {identity.Reader, ends, streamSlot},
	"/cleave.v1.JobService/GetRowScores":     {identity.Reader, ends, streamSlot},
	"/cleave.v1.JobService/GetModel":         {identity.Reader, ends, streamSlot},
	"/cleave.v1.JobService/GetEmbedding":     {identity.Reader, ends, streamSlot},
	"/cleave.v1.JobService/GetNeighborGraph": {identity.Reader, ends, streamSlot},
	"/cleave.v1.JobService/PredictJob":       {identity.Submitter, ends, streamSlot},
	"/cleave.v1.JobService/EvaluateJob":      {identity.Reader, ends, callSlot},

	"/cleave.v1.ClusterService/ListWorkers": {identity.Reader, ends, readSlot},
	"/cleave.v1.ClusterService/GetLimits":   {identity.Reader, ends, readSlot},
	"/cleave.v1.ClusterService/DrainWorker": {identity.Admin, changes, readSlot},
	"/cleave.v1.ClusterService/Backup":      {identity.Admin, changes, streamSlot},

	"/cleave.worker.v1.WorkerService/Attach":       {identity.Worker, changes, noSlot},
	"/cleave.worker.v1.WorkerService/Distribute":   {identity.Worker, silent, noSlot},
	"/cleave.worker.v1.WorkerService/FetchDataset": {identity.Worker, silent, noSlot},
	"/cleave.worker.v1.WorkerService/FetchPayload": {identity.Worker, silent, noSlot},
	"/cleave.worker.v1.WorkerService/SendResult":   {identity.Worker, silent, noSlot},

	"/grpc.health.v1.Health/Check": {anyone, silent, probeSlot},
	"/grpc.health.v1.Health/List":  {anyone, silent, probeSlot},
	"/grpc.health.v1.Health/Watch": {identity.Reader, silent, streamSlot},

	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      {identity.Reader, ends, streamSlot},
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": {identity.Reader, ends, streamSlot},
}

// OnlyReads reports whether a method changes nothing.
func OnlyReads(method string) bool { return methods[method].audit == ends }

// Methods returns the full names of all methods that have a rule. The server must not have a method without one.
func Methods() []string { return slices.Sorted(maps.Keys(methods)) }
