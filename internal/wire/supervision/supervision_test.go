package supervision

import (
	"strings"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"
)

func anyNumber(int64) error { return nil }

// What is made of the classes of a table, by the algorithm, by what is known, and by what the job has already.
func TestUsesOfLabels(t *testing.T) {
	auto := &cleavev1.JobSpec_Auto{Auto: &cleavev1.Auto{}}
	pairs := &cleavev1.JobSpec_PcKmeans{PcKmeans: &cleavev1.PcKmeans{}}
	kernel := &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{}}
	half := []string{"b", "", "a", "b", "", "10", "9"}
	all := []string{"b", "a"}
	given := wire.InlineTable(seedTable([]int32{0}, []int32{0}))
	for name, c := range map[string]struct {
		algorithm   any
		cells       []string
		supervision *cleavev1.Supervision
		k           uint32
		seeds       string // rows and labels, "" for none
		pairs       bool
		says, fault string
	}{
		"half known": {algorithm: auto, cells: half, seeds: "0:3 2:2 3:3 5:1 6:0",
			says: "5 labels of 4 classes for 7 rows: used as seeds"},
		"all known":         {algorithm: auto, cells: all, says: "used as truth"},
		"none known":        {algorithm: auto, cells: []string{"", ""}, fault: "NO_LABELS"},
		"no column":         {algorithm: auto},
		"takes pairs":       {algorithm: pairs, cells: half, pairs: true, says: "used as constraints"},
		"seeds are a start": {algorithm: kernel, cells: half, pairs: true, says: "5 labels become"},
		"seeds for pairs": {algorithm: pairs, cells: half,
			supervision: &cleavev1.Supervision{LabelAs: cleavev1.LabelUse_LABEL_USE_SEEDS}, pairs: true,
			says: "used as seeds"},
		"all as seeds": {algorithm: auto, cells: all,
			supervision: &cleavev1.Supervision{LabelAs: cleavev1.LabelUse_LABEL_USE_SEEDS}, seeds: "0:1 1:0",
			says: "seeds"},
		"not to be used": {algorithm: auto, cells: half,
			supervision: &cleavev1.Supervision{LabelAs: cleavev1.LabelUse_LABEL_USE_TRUTH}},
		"seeds are there": {algorithm: auto, cells: half, supervision: &cleavev1.Supervision{Seeds: given},
			seeds: "0:0"},
		"constraints as well": {algorithm: auto, cells: half,
			supervision: &cleavev1.Supervision{Seeds: given, LabelAs: cleavev1.LabelUse_LABEL_USE_AUTO}, seeds: "0:0",
			pairs: true, says: "constraints"},
		"two tables of seeds": {algorithm: auto, cells: half,
			supervision: &cleavev1.Supervision{Seeds: given, LabelAs: cleavev1.LabelUse_LABEL_USE_SEEDS},
			fault:       "LABELS_TWICE"},
		"two tables of pairs": {algorithm: pairs, cells: half,
			supervision: &cleavev1.Supervision{Constraints: given, LabelAs: cleavev1.LabelUse_LABEL_USE_CONSTRAINTS},
			fault:       "LABELS_TWICE"},
		"more classes than k": {algorithm: auto, cells: half, k: 3, fault: "TOO_MANY_CLASSES"},
		"takes neither": {algorithm: &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}}, cells: half,
			says: "used as truth"},
		"none that is told of": {algorithm: auto, cells: nil,
			supervision: &cleavev1.Supervision{LabelAs: cleavev1.LabelUse_LABEL_USE_SEEDS}},
	} {
		p := &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: max(c.k, 4*(1-min(c.k, 1)))},
			Supervision: c.supervision,
			Data:        &cleavev1.JobSpec_Table{Table: &cleavev1.TablePoints{TableId: "t", LabelColumn: "kind"}}}
		switch a := c.algorithm.(type) {
		case *cleavev1.JobSpec_Auto:
			p.Algorithm = a
		case *cleavev1.JobSpec_PcKmeans:
			p.Algorithm = a
		case *cleavev1.JobSpec_KernelKmeans:
			p.Algorithm = a
		case *cleavev1.JobSpec_Kmeans:
			p.Algorithm = a
		}
		before := p.String()
		got, notices, err := WithLabels(p, "kind", c.cells, anyNumber)
		if p.String() != before {
			t.Errorf("%s: the spec was changed", name)
		}
		if c.fault != "" {
			if !fault.Is(err, c.fault) {
				t.Errorf("%s: %v, want %s", name, err, c.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		seeds, err := wire.ReadTable(got.GetSupervision().GetSeeds(), "seeds", &recipe.Rows{Count: 7}, wire.NoTables,
			table.Seeds)
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		for _, s := range seeds {
			told = append(told, string(rune('0'+s.Index))+":"+string(rune('0'+s.Label)))
		}
		if strings.Join(told, " ") != c.seeds || (got.GetSupervision().GetConstraints() != nil) != c.pairs ||
			!strings.Contains(strings.Join(notices, "; "), c.says) || (c.says == "") != (notices == nil) {
			t.Errorf("%s: seeds %v, constraints %v, notices %v", name, told, got.GetSupervision().GetConstraints(),
				notices)
		}
	}
}

// A job without a number of clusters gets one for each class. A single class tells nothing.
func TestClustersOfClasses(t *testing.T) {
	for name, c := range map[string]struct {
		cells []string
		use   cleavev1.LabelUse
		k     uint32
	}{
		"seeds":     {[]string{"a", "", "b", "c"}, cleavev1.LabelUse_LABEL_USE_AUTO, 3},
		"truth":     {[]string{"a", "b"}, cleavev1.LabelUse_LABEL_USE_TRUTH, 2},
		"one class": {[]string{"a", "", "a"}, cleavev1.LabelUse_LABEL_USE_TRUTH, 0},
	} {
		p := &cleavev1.JobSpec{
			Algorithm:   &cleavev1.JobSpec_Auto{Auto: &cleavev1.Auto{}},
			Supervision: &cleavev1.Supervision{LabelAs: c.use},
			Data:        &cleavev1.JobSpec_Table{Table: &cleavev1.TablePoints{TableId: "t", LabelColumn: "kind"}},
		}
		got, notices, err := WithLabels(p, "kind", c.cells, anyNumber)
		if err != nil || got.GetK() != c.k || p.GetClusters() != nil {
			t.Errorf("%s: k is %d, want %d: %v, %v", name, got.GetK(), c.k, notices, err)
		}
	}
}
