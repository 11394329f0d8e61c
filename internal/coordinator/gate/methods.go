package gate

import (
	"maps"
	"slices"

	"github.com/cleave-project/cleave/internal/security/identity"
)

// anyone is the role of methods that need no credentials, such as health checks.
const anyone identity.Role = 0

// methodRule says who may call a method, what the method does, and which slots limit it. Which jobs and data a caller
// may see is decided where they are looked up.
type methodRule struct {
	needs identity.Role
	does  effect
	takes slotKind
}

// effect is what a method does to the state of the cluster. The audit log and OnlyReads follow from it.
type effect uint8

const (
	reads effect = iota // changes nothing; the audit log gets a line when the call has ended
	// the audit log gets a line before the call begins, without which it is refused, and another one at its end
	changes
	routine // health checks, and calls that workers make many times a second; not in the audit log
)

// slotKind is which of the limited slots a call takes, see Limits.
type slotKind uint8

const (
	noSlot     slotKind = iota // calls of workers
	callSlot                   // unary calls that plan, submit or evaluate jobs
	shortSlot                  // other unary calls, which are short: lookups, cancellations, deletions
	streamSlot                 // streams
	probeSlot                  // health checks
)

// methods has a line for every method of the server.
var methods = map[string]methodRule{
	"/cleave.v1.DatasetService/CreateDataset": {identity.Submitter, changes, streamSlot},
	"/cleave.v1.DatasetService/GetUpload":     {identity.Submitter, reads, shortSlot},
	"/cleave.v1.DatasetService/GetDataset":    {identity.Reader, reads, shortSlot},
	"/cleave.v1.DatasetService/ListDatasets":  {identity.Reader, reads, shortSlot},
	"/cleave.v1.DatasetService/DeleteDataset": {identity.Submitter, changes, shortSlot},

	"/cleave.v1.TableService/CreateTable":  {identity.Submitter, changes, streamSlot},
	"/cleave.v1.TableService/ImportTable":  {identity.Submitter, changes, streamSlot},
	"/cleave.v1.TableService/GetTable":     {identity.Reader, reads, shortSlot},
	"/cleave.v1.TableService/GetTableRows": {identity.Reader, reads, streamSlot},
	"/cleave.v1.TableService/ListTables":   {identity.Reader, reads, shortSlot},
	"/cleave.v1.TableService/DeleteTable":  {identity.Submitter, changes, shortSlot},

	"/cleave.v1.JobService/PlanJob":          {identity.Submitter, reads, callSlot},
	"/cleave.v1.JobService/CreateJob":        {identity.Submitter, changes, callSlot},
	"/cleave.v1.JobService/GetJob":           {identity.Reader, reads, shortSlot},
	"/cleave.v1.JobService/ListJobs":         {identity.Reader, reads, shortSlot},
	"/cleave.v1.JobService/CancelJob":        {identity.Submitter, changes, shortSlot},
	"/cleave.v1.JobService/DeleteJob":        {identity.Submitter, changes, shortSlot},
	"/cleave.v1.JobService/WatchJob":         {identity.Reader, reads, streamSlot},
	"/cleave.v1.JobService/GetResult":        {identity.Reader, reads, shortSlot},
	"/cleave.v1.JobService/GetLabels":        {identity.Reader, reads, streamSlot},
	"/cleave.v1.JobService/GetRowScores":     {identity.Reader, reads, streamSlot},
	"/cleave.v1.JobService/GetModel":         {identity.Reader, reads, streamSlot},
	"/cleave.v1.JobService/GetEmbedding":     {identity.Reader, reads, streamSlot},
	"/cleave.v1.JobService/GetNeighborGraph": {identity.Reader, reads, streamSlot},
	"/cleave.v1.JobService/PredictJob":       {identity.Submitter, reads, streamSlot},
	"/cleave.v1.JobService/EvaluateJob":      {identity.Reader, reads, callSlot},

	"/cleave.v1.ClusterService/ListWorkers": {identity.Reader, reads, shortSlot},
	"/cleave.v1.ClusterService/GetLimits":   {identity.Reader, reads, shortSlot},
	"/cleave.v1.ClusterService/DrainWorker": {identity.Admin, changes, shortSlot},
	"/cleave.v1.ClusterService/Backup":      {identity.Admin, changes, streamSlot},

	"/cleave.worker.v1.WorkerService/Attach":       {identity.Worker, changes, noSlot},
	"/cleave.worker.v1.WorkerService/Deliver":      {identity.Worker, routine, noSlot},
	"/cleave.worker.v1.WorkerService/FetchDataset": {identity.Worker, routine, noSlot},
	"/cleave.worker.v1.WorkerService/FetchPayload": {identity.Worker, routine, noSlot},
	"/cleave.worker.v1.WorkerService/SendResult":   {identity.Worker, routine, noSlot},

	"/grpc.health.v1.Health/Check": {anyone, routine, probeSlot},
	"/grpc.health.v1.Health/List":  {anyone, routine, probeSlot},
	"/grpc.health.v1.Health/Watch": {identity.Reader, routine, streamSlot},

	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      {identity.Reader, reads, streamSlot},
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": {identity.Reader, reads, streamSlot},
}

// OnlyReads reports whether all that a method does is to look something up, so that the answer of a former leader is
// outdated.
func OnlyReads(method string) bool { return methods[method].does == reads }

// Methods returns the full names of all methods that have a rule. The server must not have a method without one.
func Methods() []string { return slices.Sorted(maps.Keys(methods)) }
