package cli

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/security/credentials"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/test/testscale"
)

// forgetful takes tables, keeps nothing of them, and looks at the memory of this process meanwhile.
type forgetful struct {
	cleavev1.UnimplementedTableServiceServer
	parts, rows int
	most        uint64 // bytes in use
}

func (f *forgetful) CreateTable(
	stream grpc.ClientStreamingServer[cleavev1.CreateTableRequest, cleavev1.CreateTableResponse],
) error {
	for {
		part, err := stream.Recv()
		if err != nil {
			return stream.SendAndClose(&cleavev1.CreateTableResponse{
				Table: &cleavev1.Table{TableId: "t", Rows: uint32(f.rows)}})
		}
		for _, c := range part.GetRows().GetColumns()[:min(1, len(part.GetRows().GetColumns()))] {
			f.rows += len(c.GetTexts().GetValues())
		}
		if f.parts++; f.parts%4 == 0 {
			var memory runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&memory)
			f.most = max(f.most, memory.HeapAlloc)
		}
	}
}

// lines is a table of so many rows, made as it is read.
type lines struct {
	rows, at int
	left     string
}

func (l *lines) Read(into []byte) (int, error) {
	if l.left == "" {
		switch {
		case l.at == l.rows:
			return 0, io.EOF
		case l.at == 0:
			l.left = "customer,group,x,y,z,u,v,w\n"
		}
		class := ""
		if l.at%7 == 0 {
			class = fmt.Sprintf("class %d", l.at%3)
		}
		l.left += fmt.Sprintf("customer %d,%s,%d.25,%d.5,%d.125,0.%d,3.%d,-1.%d\n", l.at, class, l.at%91, l.at%73,
			l.at%37, l.at, l.at, l.at)
		l.at++
	}
	n := copy(into, l.left)
	l.left = l.left[n:]
	return n, nil
}

// What the command line holds of a table on its way to a coordinator does not grow with the table, but for 4 bytes a
// row that has a class.
func TestStreamedTablesTakeConstantMemory(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	taken := &forgetful{}
	server := grpc.NewServer()
	cleavev1.RegisterTableServiceServer(server, taken)
	go server.Serve(listener) //nolint:errcheck // it ends with Stop
	defer server.Stop()
	c, err := client.Connect(listener.Addr().String(), credentials.Dial{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	stream := func(rows int) uint64 {
		t.Helper()
		*taken = forgetful{}
		set := pflag.NewFlagSet("run", pflag.ContinueOnError)
		f := jobflags.Add(set, &lines{rows: rows})
		if err := set.Parse(strings.Fields("--data - --k 3 --label-column group --format csv")); err != nil {
			t.Fatal(err)
		}
		f.MayStream = true
		j, err := f.Prepare(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var notices strings.Builder
		a := &app{stderr: &notices}
		submitted, err := a.submissionOf(t.Context(), c, j, client.Silent{})
		if err != nil || submitted.spec.GetTable().GetTableId() != "t" || submitted.job.Points != rows {
			t.Fatalf("%d rows arrived: %v", rows, err)
		}
		if strings.Count(notices.String(), "\n") != 1 || submitted.job.Spec.GetSupervision().GetSeeds() == nil {
			t.Errorf("%s, %v", &notices, submitted.job.Spec)
		}
		_, _, err = j.Stream.Read(func(func() (*table.Table, error)) error { return nil })
		if err == nil || !strings.Contains(err.Error(), os.ErrClosed.Error()) {
			t.Errorf("the copy of standard input is not released: %v", err)
		}
		return taken.most
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // each thread parses some blocks at a time
	// the larger table has 25 MB, or 50 in a long run, and twice as much in memory
	const allowed = 32 << 20
	rows := testscale.Count(37_500, 75_000)
	few := stream(rows)
	many := stream(8 * rows)
	if many > few+allowed {
		t.Errorf("%d rows took %d KiB, %d rows %d KiB", rows, few>>10, 8*rows, many>>10)
	}
}
