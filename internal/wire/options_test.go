package wire

import (
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/fault"
)

// Every option of every algorithm has a field, and what is written there is read again: no option of the
// catalog is without its place in the API.
func TestEveryOptionHasItsField(t *testing.T) {
	for _, a := range catalog.Algorithms {
		for _, o := range catalog.Options {
			if !a.Takes(o.Name) || o.Field == "" || o.Type == catalog.File {
				continue
			}
			o, _ = catalog.FindOption(o.Name, a)
			for _, value := range valuesOf(o) {
				p := &cleavev1.JobSpec{}
				SetAlgorithm(p, a)
				SetOption(p, o, value)
				got, given := Request(p, 0).Values[o.Name]
				if absent := value == "auto" && (o.Name == "rho" || o.Name == "storage"); given == absent ||
					given && got != value {
					t.Errorf("%s: %s %s is read as %q, %t", a.Name, o.Name, value, got, given)
				}
			}
		}
	}
}

// valuesOf are values of an option that is not a table, each of which means something else.
func valuesOf(o catalog.Option) []string {
	switch o.Type {
	case catalog.Number:
		return append([]string{"0.5"}, o.Values...)
	case catalog.Whole, catalog.Range:
		return []string{"7"}
	case catalog.Switch:
		return []string{"true"}
	}
	return o.Values
}

// What is asked for reaches the algorithm: every value of every option makes another specification than leaving the
// option out, unless it is the default.
func TestEveryOptionReachesItsAlgorithm(t *testing.T) {
	for _, a := range catalog.Algorithms {
		plain := &cleavev1.JobSpec{}
		SetAlgorithm(plain, a)
		absent, err := Spec(plain, &recipe.Rows{Count: 10}, nil)
		if err != nil || absent.Algorithm.Name() != a.Name {
			t.Errorf("%s is read as %s, %v", a.Name, absent.Algorithm.Name(), err)
		}
		for _, o := range catalog.Options {
			// which is about workers
			if !a.Takes(o.Name) || o.Field == "" || o.Type == catalog.File || o.Name == "storage" {
				continue
			}
			o, _ = catalog.FindOption(o.Name, a)
			for _, value := range valuesOf(o) {
				p := proto.CloneOf(plain)
				SetOption(p, o, value)
				if got, err := Spec(p, &recipe.Rows{Count: 10}, nil); err != nil ||
					reflect.DeepEqual(got, absent) && !strings.HasPrefix(o.Default, value) {
					t.Errorf("%s: %s %s makes no difference, %v", a.Name, o.Name, value, err)
				}
			}
		}
	}
}

// Every field of an algorithm's message is an option of that algorithm.
func TestEveryFieldIsAnOption(t *testing.T) {
	spec := (&cleavev1.JobSpec{}).ProtoReflect().Descriptor()
	members := spec.Oneofs().ByName("algorithm").Fields()
	if members.Len() != len(catalog.Algorithms) {
		t.Errorf("the API has %d algorithms, the catalog %d", members.Len(), len(catalog.Algorithms))
	}
	var check func(path string, m protoreflect.MessageDescriptor)
	check = func(path string, m protoreflect.MessageDescriptor) {
		for at := range m.Fields().Len() {
			field := m.Fields().Get(at)
			name := path + "." + string(field.Name())
			if sub := field.Message(); sub != nil && !field.IsList() &&
				(field.Name() == "kernel" || field.Name() == "eigenvectors") {
				check(name, sub)
				continue
			}
			if _, known := catalog.OptionAt(name); !known && field.Name() != "transfer" {
				t.Errorf("%s is no option of the catalog", name)
			}
		}
	}
	for at := range members.Len() {
		check("spec."+string(members.Get(at).Name()), members.Get(at).Message())
	}
}

// A job that names no algorithm gets one by its options and data; one whose algorithm is of another version is
// refused.
func TestChooseAlgorithm(t *testing.T) {
	for _, c := range []struct {
		text string
		kind dataset.Kind
		want string
	}{
		{`{"k": 2, "restarts": 3}`, dataset.KindGraph, "auto"},
		{`{"k": 2, "pcKmeans": {}}`, dataset.KindPoints, "pc-kmeans"},
		{`{"k": 2, "storage": "STORAGE_MODE_NONE"}`, dataset.KindPoints, "kernel-kmeans"},
		{`{"k": 2, "initialization": {"start": "START_RANDOM"}}`, dataset.KindPoints, "kernel-kmeans"},
		{`{"k": 2, "initialization": {"start": "START_WEIGHTED_FARTHEST_FIRST"}}`, dataset.KindSparsePoints,
			"pc-kmeans"},
	} {
		p := parse(t, c.text)
		if err := ChooseAlgorithm(p, c.kind); err != nil || Algorithm(p).Name != c.want {
			t.Errorf("%s: %s, %v", c.text, Algorithm(p).Name, err)
		}
	}
	p := parse(t, `{"initialization": {"start": "START_NEIGHBORHOODS"}, "storage": "STORAGE_MODE_NONE"}`)
	if err := ChooseAlgorithm(p, 0); !fault.Is(err, "OPTION_DOES_NOT_APPLY") || p.GetAlgorithm() != nil {
		t.Errorf("got %v", err)
	}
	newer := &cleavev1.JobSpec{}
	newer.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 4000, protowire.VarintType), 1))
	if err := ChooseAlgorithm(newer, 0); !fault.Is(err, "UNKNOWN_ALGORITHM") {
		t.Errorf("got %v", err)
	}
}
