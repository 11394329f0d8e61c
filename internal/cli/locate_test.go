package cli

import (
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/test/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// What cannot be clustered is named by its line and by the name of its column.
func TestPointsAreNamedByTheirLines(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"zero.csv": "id,x,y\na,1,2\nb,,3\nc,0,0\nd,4,5\n", "huge.csv": "id,x,y\na,1,2\nb,,2\nc,1,3e200\nd,5,5\n",
	})
	for _, c := range []struct{ args, want string }{
		{"--data zero.csv --geometry spherical", "the row on line 4 is all zeros"},
		{"--data huge.csv", `the row on line 4, column "y" is 3e+200; scale the data`},
		{"--data huge.csv --missing drop", `the row on line 4, column "y" is 3e+200; scale the data`},
	} {
		if r := invoke(t, "run --quiet --k 2 --algorithm kmeans "+c.args); r.code != 2 ||
			!strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: exit code %d, %s", c.args, r.code, r.stderr)
		}
	}
}

// The ids of a table that is sent while it is read are known once the job has ended. A warning that names rows waits
// for them, and is printed once; others are printed at once.
func TestWarningsAboutAStreamedTableNameItsRows(t *testing.T) {
	clitest.Folder(t, map[string]string{"p.csv": "id,x\na,1\nb,2\nc,8\nd,9\n"})
	link := &cleavev1.MessagePart{Part: &cleavev1.MessagePart_Link{Link: &cleavev1.Link{Row: 1, Other: 2}}}
	says := &cleavev1.MessagePart{Part: &cleavev1.MessagePart_Text{Text: " contradicts others"}}
	notices := func() []*cleavev1.Notice {
		return []*cleavev1.Notice{
			{Reason: "CONSTRAINTS_CONTRADICTED", Message: "1-2 (cannot) contradicts others",
				Parts: []*cleavev1.MessagePart{link, says}},
			{Reason: "FEW_CONSTRAINTS", Message: "there are few constraints"},
		}
	}
	f := startFake(t)
	f.labels = []int32{0, 0, 1, 1}
	f.ids = []string{"a", "b", "c", "d"}
	f.watch = func(_ int, _ *cleavev1.WatchJobRequest,
		stream grpc.ServerStreamingServer[cleavev1.WatchJobResponse]) error {
		for _, n := range notices() {
			if err := stream.Send(clitest.EventItem(&cleavev1.Event{What: &cleavev1.Event_Notice{Notice: n}})); err !=
				nil {
				return err
			}
		}
		return stream.Send(clitest.EndedItem())
	}
	for _, flags := range []string{"", "--json", "--quiet --out -"} {
		f.result = clitest.ExampleResult()
		f.result.Warnings = notices()
		f.result.Recipe = &cleavev1.Recipe{IdColumn: "id"}
		r := invoke(t, "run --data p.csv --k 2 --stream-from 0 --server "+f.address+" "+flags)
		if flags == "--json" {
			r.stdout = "" // the document repeats the warnings
		}
		said := r.stdout + r.stderr
		if r.code != 0 || strings.Count(said, "b and c (cannot) contradicts others") != 1 ||
			strings.Contains(said, "1-2") || strings.Count(said, "few constraints") != 1 {
			t.Errorf("%q: exit code %d:\n%s\n%s", flags, r.code, r.stdout, r.stderr)
		}
	}
}

// A warning that waits for the names of rows is printed with their numbers if the job fails: it may explain why.
func TestWarningsAboutAStreamedTableOutliveAFailure(t *testing.T) {
	clitest.Folder(t, map[string]string{"p.csv": "id,x\na,1\nb,2\nc,8\nd,9\n"})
	link := &cleavev1.MessagePart{Part: &cleavev1.MessagePart_Link{Link: &cleavev1.Link{Row: 1, Other: 2}}}
	notice := &cleavev1.Notice{Reason: "CONSTRAINTS_CONTRADICTED", Message: "1-2 (cannot)",
		Parts: []*cleavev1.MessagePart{link}}
	f := startFake(t)
	f.watch = func(_ int, _ *cleavev1.WatchJobRequest,
		stream grpc.ServerStreamingServer[cleavev1.WatchJobResponse]) error {
		for range 2 {
			if err := stream.Send(
				clitest.EventItem(&cleavev1.Event{What: &cleavev1.Event_Notice{Notice: notice}})); err != nil {
				return err
			}
		}
		return status.Error(codes.NotFound, "the job is gone")
	}
	r := invoke(t, "run --data p.csv --k 2 --stream-from 0 --server "+f.address)
	if r.code == 0 || strings.Count(r.stderr, "warning: 1-2 (cannot)") != 1 {
		t.Errorf("exit code %d:\n%s\n%s", r.code, r.stdout, r.stderr)
	}
}
