// Package jobflags declares the flags that describe a job, most of which come from the catalog, and turns them and the files
// that they name into a JobSpec and a data set.
package jobflags

import (
	"cmp"
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

// Flags are the flags that describe a job, shared by run, submit and plan.
type Flags struct {
	DataFlags
	options map[string]*OptionFlag // those of the catalog, by name
	labelAs *OptionFlag
	sample  *OptionFlag
	file    string
	display string // --name
	timeout shell.Duration
	urgency *OptionFlag
	verify  *OptionFlag
	webhook string

	streamFrom *OptionFlag // in bytes

	// TruthFile is the file of true labels, for commands that have --truth.
	TruthFile string
}

// Add declares the flags. A flag that is not given leaves its field of the JobSpec unset, so that the service's default
// applies.
func Add(set *pflag.FlagSet) *Flags {
	f := &Flags{DataFlags: newDataFlags(set), options: map[string]*OptionFlag{}}
	f.inputFlags.add(set, "cluster the rows or points in this `FILE`, a folder of parts, objects in a store such as s3://bucket/*.parquet, or - for standard input (tables: "+suffixes(format.TableSuffixes())+
		"; arrays: .npy, .npz, .mtx; sparse: "+suffixes(format.SparseSuffixes())+"; gzip and zstd are decompressed); may be repeated to read several files as one table")
	f.tableFlags.add(set)
	f.labelAs = NewChoice("auto", wire.LabelUses()...).Declare(set, "label-as", "how to use the classes of --label-column: as seeds, as constraints, or as the truth to score against (auto: the truth if all rows have a class, else seeds)")
	f.sample = NewWhole(0, 1, math.MaxInt32).Declare(set, "sample-constraints", "sample this many constraints from --truth or --label-column, with --seed")
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
	set.StringVarP(&f.file, "file", "f", "", "job `FILE` in YAML or JSON with the fields of JobSpec, and display_name, priority, time_limit and verify; flags override it")
	set.Var(&f.timeout, "timeout", "end the job, keeping the labels so far, after this time, such as 10m; time in the queue does not count")
	f.urgency = NewChoice("normal", "low", "normal", "high").Declare(set, "priority", "low: after your other jobs; high: before all others, for administrators")
	f.verify = &OptionFlag{option: catalog.Option{Type: catalog.Number, Max: 1}}
	set.Var(f.verify, "verify", "share of the work that a second worker repeats, such as 0.01, to find workers with wrong answers (default: the coordinator's --verify)")
	set.StringVar(&f.webhook, "webhook", "", "`URL` that gets a signed notification when the job has ended; the operator of the coordinator must allow its host")
	f.addStreamFlags(set)
	set.StringVar(&f.display, "name", "", "display name of the job (default: the name of the data file)")
	return f
}

func suffixes(list []string) string { return strings.Join(list, ", ") }

// path returns the file that an option names, or "" if the option is not given.
func (f *Flags) path(option string) string { return f.options[option].text }

// displayName returns the name of the job: the one given, or that of the data file as valid UTF-8, which the API requires.
func (f *Flags) displayName() string {
	return strings.ToValidUTF8(cmp.Or(f.display, f.Name()), "?")
}

// jobFile is the content of a job file: a spec, and the name and scheduling of the job.
type jobFile struct {
	spec       *cleavev1.JobSpec
	name       string
	scheduling *cleavev1.Scheduling
}

// readJobFile reads a job from YAML or JSON with the field names of the API. It returns an empty job if path is "".
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
		return job, fault.Invalid("BAD_JOB_FILE", "%s: this is not a job: %s", path, strings.TrimPrefix(err.Error(), "proto: "))
	}
	return job, nil
}

// unmarshal reads the fields of the spec, the name and the scheduling from one JSON object.
func (j *jobFile) unmarshal(document []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(document, &fields); err != nil {
		return protojson.Unmarshal(document, j.spec) // for its error message
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
