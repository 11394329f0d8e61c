package jobflags

import (
	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/catalog"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// apply lays the flags that were given over a spec; it reads no files.
func (f *Flags) apply(spec *cleavev1.JobSpec) error {
	if f.Given("algorithm") || spec.Algorithm == nil {
		name := catalog.DefaultAlgorithm
		if f.Given("algorithm") {
			name = f.options["algorithm"].text
		}
		a, _ := catalog.FindAlgorithm(name)
		wire.SetAlgorithm(spec, a) // options in the job file were for its own
	}
	a := wire.Algorithm(spec)
	f.forget(spec)
	for _, o := range catalog.Options {
		if flag := f.options[o.Name]; f.Given(o.Name) && o.Type != catalog.File {
			option, _ := catalog.FindOption(o.Name, a)
			wire.SetOption(spec, option, flag.text)
		}
	}
	if spec.K == 0 {
		return shell.Usage("how many clusters? Say it with --k, at least 1")
	}
	if f.Given("name") || spec.DisplayName == "" {
		spec.DisplayName = f.displayName()
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
	if f.Given("vertices") && kind != dataset.KindGraph {
		return shell.Usage("--vertices goes with --graph only")
	}
	request := wire.Request(spec, kind)
	for name, flag := range f.options { // tables that are yet to be read, and options that have no field
		if f.Given(name) && name != "algorithm" {
			request.Values[name] = flag.text
		}
	}
	if start := f.options["init"]; start.path != "" {
		request.Values["initial-"+start.text] = "given"
	}
	if refusal := request.Check(); refusal != nil {
		return shell.Usage("%s", refusal.Text(shell.FlagName))
	}
	return nil
}

// comparesDirections tells whether a job has no use for rows of zeros.
func comparesDirections(spec *cleavev1.JobSpec) bool {
	values := wire.Request(spec, 0).Values
	kernel, _ := catalog.FindKernel(values["kernel"])
	return kernel.Directional || values["geometry"] == "spherical" || values["distortion"] == "cosine"
}
