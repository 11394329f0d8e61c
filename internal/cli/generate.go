package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/text"
)

type generateFlags struct {
	set                           *pflag.FlagSet
	n, d, k                       *jobflags.OptionFlag
	constraints, background, seed *jobflags.OptionFlag
	noise, inside, outside        *jobflags.OptionFlag
	out                           string
}

// shapes are the synthetic data sets, each with the flags that apply to it and not to all.
var shapes = map[string]struct{ flags []string }{
	"two-circles": {[]string{"noise", "background"}},
	"two-moons":   {[]string{"noise", "background"}},
	"gaussians":   {[]string{"noise", "d", "k", "background"}},
	"blocks":      {[]string{"k", "inside", "outside"}},
}

// shapeNames are all that can be made.
func shapeNames() []string {
	return []string{"two-circles", "two-moons", "gaussians", "blocks", "picture", "image-affinity"}
}

func (a *app) generateCommand() *cobra.Command {
	f := &generateFlags{
		n:           jobflags.NewWhole(200, 2, dataset.MaxRows),
		d:           jobflags.NewWhole(2, 1, 1<<20),
		k:           jobflags.NewWhole(2, 1, dataset.MaxRows),
		constraints: jobflags.NewWhole(0, 0, math.MaxInt32),
		background:  jobflags.NewWhole(0, 0, dataset.MaxRows),
		seed:        jobflags.NewWhole(0, 0, math.MaxUint64),
		noise:       jobflags.NewNumber("0", 0),
		inside:      jobflags.NewNumber("10", 0),
		outside:     jobflags.NewNumber("2", 0),
	}
	cmd := &cobra.Command{
		Use:   "generate two-circles|two-moons|gaussians|blocks --out DIR",
		Short: "Make a synthetic data set with its truth and random constraints, or a graph of a picture",
		Args:  cobra.ArbitraryArgs,
	}
	cmd.AddCommand(a.pictureCommand(), a.affinityCommand())
	f.set = cmd.Flags()
	f.set.Var(f.n, "n", "points or vertices")
	f.set.Var(f.d, "d", "features (gaussians)")
	f.set.Var(f.k, "k", "clusters (gaussians, blocks)")
	f.set.Var(f.constraints, "constraints", "random constraints that the truth satisfies")
	f.set.Var(f.background, "background", "points scattered evenly around those of the shape: a class of their own in truth.csv, without constraints (two-circles, two-moons, gaussians)")
	f.set.Var(f.seed, "seed", "seed of all random choices")
	f.set.Var(f.noise, "noise", "standard deviation of the points (default: 0.1 circles, 0.05 moons, 1 gaussians)")
	f.set.Var(f.inside, "inside", "mean number of neighbors in the own block (blocks)")
	f.set.Var(f.outside, "outside", "mean number of neighbors in other blocks (blocks)")
	f.set.StringVar(&f.out, "out", "", "write data.csv or edges.csv, truth.csv and constraints.csv into this `DIR`; score-on.csv, without the background, where there is one")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return shell.Usage("what is to be made? Use one of two-circles, two-moons, gaussians, blocks, picture and image-affinity")
		}
		return a.generate(cmd.Context(), args[0], f)
	}
	return cmd
}

func (a *app) generate(ctx context.Context, shape string, f *generateFlags) (err error) {
	if err := f.check(shape); err != nil {
		return err
	}
	if f.out == "" {
		return shell.Usage("where to? Give --out DIR")
	}
	data, truth, err := f.draw(shape)
	if err != nil {
		return err
	}
	clustered := len(truth) - f.background.Whole() // the background comes last
	// Constraints have a random stream of their own, so that their number does not change the data.
	constraints, err := synth.Constraints(truth[:clustered], f.constraints.Whole(), rand.New(rand.NewPCG(f.seed.Uint64(), 1)))
	if err != nil {
		return err
	}
	files := []report.File{
		data,
		{Name: "truth.csv", Write: func(w io.Writer) error { return format.WriteLabels(w, truth) }},
		{Name: "constraints.csv", Write: func(w io.Writer) error { return format.WriteConstraints(w, constraints) }},
	}
	if clustered < len(truth) {
		files = append(files, report.File{Name: "score-on.csv", Write: func(w io.Writer) error {
			return format.WriteIndexedMatrix(w, []string{"index"}, make([][]float64, clustered))
		}})
	}
	if err = report.WriteFolder(ctx, f.out, files); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "wrote %s, truth.csv and constraints.csv (%d) of %s to %s\n", data.Name, len(constraints), text.Plural(len(truth), "point"), f.out)
	return err
}

// check refuses flags that do not apply to a shape, unless they have the value that is implied.
func (f *generateFlags) check(shape string) error {
	known, ok := shapes[shape]
	if !ok {
		return shell.Usage("there is no shape %q; use two-circles, two-moons, gaussians, blocks, picture or image-affinity%s", shape, shell.Suggest(shape, shapeNames()))
	}
	for _, flag := range []string{"d", "k", "noise", "background", "inside", "outside"} {
		implied := (flag == "d" && f.d.Whole() == 2 || flag == "k" && f.k.Whole() == 2) && shape != "blocks"
		if f.set.Changed(flag) && !slices.Contains(known.flags, flag) && !implied {
			return shell.Usage("--%s does not apply to %s", flag, shape)
		}
	}
	return nil
}

// draw makes the file of the data and its truth.
func (f *generateFlags) draw(shape string) (file report.File, truth []int32, err error) {
	rng := rand.New(rand.NewPCG(f.seed.Uint64(), 0))
	n, d, k := f.n.Whole(), f.d.Whole(), f.k.Whole()
	noise := func(standard float64) float64 {
		if f.set.Changed("noise") {
			return f.noise.Number()
		}
		return standard
	}
	if shape == "blocks" {
		edges, truth, err := synth.Blocks(n, k, f.inside.Number(), f.outside.Number(), rng)
		return report.File{Name: "edges.csv", Write: func(w io.Writer) error { return format.WriteEdges(w, edges) }}, truth, err
	}
	var points *dataset.Points
	switch shape {
	case "two-circles":
		points, truth, err = synth.TwoCircles(n, noise(synth.CirclesNoise), rng)
	case "two-moons":
		points, truth, err = synth.TwoMoons(n, noise(synth.MoonsNoise), rng)
	case "gaussians":
		points, truth, err = synth.Gaussians(n, d, k, noise(1), rng)
	}
	if err == nil {
		points, truth, err = synth.WithBackground(points, truth, f.background.Whole(), rng)
	}
	if err != nil {
		return report.File{}, nil, err
	}
	header := make([]string, points.D)
	for column := range header {
		header[column] = "f" + strconv.Itoa(column)
	}
	return report.File{Name: "data.csv", Write: func(w io.Writer) error { return format.WritePoints(w, header, points) }}, truth, nil
}
