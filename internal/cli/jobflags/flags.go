// Package jobflags has the flags that describe a job, which come from the catalog, and makes a JobSpec and a
// data set of them and of the files they name.
package jobflags

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Flags are the flags that describe a job: what is clustered and how. run, submit and plan share them.
type Flags struct {
	DataFlags
	options map[string]*OptionFlag // those of the catalog, by name
	labelAs *OptionFlag
	sample  *OptionFlag
	file    string
	name    string
	timeout shell.Duration
	urgency *OptionFlag
	verify  *OptionFlag

	streamFrom *OptionFlag // in bytes

	// TruthFile is the file of true labels, for commands that have one.
	TruthFile string
}

// Add declares the flags. A flag that is not given leaves its field of the JobSpec unset, so that defaults
// are the service's own.
func Add(set *pflag.FlagSet) *Flags {
	f := &Flags{DataFlags: newDataFlags(set), options: map[string]*OptionFlag{}}
	f.inputFlags.add(set, &f.data, "cluster the points in this `FILE`, which may also be a folder of parts, or - for standard input (tables: "+suffixes(format.TableSuffixes())+
		"; arrays: .npy, .npz, .mtx; sparse: "+suffixes(format.SparseSuffixes())+"; also compressed by gzip or zstd); several make one table")
	f.tableFlags.add(set)
	f.labelAs, f.sample = NewChoice("auto", wire.LabelUses()...), NewWhole(0, 1, math.MaxInt32)
	set.Var(f.labelAs, "label-as", "what the classes of --label-column are: to start from and to keep, pairs to respect, or the truth to score against (auto: the truth if all are known, else seeds)")
	set.Var(f.sample, "sample-constraints", "draw so many constraints from --truth or --label-column, by --seed")
	set.StringVar(&f.graph, "graph", "", "cluster the vertices of the graph in this `FILE` ("+suffixes(format.GraphSuffixes())+"; also .gz, .zst)")
	f.addGraphFlags(set)
	set.StringVar(&f.kernelMatrix, "kernel-matrix", "", "cluster by the kernel matrix in this `FILE` ("+suffixes(format.KernelSuffixes())+"; also .gz, .zst)")
	for _, o := range catalog.Options {
		if o.NoFlag {
			continue
		}
		flag := &OptionFlag{option: o}
		f.options[o.Name] = flag
		declared := set.VarPF(flag, o.Name, "", flag.usage())
		if o.Type == catalog.Switch {
			declared.NoOptDefVal = "true"
		}
	}
	set.StringVarP(&f.file, "file", "f", "", "job `FILE` in YAML or JSON with the fields of the API's JobSpec, and of display_name, priority, time_limit and verify; flags override it")
	set.Var(&f.timeout, "timeout", "end the job, with the labels so far, when it has taken this long since its turn came, such as 10m")
	f.urgency = NewChoice("normal", "low", "normal", "high")
	set.Var(f.urgency, "priority", "low: after your other jobs; high: before all others, for administrators")
	f.verify = &OptionFlag{option: catalog.Option{Type: catalog.Number, Max: 1}}
	set.Var(f.verify, "verify", "share of the work that a second worker does too, such as 0.01: a worker whose answers are wrong is found (default: the coordinator's --verify)")
	f.addStreamFlags(set)
	set.StringVar(&f.name, "name", "", "a name for people (default: the data file's)")
	return f
}

func suffixes(list []string) string { return strings.Join(list, ", ") }

// Constrained tells whether a file of constraints was given, if perhaps one without any.
func (f *Flags) Constrained() bool { return f.Given("constraints") }

// path is the file that an option names, "" when it is not given.
func (f *Flags) path(option string) string { return f.options[option].text }

// displayName is the name of the job and its data: the one given, or that of the data file. File names may
// be any bytes, but the API takes only valid UTF-8.
func (f *Flags) displayName() string {
	name := f.name
	for _, path := range []string{f.data, f.graph, f.kernelMatrix} {
		if name == "" && path != "" {
			name = baseName(path)
		}
	}
	return strings.ToValidUTF8(name, "?")
}

// jobFile is what a job file says: a spec, and beside it the name and the scheduling of the job.
type jobFile struct {
	spec       *cleavev1.JobSpec
	name       string
	scheduling *cleavev1.Scheduling
}

// readJobFile reads a job from YAML or JSON with the field names of the API.
func readJobFile(path string) (jobFile, error) {
	job := jobFile{spec: &cleavev1.JobSpec{}, scheduling: &cleavev1.Scheduling{}}
	if path == "" {
		return job, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return job, fault.Invalid("FILE_NOT_READABLE", "%s: the job file cannot be read: %v", path, shell.WithoutPath(err))
	}
	document, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return job, fault.Invalid("BAD_JOB_FILE", "%s: %v", path, err)
	}
	if strings.TrimSpace(string(document)) == "null" {
		return job, nil
	}
	if err := job.unmarshal(document); err != nil {
		return job, fault.Invalid("BAD_JOB_FILE", "%s: this is no job: %s", path, strings.TrimPrefix(err.Error(), "proto: "))
	}
	return job, nil
}

// unmarshal reads the fields of the spec, the name and the scheduling from one JSON object.
func (j *jobFile) unmarshal(document []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(document, &fields); err != nil {
		return protojson.Unmarshal(document, j.spec) // which says what is wrong
	}
	scheduling := map[string]json.RawMessage{}
	for name, value := range fields {
		switch name {
		case "display_name", "displayName":
			if err := json.Unmarshal(value, &j.name); err != nil {
				return fmt.Errorf("invalid value for string field display_name: %s", value)
			}
		case "priority", "verify", "time_limit", "timeLimit":
			scheduling[name] = value
		default:
			continue
		}
		delete(fields, name)
	}
	for _, part := range []struct {
		fields  map[string]json.RawMessage
		message proto.Message
	}{{scheduling, j.scheduling}, {fields, j.spec}} {
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
