package screen

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	table := Table{Header: []string{"JOB", "NAME", "STATE"}}
	table.Add("0199a1b2-aaaa-bbbb", "moons", "RUNNING")
	table.Add("0199a1b3-aaaa-bbbb", "", "FAILED")
	for _, c := range []struct {
		width int
		want  string
	}{
		{0, "JOB                 NAME   STATE\n0199a1b2-aaaa-bbbb  moons  RUNNING\n0199a1b3-aaaa-bbbb         " +
			"FAILED\n"},
		{34, "JOB                 NAME   STATE\n0199a1b2-aaaa-bbbb  moons  RUNNING\n0199a1b3-aaaa-bbbb         " +
			"FAILED\n"},
		{30, "JOB       NAME   STATE\n0199a1b2  moons  RUNNING\n0199a1b3         FAILED\n"},
		{20, "job    0199a1b2-aaaa-bbbb\nname   moons\nstate  RUNNING\n\njob    0199a1b3-aaaa-bbbb\nstate  FAILED\n"},
	} {
		var out strings.Builder
		if err := table.Write(&out, c.width); err != nil || out.String() != c.want {
			t.Errorf("in %d columns: %v\n%s", c.width, err, out.String())
		}
	}
	table.Add("0199a1b2-aaaa-bbbc", "blobs", "PENDING") // ids differ at the end only
	var out strings.Builder
	if err := table.Write(&out, 30); err != nil || !strings.Contains(out.String(), "job    0199a1b2-aaaa-bbbc") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// A long name is cut before the table becomes paragraphs, but not before ids are.
func TestLongNamesAreCut(t *testing.T) {
	table := Table{Header: []string{"JOB", "NAME", "STATE"}}
	table.Add("0199a1b2-aaaa-bbbb", strings.Repeat("é", 57), "RUNNING")
	table.Add("0199a1b3-aaaa-bbbb", "moons", "FAILED")
	for width, want := range map[int]string{
		76: "0199a1b2  " + strings.Repeat("é", 57) + "  RUNNING\n0199a1b3  moons",
		75: "0199a1b2  " + strings.Repeat("é", 55) + "…  RUNNING\n0199a1b3  moons",
		27: "0199a1b2  " + strings.Repeat("é", 7) + "…  RUNNING\n0199a1b3  moons     FAILED\n",
		26: "job    0199a1b2-aaaa-bbbb\nname   é",
	} {
		var out strings.Builder
		if err := table.Write(&out, width); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("in %d columns: %v\n%s", width, err, out.String())
		}
	}
}

// Nobody adds rows to the lists of others, nor steers their screens.
func TestNamesStayInTheirCells(t *testing.T) {
	table := Table{Header: []string{"JOB", "NAME"}}
	table.Add("1", "evil\n2  good\x1b[31m\u202e \u00fcber")
	for _, width := range []int{0, 12} {
		var out strings.Builder
		if err := table.Write(&out, width); err != nil || strings.ContainsAny(out.String(), "\x1b\u202e") ||
			!strings.Contains(out.String(), `evil\n2`) || !strings.Contains(out.String(), "\u00fcber") {
			t.Errorf("%v\n%q", err, out.String())
		}
	}
}
