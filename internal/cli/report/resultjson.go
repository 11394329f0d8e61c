package report

import (
	"strings"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/evaluate"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// ResultDocument is result.json. Its names and their order are an interface: programs read it.
// Numbers are written in the shortest form that reads back to the same bits.
type ResultDocument struct {
	State         string             `json:"state"`
	StopReason    string             `json:"stopReason"`
	Iterations    uint32             `json:"iterations"`
	ObjectiveName string             `json:"objectiveName"`
	Objective     float64            `json:"objective"`
	History       []historyEntry     `json:"history"`
	Evaluation    *evaluate.Scores   `json:"evaluation,omitempty"`
	Constraints   *ConstraintsReport `json:"constraints,omitempty"`
	Sigma         float64            `json:"sigma"`
	Warnings      []Warning          `json:"warnings"`
	Plan          PlanReport         `json:"plan"`
	Timings       TimingsReport      `json:"timings"`
	K             uint32             `json:"k"`
	N             uint32             `json:"n"`
	ClusterSizes  []uint32           `json:"clusterSizes"`
	Restart       uint32             `json:"restart"`
	Shifts        []shiftEntry       `json:"shifts,omitempty"`
	Rho           *float64           `json:"rho,omitempty"`
	Spectral      *spectralReport    `json:"spectral,omitempty"`
	Inference     *inferenceReport   `json:"inference,omitempty"`
	Model         *ModelReport       `json:"model,omitempty"`
	Kernel        *KernelReport      `json:"kernel,omitempty"`
	Dropped       int                `json:"dropped,omitempty"`
}

// historyEntry is one iteration; only the vector family has what follows moved.
type historyEntry struct {
	Iteration           uint32   `json:"iteration"`
	Objective           float64  `json:"objective"`
	Moved               uint32   `json:"moved"`
	AssignmentObjective *float64 `json:"assignmentObjective,omitempty"`
	*ObjectiveParts
}

// ObjectiveParts are the terms of an objective that has them. (Its name is exported so that
// encoding/json reads it back as a part of an entry.)
type ObjectiveParts struct {
	Distortion float64 `json:"distortion"`
	MustLink   float64 `json:"mustLink"`
	CannotLink float64 `json:"cannotLink"`
	LogDet     float64 `json:"logDet"`
	Violated   uint32  `json:"violated"`
	// MetricSpread is the metric's largest eigenvalue over its smallest.
	MetricSpread float64 `json:"metricSpread"`
}

// inferenceReport is about the last time that constrained points were assigned together.
type inferenceReport struct {
	Engine    string   `json:"engine"`
	Exact     bool     `json:"exact"`
	LPValue   *float64 `json:"lpValue,omitempty"`
	Fallbacks uint32   `json:"fallbacks"`
	Rounds    uint32   `json:"rounds"`
}

// ModelReport says what centroids.csv and metric.csv are, so that new points can be assigned by them.
type ModelReport struct {
	Distortion string `json:"distortion"`
	Metric     string `json:"metric"`
	Columns    uint32 `json:"columns"`
}

type ConstraintsReport struct {
	Total              uint32 `json:"total"`
	Satisfied          uint32 `json:"satisfied"`
	MustLinkViolated   uint32 `json:"mustLinkViolated"`
	CannotLinkViolated uint32 `json:"cannotLinkViolated"`
}

type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type PlanReport struct {
	Tiles         uint32 `json:"tiles"`
	TileRows      uint32 `json:"tileRows"`
	Storage       string `json:"storage"`
	StoredTiles   uint32 `json:"storedTiles"`
	ComputedTiles uint32 `json:"computedTiles"`
	TileBytes     uint64 `json:"tileBytes"`
	Bytes         uint64 `json:"bytes"`
	Workers       uint32 `json:"workers"`
	GridExponent  int32  `json:"gridExponent"`
}

// TimingsReport is in seconds.
type TimingsReport struct {
	Load       float64 `json:"load"`
	Build      float64 `json:"build"`
	Initialise float64 `json:"initialise"`
	Iterate    float64 `json:"iterate"`
	Total      float64 `json:"total"`
}

type shiftEntry struct {
	Iteration uint32  `json:"iteration"`
	Sigma     float64 `json:"sigma"`
	Why       string  `json:"why"`
}

// newDocument makes result.json of what the coordinator tells; the scores are added by whoever
// knows the truth. constrained says that constraints were given, if perhaps none of them.
func newDocument(r *cleavev1.Result, constrained bool) *ResultDocument {
	d := &ResultDocument{
		State:         strings.TrimPrefix(r.GetState().String(), "JOB_STATE_"),
		StopReason:    strings.TrimPrefix(r.GetStopReason().String(), "STOP_REASON_"),
		Iterations:    r.GetIterations(),
		ObjectiveName: r.GetObjectiveName(),
		Objective:     r.GetObjective(),
		History:       []historyEntry{},
		Sigma:         r.GetSigma(),
		Warnings:      []Warning{},
		Plan: PlanReport{
			Tiles: r.GetPlan().GetTiles(), TileRows: r.GetPlan().GetTileRows(), Storage: wire.PlanStorageName(r.GetPlan().GetStorage()),
			StoredTiles: r.GetPlan().GetStoredTiles(), ComputedTiles: r.GetPlan().GetComputedTiles(), Bytes: r.GetPlan().GetBytes(),
			TileBytes: r.GetPlan().GetTileBytes(), Workers: r.GetPlan().GetWorkers(), GridExponent: r.GetPlan().GetGridExponent(),
		},
		Timings: TimingsReport{
			Load: seconds(r.GetTimings().GetLoad()), Build: seconds(r.GetTimings().GetBuild()),
			Initialise: seconds(r.GetTimings().GetInitialize()), Iterate: seconds(r.GetTimings().GetIterate()),
			Total: seconds(r.GetTimings().GetTotal()),
		},
		K:            r.GetK(),
		N:            r.GetRows(),
		ClusterSizes: append([]uint32{}, r.GetClusterSizes()...),
		Restart:      r.GetRestart(),
		Spectral:     NewSpectral(r.GetSpectral()),
		Inference:    newInference(r.GetInference()),
	}
	if kernel := r.GetKernel(); kernel != nil {
		d.Rho = kernel.Rho
	}
	for _, it := range r.GetHistory() {
		d.History = append(d.History, newEntry(it))
	}
	for _, notice := range r.GetWarnings() {
		d.Warnings = append(d.Warnings, Warning{notice.GetCode(), notice.GetMessage()})
	}
	for _, shift := range r.GetShifts() {
		d.Shifts = append(d.Shifts, shiftEntry{shift.GetIteration(), shift.GetSigma(), shift.GetWhy()})
	}
	if c := r.GetConstraints(); constrained || c.GetTotal() > 0 {
		d.Constraints = &ConstraintsReport{c.GetTotal(), c.GetSatisfied(), c.GetMustLinkViolated(), c.GetCannotLinkViolated()}
	}
	return d
}

func newEntry(it *cleavev1.Iteration) historyEntry {
	entry := historyEntry{
		Iteration: it.GetIteration(), Objective: it.GetObjective(), Moved: it.GetMoved(), AssignmentObjective: it.AssignmentObjective,
	}
	if p := it.GetParts(); p != nil {
		entry.ObjectiveParts = &ObjectiveParts{p.GetDistortion(), p.GetMustLink(), p.GetCannotLink(), p.GetLogDet(), p.GetViolated(), p.GetMetricSpread()}
	}
	return entry
}

func newInference(p *cleavev1.InferenceReport) *inferenceReport {
	if p == nil {
		return nil
	}
	return &inferenceReport{jobflags.EnumName(p.GetEngine()), p.GetExact(), p.LpValue, p.GetFallbacks(), p.GetRounds()}
}

func ReportOf(s constraint.Satisfaction) *ConstraintsReport {
	return &ConstraintsReport{
		Total:              uint32(s.Total),
		Satisfied:          uint32(s.Satisfied()),
		MustLinkViolated:   uint32(s.MustLinkViolated),
		CannotLinkViolated: uint32(s.CannotLinkViolated),
	}
}

func seconds(d *durationpb.Duration) float64 { return d.AsDuration().Seconds() }

// KernelReport says by which kernel points were compared, with the parameters that it has.
type KernelReport struct {
	Function string   `json:"function"`
	Rho      *float64 `json:"rho,omitempty"`
	Gamma    *float64 `json:"gamma,omitempty"`
	Coef0    *float64 `json:"coef0,omitempty"`
	Degree   *uint32  `json:"degree,omitempty"`
}

// newKernelReport is the kernel of a job, with the width that was in force; nil when it has none, as on a
// graph or a kernel matrix. There the function cannot be set, and the default has no width.
func newKernelReport(spec *cleavev1.JobSpec, rho *float64) *KernelReport {
	kernel := spec.GetKernelKmeans().GetKernel()
	r := &KernelReport{Function: jobflags.KernelName(kernel), Rho: rho}
	switch r.Function {
	case "gaussian", "laplacian":
		if spec.GetKernelKmeans() == nil || rho == nil {
			return nil
		}
	case "polynomial":
		r.Degree = orDefault(kernel.Degree, 2)
		fallthrough
	case "sigmoid":
		r.Gamma, r.Coef0 = orDefault(kernel.Gamma, 1), orDefault(kernel.Coef0, 0)
	}
	return r
}

func orDefault[T any](value *T, otherwise T) *T {
	if value == nil {
		return &otherwise
	}
	return value
}
