package jobflags

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/reflect/protoreflect"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// The table speaks of flags, words and algorithms that there are, and of all algorithms of the API.
func TestTheTableOfAlgorithms(t *testing.T) {
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	Add(set)
	fields := (&cleavev1.JobSpec{}).ProtoReflect().Descriptor().Oneofs().ByName("algorithm").Fields()
	if fields.Len() != len(algorithms) {
		t.Errorf("the API has %d algorithms, the table %d", fields.Len(), len(algorithms))
	}
	for at, a := range algorithms {
		spec := &cleavev1.JobSpec{}
		setAlgorithm(spec, a.name)
		if got := algorithmOf(spec); got.name != a.name || string(fields.Get(at).Name()) != strings.ReplaceAll(a.name, "-", "_") {
			t.Errorf("%s becomes %s", a.name, got.name)
		}
		for option, value := range a.implied {
			flag := set.Lookup(option)
			if flag == nil || flag.Value.Set(value) != nil || a.takes(option) {
				t.Errorf("%s implies --%s %s", a.name, option, value)
			}
		}
		for _, word := range strings.Fields(a.starts) {
			if starts[word] == cleavev1.Start_START_UNSPECIFIED {
				t.Errorf("%s starts by %s", a.name, word)
			}
		}
		// The family's own options are those that the API has fields for.
		options := optionsOf(spec).Descriptor().Fields()
		for _, option := range append(slices.Clone(vectorOptions), "max-restarts") {
			has := options.ByName(protoreflect.Name(strings.ReplaceAll(option, "-", "_"))) != nil
			if has != a.takes(option) {
				t.Errorf("%s: the API has --%s: %t, the table: %t", a.name, option, has, a.takes(option))
			}
		}
	}
	for _, option := range scopedOptions() {
		if set.Lookup(option) == nil {
			t.Errorf("the table has --%s, the command line does not", option)
		}
	}
}

func TestWordsOfOptionsComeBack(t *testing.T) {
	for _, word := range []string{"hmrf-kmeans", "cop-kmeans"} {
		spec := &cleavev1.JobSpec{}
		setAlgorithm(spec, word)
		set := pflag.NewFlagSet("run", pflag.ContinueOnError)
		f := Add(set)
		for _, option := range vectorOptions {
			if !algorithmOf(spec).takes(option) {
				continue
			}
			for _, value := range strings.Split(set.Lookup(option).Value.Type(), "|") {
				if err := set.Set(option, value); err != nil {
					t.Fatal(err)
				}
				f.applyVector(spec)
				if got := optionValue(spec, option); got != value {
					t.Errorf("--%s %s comes back as %q", option, value, got)
				}
			}
		}
	}
}
