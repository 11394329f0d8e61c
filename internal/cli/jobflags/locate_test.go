package jobflags

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
)

// Messages of the service have the names of rows and columns, also where rows were dropped.
func TestMessagesHaveNames(t *testing.T) {
	ids := table.NewIDs([]string{"anna", "ben", "carl", "dora"})
	all := &Rows{IDs: ids, Header: []string{"age", "income"}}
	dropped := &Rows{IDs: ids, Filter: &RowFilter{Kept: []int32{0, 2, 3}}}
	links := text.Message{text.Plain("5-5 (must) "), text.Link(0, 1, true), text.Plain(", "), text.Link(1, 2, false),
		text.Plain(" (2 of 9)")}
	for _, c := range []struct {
		rows    *Rows
		message text.Message
		want    string
	}{
		{all, links, "5-5 (must) anna and ben (must), ben and carl (cannot) (2 of 9)"},
		{all, constraint.Conflict{Pair: constraint.Pair{I: 0, J: 2}, Path: []int32{0, 1, 2}}.Message(),
			"points anna and carl cannot be together, but must-links join them: anna = ben = carl"},
		{all, text.Message{text.Plain("column "), text.Column(1), text.Plain(" has 99%% of the variance")},
			`column "income" has 99% of the variance`},
		{all, text.Message{text.Plain("column "), text.Column(7), text.Plain(" has 99%% of the variance")},
			"column 7 has 99% of the variance"},
		{all, nil, "as it is: column 1, 0-1 (must)"},
		{dropped, links, "5-5 (must) anna and carl (must), carl and dora (cannot) (2 of 9)"},
		{&Rows{Filter: dropped.Filter}, links, "5-5 (must) 0-2 (must), 2-3 (cannot) (2 of 9)"},
		{&Rows{}, links, "5-5 (must) 0-1 (must), 1-2 (cannot) (2 of 9)"},
	} {
		notice := wire.NoticeProto(clustering.NewNotice("CODE", c.message...))
		if c.message == nil {
			notice.Message = c.want
		}
		if got := c.rows.Localize(notice); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		choice := &cleavev1.Choice{Reason: notice.GetMessage(), ReasonParts: notice.GetParts()}
		result := &cleavev1.Result{Warnings: []*cleavev1.Notice{notice}, Choice: choice}
		received := proto.CloneOf(result)
		twice := c.rows.LocalizeResult(c.rows.LocalizeResult(result))
		if !proto.Equal(result, received) {
			t.Errorf("LocalizeResult has changed the result that it was given to %v", result)
		}
		if n := twice.GetWarnings()[0]; n.GetMessage() != c.want || n.GetParts() != nil {
			t.Errorf("localized twice, the message is %q in the parts %v", n.GetMessage(), n.GetParts())
		}
		if why := twice.GetChoice(); why.GetReason() != c.want || why.GetReasonParts() != nil {
			t.Errorf("localized twice, the reason is %q in the parts %v", why.GetReason(), why.GetReasonParts())
		}
	}
}

// Classes have names also if a class between them has no seed: all its rows were dropped.
func TestNameSeedsOfSomeClasses(t *testing.T) {
	classes := NameSeeds(3, []constraint.Seed{{Index: 1, Label: 2}, {Index: 0, Label: 0}}, nil, func(row int) string {
		return []string{"a", "c"}[row]
	})
	if got := classes.Of([]int32{2, 1, 0}); !slices.Equal(got, []string{"", "c", "a"}) {
		t.Errorf("the clusters are named %q", got)
	}
}

// A header that differs is refused by the first column that does, wherever it is.
func TestCheckHeader(t *testing.T) {
	want := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
	other := slices.Clone(want)
	other[8] = "x"
	for _, c := range []struct {
		header []string
		fails  string
	}{
		{want, ""},
		{nil, ""},
		{other, `p.csv: column 9 is "x", but the model has "i" there; the columns must be the same in the same order`},
		{want[:9], "p.csv: the file has 9 columns, but the model has 10; the columns must be the same in " +
			"the same order"},
	} {
		if err := CheckHeader("p.csv", c.header, "model", want); c.fails == "" && err != nil ||
			c.fails != "" && (err == nil || err.Error() != c.fails) {
			t.Errorf("%v: got %v, want %q", c.header, err, c.fails)
		}
	}
}
