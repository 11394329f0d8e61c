package wire

import (
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/kernel"
)

// ResultProto converts what a run found, except for its labels. The caller adds the state, the kernel, the plan and
// the timings.
func ResultProto(r *clustering.Result) *cleavev1.Result {
	p := &cleavev1.Result{
		StopReason:     StopReasonProto(r.StopReason),
		Iterations:     uint32(r.Iterations),
		ObjectiveName:  r.ObjectiveName,
		Objective:      r.Objective,
		PlainObjective: r.PlainObjective,
		Constraints:    ConstraintReportProto(r.Satisfaction),
		Sigma:          r.Sigma,
		Restart:        uint32(r.Restart),
		K:              uint32(len(r.ClusterSizes)),
		Rows:           uint32(len(r.Labels)),
	}
	for _, e := range r.History {
		p.History = append(p.History, IterationProto(r.Restart, e))
	}
	for _, s := range r.Shifts {
		p.Shifts = append(p.Shifts, ShiftProto(s))
	}
	for _, n := range r.Warnings {
		p.Warnings = append(p.Warnings, NoticeProto(n))
	}
	for _, size := range r.ClusterSizes {
		p.ClusterSizes = append(p.ClusterSizes, uint32(size))
	}
	if r.Model != nil {
		p.Model = ModelHead(r.Model)
	}
	if r.Units != nil {
		p.Scale = scaleProto(clustering.ScaleOf(r.Units)).Enum()
	}
	if r.Embedding != nil {
		p.Embedding = EmbeddingHead(r.Embedding)
	}
	if r.Matrix != nil {
		p.Kernel = kernelReport(*r.Matrix)
	}
	if g := r.NeighborGraph; g != nil {
		p.NeighborGraph = &cleavev1.NeighborGraphReport{Neighbors: uint32(g.Count), Weights: neighborWeights(g.Weights), Edges: uint64(g.Edges())}
	}
	p.Inference = inferenceProto(r.Inference)
	p.Spectral = spectralProto(r.Eigen)
	p.Choice = choiceProto(r.Choice)
	p.Landmarks = landmarkReport(r.Landmarks)
	p.HowMany = howManyProto(r.HowMany)
	p.Suspects = suspectsProto(r.Suspects)
	p.RowScores = RowScoresHead(r.Rows)
	return p
}

// StopReasonProto is why a run ended.
func StopReasonProto(r clustering.StopReason) cleavev1.StopReason {
	return cleavev1.StopReason(cleavev1.StopReason_value["STOP_REASON_"+r.String()])
}

// kernelReport is the kernel function of a matrix with the parameters that it has, nil when the
// matrix is not made of points.
func kernelReport(m kernel.MatrixSpec) *cleavev1.KernelReport {
	function := kernelFunctions.write(m.Function)
	if function == cleavev1.KernelFunction_KERNEL_FUNCTION_UNSPECIFIED {
		return nil
	}
	p := &cleavev1.KernelReport{Function: function}
	named, _ := catalog.FindKernel(EnumWord(function))
	if named.Has("rho") {
		p.Rho = &m.Rho
	}
	if named.Has("gamma") {
		p.Gamma = &m.Gamma
	}
	if named.Has("coef0") {
		p.Coef0 = &m.Coef0
	}
	if named.Has("degree") {
		p.Degree = proto.Uint32(uint32(m.Degree))
	}
	return p
}

func spectralProto(s *clustering.EigenReport) *cleavev1.SpectralReport {
	if s == nil {
		return nil
	}
	p := &cleavev1.SpectralReport{
		Beta: s.Beta, Volume: s.Volume, Eigenvalues: s.Eigenvalues, Costs: s.Costs,
		ConstraintSatisfaction: s.Satisfaction, Residuals: s.Residuals, Products: uint32(s.Products),
	}
	if s.FeasibleVectors != nil {
		feasible := uint32(*s.FeasibleVectors)
		p.FeasibleVectors = &feasible
	}
	p.Chosen, p.Width = cleavev1.CutRule(s.Chosen), uint32(s.Width)
	for _, c := range s.Candidates {
		p.Candidates = append(p.Candidates, &cleavev1.CutCandidate{
			Rule: cleavev1.CutRule(c.Rule), Width: uint32(c.Width), Theta: c.Theta, Rho: c.Rho, Loss: c.Loss, Violated: c.Violated,
		})
	}
	return p
}

func inferenceProto(i *clustering.Inference) *cleavev1.InferenceReport {
	if i == nil {
		return nil
	}
	return &cleavev1.InferenceReport{
		Engine: cleavev1.Inference(i.Engine), Exact: i.Exact, LpValue: i.LPValue,
		Fallbacks: uint32(i.Fallbacks), Rounds: uint32(i.Rounds),
	}
}

// IterationProto converts one entry of a run's history.
func IterationProto(restart int, e clustering.HistoryEntry) *cleavev1.Iteration {
	p := &cleavev1.Iteration{
		Iteration: uint32(e.Iteration), Objective: e.Objective, Moved: uint32(e.Moved), Restart: uint32(restart),
		AssignmentObjective: e.AssignmentObjective,
	}
	if e.Parts != nil {
		p.Parts = &cleavev1.ObjectiveParts{
			Distortion: e.Parts.Distortion, MustLink: e.Parts.MustLink, CannotLink: e.Parts.CannotLink, LogDet: e.Parts.LogDet,
			Violated: uint32(e.Parts.Violated), MetricSpread: e.Parts.Spread,
		}
	}
	return p
}

// ShiftProto converts a change of the diagonal shift.
func ShiftProto(s clustering.ShiftChange) *cleavev1.ShiftChange {
	return &cleavev1.ShiftChange{Iteration: uint32(s.Iteration), Sigma: s.Sigma, Why: s.Reason}
}

// NoticeProto converts a warning.
func NoticeProto(n clustering.Notice) *cleavev1.Notice {
	return &cleavev1.Notice{Code: n.Code, Message: n.Message}
}

// LevelProto converts a level that was begun.
func LevelProto(l clustering.LevelBegan) *cleavev1.LevelBegan {
	return &cleavev1.LevelBegan{Level: uint32(l.Level), Levels: uint32(l.Levels), Vertices: uint64(l.Vertices)}
}

// SolverStepProto converts a step of an eigensolver.
func SolverStepProto(s clustering.SolverStep) *cleavev1.SolverStep {
	p := &cleavev1.SolverStep{
		Step: uint32(s.Step), Products: uint32(s.Products), Residual: s.Residual, Converged: uint32(s.Converged), Wanted: uint32(s.Wanted),
		Tolerance: s.Tolerance,
	}
	if s.StepsLeft != nil {
		p.StepsLeft = proto.Uint32(uint32(*s.StepsLeft))
	}
	return p
}

// ConstraintReportProto says how many constraints the labels satisfy.
func ConstraintReportProto(s constraint.Satisfaction) *cleavev1.ConstraintReport {
	return &cleavev1.ConstraintReport{
		Total:              uint32(s.Total),
		Satisfied:          uint32(s.Satisfied()),
		MustLinkViolated:   uint32(s.MustLinkViolated),
		CannotLinkViolated: uint32(s.CannotLinkViolated),
	}
}

// EvaluationProto converts the scores of labels against the truth.
func EvaluationProto(s evaluate.Scores) *cleavev1.Evaluation {
	return &cleavev1.Evaluation{
		Nmi:               s.NMI,
		MutualInformation: s.MutualInformation,
		Ari:               s.ARI,
		PairwisePrecision: s.PairwisePrecision,
		PairwiseRecall:    s.PairwiseRecall,
		PairwiseF:         s.PairwiseF,
		Purity:            s.Purity,
	}
}
