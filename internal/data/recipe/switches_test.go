package recipe

import (
	"slices"
	"strings"
	"testing"
)

// Yes and no are one column, whatever they are called, and so they are in new rows.
func TestYesAndNo(t *testing.T) {
	x := numbers("x", 1, 2, 3, 5)
	for name, c := range map[string]struct {
		cells []string
		names string
		want  []float64
	}{
		"yes":  {[]string{"yes", "no", "no", "yes"}, "a=yes x", []float64{1, 0, 0, 1}},
		"TRUE": {[]string{"FALSE", "TRUE", "FALSE", "FALSE"}, "a=TRUE x", []float64{0, 1, 0, 0}},
		"Y":    {[]string{"Y", "N", "N", "N"}, "a=Y x", []float64{1, 0, 0, 0}},
	} {
		r, notices, err := Fit(made(t, words("a", c.cells...), x), Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p, err := r.Apply(made(t, words("a", c.cells...), x))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []float64
		for row := range p.Points.N {
			got = append(got, p.Points.Row(row)[0])
		}
		if strings.Join(p.Names, " ") != c.names || !slices.Equal(got, c.want) || p.Points.D != 2 {
			t.Errorf("%s: got %v with %v", name, p.Names, got)
		}
		if said := strings.Join(notices, "\n"); name == "yes" && !strings.Contains(said, `column "a" says "yes" or "no": read as 1 or 0`) {
			t.Errorf("%s: %s", name, said)
		}
	}
	r, _, err := Fit(made(t, words("a", "yes", "no", "no", "yes"), x), Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Apply(made(t, words("a", "perhaps", "yes"), numbers("x", 1, 2)))
	if err != nil || p.Points.Row(0)[0] != 0 || p.Points.Row(1)[0] != 1 || len(p.Notices) != 1 {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestDates(t *testing.T) {
	for _, c := range []struct {
		cells []string
		dates bool
	}{
		{[]string{"2024-05-01", "", "2024-12-31"}, true},
		{[]string{"2024-05-01 10:30", "2024-05-01T10:30:15.5Z", "2024-05-01 10:30:15+02:00"}, true},
		{[]string{"1.5.2024", "31.12.24"}, true},
		{[]string{"5/1/2024 3:04 PM"}, true},
		{[]string{"2024-05-01", "soon"}, false},
		{[]string{"1.5", "192.168.1.10"}, false},
		{[]string{"", ""}, false},
	} {
		column := words("when", c.cells...)
		if got := holdsDates(&column); got != c.dates {
			t.Errorf("%v: got %v", c.cells, got)
		}
	}
	sizes := words("size", "1 kg", "2.5 kg", "12 kg", "7 kg")
	if r, notices, err := Fit(made(t, sizes, numbers("x", 1, 2, 3, 5)), Options{}); err != nil || r.ID != "" || !strings.Contains(strings.Join(notices, "\n"), `such as "1 kg"`) {
		t.Errorf("got %+v, %v, %v", r, notices, err)
	}
	// They are not features, except as categories; if no other column can be the row id, they are.
	x, id := numbers("x", 1, 2, 3, 5), words("id", "a", "b", "c", "d")
	when := words("when", "2024-05-01", "2024-05-02", "2024-05-02", "2024-05-01")
	r, notices, err := Fit(made(t, id, when, x), Options{})
	if err != nil || strings.Join(r.Names(), " ") != "x" || !strings.Contains(strings.Join(notices, "\n"), `column "when" is left out: it holds dates`) {
		t.Errorf("got %+v, %v, %v", r, notices, err)
	}
	if r, _, err = Fit(made(t, id, when, x), Options{Categorical: []string{"when"}}); err != nil || len(r.Names()) != 3 {
		t.Errorf("got %+v, %v", r, err)
	}
	if r, _, err = Fit(made(t, words("day", "2024-05-01", "2024-05-02", "2024-05-03", "2024-05-04"), x), Options{}); err != nil || r.ID != "day" {
		t.Errorf("got %+v, %v", r, err)
	}
}
