package wire

import (
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/catalog"
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
			values := o.Values
			switch o.Type {
			case catalog.Number:
				values = append([]string{"0.5"}, values...)
			case catalog.Whole:
				values = []string{"7"}
			case catalog.Switch:
				values = []string{"true"}
			}
			for _, value := range values {
				p := &cleavev1.JobSpec{}
				SetAlgorithm(p, a)
				SetOption(p, o, value)
				got, given := Request(p, 0).Values[o.Name]
				if absent := value == "auto" && (o.Name == "rho" || o.Name == "storage"); given == absent || given && got != value {
					t.Errorf("%s: %s %s is read as %q, %t", a.Name, o.Name, value, got, given)
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
			if sub := field.Message(); sub != nil && !field.IsList() && (field.Name() == "kernel" || field.Name() == "eigenvectors") {
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
