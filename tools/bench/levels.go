package bench

import (
	"context"
	"fmt"
	"os/exec"
)

// levelGoals are how long a graph of 200,000 vertices and 2.2 million edges may take from its file to the labels of so many
// clusters, in seconds.
var levelGoals = []struct {
	k       int
	seconds float64
}{{20, 3}, {1000, 5}}

// measureLevels clusters a graph by default, on many levels, beside reading it.
func measureLevels(ctx context.Context, b *benchmark) error {
	if b.Cleave == "" {
		b.report.add(Row{What: "a graph: file to labels", Verdict: Missing})
		return nil
	}
	f, err := b.writeEdgeFile()
	if err != nil {
		return err
	}
	var reading times
	found := make([]times, len(levelGoals))
	measurements := []measurement{{func() (float64, error) { return stopwatch(func() error { return f.load(f.plain) }) }, &reading}}
	for at, goal := range levelGoals {
		measurements = append(measurements, measurement{func() (float64, error) {
			return b.timeProcess(exec.CommandContext(ctx, b.Cleave, "run", "--graph", f.plain, "--k", fmt.Sprint(min(goal.k, f.vertices/2)), "--quiet"))
		}, &found[at]})
	}
	if err := b.interleave(b.rounds, measurements...); err != nil {
		return err
	}
	for at, goal := range levelGoals {
		b.report.add(Row{
			What: fmt.Sprintf("%d vertices, %d edges, k = %d: file to labels", f.vertices, f.edges, goal.k), Ours: found[at].String(), Peer: "reading alone: " + reading.String(),
			Ratio: fmt.Sprintf("%.1fx (%.1fx) the time", found[at].best()/reading.best(), found[at].median()/reading.median()),
			Goal:  fmt.Sprintf("<= %g s", goal.seconds), Verdict: b.report.verdict(found[at].best() <= goal.seconds),
		})
	}
	b.report.note("the program, from its start to its end, without any option but k; it writes nothing.")
	return nil
}
