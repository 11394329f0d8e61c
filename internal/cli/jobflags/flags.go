// Package jobflags declares the flags that describe a job, most of which come from the catalog, and turns them and the
// files that they name into a JobSpec and a data set.
package jobflags

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"sigs.k8s.io/yaml"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/internal/wire/supervision"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Flags are the flags that describe a job, shared by run, submit and plan.
type Flags struct {
	DataFlags
	options           map[string]*OptionFlag // those of the catalog, by name
	labelAs           *shell.Value           // a wire.LabelUse
	sampleConstraints *shell.Value           // how many
	jobFile           string                 // a path; flags override its fields
	givenName         string                 // --name
	timeout           shell.Duration
	priority          *shell.Value
	webhook           string

	streamFrom *shell.Value // in bytes
}

// Add declares the flags. A flag that is not given leaves its field of the JobSpec unset, so that the service's
// default applies. stdin is read for the path "-".
func Add(set *pflag.FlagSet, stdin io.Reader) *Flags {
	f := &Flags{DataFlags: newDataFlags(set, stdin), options: map[string]*OptionFlag{}}
	f.input.add(set, "the rows to cluster: a `FILE` with a table ("+suffixes(format.TableSuffixes())+
		"), an array (.npy, .npz, .mtx) or sparse rows ("+suffixes(format.SparseSuffixes())+
		"), also .gz or .zst; or a folder, objects in a store (s3://...), or - for standard input; repeatable")
	f.table.add(set)
	f.labelAs = shell.NewChoice("auto", wire.LabelUses()...).Declare(set, "label-as",
		"how to use the classes of --label-column: as seeds, as constraints, or as the truth to score against (auto: "+
			"the truth if all rows have a class, else seeds)")
	f.sampleConstraints = shell.NewWhole(0, 1, math.MaxInt32).Declare(set, "sample-constraints",
		"sample this many constraints from --truth or --label-column, with --seed")
	set.StringVar(&f.graph, "graph", "",
		"cluster the vertices of the graph in this `FILE` ("+suffixes(format.GraphSuffixes())+"; also .gz, .zst)")
	MarkStdin(set, "graph")
	f.addGraphFlags(set)
	set.StringVar(&f.kernelMatrix, "kernel-matrix", "",
		"cluster by the kernel matrix in this `FILE` ("+suffixes(format.KernelSuffixes())+"; also .gz, .zst)")
	MarkStdin(set, "kernel-matrix")
	for _, o := range catalog.Options {
		if o.NoFlag {
			continue
		}
		flag := &OptionFlag{Value: shell.Value{Option: o}}
		f.options[o.Name] = flag
		declared := set.VarPF(flag, o.Name, "", flag.usage())
		if o.Type == catalog.Switch {
			declared.NoOptDefVal = "true"
		}
	}
	for _, small := range []string{"constraints", "seeds", "weights"} {
		MarkStdin(set, small)
	}
	set.StringVarP(&f.jobFile, "file", "f", "",
		"job `FILE` in YAML or JSON with the fields of JobSpec and Scheduling, and display_name; flags override it")
	MarkInput(set, "file")
	set.Var(&f.timeout, "timeout", "end the job, keeping the labels so far, after this time, such as 10m; time in "+
		"the queue does not count")
	f.priority = shell.NewChoice("normal", "low", "normal", "high").Declare(set, "priority",
		"low: after your other jobs; high: before all others, for administrators")
	set.StringVar(&f.webhook, "webhook", "",
		"`URL` that gets a signed notification when the job has ended; the operator of the coordinator must "+
			"allow its host")
	f.addStreamFlags(set)
	set.StringVar(&f.givenName, "name", "", "display name of the job (default: the name of the data file)")
	return f
}

func suffixes(list []string) string { return strings.Join(list, ", ") }

// truthFile returns the file of true labels, or "" if it is not given or the command has no --truth.
func (f *Flags) truthFile() string {
	if flag := f.set.Lookup("truth"); flag != nil {
		return flag.Value.String()
	}
	return ""
}

// path returns the file that an option names, or "" if the option is not given.
func (f *Flags) path(option string) string { return f.options[option].Text }

// displayName returns the name of the job: the one given, or that of the data file as valid UTF-8, which the API
// requires.
func (f *Flags) displayName() string {
	return strings.ToValidUTF8(cmp.Or(f.givenName, f.Name()), "?")
}

// readJobFile reads the spec, the name and the scheduling of a job from YAML or JSON with the field names of the API.
// It returns an empty request if path is "".
func readJobFile(path string) (*Request, error) {
	request := &Request{Spec: &cleavev1.JobSpec{}, Scheduling: &cleavev1.Scheduling{}}
	if path == "" {
		return request, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return request, fault.Invalid("FILE_NOT_READABLE", "%s: the job file cannot be read: %v", path,
			shell.WithoutPath(err))
	}
	document, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return request, fault.Invalid("BAD_JOB_FILE", "%s: %v", path, err)
	}
	if strings.TrimSpace(string(document)) == "null" {
		return request, nil
	}
	if err := request.unmarshal(document); err != nil {
		message := err.Error()
		if _, problem, found := strings.Cut(message, "): "); found && strings.HasPrefix(message, "proto:") {
			message = problem // without the line, which is one of the JSON
		}
		return request, fault.Invalid("BAD_JOB_FILE", "%s: this is not a job: %s", path,
			strings.TrimPrefix(message, "proto: "))
	}
	return request, nil
}

// unmarshal reads the fields of the spec, the name and the scheduling from one JSON object.
func (r *Request) unmarshal(document []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(document, &fields); err != nil {
		return protojson.Unmarshal(document, r.Spec) // for its error message
	}
	scheduling := map[string]json.RawMessage{}
	known := r.Scheduling.ProtoReflect().Descriptor().Fields()
	for name, value := range fields {
		switch {
		case name == "display_name" || name == "displayName":
			if err := json.Unmarshal(value, &r.Name); err != nil {
				return fmt.Errorf("invalid value for string field display_name: %s", value)
			}
		case known.ByJSONName(name) != nil || known.ByTextName(name) != nil:
			scheduling[name] = value
		default:
			continue
		}
		delete(fields, name)
	}
	for _, part := range []struct {
		fields  map[string]json.RawMessage
		message proto.Message
	}{{scheduling, r.Scheduling}, {fields, r.Spec}} {
		text, err := json.Marshal(part.fields)
		if err == nil {
			err = protojson.Unmarshal(text, part.message)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// apply applies the flags that were given to the spec of a job on data of a kind, and checks the result by the rules of
// the service. It accepts options that are given with their only possible value, and reads no files.
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
			wire.SetOption(spec, option, flag.Text)
		}
	}
	if f.Given("timeout") {
		j.Scheduling.TimeLimit = durationpb.New(time.Duration(f.timeout))
	}
	if f.Given("webhook") {
		j.Scheduling.WebhookUrl = f.webhook
	}
	if f.Given("priority") {
		j.Scheduling.Priority = cleavev1.Priority(cleavev1.Priority_value["PRIORITY_"+strings.ToUpper(f.priority.Text)])
	}
	if err := f.applyK(spec); err != nil {
		return err
	}
	if f.Given("name") || j.Name == "" {
		j.Name = f.displayName()
	}
	return usageOf(f.request(spec, kind).Check())
}

// usageOf converts a *catalog.Misuse to an error about flags. It returns other errors unchanged.
func usageOf(err error) error {
	if misuse, is := errors.AsType[*catalog.Misuse](err); is {
		return shell.Usage("%s", misuse.Text(shell.FlagName))
	}
	return err
}

// setAlgorithm sets the algorithm of the spec: the one that a flag or the job file names, or else the one that fits
// the other options.
func (f *Flags) setAlgorithm(j *Job, kind dataset.Kind) error {
	if f.Given("algorithm") {
		a, _ := catalog.FindAlgorithm(f.options["algorithm"].Text)
		wire.SetAlgorithm(j.Spec, a) // clears options in the job file for another algorithm
		return nil
	}
	if j.Spec.Algorithm != nil {
		return nil
	}
	a, because, err := f.request(j.Spec, kind).ChooseAlgorithm()
	if err != nil {
		return usageOf(err)
	}
	wire.SetAlgorithm(j.Spec, a)
	if len(because) > 0 {
		j.Chosen = fmt.Sprintf("using %s because of --%s; --algorithm selects another", a.Name,
			strings.Join(because, " and --"))
	}
	return nil
}

// forget clears what a job file sets for values that flags replace: the parameters of another kernel, and the input of
// another start.
func (f *Flags) forget(spec *cleavev1.JobSpec) {
	if kernel := wire.KernelOf(spec); kernel != nil && f.Given("kernel") &&
		wire.EnumWord(kernel.GetFunction()) != f.options["kernel"].Text {
		proto.Reset(kernel)
	}
	if start := spec.GetInitialization(); start != nil && f.Given("init") {
		start.Labels, start.Centroids = nil, nil
	}
}

// request returns what the spec and the flags ask for, including tables that are not read yet and options without a
// field.
func (f *Flags) request(spec *cleavev1.JobSpec, kind dataset.Kind) catalog.Request {
	request := wire.Request(spec, kind)
	for name, flag := range f.options {
		if f.Given(name) && name != "algorithm" {
			request.Values[name] = flag.Text
		}
	}
	if start := f.options["init"]; start.path != "" {
		request.Values["initial-"+start.Text] = "given"
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

// applyK sets a range of --k. A single number was set with the other options. Without --k, the number of classes in
// the label column is used once it is known.
func (f *Flags) applyK(spec *cleavev1.JobSpec) error {
	if flag := f.options["k"]; f.Given("k") && flag.last != "" {
		last, _ := strconv.ParseUint(flag.last, 10, 32) // Set has checked it
		spec.Clusters = &cleavev1.JobSpec_KRange{KRange: &cleavev1.KRange{Min: uint32(flag.Uint64()),
			Max: uint32(last)}}
	}
	hasClasses := f.IsTable() && f.Given("label-column") && !f.Given("seeds") && f.options["init"].path == ""
	switch {
	case spec.GetClusters() == nil && !hasClasses:
		return shell.Usage("the number of clusters is missing; give --k N, or a range such as --k 2..10")
	case spec.GetKRange() != nil && f.options["init"].path != "":
		return shell.Usage("--init %s has one number of clusters; it cannot be combined with a range of --k",
			f.options["init"].Text)
	}
	return nil
}

// beginRange raises the beginning of a range of k to the number of classes, if that is in it: each class needs a
// cluster.
func (j *Job) beginRange(classes int) {
	j.Notices = append(j.Notices, supervision.BeginRange(j.Spec, classes)...)
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

// OptionFlag is a pflag.Value for an option of the catalog. Its text is "" if the flag is not given.
type OptionFlag struct {
	shell.Value
	path string // the file of a start, such as labels:FILE
	last string // the last number of a range
}

// fromFile lists the starts that name a file.
var fromFile = []string{"labels", "centroids"}

// String implements pflag.Value.
func (f *OptionFlag) String() string {
	if f.last != "" {
		return f.Text + ".." + f.last
	}
	return f.Text
}

// Set implements pflag.Value.
func (f *OptionFlag) Set(given string) error {
	value, path, last := given, "", ""
	switch f.Option.Type {
	case catalog.Range:
		value, last = cutRange(given)
	case catalog.Start:
		var found bool
		value, path, found = strings.Cut(given, ":")
		if found != slices.Contains(fromFile, value) || found && path == "" {
			return fmt.Errorf("use %s", text.Or(f.Words()))
		}
	}
	parsed, err := f.Option.Parse(value)
	if err == nil && last != "" {
		last, err = f.Option.Parse(last)
	}
	if err != nil {
		return err
	}
	f.Text, f.path, f.last = parsed, path, last
	return nil
}

// Words implements shell.Chosen.
func (f *OptionFlag) Words() []string {
	words := f.Value.Words()
	for at, word := range words {
		if f.Option.Type == catalog.Start && slices.Contains(fromFile, word) {
			words[at] += ":FILE"
		}
	}
	return words
}

// usage returns the line of help.
func (f *OptionFlag) usage() string {
	help := f.Option.About()
	if f.Option.Type == catalog.Start || f.Option.Name == "algorithm" {
		help += ": " + text.Or(f.Words())
	}
	if f.Option.Default != "" {
		help += " (default " + f.Option.Default + ")"
	}
	return help
}
