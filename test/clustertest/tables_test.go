package clustertest

import (
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/tabletest"
	"github.com/cleave-project/cleave/test/testscale"
)

// TestManyConstraints: they are uploaded in parts and named by their id, so that the request stays small.
func TestManyConstraints(t *testing.T) {
	t.Parallel()
	const n = 1600
	count := testscale.Count(200_000, 1_000_000)
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i%2) + float64(i)/n // two groups, the even and the odd
	}
	points, err := dataset.NewPoints(n, 1, values)
	must(t, points, err)
	pairs := make([]constraint.Constraint, 0, count)
	for i := int32(0); len(pairs) < count; i++ {
		for j := i + 1; j < n && len(pairs) < count; j++ {
			kind := constraint.MustLink
			if (j-i)%2 == 1 {
				kind = constraint.CannotLink
			}
			pairs = append(pairs, constraint.Constraint{I: i, J: j, Kind: kind})
		}
	}
	c, _ := StartCluster(t, 1)
	job := c.Create(&cleavev1.JobSpec{
		Data: &cleavev1.JobSpec_DatasetId{DatasetId: c.Upload(points)}, Clusters: &cleavev1.JobSpec_K{K: 2}, Seed: 1,
		Supervision: &cleavev1.Supervision{Constraints: c.UploadTable(tabletest.Constraints(pairs))},
		Algorithm: kernelKmeans(
			&cleavev1.KernelKmeans{Kernel: &cleavev1.Kernel{Function: cleavev1.KernelFunction_KERNEL_FUNCTION_LINEAR}}),
	})
	if ended := c.Watch(job).End(); ended.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Fatalf("the job ended as %v", ended)
	}
	outcome := c.Outcome(job)
	if report := outcome.Result.GetConstraints(); int(report.GetTotal()) != count ||
		int(report.GetSatisfied()) != count {
		t.Errorf("of %d constraints the report says %v", count, report)
	}
	for i, label := range outcome.Labels {
		if label != outcome.Labels[i%2] {
			t.Fatalf("point %d is apart from point %d", i, i%2)
		}
	}
}

// TestTablesInlineAndByID: a job is the same however its tables come.
func TestTablesInlineAndByID(t *testing.T) {
	t.Parallel()
	known := knownPoints()
	c, _ := StartCluster(t, 2)
	data := c.Upload(known.points)
	stored := func(input *cleavev1.TableInput) *cleavev1.TableInput {
		rows, err := wire.TableRows(input.GetInline())
		return c.UploadTable(must(t, rows, err))
	}
	labels := make([]int32, known.points.N)
	weights := make([]float64, known.points.N)
	for i := range labels {
		labels[i], weights[i] = int32(i%8), 1+float64(i%3)
	}
	for name, spec := range map[string]func(func(*cleavev1.TableInput) *cleavev1.TableInput) *cleavev1.JobSpec{
		"constraints": func(use func(*cleavev1.TableInput) *cleavev1.TableInput) *cleavev1.JobSpec {
			return &cleavev1.JobSpec{Supervision: &cleavev1.Supervision{Constraints: use(known.constraints)},
				Algorithm: &cleavev1.JobSpec_PcKmeans{PcKmeans: &cleavev1.PcKmeans{}}}
		},
		"seeds": func(use func(*cleavev1.TableInput) *cleavev1.TableInput) *cleavev1.JobSpec {
			return &cleavev1.JobSpec{Supervision: &cleavev1.Supervision{Seeds: use(known.seeds)},
				Algorithm: &cleavev1.JobSpec_SeededKmeans{SeededKmeans: &cleavev1.SeededKmeans{}}}
		},
		"labels and weights": func(use func(*cleavev1.TableInput) *cleavev1.TableInput) *cleavev1.JobSpec {
			return &cleavev1.JobSpec{
				Initialization: &cleavev1.Initialization{Start: cleavev1.Start_START_LABELS,
					Labels: use(wire.InlineTable(tabletest.Labels(labels)))},
				Algorithm: kernelKmeans(
					&cleavev1.KernelKmeans{Weights: use(wire.InlineTable(tabletest.Weights(weights)))})}
		},
	} {
		inline := spec(func(input *cleavev1.TableInput) *cleavev1.TableInput { return input })
		byID := spec(stored)
		for _, s := range []*cleavev1.JobSpec{inline, byID} {
			s.Data = &cleavev1.JobSpec_DatasetId{DatasetId: data}
			s.Clusters = &cleavev1.JobSpec_K{K: 8}
			s.Seed = 3
		}
		var outcomes []Outcome
		for _, s := range []*cleavev1.JobSpec{inline, byID} {
			job := c.Create(s)
			c.Watch(job).End()
			outcomes = append(outcomes, c.Outcome(job))
		}
		SameOutcome(t, name, outcomes[1], outcomes[0])
	}
}
