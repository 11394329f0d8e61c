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

// auditing says what a method does, by which the audit log records it.
type auditing uint8

const (
	auditReads   auditing = iota // changes nothing: one line when the call has ended, see also OnlyReads
	auditChanges                 // changes something: also one line before it begins, without which the call is refused
	auditNothing                 // health checks, and calls that workers make many times a second
)

// slotKind is which of the limited slots a call takes, see Limits.
type slotKind uint8

const (
	noSlot     slotKind = iota // calls of workers
	callSlot                   // unary calls that plan, submit or evaluate jobs
	lightSlot                  // other unary calls, which are short: lookups, cancellations, deletions
	streamSlot                 // streams
	probeSlot                  // health checks
)

// methods has a line for every method of the server.
var methods = map[string]methodRule{
	"/cleave.v1.DatasetService/CreateDataset": {identity.Submitter, auditChanges, streamSlot},
	"/cleave.v1.DatasetService/GetUpload":     {identity.Submitter, auditReads, lightSlot},
	"/cleave.v1.DatasetService/GetDataset":    {identity.Reader, auditReads, lightSlot},
	"/cleave.v1.DatasetService/ListDatasets":  {identity.Reader, auditReads, lightSlot},
	"/cleave.v1.DatasetService/DeleteDataset": {identity.Submitter, auditChanges, lightSlot},

	"/cleave.v1.TableService/CreateTable":  {identity.Submitter, auditChanges, streamSlot},
	"/cleave.v1.TableService/ImportTable":  {identity.Submitter, auditChanges, streamSlot},
	"/cleave.v1.TableService/GetTable":     {identity.Reader, auditReads, lightSlot},
	"/cleave.v1.TableService/GetTableRows": {identity.Reader, auditReads, streamSlot},
	"/cleave.v1.TableService/ListTables":   {identity.Reader, auditReads, lightSlot},
	"/cleave.v1.TableService/DeleteTable":  {identity.Submitter, auditChanges, lightSlot},

	"/cleave.v1.JobService/PlanJob":          {identity.Submitter, auditReads, callSlot},
	"/cleave.v1.JobService/CreateJob":        {identity.Submitter, auditChanges, callSlot},
	"/cleave.v1.JobService/GetJob":           {identity.Reader, auditReads, lightSlot},
	"/cleave.v1.JobService/ListJobs":         {identity.Reader, auditReads, lightSlot},
	"/cleave.v1.JobService/CancelJob":        {identity.Submitter, auditChanges, lightSlot},
	"/cleave.v1.JobService/DeleteJob":        {identity.Submitter, auditChanges, lightSlot},
	"/cleave.v1.JobService/WatchJob":         {identity.Reader, auditReads, streamSlot},
	"/cleave.v1.JobService/GetResult":        {identity.Reader, auditReads, lightSlot},
	"/cleave.v1.JobService/GetLabels":        {identity.Reader, auditReads, streamSlot},
	"/cleave.v1.JobService/GetRowScores":     {identity.Reader, auditReads, streamSlot},
	"/cleave.v1.JobService/GetModel":         {identity.Reader, auditReads, streamSlot},
	"/cleave.v1.JobService/GetEmbedding":     {identity.Reader, auditReads, streamSlot},
	"/cleave.v1.JobService/GetNeighborGraph": {identity.Reader, auditReads, streamSlot},
	"/cleave.v1.JobService/PredictJob":       {identity.Submitter, auditReads, streamSlot},
	"/cleave.v1.JobService/EvaluateJob":      {identity.Reader, auditReads, callSlot},

	"/cleave.v1.ClusterService/ListWorkers": {identity.Reader, auditReads, lightSlot},
	"/cleave.v1.ClusterService/GetLimits":   {identity.Reader, auditReads, lightSlot},
	"/cleave.v1.ClusterService/DrainWorker": {identity.Admin, auditChanges, lightSlot},
	"/cleave.v1.ClusterService/Backup":      {identity.Admin, auditChanges, streamSlot},

	"/cleave.worker.v1.WorkerService/Attach":       {identity.Worker, auditChanges, noSlot},
	"/cleave.worker.v1.WorkerService/Distribute":   {identity.Worker, auditNothing, noSlot},
	"/cleave.worker.v1.WorkerService/FetchDataset": {identity.Worker, auditNothing, noSlot},
	"/cleave.worker.v1.WorkerService/FetchPayload": {identity.Worker, auditNothing, noSlot},
	"/cleave.worker.v1.WorkerService/SendResult":   {identity.Worker, auditNothing, noSlot},

	"/grpc.health.v1.Health/Check": {anyone, auditNothing, probeSlot},
	"/grpc.health.v1.Health/List":  {anyone, auditNothing, probeSlot},
	"/grpc.health.v1.Health/Watch": {identity.Reader, auditNothing, streamSlot},

	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      {identity.Reader, auditReads, streamSlot},
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": {identity.Reader, auditReads, streamSlot},
}

// OnlyReads reports whether a method changes nothing. It is false for methods that are not audited.
func OnlyReads(method string) bool { return methods[method].audit == auditReads }

// Methods returns the full names of all methods that have a rule. The server must not have a method without one.
func Methods() []string { return slices.Sorted(maps.Keys(methods)) }
