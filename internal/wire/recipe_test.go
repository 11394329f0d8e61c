package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"reflect"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/fault"
)

func TestRecipesSurviveTheWire(t *testing.T) {
	for _, missing := range recipe.MissingMethods() {
		want := &recipe.Recipe{ID: "id", Label: "class", Missing: recipe.Missing(missing), Decimals: ",",
			Features: []recipe.Feature{
				{Column: "height", Fill: 2.5, Donors: []float64{1, 0}, DonorGaps: []uint32{1}, Unit: 3,
					Absent: []float64{-999}, AbsentTexts: true},
				{Column: "color", Categories: []string{"blue", "other", "red"}, FillCategory: "red", Other: "other"},
				{Column: "when", Dates: "dmy"},
			}, TotalColumn: "name", TotalSums: true}
		if got := Recipe(RecipeProto(want)); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v", got)
		}
		options := recipe.Options{ID: "1", Label: "class", Ignore: []string{"a"}, Only: []string{"b", "c"},
			Categorical: []string{"b"}, Missing: recipe.Missing(missing), Decimals: ".",
			Keep: []string{"d"}, Dates: true, KeepLastRow: true}
		if got := RecipeOptions(TablePointsProto(options)); !reflect.DeepEqual(got, options) {
			t.Errorf("got %+v", got)
		}
	}
	if Recipe(nil) != nil || RecipeProto(nil) != nil {
		t.Error("no recipe became one")
	}
	if got := missingPolicies.write(RecipeOptions(&cleavev1.TablePoints{}).Missing); got != 0 {
		t.Errorf("what is left open became %v", got)
	}
}

// receivingTables keeps the table of an upload.
type receivingTables struct {
	cleavev1.UnimplementedTableServiceServer
	got   *table.Table
	parts int
}

func (r *receivingTables) CreateTable(
	stream grpc.ClientStreamingServer[cleavev1.CreateTableRequest, cleavev1.CreateTableResponse],
) error {
	u := NewTableUpload(1 << 30)
	err := Receive(stream.Recv, func(part *cleavev1.CreateTableRequest) error {
		r.parts++
		return u.Add(part)
	})
	if err != nil {
		return Status(err)
	}
	if r.got, err = u.Finish(); err != nil {
		return Status(err)
	}
	return stream.SendAndClose(&cleavev1.CreateTableResponse{Table: TableProto(r.got)})
}

// A table that is sent in batches arrives as the table of all of them, and what goes wrong with a batch is said as it
// is.
func TestBatches(t *testing.T) {
	listener := dial.ListenPipe(dial.PipeAddr{})
	server := grpc.NewServer()
	service := &receivingTables{}
	cleavev1.RegisterTableServiceServer(server, service)
	go server.Serve(listener) //nolint:errcheck // it ends with Stop
	defer server.Stop()
	conn, err := grpc.NewClient("passthrough:///test", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.Dial(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	whole := table.Column{Name: "x", Type: table.Number}
	names := table.Column{Name: "name", Type: table.Text, Empty: make([]bool, 0)}
	batch := 0
	next := func() (*table.Table, error) {
		if batch++; batch > 4 {
			return nil, io.EOF
		}
		few := []table.Column{{Name: "x", Type: table.Number, Numbers: []float64{float64(batch), 0.5}},
			{Name: "name", Type: table.Text, Texts: []string{"a", "b"}}}
		if batch == 3 {
			few[1].Empty = []bool{false, true}
		}
		whole.Numbers = append(whole.Numbers, few[0].Numbers...)
		names.Texts = append(names.Texts, few[1].Texts...)
		names.Empty = append(names.Empty, false, batch == 3)
		return table.New(few)
	}
	stored, err := SendBatches(t.Context(), cleavev1.NewTableServiceClient(conn), "some", next)
	if err != nil {
		t.Fatal(err)
	}
	want, err := table.New([]table.Column{whole, names})
	if err != nil {
		t.Fatal(err)
	}
	if stored.GetRows() != 8 || service.got.ID() != want.ID() || service.parts != 5 {
		t.Errorf("%d parts: %+v", service.parts, service.got)
	}
	broken := fault.Invalid("BAD_CELL", "line 7 is no number")
	if _, err := SendBatches(t.Context(), cleavev1.NewTableServiceClient(conn), "some", func() (*table.Table, error) {
		return nil, broken
	}); !errors.Is(err, broken) && !fault.Is(err, "BAD_CELL") {
		t.Errorf("got %v", err)
	}
}
