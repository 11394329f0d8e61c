package answers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-project/cleave/test/programs"
	"github.com/cleave-project/cleave/test/testscale"
	"github.com/cleave-project/cleave/tools/measure"
)

// A study of one set asks every question once, scores the answers, and goes on where it was stopped.
func TestRun(t *testing.T) {
	var points, classes strings.Builder
	points.WriteString("x,y\n")
	for i := range 40 {
		fmt.Fprintf(&points, "%d,%d\n", 100*(i%2)+i%5, i%3)
		fmt.Fprintln(&classes, i%2)
	}
	bin, err := programs.Build("cleave")
	if err != nil {
		t.Fatal(err)
	}
	folder := folderOf(t, map[string]string{"two/data.csv": points.String(),
		"two/labels.csv": "label\n" + classes.String()})
	cfg := Config{
		Setup: measure.Setup{Parts: []string{Constraints}, Data: folder, Cleave: filepath.Join(bin, "cleave"),
			Threads: 1, Progress: t.Output()},
		Results: filepath.Join(t.TempDir(), "new", "answers.csv"), Sets: "two",
		Methods: []string{"kmeans", "pc-kmeans,restarts=2,entail", "novel"}, Numbers: []int{0, 20, half}, Seeds: 2,
		Jobs: 2, Limit: time.Minute,
	}
	for range 2 {
		if err := Run(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	list, err := Load(cfg.Results)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, a := range list {
		count[fmt.Sprintf("%s %d", a.Method, a.M)]++
		switch refused := strings.HasPrefix(a.Status, Refused+": "); {
		case a.Set != "two" || a.N != 40 || a.K != 2:
			t.Errorf("%+v", a)
		case a.Method == "novel" && (!refused || !strings.Contains(a.Status, "novel")):
			t.Errorf("an unknown algorithm: %+v", a)
		case a.Method != "novel" && (a.Status != Answered || a.ARI != 1 || a.NMI != 1):
			t.Errorf("two far clusters: %+v", a)
		}
	}
	for _, want := range []string{"kmeans 0", "pc-kmeans,restarts=2,entail 0", "pc-kmeans,restarts=2,entail 20",
		"novel 0", "novel 20"} {
		if count[want] != 2 {
			t.Errorf("%s was asked %d times, want 2", want, count[want])
		}
	}
	if len(list) != 10 {
		t.Errorf("%d answers, want 10", len(list))
	}
}

// Every peer answers for the kinds of data that it takes, where its libraries are installed.
func TestPeers(t *testing.T) {
	pythons := []string{"/usr/bin/python3"}
	if !testscale.Long || measure.FindPython(pythons) == "" {
		t.Skip("needs scikit-learn and make test-long")
	}
	var points, texts, edges, classes strings.Builder
	points.WriteString("x,y\n")
	edges.WriteString("src,dst\n")
	for i := range 40 {
		fmt.Fprintf(&points, "%d,%d\n", 100*(i%2)+i%5, 100*(i%2)+i%3)
		fmt.Fprintf(&texts, "%d %d:1 3:0.%d\n", i%2, 1+i%2, i%3)
		fmt.Fprintln(&classes, i%2)
		for j := i + 2; j < 40; j += 2 {
			fmt.Fprintf(&edges, "%d,%d\n", i, j)
		}
	}
	edges.WriteString("0,1\n")
	truth := "label\n" + classes.String()
	folder := folderOf(t, map[string]string{
		"points/data.csv": points.String(), "points/labels.csv": truth, "graph/edges.csv": edges.String(),
		"graph/labels.csv":  truth,
		"texts/a.tfidf.svm": texts.String(), "texts/a.labels.csv": truth,
	})
	cfg := Config{
		Setup: measure.Setup{Parts: []string{Constraints}, Data: folder, Pythons: pythons, Threads: 1,
			Progress: t.Output()},
		Results: filepath.Join(t.TempDir(), "answers.csv"), Methods: peerNames(), Seeds: 1, Jobs: 2,
		Limit: 10 * time.Minute,
	}
	for m, sets := range map[int]string{0: "points|graph", 20: "graph|texts-a"} { // every peer and kind of data
		cfg.Sets = sets
		cfg.Numbers = []int{m}
		if err := Run(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	for suite, sets := range map[string]string{Tables: "points", Range: "points", Labels: "points|graph|texts-a"} {
		cfg.Parts = []string{suite}
		cfg.Sets = sets
		cfg.Numbers = []int{20}
		if err := Run(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	list, err := Load(cfg.Results)
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, a := range list {
		asked[a.Method] = true
		if a.Status != Answered || a.ARI != 1 {
			t.Errorf("two far clusters: %+v", a)
		}
	}
	if len(asked) != len(peers) {
		t.Errorf("only %d of %d peers were asked", len(asked), len(peers))
	}
}

// A run that takes longer than the limit is late, and the study goes on; a longer limit gives it another chance.
func TestLimit(t *testing.T) {
	slow := filepath.Join(t.TempDir(), "slow")
	if err := os.WriteFile(slow, []byte("#!/bin/sh\nexec sleep 600\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	folder := folderOf(t, map[string]string{"two/data.csv": "x\n1\n2\n", "two/labels.csv": labels(0, 1)})
	cfg := Config{
		Setup: measure.Setup{Parts: []string{Constraints}, Data: folder, Cleave: slow, Threads: 1,
			Progress: t.Output()},
		Results: filepath.Join(t.TempDir(), "answers.csv"), Sets: "two",
		Methods: []string{Default}, Numbers: []int{0}, Seeds: 1, Limit: 10 * time.Millisecond,
	}
	for asked, limit := range []time.Duration{10 * time.Millisecond, time.Millisecond, time.Second} {
		cfg.Limit = limit
		if err := Run(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		want := max(asked, 1) // a shorter limit is no reason to ask again
		if list, err := Load(cfg.Results); err != nil || len(list) != want || list[want-1].Status != Late {
			t.Errorf("with a limit of %v: %+v, %v", limit, list, err)
		}
	}
}

func TestChosen(t *testing.T) {
	for result, want := range map[string]string{
		`{"k": 3}`: "",
		``:         "",
		`{"choice": {"chosen": {"space": "SPACE_STANDARDIZED_NEIGHBORS",
			"constraintUse": "CONSTRAINT_USE_HARD"}}}`: "standardized-neighbors hard",
		`{"choice": {"chosen": {"space": "rows", "constraintUse": "none"}}}`: "rows none",
	} {
		if got := chosen([]byte(result)); got != want {
			t.Errorf("%s: %q, want %q", result, got, want)
		}
	}
}
