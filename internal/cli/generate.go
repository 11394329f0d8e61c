package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/segment"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/text"
)

// generateFlags are the flags of generate. Which of them apply depends on the shape, see shapes.
type generateFlags struct {
	set                           *pflag.FlagSet
	n, d, k                       *shell.Value
	constraints, background, seed *shell.Value
	noise, inside, outside        *shell.Value
	out                           string
}

// shapes are the synthetic data sets, with the flags that apply to some of them only.
var shapes = map[string][]string{
	"two-circles": {"noise", "background"},
	"two-moons":   {"noise", "background"},
	"gaussians":   {"noise", "d", "k", "background"},
	"blocks":      {"k", "inside", "outside"},
}

// shapeNames returns everything that generate makes.
func shapeNames() []string {
	return []string{"two-circles", "two-moons", "gaussians", "blocks", "picture", "image-affinity"}
}

func (a *app) generateCommand() *cobra.Command {
	f := &generateFlags{}
	const short = "Generate a synthetic data set with its truth and random constraints, or the graph of a picture"
	cmd, set := argsCommand("generate two-circles|two-moons|gaussians|blocks --out DIR", short,
		func(ctx context.Context, args []string) error {
			if len(args) == 0 {
				return shell.Usage("the shape is missing; use %s", text.Or(shapeNames()))
			}
			shape, err := oneArgument(args, "shape")
			if err != nil {
				return err
			}
			return a.generate(ctx, shape, f)
		})
	cmd.AddCommand(a.pictureCommand(), a.affinityCommand())
	cmd.ValidArgsFunction = fixed(shapeNames()...)
	f.set = set
	f.n = shell.NewWhole(200, 2, dataset.MaxRows).Declare(f.set, "n", "number of points or vertices")
	f.d = shell.NewWhole(2, 1, 1<<20).Declare(f.set, "d", "number of features (gaussians)")
	f.k = shell.NewWhole(2, 1, dataset.MaxRows).Declare(f.set, "k", "number of clusters (gaussians, blocks)")
	f.constraints = shell.NewWhole(0, 0, math.MaxInt32).Declare(f.set, "constraints",
		"number of random constraints that the truth satisfies")
	f.background = shell.NewWhole(0, 0, dataset.MaxRows).Declare(f.set, "background",
		"number of points scattered evenly around the shape, with their own class in truth.csv and without "+
			"constraints (two-circles, two-moons, gaussians)")
	f.seed = shell.NewWhole(0, 0, math.MaxUint64).Declare(f.set, "seed", "seed of all random choices")
	f.noise = shell.NewNumber("0", 0).Declare(f.set, "noise",
		"standard deviation of the points (default: 0.1 circles, 0.05 moons, 1 gaussians)")
	f.inside = shell.NewNumber("10", 0).Declare(f.set, "inside", "mean number of neighbors in the same block (blocks)")
	f.outside = shell.NewNumber("2", 0).Declare(f.set, "outside", "mean number of neighbors in other blocks (blocks)")
	f.set.StringVar(&f.out, "out", "", "write data.csv or edges.csv, truth.csv and constraints.csv into this `DIR`; "+
		"with --background also score-on.csv, the points without the background")
	return cmd
}

// generate writes a synthetic data set, its truth and constraints that the truth satisfies. Background points belong
// to no cluster; they have labels, but score-on.csv does not list them.
func (a *app) generate(ctx context.Context, shape string, f *generateFlags) (err error) {
	if err := f.check(shape); err != nil {
		return err
	}
	data, truth, err := f.draw(shape)
	if err != nil {
		return err
	}
	clustered := len(truth) - f.background.Whole() // the background is last
	// Constraints use their own random numbers, so that their number does not change the data.
	constraints, err := synth.Constraints(truth[:clustered], f.constraints.Whole(),
		rand.New(rand.NewPCG(f.seed.Uint64(), 1)))
	if err != nil {
		return err
	}
	files := []report.File{
		data,
		{Name: "truth.csv", Write: func(w io.Writer) error { return format.WriteLabels(w, truth) }},
		{Name: "constraints.csv", Write: func(w io.Writer) error { return format.WriteConstraints(w, constraints) }},
	}
	wrote := "wrote %s, truth.csv and constraints.csv (%d) of %s to %s\n"
	if clustered < len(truth) {
		wrote = "wrote %s, truth.csv, constraints.csv (%d) and score-on.csv of %s to %s\n"
		files = append(files, report.File{Name: "score-on.csv", Write: func(w io.Writer) error {
			return format.WriteIndexedMatrix(w, []string{"index"}, make([][]float64, clustered))
		}})
	}
	if err = report.WriteFolder(ctx, f.out, files); err != nil {
		return err
	}
	return a.printf(wrote, data.Name, len(constraints), text.Plural(len(truth), "point"), f.out)
}

// check refuses flags that do not apply to a shape, unless they have the implied value.
func (f *generateFlags) check(shape string) error {
	flags, ok := shapes[shape]
	if !ok {
		return shell.Usage("there is no shape %q; use %s%s", shape, text.Or(shapeNames()),
			shell.Suggest(shape, shapeNames()))
	}
	for _, flag := range []string{"d", "k", "noise", "background", "inside", "outside"} {
		implied := (flag == "d" && f.d.Whole() == 2 || flag == "k" && f.k.Whole() == 2) && shape != "blocks"
		if f.set.Changed(flag) && !slices.Contains(flags, flag) && !implied {
			return shell.Usage("--%s does not apply to %s", flag, shape)
		}
	}
	return nil
}

// draw samples the data and their truth.
func (f *generateFlags) draw(shape string) (file report.File, truth []int32, err error) {
	rng := rand.New(rand.NewPCG(f.seed.Uint64(), 0))
	n := f.n.Whole()
	d := f.d.Whole()
	k := f.k.Whole()
	noise := func(standard float64) float64 {
		if f.set.Changed("noise") {
			return f.noise.Number()
		}
		return standard
	}
	if shape == "blocks" {
		edges, truth, err := synth.Blocks(n, k, f.inside.Number(), f.outside.Number(), rng)
		return report.File{Name: "edges.csv", Write: func(w io.Writer) error { return format.WriteEdges(w, edges) }},
			truth, err
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
	return report.File{Name: "data.csv", Write: func(w io.Writer) error {
		return format.WritePoints(w, header, points)
	}}, truth, nil
}

type pictureFlags struct {
	width, height, noise, seed *shell.Value
	out                        string
}

// pictureCommand returns the command that draws a picture for image-affinity.
func (a *app) pictureCommand() *cobra.Command {
	f := &pictureFlags{}
	cmd, set := flagsCommand("picture --out DIR", "Draw a noisy picture of two halves, to be segmented",
		func(ctx context.Context) error { return a.generatePicture(ctx, f) })
	f.width = shell.NewWhole(48, 8, segment.MaxPixels).Declare(set, "width", "width in pixels")
	f.height = shell.NewWhole(32, 8, segment.MaxPixels).Declare(set, "height", "height in pixels")
	f.noise = shell.NewNumber("10", 0).Declare(set, "noise",
		"standard deviation of the gray values, which go from 0 to 255")
	f.seed = shell.NewWhole(0, 0, math.MaxUint64).Declare(set, "seed", "seed of the noise")
	set.StringVar(&f.out, "out", "", "write picture.png, truth.csv and boxes.csv into this `DIR`")
	return cmd
}

// generatePicture writes a picture of two noisy halves, the half of each pixel as the truth, and labeled rectangles
// within the halves.
func (a *app) generatePicture(ctx context.Context, f *pictureFlags) error {
	scene, err := segment.DrawHalves(f.width.Whole(), f.height.Whole(), f.noise.Number(),
		rand.New(rand.NewPCG(f.seed.Uint64(), 0)))
	if err != nil {
		return err
	}
	err = report.WriteFolder(ctx, f.out, []report.File{
		{Name: "picture.png", Write: func(w io.Writer) error { return format.WritePicture(w, scene.Picture) }},
		{Name: "truth.csv", Write: func(w io.Writer) error { return format.WriteLabels(w, scene.Truth) }},
		{Name: "boxes.csv", Write: func(w io.Writer) error { return format.WriteBoxes(w, scene.Boxes) }},
	})
	if err != nil {
		return err
	}
	return a.printf("wrote picture.png of %d x %d pixels, truth.csv and boxes.csv (%d) to %s\n",
		scene.Picture.Width, scene.Picture.Height, len(scene.Boxes), f.out)
}

type affinityFlags struct {
	set                                      *pflag.FlagSet
	radius, sigmaPosition, sigmaGray, weight *shell.Value
	boxes, out                               string
	allPairs                                 bool
}

// affinityCommand returns the command that makes a graph of a picture's pixels and constraints on them (Wang2014 7.1).
func (a *app) affinityCommand() *cobra.Command {
	f := &affinityFlags{}
	const short = "Turn a PNG, JPEG or GIF into a graph of its pixels, to be segmented"
	cmd, set := argsCommand("image-affinity PICTURE --out DIR", short, func(ctx context.Context, args []string) error {
		picture, err := oneArgument(args, "picture")
		if err != nil {
			return err
		}
		return a.generateAffinity(ctx, picture, f)
	})
	f.set = set
	f.radius = shell.NewNumber("5", 1).Declare(f.set, "radius",
		"connect pixels that are at most this many pixels apart")
	f.sigmaPosition = shell.NewNumber("auto", shell.Positive, "auto").Declare(f.set, "sigma-position",
		"width of the affinity in distance, in pixels (auto: half the radius)")
	f.sigmaGray = shell.NewNumber("auto", shell.Positive, "auto").Declare(f.set, "sigma-gray",
		"width of the affinity in gray values, which go from 0 to 255 (auto: half the picture's standard deviation)")
	f.set.StringVar(&f.boxes, "constraint-boxes", "",
		"labeled rectangles of pixels in this `FILE` (x,y,width,height,label): must-links within a label, "+
			"cannot-links between labels")
	f.weight = shell.NewNumber(fmt.Sprint(segment.UnitWeight), shell.Positive).Declare(f.set, "constraint-weight",
		"weight of each constraint; identical pixels have an edge of weight 1")
	f.set.BoolVar(&f.allPairs, "all-pairs", false,
		"write a constraint for every pair of labeled pixels, not only a minimal equivalent set")
	f.set.StringVar(&f.out, "out", "",
		"write edges.csv, constraints.csv and picture.csv (size and widths) into this `DIR`")
	return cmd
}

// generateAffinity writes the graph of the pixels of a picture. Its edges are written as they are computed, because
// there may be more than fit into memory.
func (a *app) generateAffinity(ctx context.Context, path string, f *affinityFlags) error {
	if f.boxes == "" && (f.allPairs || f.set.Changed("constraint-weight")) {
		return shell.Usage("--all-pairs and --constraint-weight require --constraint-boxes")
	}
	p, err := format.LoadPicture(path)
	if err != nil {
		return err
	}
	affinity := f.affinity(p)
	if err := affinity.Check(p); err != nil {
		return fault.Wrap(err, "%s", path)
	}
	constraints, err := f.constraints(p)
	if err != nil {
		return err
	}
	edges := 0
	err = report.WriteFolder(ctx, f.out, []report.File{
		{Name: "edges.csv", Write: func(w io.Writer) error {
			return cmp.Or(format.WriteEdgesOf(w, counted(ctx, affinity.Edges(p), &edges)), ctx.Err())
		}},
		{Name: "constraints.csv", Write: func(w io.Writer) error { return format.WriteConstraints(w, constraints) }},
		{Name: "picture.csv", Write: func(w io.Writer) error {
			return format.WriteMatrix(w, []string{"width", "height", "radius", "sigma_position", "sigma_gray"},
				[][]float64{{float64(p.Width), float64(p.Height), affinity.Radius, affinity.SigmaPosition,
					affinity.SigmaGray}})
		}},
	})
	if err != nil {
		return err
	}
	return a.printf("wrote edges.csv (%d), constraints.csv (%d) and picture.csv of %d x %d pixels to %s: radius %s, "+
		"sigma-position %s, sigma-gray %s\n",
		edges, len(constraints), p.Width, p.Height, f.out, text.Brief(affinity.Radius),
		text.Brief(affinity.SigmaPosition), text.Brief(affinity.SigmaGray))
}

// affinity returns the widths that were given, and defaults for the others.
func (f *affinityFlags) affinity(p *segment.Picture) segment.Affinity {
	chosen := segment.DefaultAffinity(p, f.radius.Number())
	if f.sigmaPosition.String() != "auto" {
		chosen.SigmaPosition = f.sigmaPosition.Number()
	}
	if f.sigmaGray.String() != "auto" {
		chosen.SigmaGray = f.sigmaGray.Number()
	}
	return chosen
}

// constraints returns the constraints that the labeled rectangles imply, or none without --constraint-boxes. Unless
// --all-pairs is given, they are the fewest that imply the others.
func (f *affinityFlags) constraints(p *segment.Picture) ([]constraint.Constraint, error) {
	if f.boxes == "" {
		return nil, nil
	}
	boxes, err := format.LoadBoxes(f.boxes, p.Width, p.Height)
	if err != nil {
		return nil, err
	}
	labeled, err := segment.Label(p.Width, p.Height, boxes)
	if err != nil {
		return nil, fault.Wrap(err, "%s", f.boxes)
	}
	if !f.allPairs {
		return labeled.Chains(f.weight.Number()), nil
	}
	constraints, err := labeled.AllPairs(f.weight.Number())
	return constraints, fault.Wrap(err, "%s", f.boxes)
}

// counted counts the values of a sequence as they are used. The sequence ends early when ctx ends: writing the edges of
// a large picture takes long.
func counted[T any](ctx context.Context, sequence iter.Seq[T], count *int) iter.Seq[T] {
	return func(yield func(T) bool) {
		for v := range sequence {
			if *count++; ctx.Err() != nil || !yield(v) {
				return
			}
		}
	}
}
