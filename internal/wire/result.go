package wire

import (
	"slices"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/text"
)

// ResultProto converts the result of a run, except for its labels. The caller adds the state, the plan and the
// timings.
func ResultProto(r *clustering.Result) *cleavev1.Result {
	p := &cleavev1.Result{
		StopReason:     StopReasonProto(r.StopReason),
		Iterations:     uint32(r.Iterations),
		ObjectiveName:  r.ObjectiveName,
		Objective:      r.Objective,
		PlainObjective: r.Kernel.PlainObjective,
		Constraints:    ConstraintReportProto(r.Satisfaction),
		Sigma:          r.Kernel.Sigma,
		Restart:        uint32(r.Restart),
		K:              uint32(len(r.ClusterSizes)),
		Rows:           uint32(len(r.Labels)),
	}
	p.History = each(r.History, func(e clustering.HistoryEntry) *cleavev1.Iteration {
		return IterationProto(r.Restart, e)
	})
	p.Shifts = each(r.Kernel.Shifts, ShiftProto)
	p.Warnings = each(r.Warnings, NoticeProto)
	p.ClusterSizes = each(r.ClusterSizes, number)
	if r.Model != nil {
		p.Model = ModelHead(r.Model)
	}
	if r.Units != nil {
		p.Scale = enumValue[cleavev1.Scale](clustering.ScaleOf(r.Units).String()).Enum()
	}
	if r.Spectral.Embedding != nil {
		p.Embedding = EmbeddingHead(r.Spectral.Embedding)
	}
	if r.Kernel.Matrix != nil {
		p.Kernel = kernelReport(*r.Kernel.Matrix)
	}
	if g := r.NeighborGraph; g != nil {
		p.NeighborGraph = &cleavev1.NeighborGraphReport{Neighbors: uint32(g.Count),
			Weights: enumValue[cleavev1.NeighborWeights](g.Weights.String()), Edges: uint64(g.Edges())}
	}
	p.Inference = inferenceProto(r.Inference)
	p.Spectral = spectralProto(r.Spectral.Eigen)
	p.Choice = choiceProto(r.Auto.Choice)
	if l := r.Landmarks; l != nil {
		p.Landmarks = &cleavev1.LandmarkReport{Count: uint32(l.Count), Rank: uint32(l.Rank), Lost: l.Lost,
			ExactNmi: l.ExactNMI, ExactObjective: l.ExactObjective}
	}
	p.KSelection = kSelectionProto(r.KSelection)
	p.Suspects = each(r.Auto.Suspects, suspectProto)
	p.RowScores = RowScoresHead(r.Rows)
	return p
}

// StopReasonProto converts the reason why a run ended.
func StopReasonProto(r clustering.StopReason) cleavev1.StopReason {
	return cleavev1.StopReason(cleavev1.StopReason_value["STOP_REASON_"+r.String()])
}

// kernelReport returns the kernel function of a matrix with the parameters that it has, or nil if the matrix is not
// computed from points.
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
		Chosen: cleavev1.CutRule(s.Chosen), Width: uint32(s.Width),
		Candidates: each(s.Candidates, func(c clustering.CutCandidate) *cleavev1.CutCandidate {
			return &cleavev1.CutCandidate{Rule: cleavev1.CutRule(c.Rule), Width: uint32(c.Width), Theta: c.Theta,
				Rho: c.Rho, Loss: c.Loss, Violated: c.Violated}
		}),
	}
	if s.FeasibleVectors != nil {
		p.FeasibleVectors = proto.Uint32(uint32(*s.FeasibleVectors))
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
			Distortion: e.Parts.Distortion, MustLink: e.Parts.MustLink, CannotLink: e.Parts.CannotLink,
			LogDet:   e.Parts.LogDet,
			Violated: uint32(e.Parts.Violated), MetricSpread: e.Parts.Spread,
		}
	}
	return p
}

// ShiftProto converts a change of the diagonal shift.
func ShiftProto(s clustering.ShiftChange) *cleavev1.ShiftChange {
	return &cleavev1.ShiftChange{Iteration: uint32(s.Iteration), Sigma: s.Sigma, Why: s.Reason}
}

// NoticeProto converts a notice.
func NoticeProto(n clustering.Notice) *cleavev1.Notice {
	return &cleavev1.Notice{Reason: n.Code, Message: n.Message, Parts: each(n.Parts, partProto)}
}

func partProto(p text.Part) *cleavev1.MessagePart {
	switch p.Kind {
	case text.RowNumber:
		return &cleavev1.MessagePart{Part: &cleavev1.MessagePart_Row{Row: uint32(p.I)}}
	case text.ColumnNumber:
		return &cleavev1.MessagePart{Part: &cleavev1.MessagePart_Column{Column: uint32(p.I)}}
	case text.MustLink, text.CannotLink:
		return &cleavev1.MessagePart{Part: &cleavev1.MessagePart_Link{Link: &cleavev1.Link{
			Row: uint32(p.I), Other: uint32(p.J), MustLink: p.Kind == text.MustLink,
		}}}
	default:
		return &cleavev1.MessagePart{Part: &cleavev1.MessagePart_Text{Text: p.Text}}
	}
}

// LevelProto converts the start of a level.
func LevelProto(l clustering.LevelStarted) *cleavev1.LevelStarted {
	return &cleavev1.LevelStarted{Level: uint32(l.Level), Levels: uint32(l.Levels), Vertices: uint32(l.Vertices)}
}

// SolverStepProto converts a step of an eigensolver.
func SolverStepProto(s clustering.SolverStep) *cleavev1.SolverStep {
	p := &cleavev1.SolverStep{
		Step: uint32(s.Step), Products: uint32(s.Products), Residual: s.Residual, Converged: uint32(s.Converged),
		Wanted:    uint32(s.Wanted),
		Tolerance: s.Tolerance,
	}
	if s.StepsLeft != nil {
		p.StepsLeft = proto.Uint32(uint32(*s.StepsLeft))
	}
	return p
}

// ConstraintReportProto converts how many constraints the labels satisfy.
func ConstraintReportProto(s constraint.Satisfaction) *cleavev1.ConstraintReport {
	return &cleavev1.ConstraintReport{
		Total: uint32(s.Total), Satisfied: uint32(s.Satisfied()),
		MustLinkViolated: uint32(s.MustLinkViolated), CannotLinkViolated: uint32(s.CannotLinkViolated),
	}
}

// EvaluationProto converts the scores of labels against the truth.
func EvaluationProto(s evaluate.Scores) *cleavev1.Evaluation {
	return &cleavev1.Evaluation{
		Nmi: s.NMI, MutualInformation: s.MutualInformation, Ari: s.ARI, Purity: s.Purity,
		PairwisePrecision: s.PairwisePrecision, PairwiseRecall: s.PairwiseRecall, PairwiseF: s.PairwiseF,
	}
}

// MethodTriedProto converts the trial of a method.
func MethodTriedProto(t clustering.Trial) *cleavev1.MethodTried {
	return &cleavev1.MethodTried{
		Method: methodProto(t.Method), Fold: uint32(t.Fold), Folds: uint32(t.Folds),
		MustLinks: uint32(t.MustLinks), MustLinksRight: uint32(t.MustLinksRight),
		CannotLinks: uint32(t.CannotLinks), CannotLinksRight: uint32(t.CannotLinksRight),
	}
}

func methodProto(w clustering.Method) *cleavev1.Method {
	return &cleavev1.Method{
		Space:         enumValue[cleavev1.Space](w.Space.String()),
		ConstraintUse: enumValue[cleavev1.ConstraintUse](w.ConstraintUse.String()),
	}
}

// SpaceOf returns the space of a method, or 0 if this version does not know it.
func SpaceOf(w *cleavev1.Method) clustering.Space {
	return text.Named[clustering.Space](EnumWord(w.GetSpace()))
}

func choiceProto(c *clustering.Choice) *cleavev1.Choice {
	if c == nil {
		return nil
	}
	p := &cleavev1.Choice{Chosen: methodProto(c.Chosen), Reason: c.Reason.String()}
	if slices.ContainsFunc(c.Reason, func(part text.Part) bool { return part.Kind != text.PlainText }) {
		p.ReasonParts = each(c.Reason, partProto)
	}
	p.Tried = each(c.Tried, func(t clustering.MethodScore) *cleavev1.MethodScore {
		return &cleavev1.MethodScore{
			Method: methodProto(t.Method), MustLinks: uint32(t.MustLinks), MustLinksRight: uint32(t.MustLinksRight),
			CannotLinks: uint32(t.CannotLinks), CannotLinksRight: uint32(t.CannotLinksRight),
			Agreement: t.Agreement(), Advantage: t.Advantage,
		}
	})
	return p
}

// KStartedProto converts the start of a run with one number of clusters.
func KStartedProto(k clustering.KStarted) *cleavev1.KStarted {
	return &cleavev1.KStarted{K: uint32(k.K), Min: uint32(k.Min), Max: uint32(k.Max)}
}

func kSelectionProto(h *clustering.KSelection) *cleavev1.KSelection {
	if h == nil {
		return nil
	}
	return &cleavev1.KSelection{
		Proposed: uint32(h.Proposed), Reason: h.Reason,
		Confidence: enumValue[cleavev1.Confidence](h.Confidence.String()),
		Plausible:  each(h.Plausible, number),
		Scores: each(h.Scores, func(s clustering.KScore) *cleavev1.KScore {
			return &cleavev1.KScore{
				K: uint32(s.K), Objective: s.Objective, Space: enumValue[cleavev1.Space](s.Space.String()),
				Agreement: s.Agreement, Stability: s.Stability, Silhouette: s.Silhouette, Modularity: s.Modularity,
			}
		}),
	}
}

// suspectProto converts a seed or a constraint that the data contradicts.
func suspectProto(s clustering.Suspect) *cleavev1.Suspect {
	p := &cleavev1.Suspect{Row: uint32(s.Row), MustLink: s.Must, Strength: s.Strength}
	if s.Other >= 0 {
		p.Other = proto.Uint32(uint32(s.Other))
	} else {
		p.Label = proto.Uint32(uint32(s.Label))
	}
	return p
}

// ScaleOf returns how the columns of the points of a result were scaled.
func ScaleOf(r *cleavev1.Result) clustering.Scale {
	if r.Scale == nil {
		switch SpaceOf(r.GetChoice().GetChosen()) { // results of the first versions have no scale
		case clustering.SpaceStandardized, clustering.SpaceStandardizedNeighbors:
			return clustering.ScaleZscore
		}
		return clustering.ScaleNone
	}
	return text.Named[clustering.Scale](EnumWord(r.GetScale()))
}

// MissingRows is the code of the notice about rows that were left out.
const MissingRows = "MISSING_ROWS"

// SplitNotices separates notices about an answer from those about how its table was read.
func SplitNotices(all []*cleavev1.Notice) (answer, table []*cleavev1.Notice) {
	for _, n := range all {
		switch n.GetReason() {
		case TableNotice, MissingRows:
			table = append(table, n)
		default:
			answer = append(answer, n)
		}
	}
	return answer, table
}

// NamesSuspects reports whether a notice names the first of the seeds or constraints that the data contradicts.
// Result.suspects has them all.
func NamesSuspects(n *cleavev1.Notice) bool {
	return n.GetReason() == "CONSTRAINTS_AGAINST_DATA" || n.GetReason() == "SEEDS_AGAINST_DATA"
}

// WithoutSuspects returns notices without those that say less than the suspects of a result. notices is not modified.
func WithoutSuspects(r *cleavev1.Result, notices []*cleavev1.Notice) []*cleavev1.Notice {
	if len(r.GetSuspects()) == 0 {
		return notices
	}
	return slices.DeleteFunc(slices.Clone(notices), NamesSuspects)
}
