package clustertest

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/wire"
)

// customers are a table as people have it: ids, numbers with gaps, and a category.
func customers(t testing.TB, rows int) *table.Table {
	points := gaussians(rows, 5, 12, 6)
	rng := random(9)
	columns := []table.Column{{Name: "customer", Type: table.Text}, {Name: "region", Type: table.Text}}
	for row := range rows {
		columns[0].Texts = append(columns[0].Texts, fmt.Sprintf("c%d", 3*row+1))
		columns[1].Texts = append(columns[1].Texts, []string{"north", "south", "east"}[rng.IntN(3)])
	}
	for at := range points.D {
		c := table.Column{Name: fmt.Sprintf("spent %d", at), Type: table.Number, Empty: make([]bool, rows)}
		for row := range rows {
			c.Numbers = append(c.Numbers, points.Row(row)[at])
			c.Empty[row] = rng.IntN(50) == 0
		}
		columns = append(columns, c)
	}
	made, err := table.New(columns)
	return must(t, made, err)
}

// withRecipe is the outcome of a job on a table, from that of the same job on the points of it.
func withRecipe(of Outcome, fitted *recipe.Recipe, notices []string) Outcome {
	of.Result = proto.CloneOf(of.Result)
	of.Result.Recipe = wire.RecipeProto(fitted)
	of.Result.Warnings = append(wire.NoticesProto(wire.TableNotices(notices)), of.Result.GetWarnings()...)
	return of
}

// TestJobsOnTables: the coordinator makes points of a table, again whenever it is started, and every cluster answers as
// the points do that are made here, to the last bit.
func TestJobsOnTables(t *testing.T) {
	t.Parallel()
	all := customers(t, 2000)
	fitted, notices, err := recipe.Fit(t.Context(), all, recipe.Options{})
	must(t, fitted, err)
	made, err := fitted.Apply(t.Context(), all)
	must(t, made, err)
	long := newWorkload(made.Points, &cleavev1.JobSpec{
		Clusters: &cleavev1.JobSpec_K{K: 12}, Seed: 3, Restarts: restarts(10), Scale: cleavev1.Scale_SCALE_ZSCORE,
		Initialization: &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM},
		Algorithm:      kernelKmeans(&cleavev1.KernelKmeans{}),
	})
	short := newWorkload(made.Points, &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 5}, Seed: 2,
		Algorithm: &cleavev1.JobSpec_MKmeans{MKmeans: &cleavev1.MKmeans{}}})
	for _, workers := range []int{1, 2, 3} {
		t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) {
			t.Parallel()
			c, _ := StartCluster(t, workers)
			on := func(l *workload) string {
				spec := proto.CloneOf(l.spec)
				spec.Data = &cleavev1.JobSpec_Table{
					Table: &cleavev1.TablePoints{TableId: c.UploadTable(all).GetTableId()}}
				return c.Create(spec)
			}
			job := on(short)
			c.Watch(job).End()
			SameOutcome(t, "undisturbed", c.Outcome(job), withRecipe(short.want(t), fitted, notices))
			if workers != 2 {
				return
			}
			job = on(long)
			w := c.Watch(job)
			w.Resumes = true
			w.UntilIterations(3)
			c.Kill()
			c.Restart()
			if end := w.End(); end.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
				t.Fatalf("the job ended with %v", end)
			}
			SameOutcome(t, "with the coordinator killed", c.Outcome(job), withRecipe(long.want(t), fitted, notices))
			sameEvents(t, c, job, w.Events)
			stream, err := c.Jobs.GetLabels(t.Context(), &cleavev1.GetLabelsRequest{JobId: job, WithRows: true})
			must(t, stream, err)
			var ids []string
			err = wire.Receive(stream.Recv, func(part *cleavev1.GetLabelsResponse) error {
				ids = append(ids, part.GetIds()...)
				return nil
			})
			if err != nil || !slices.Equal(ids, made.IDs) {
				t.Errorf("%d ids, %v", len(ids), err)
			}
		})
	}
}
