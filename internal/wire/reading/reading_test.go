package reading

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/csv"
)

func TestOptionsSurviveTheWire(t *testing.T) {
	for _, o := range []csv.Options{
		{},
		{Format: "csv", Delimiter: ';', Header: "yes", Decimals: ",", Texts: []string{"a", "2"}, Ignore: []string{"b"},
			Only: []string{"c"}},
		{Format: "parquet", Header: "no"},
		{Delimiter: '\t'},
	} {
		encoded, err := proto.Marshal(Proto(o))
		if err != nil {
			t.Fatal(err)
		}
		p := &cleavev1.TableReading{}
		if err := proto.Unmarshal(encoded, p); err != nil {
			t.Fatal(err)
		}
		if got, err := Options(p); err != nil || !reflect.DeepEqual(got, o) {
			t.Errorf("%+v becomes %+v, %v", o, got, err)
		}
	}
	if got := Proto(csv.Options{Header: "auto", Texts: []string{"", "a", ""}}); got.Header != nil ||
		len(got.GetTextColumns()) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestBadOptions(t *testing.T) {
	for _, p := range []*cleavev1.TableReading{{Format: "npy"}, {Delimiter: "::"}, {Delimiter: "\n"}, {Delimiter: "é"},
		{Decimals: "x"}} {
		if o, err := Options(p); !fault.Is(err, "BAD_READING") {
			t.Errorf("%v becomes %+v, %v", p, o, err)
		}
	}
	if o, err := Options(nil); err != nil || !reflect.DeepEqual(o, csv.Options{}) {
		t.Errorf("nothing becomes %+v, %v", o, err)
	}
}
