package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/resultpage"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/redact"
	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

type rerunFlags struct {
	out, server string
	quiet       bool
}

func (a *app) rerunCommand() *cobra.Command {
	f := &rerunFlags{}
	const short = "Repeat a run from the folder that it wrote, and compare the results bit for bit"
	cmd, set := argsCommand("rerun DIR", short, func(ctx context.Context, args []string) error {
		if len(args) != 1 {
			return shell.Usage("rerun takes one folder, which cleave run --out wrote")
		}
		return a.rerun(ctx, args[0], f)
	})
	set.StringVar(&f.out, "out", "", "write the files of the new run into this `DIR`")
	addServerFlag(set, &f.server)
	set.BoolVar(&f.quiet, "quiet", false, "show no progress")
	return cmd
}

// rerun repeats the run in a folder and fails if the result differs in a single bit. A run of this command line is
// repeated from its files; a job that was submitted is repeated by the coordinator, which has its data.
func (a *app) rerun(ctx context.Context, dir string, f *rerunFlags) error {
	switch {
	case f.out == onStdout:
		return shell.Usage("--out - does not apply to rerun, which prints how the results compare; give a folder")
	case f.out != "" && report.SameFolder(f.out, dir):
		return shell.Usage("--out %s is the folder of the run itself; give another one", f.out)
	}
	result, run, err := report.ReadResult(dir)
	if err != nil {
		return err
	}
	origin := run.GetOrigin()
	then, err := a.recordedCommand(dir, origin)
	if err != nil {
		return err
	}
	before, err := report.ReadLabels(dir, result, run)
	if err != nil {
		return err
	}
	if now := shell.Version(); now != origin.GetVersion() {
		a.warn("the run was made by version %s, this is %s; the results may differ", origin.GetVersion(), now)
	}
	var again *report.Report
	if then.run != nil {
		if err = then.checkInputs(ctx, dir, origin); err == nil {
			again, err = a.rerunCommandLine(ctx, then, f)
		}
	} else {
		again, err = a.rerunSpec(ctx, before, f)
	}
	if err != nil {
		return err
	}
	return a.compare(dir, before, again)
}

// rerunCommandLine runs the recorded command line of a run again. The access flags of rerun replace the recorded ones,
// and a coordinator that it names replaces where the job ran.
func (a *app) rerunCommandLine(ctx context.Context, then *recordedCommand, f *rerunFlags) (*report.Report, error) {
	run := then.run
	elsewhere := f.server != "" || a.access.context != ""
	if elsewhere {
		run.server = f.server
	}
	if elsewhere || a.access != (accessFlags{}) {
		then.app.access = a.access
	}
	// there must be a folder to write the rows of the table to
	join := run.output.join && f.out != ""
	run.output = outputFlags{out: f.out, format: run.output.format, join: join, quiet: f.quiet}
	run.requestID = "" // with it, the coordinator would return the recorded job
	p, err := then.app.runJob(ctx, run, run.job.Given("workers") && !elsewhere, false)
	if err != nil {
		return nil, err
	}
	return p.report, nil
}

// recordedCommand is the recorded command line of a run, or of a call of cleave result.
type recordedCommand struct {
	app  *app                // with that command line and its access flags
	run  *runFlags           // nil for result
	data *jobflags.DataFlags // relative paths are resolved
}

// recordedCommand parses the command line that the folder of a run records.
func (a *app) recordedCommand(folder string, origin *cleavev1.Origin) (*recordedCommand, error) {
	then := *a
	then.access = accessFlags{}
	then.command = command{origin.GetCommand(), origin.GetDirectory()}
	r := &recordedCommand{app: &then}
	var cmd *cobra.Command
	arguments := origin.GetCommand()
	switch {
	case len(arguments) == 0:
		return nil, fault.Invalid("NO_ORIGIN",
			"%s does not record how it was made; cleave run --out and cleave result --out write one that does",
			filepath.Join(folder, report.ResultFile))
	case arguments[0] == "run":
		cmd, r.run = then.runCommand()
		r.data = &r.run.job.DataFlags
	case arguments[0] == "result":
		cmd, r.data = then.resultCommand()
	default:
		return nil, fault.Invalid("BAD_COMMAND", "%s: this version cannot repeat the recorded command %s", folder,
			arguments[0])
	}
	parent := &cobra.Command{}
	parent.AddCommand(cmd)
	then.addAccessFlags(parent)
	if err := cmd.ParseFlags(arguments[1:]); err != nil {
		return nil, fault.Invalid("BAD_COMMAND", "%s: this version cannot parse the recorded command line: %v",
			folder, err)
	}
	r.data.ResolveFiles(origin.GetDirectory())
	return r, nil
}

// rerunSpec runs the recorded spec of a submitted job again. The coordinator has the data and the tables.
func (a *app) rerunSpec(ctx context.Context, before *report.Report, f *rerunFlags) (*report.Report, error) {
	c, err := a.remote(f.server)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	progress := report.NewProgress(a.stderr, f.quiet)
	defer progress.End()
	origin := before.Run.GetOrigin()
	id, err := c.Complete(ctx, &cleavev1.CreateJobRequest{Spec: origin.GetSpec(), DisplayName: origin.GetDisplayName()},
		nil, progress, client.CancelJob)
	if err != nil {
		return nil, err
	}
	outcome, err := c.Fetch(ctx, id, extentFor(f.out))
	if err != nil {
		return nil, err
	}
	again := reportOf(&jobflags.Loaded{}, outcome)
	// including dropped rows
	if rows := outcome.TableRows(); outcome.Kept != nil && again.Filter == nil && len(before.FileLabels()) == rows {
		again = report.New(again.Outcome, jobflags.Rows{Filter: jobflags.FilterOf(outcome.Kept, rows)})
	}
	if again.Run.Origin = origin; f.out == "" {
		return again, nil
	}
	progress.End()
	scene := report.Scene{Title: origin.GetDisplayName()}
	return again, a.intoFolder(ctx, f.out, nil, func(out *report.OutputDir) error {
		return out.Write(ctx, again.Files(scene, resultpage.Files(again, scene, a.warn), a.warn))
	})
}

// recordedFiles returns the files that a run read by one of the flags, or by any if none is named, and says about each
// that is no longer the same why not. It returns an error only if ctx has ended.
func recordedFiles(ctx context.Context, origin *cleavev1.Origin, flags ...string) (paths, changed []string, _ error) {
	for _, input := range origin.GetInputs() {
		if len(flags) > 0 && !slices.Contains(flags, input.GetFlag()) {
			continue
		}
		path := jobflags.ResolvePath(origin.GetDirectory(), input.GetPath())
		paths = append(paths, path)
		if path == jobflags.StandardInput || input.GetSha256() == "" {
			changed = append(changed, input.GetPath()+" was not a file that can be read again")
			continue
		}
		switch hash, _, err := report.HashFile(ctx, path); {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case errors.Is(err, fs.ErrNotExist):
			changed = append(changed, path+" is missing")
		case err != nil:
			changed = append(changed, fmt.Sprintf("%s cannot be read: %v", path, shell.WithoutPath(err)))
		case hash != input.GetSha256():
			changed = append(changed, path+" has changed")
		}
	}
	return paths, changed, nil
}

// checkInputs refuses files that are not those of the run in a folder.
func (r *recordedCommand) checkInputs(ctx context.Context, folder string, origin *cleavev1.Origin) error {
	known, changed, err := recordedFiles(ctx, origin)
	if err != nil {
		return err
	}
	for _, file := range r.data.NamedFiles(origin.GetDirectory()) {
		if path := jobflags.ResolvePath(origin.GetDirectory(), file.Path); !slices.Contains(known, path) {
			changed = append(changed, path+" is new")
		}
	}
	if len(changed) > 0 {
		return fault.Invalid("OTHER_INPUTS", "%s cannot be repeated, because its files are not the same: %s", folder,
			strings.Join(changed, "; "))
	}
	return nil
}

// compare reports whether another run has the same labels and objective as that in a folder, bit for bit. Scores,
// pictures and times are not part of the promise.
func (a *app) compare(dir string, before, again *report.Report) error {
	old := before.FileLabels()
	labels := again.FileLabels()
	differ := 0
	if len(labels) != len(old) {
		return fmt.Errorf("%s has %s, the new run %d", dir, text.Plural(len(old), "label"), len(labels))
	}
	for i, label := range labels {
		if label != old[i] {
			differ++
		}
	}
	recorded := before.Result.GetObjective()
	repeated := again.Result.GetObjective()
	if differ > 0 || math.Float64bits(recorded) != math.Float64bits(repeated) {
		return fmt.Errorf("the result differs from %s: %d of %s differ, and the objective is %v instead of %v", dir,
			differ, text.Plural(len(labels), "label"), repeated, recorded)
	}
	return a.printf("identical to %s: %s, and the objective %v\n", dir, text.Plural(len(labels), "label"), repeated)
}

// command is a command line, as result.json records it. directory is "" if it is not known.
type command struct {
	arguments []string
	directory string
}

// inputs are the files that flags name, as they were before they were read.
type inputs struct {
	files  []jobflags.NamedFile
	before []os.FileInfo // nil for what cannot be found
	hashed chan []*cleavev1.InputFile
}

// noteInputs notes the files that flags name, and starts to hash them until ctx ends. It is called before they are
// read. It returns nil if nothing records the hashes: only result.json and report.html do.
func (a *app) noteInputs(ctx context.Context, f *jobflags.DataFlags, output *outputFlags) *inputs {
	if !output.json && output.folder() == "" {
		return nil
	}
	in := &inputs{files: f.NamedFiles(a.command.directory), hashed: make(chan []*cleavev1.InputFile, 1)}
	for _, file := range in.files {
		info, _ := os.Stat(jobflags.ResolvePath(a.command.directory, file.Path))
		in.before = append(in.before, info)
	}
	go func() {
		all := make([]*cleavev1.InputFile, len(in.files))
		for at, file := range in.files {
			all[at] = &cleavev1.InputFile{Flag: file.Flag, Path: file.Path}
			path := jobflags.ResolvePath(a.command.directory, file.Path)
			all[at].Sha256, all[at].Bytes, _ = report.HashFile(ctx, path) // pipes have no hash
		}
		in.hashed <- all
	}()
	return in
}

// origin waits until the inputs are hashed, or until the context of noteInputs has ended, and returns the origin for
// result.json, or nil if in is nil. A file that has changed since it was noted has no hash, because the rows that were
// read may be others.
func (a *app) origin(in *inputs, name string, spec *cleavev1.JobSpec) *cleavev1.Origin {
	if in == nil {
		return nil
	}
	origin := &cleavev1.Origin{
		Version: shell.Version(), Directory: a.command.directory, Seed: spec.GetSeed(), Inputs: <-in.hashed, Spec: spec,
		DisplayName: name,
	}
	for at, input := range origin.Inputs {
		if input.Sha256 == "" {
			continue
		}
		before := in.before[at]
		after, err := os.Stat(jobflags.ResolvePath(a.command.directory, input.Path))
		if err != nil || before == nil || !os.SameFile(before, after) || before.Size() != after.Size() ||
			!before.ModTime().Equal(after.ModTime()) {
			input.Sha256, input.Bytes = "", 0
			a.warn("%s changed during the run, so it is not recorded what the run read, and cleave rerun cannot "+
				"repeat it", input.Path)
		}
	}
	for _, argument := range a.command.arguments {
		origin.Command = append(origin.Command, redact.Text(argument))
	}
	return origin
}
