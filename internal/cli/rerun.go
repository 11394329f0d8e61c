package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/resultpage"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/security/redact"
	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// rerunFlags are the flags of rerun.
type rerunFlags struct {
	out    string
	server *string
	quiet  bool
}

func (a *app) rerunCommand() *cobra.Command {
	f := &rerunFlags{}
	cmd := &cobra.Command{
		Use:   "rerun DIR",
		Short: "Repeat a run from the folder that it wrote, and compare the results bit for bit",
		Args:  cobra.ArbitraryArgs,
	}
	set := cmd.Flags()
	set.StringVar(&f.out, "out", "", "write the files of the new run into this `DIR`")
	f.server = addServerFlag(set)
	set.BoolVar(&f.quiet, "quiet", false, "show no progress")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return shell.Usage("rerun takes one folder, which cleave run --out wrote")
		}
		return a.rerun(cmd.Context(), args[0], f)
	}
	return cmd
}

// recorded is a run that was read from its output folder. It is compared with another by its labels and its objective;
// scores, pictures and times are not part of the promise.
type recorded struct {
	dir    string
	result *cleavev1.Result
	run    *cleavev1.RunRecord // its origin has a command
	labels []int64             // of all rows of the data file, -1 for dropped ones
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
	before, err := loadRecorded(dir)
	if err != nil {
		return err
	}
	origin := before.run.GetOrigin()
	if now := shell.Version(); now != origin.GetVersion() {
		a.warn("the run was made by version %s, this is %s; the results may differ", origin.GetVersion(), now)
	}
	a.command = command{origin.GetCommand(), origin.GetDirectory()}
	var again *report.Report
	if origin.GetCommand()[0] == "run" {
		again, err = a.rerunCommandLine(ctx, before, f)
	} else {
		again, err = a.rerunSpec(ctx, before, f)
	}
	if err != nil {
		return err
	}
	return before.compare(a.stdout, again)
}

// loadRecorded reads what a run recorded about itself.
func loadRecorded(dir string) (*recorded, error) {
	result, run, err := report.ReadResult(dir)
	if err != nil {
		return nil, err
	}
	if len(run.GetOrigin().GetCommand()) == 0 {
		return nil, fault.Invalid("NO_ORIGIN", "%s does not record how it was made, because an earlier version of Cleave wrote it", filepath.Join(dir, report.ResultFile))
	}
	_, labels, err := format.LoadNamed(format.Input{Path: filepath.Join(dir, report.LabelsFile)}, table.Labels, 0, table.Naming{InOrder: true})
	return &recorded{dir, result, run, labels}, err
}

// rerunCommandLine runs the recorded command line again, if its files have not changed. The access flags of rerun
// replace the recorded ones, and a coordinator that it names replaces where the job ran.
func (a *app) rerunCommandLine(ctx context.Context, before *recorded, f *rerunFlags) (*report.Report, error) {
	then, cmd, run, err := a.recordedRun(before)
	if err != nil {
		return nil, err
	}
	elsewhere := *f.server != "" || a.access.context != ""
	if elsewhere {
		*run.server, cmd.Flags().Lookup("workers").Changed = *f.server, false
	}
	if elsewhere || a.access != (accessFlags{}) {
		then.access = a.access
	}
	run.output.out, run.output.saveGraph, run.output.quiet = f.out, "", f.quiet
	run.output.join = run.output.join && f.out != "" // there must be a folder to write the rows to
	run.requestID = ""                               // with it, the coordinator would return the recorded job
	d, err := then.runJob(ctx, run, false)
	if err != nil {
		return nil, err
	}
	return d.report, nil
}

// recordedRun parses the recorded command line of a run, whose files must not have changed. The app that it returns
// has the access flags of that command line.
func (a *app) recordedRun(r *recorded) (*app, *cobra.Command, *runFlags, error) {
	then, origin := *a, r.run.GetOrigin()
	then.access = accessFlags{}
	cmd, run := then.runCommand()
	parent := &cobra.Command{}
	parent.AddCommand(cmd)
	then.addAccessFlags(parent)
	if err := cmd.ParseFlags(origin.GetCommand()[1:]); err != nil {
		return nil, nil, nil, fault.Invalid("BAD_COMMAND", "%s: this version cannot parse the recorded command line: %v", r.dir, err)
	}
	if err := r.checkInputs(run.job.NamedFiles(origin.GetDirectory())); err != nil {
		return nil, nil, nil, err
	}
	run.job.ResolveFiles(origin.GetDirectory())
	return &then, cmd, run, nil
}

// rerunSpec runs the recorded spec of a submitted job again. The coordinator has the data and the tables.
func (a *app) rerunSpec(ctx context.Context, before *recorded, f *rerunFlags) (*report.Report, error) {
	c, err := a.remote(*f.server)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	progress := report.NewProgress(a.stderr, f.quiet)
	defer progress.End()
	origin := before.run.GetOrigin()
	id, err := c.Complete(ctx, &cleavev1.CreateJobRequest{Spec: origin.GetSpec(), DisplayName: origin.GetDisplayName()}, nil, progress, client.CancelJob)
	if err != nil {
		return nil, err
	}
	outcome, err := c.Fetch(ctx, id, extentFor(f.out))
	if err != nil {
		return nil, err
	}
	filter, ids := fileRows(&jobflags.Job{}, outcome)
	localizeOutcome(outcome, nil, filter, ids)
	if all := outcome.TableRows(); outcome.Kept != nil && len(before.labels) == all { // including dropped rows
		filter, ids = jobflags.FilterOf(outcome.Kept, all), nil
	}
	again := report.New(outcome, filter)
	again.RowIDs = ids.All()
	if again.Run.Origin = origin; f.out == "" {
		return again, nil
	}
	progress.End()
	scene := report.Scene{Title: origin.GetDisplayName()}
	return again, a.intoFolder(f.out, report.RunTables, nil, func(out *report.OutputDir) error {
		return out.Write(ctx, again.Files(scene, resultpage.Files(again, scene, a.warn), a.warn))
	})
}

// checkInputs refuses files that are not those of the run.
func (r *recorded) checkInputs(now []jobflags.NamedFile) error {
	var other []string
	known, directory := map[string]bool{}, r.run.GetOrigin().GetDirectory()
	for _, input := range r.run.GetOrigin().GetInputs() {
		path := jobflags.ResolvePath(directory, input.GetPath())
		known[path] = true
		if path == jobflags.StandardInput || input.GetSha256() == "" {
			other = append(other, input.GetPath()+" was not a file that can be read again")
			continue
		}
		switch hash, _, err := hashFile(path); {
		case errors.Is(err, fs.ErrNotExist):
			other = append(other, path+" is missing")
		case err != nil:
			other = append(other, fmt.Sprintf("%s cannot be read: %v", path, shell.WithoutPath(err)))
		case hash != input.GetSha256():
			other = append(other, path+" has changed")
		}
	}
	for _, file := range now {
		if path := jobflags.ResolvePath(directory, file.Path); !known[path] {
			other = append(other, path+" is new")
		}
	}
	if len(other) > 0 {
		return fault.Invalid("OTHER_INPUTS", "%s cannot be repeated, because its files are not the same: %s", r.dir, strings.Join(other, "; "))
	}
	return nil
}

// recordedFiles returns the files that a run read by a flag, and whether all of them are still what they were.
func recordedFiles(origin *cleavev1.Origin, flag string) (paths []string, unchanged bool) {
	for _, input := range origin.GetInputs() {
		if input.GetFlag() != flag {
			continue
		}
		path := jobflags.ResolvePath(origin.GetDirectory(), input.GetPath())
		if hash, _, err := hashFile(path); err != nil || hash == "" || hash != input.GetSha256() {
			return nil, false
		}
		paths = append(paths, path)
	}
	return paths, true
}

// compare reports whether another run has the same labels and objective, bit for bit.
func (r *recorded) compare(w io.Writer, again *report.Report) error {
	labels, differ := again.FileLabels(), 0
	if len(labels) != len(r.labels) {
		return fmt.Errorf("%s has %s, the new run %d", r.dir, text.Plural(len(r.labels), "label"), len(labels))
	}
	for i, label := range labels {
		if int64(label) != r.labels[i] {
			differ++
		}
	}
	was, is := r.result.GetObjective(), again.Result.GetObjective()
	if differ > 0 || math.Float64bits(was) != math.Float64bits(is) {
		return fmt.Errorf("the result differs from %s: %d of %s differ, and the objective is %v instead of %v", r.dir, differ, text.Plural(len(labels), "label"), is, was)
	}
	_, err := fmt.Fprintf(w, "identical to %s: %s, and the objective %v\n", r.dir, text.Plural(len(labels), "label"), is)
	return err
}

// command is a command line, as result.json records it. directory is "" if it is not known.
type command struct {
	arguments []string
	directory string
}

// thisCommand returns the command line of this process.
func thisCommand(arguments []string) command {
	directory, err := os.Getwd()
	if err != nil {
		directory = ""
	}
	return command{arguments, directory}
}

// beginOrigin starts to hash the files that flags name, concurrently with the run. The returned function waits for the
// hashes and returns the origin for result.json.
func (a *app) beginOrigin(f *jobflags.DataFlags) func(name string, spec *cleavev1.JobSpec) *cleavev1.Origin {
	files, directory := f.NamedFiles(a.command.directory), a.command.directory
	hashed := make(chan []*cleavev1.InputFile, 1)
	go func() {
		inputs := make([]*cleavev1.InputFile, len(files))
		for at, file := range files {
			inputs[at] = &cleavev1.InputFile{Flag: file.Flag, Path: file.Path}
			inputs[at].Sha256, inputs[at].Bytes, _ = hashFile(jobflags.ResolvePath(directory, file.Path)) // pipes have no hash
		}
		hashed <- inputs
	}()
	return func(name string, spec *cleavev1.JobSpec) *cleavev1.Origin {
		origin := &cleavev1.Origin{Version: shell.Version(), Directory: directory, Seed: spec.GetSeed(), Inputs: <-hashed, Spec: spec, DisplayName: name}
		for _, argument := range a.command.arguments {
			origin.Command = append(origin.Command, redact.Text(argument))
		}
		return origin
	}
}

// hashFile returns the SHA-256 and the size of a file, or "" if it is not a regular file.
func hashFile(path string) (hash string, bytes uint64, err error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", 0, err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer file.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	if err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(sum.Sum(nil)), uint64(size), nil
}
