package cli

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
)

type predictFlags struct {
	model, job string
	server     *string
	data, out  string
}

func (a *app) predictCommand() *cobra.Command {
	f := &predictFlags{}
	cmd := &cobra.Command{
		Use:   "predict (--model DIR | --job ID) --data FILE",
		Short: "Assign new points to the clusters that a run of the vector family found",
		Args:  shell.Flags,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.predict(cmd.Context(), f) },
	}
	set := cmd.Flags()
	set.StringVar(&f.model, "model", "", "a `DIR` that cleave run --out wrote")
	set.StringVar(&f.job, "job", "", "a job's `ID` at a coordinator")
	f.server = addServerFlag(set)
	set.StringVar(&f.data, "data", "", "new points in this `FILE`, in the columns of the old ones")
	set.StringVar(&f.out, "out", "", "write the labels to this `FILE` (index,label) instead of standard output")
	return cmd
}

// predict works here, whoever has the model: it is small beside the points.
func (a *app) predict(ctx context.Context, f *predictFlags) error {
	switch {
	case (f.model == "") == (f.job == ""):
		return shell.Usage("predict needs one model: --model DIR that cleave run --out wrote, or --job ID")
	case f.model != "" && *f.server != "":
		return shell.Usage("--server goes with --job; a --model is read here")
	case f.data == "":
		return shell.Usage("what is to be assigned? Give the points by --data FILE")
	}
	model, header, err := a.findModel(ctx, f)
	if err != nil {
		return err
	}
	data, columns, err := loadPoints(f.data, model.D)
	if err != nil {
		return err
	}
	if header != nil && columns != nil && !slices.Equal(header, columns) {
		return fault.Invalid("OTHER_COLUMNS", "%s: the columns are called %s, those of the model %s; they must be the same in the same order",
			f.data, abridged(columns), abridged(header))
	}
	labels, err := clustering.Predict(ctx, model, data, runtime.GOMAXPROCS(0))
	if err != nil {
		return fault.Wrap(err, "%s", f.data)
	}
	write := func(w io.Writer) error { return format.WriteLabels(w, labels) }
	if f.out == "" {
		return write(a.stdout)
	}
	if err := format.WriteFile(f.out, write); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %s in %s\n", f.out, plural(len(labels), "point"), plural(model.K, "cluster"))
	return err
}

// findModel reads the model from its folder, with the names of its columns where it has any, or asks
// the coordinator for it.
func (a *app) findModel(ctx context.Context, f *predictFlags) (*clustering.Model, []string, error) {
	if f.model != "" {
		return loadModel(f.model)
	}
	c, err := a.remote(*f.server)
	if err != nil {
		return nil, nil, err
	}
	defer c.close()
	model, err := c.model(ctx, f.job)
	return model, nil, err
}
