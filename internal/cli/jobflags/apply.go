package jobflags

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// apply applies the flags that were given to the spec of a job on data of a kind. It reads no files.
func (f *Flags) apply(j *Job, kind dataset.Kind) error {
	spec := j.Spec
	if err := f.setAlgorithm(j, kind); err != nil {
		return err
	}
	a := wire.Algorithm(spec)
	f.forget(spec)
	for _, o := range catalog.Options {
		if flag := f.options[o.Name]; f.Given(o.Name) && o.Type != catalog.File {
			option, _ := catalog.FindOption(o.Name, a)
			wire.SetOption(spec, option, flag.text)
		}
	}
	if f.Given("timeout") {
		j.Scheduling.TimeLimit = durationpb.New(time.Duration(f.timeout))
	}
	if f.Given("verify") {
		j.Scheduling.Verify = new(f.verify.Number())
	}
	if f.Given("webhook") {
		j.Scheduling.WebhookUrl = f.webhook
	}
	if f.Given("priority") {
		j.Scheduling.Priority = cleavev1.Priority(cleavev1.Priority_value["PRIORITY_"+strings.ToUpper(f.urgency.text)])
	}
	if err := f.applyK(spec); err != nil {
		return err
	}
	if f.Given("name") || j.Name == "" {
		j.Name = f.displayName()
	}
	return nil
}

// setAlgorithm sets the algorithm of the spec: the one that a flag or the job file names, or else the one that fits the
// other options.
func (f *Flags) setAlgorithm(j *Job, kind dataset.Kind) error {
	if f.Given("algorithm") {
		a, _ := catalog.FindAlgorithm(f.options["algorithm"].text)
		wire.SetAlgorithm(j.Spec, a) // clears options in the job file for another algorithm
		return nil
	}
	if j.Spec.Algorithm != nil {
		return nil
	}
	a, because, refusal := f.request(j.Spec, kind).ChooseAlgorithm()
	if refusal != nil {
		return shell.Usage("%s", refusal.Text(shell.FlagName))
	}
	wire.SetAlgorithm(j.Spec, a)
	if len(because) > 0 {
		j.Chosen = fmt.Sprintf("using %s because of --%s; --algorithm selects another", a.Name, strings.Join(because, " and --"))
	}
	return nil
}

// forget clears what a job file sets for values that flags replace: the parameters of another kernel, and the input of
// another start.
func (f *Flags) forget(spec *cleavev1.JobSpec) {
	if kernel := wire.KernelOf(spec); kernel != nil && f.Given("kernel") && wire.EnumWord(kernel.GetFunction()) != f.options["kernel"].text {
		proto.Reset(kernel)
	}
	if start := spec.GetInitialization(); start != nil && f.Given("init") {
		start.Labels, start.Centroids = nil, nil
	}
}

// check checks the spec by the rules of the service. It accepts options that are given with their only possible value.
func (f *Flags) check(spec *cleavev1.JobSpec, kind dataset.Kind) error {
	if refusal := f.request(spec, kind).Check(); refusal != nil {
		return shell.Usage("%s", refusal.Text(shell.FlagName))
	}
	return nil
}

// request returns what the spec and the flags ask for, including tables that are not read yet and options without a field.
func (f *Flags) request(spec *cleavev1.JobSpec, kind dataset.Kind) catalog.Request {
	request := wire.Request(spec, kind)
	for name, flag := range f.options {
		if f.Given(name) && name != "algorithm" {
			request.Values[name] = flag.text
		}
	}
	if start := f.options["init"]; start.path != "" {
		request.Values["initial-"+start.text] = "given"
	}
	f.supervise(request)
	return request
}

// cutRange splits a range of k, 2..10 or 2-10. last is empty for a single number.
func cutRange(text string) (first, last string) {
	for _, between := range []string{"..", "-"} {
		if first, last, found := strings.Cut(text, between); found && first != "" && last != "" {
			return first, last
		}
	}
	return text, ""
}

// applyK sets a range of --k. A single number was set with the other options. Without --k, the number of classes in the
// label column is used once it is known.
func (f *Flags) applyK(spec *cleavev1.JobSpec) error {
	if flag := f.options["k"]; f.Given("k") && flag.last != "" {
		last, _ := strconv.ParseUint(flag.last, 10, 32) // Set has checked it
		spec.Clusters = &cleavev1.JobSpec_KRange{KRange: &cleavev1.KRange{Min: uint32(flag.Uint64()), Max: uint32(last)}}
	}
	hasClasses := f.IsTable() && f.Given("label-column") && !f.Given("seeds") && f.options["init"].path == ""
	switch {
	case spec.GetClusters() == nil && !hasClasses:
		return shell.Usage("the number of clusters is missing; give --k N, or a range such as --k 2..10")
	case spec.GetKRange() != nil && f.options["init"].path != "":
		return shell.Usage("--init %s has one number of clusters; it does not go with a range of --k", f.options["init"].text)
	}
	return nil
}

// beginRange raises the beginning of a range of k to the number of classes, if that is in it: each class needs a cluster.
func (j *Job) beginRange(classes int) {
	j.Notices = append(j.Notices, wire.BeginRange(j.Spec, classes)...)
}

// checkClasses refuses more classes than clusters, after beginRange.
func (j *Job) checkClasses() error {
	j.beginRange(len(j.classes.Names))
	return j.classes.Check(int(max(j.Spec.GetK(), j.Spec.GetKRange().GetMax())))
}

// firstK returns the number of clusters of a spec, or the first of its range.
func firstK(spec *cleavev1.JobSpec) uint32 {
	if r := spec.GetKRange(); r != nil {
		return r.GetMin()
	}
	return spec.GetK()
}
