package report

import "testing"

func TestRestartLog(t *testing.T) {
	for _, c := range []struct {
		name   string
		ended  [][]float64
		of     uint32
		expect string
	}{
		{"first", nil, 12, "restart 1 of 12"},
		{"minimized", [][]float64{{9, 5}, {8, 4}, {9, 6}}, 12, "restart 4 of 12, best so far 4"},
		{"maximized", [][]float64{{1, 5}, {2, 7}, {1, 6}}, 12, "restart 4 of 12, best so far 7"},
		{"total unknown", [][]float64{{9, 5}}, 0, "restart 2, best so far 5"},
		{"without iterations", [][]float64{{}}, 3, "restart 2 of 3"},
	} {
		l := restartLog{of: c.of}
		for restart, objectives := range c.ended {
			l.begin(uint32(restart))
			for _, objective := range objectives {
				l.iteration(objective)
			}
		}
		l.begin(uint32(len(c.ended)))
		if got := l.String(); got != c.expect {
			t.Errorf("%s: %q, want %q", c.name, got, c.expect)
		}
	}
}
