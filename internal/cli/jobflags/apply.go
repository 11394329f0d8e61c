package jobflags

import (
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

// apply lays the flags that were given over the spec of a job on data of a kind; it reads no files.
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

// setAlgorithm makes the spec one of the algorithm that a flag or the job file names, or else of the one that suits what
// they give.
func (f *Flags) setAlgorithm(j *Job, kind dataset.Kind) error {
	if f.Given("algorithm") {
		a, _ := catalog.FindAlgorithm(f.options["algorithm"].text)
		wire.SetAlgorithm(j.Spec, a) // options in the job file were for its own
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
		are := " is an option"
		if len(because) > 1 {
			are = " are options"
		}
		j.Chosen = "--" + strings.Join(because, " and --") + are + " of " + a.Name + ", which is used; --algorithm names another"
	}
	return nil
}

// forget drops what a job file says in connection with values that flags replace: the parameters of another
// kernel, and what another start began with.
func (f *Flags) forget(spec *cleavev1.JobSpec) {
	if kernel := wire.KernelOf(spec); kernel != nil && f.Given("kernel") && wire.EnumWord(kernel.GetFunction()) != f.options["kernel"].text {
		proto.Reset(kernel)
	}
	if start := spec.GetInitialization(); start != nil && f.Given("init") {
		start.Labels, start.Centroids = nil, nil
	}
}

// check refuses what makes no sense for data of a kind, by the rules of the service. An option that is given
// with the value that it always has is accepted.
func (f *Flags) check(spec *cleavev1.JobSpec, kind dataset.Kind) error {
	if refusal := f.request(spec, kind).Check(); refusal != nil {
		return shell.Usage("%s", refusal.Text(shell.FlagName))
	}
	return nil
}

// request is what a spec asks for, and the flags: tables that are yet to be read, and options that have no field.
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
