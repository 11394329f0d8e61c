package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/test/clitest"
	"github.com/cleave-project/cleave/test/clusteringtest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Wrong constraints are listed by the ids of their rows, on the terminal, in suspects.csv, on the page and in the
// explanation.
func TestWrongConstraintsAreListed(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate gaussians --n 120 --d 3 --k 3 --noise 0.5 --constraints 60 --seed 1 --out g")
	name := func(row string) string { return "r" + row }
	var data, right, wrong strings.Builder
	for at, line := range strings.Split(strings.TrimSpace(clitest.Read(t, "g/data.csv")), "\n") {
		id := "id"
		if at > 0 {
			id = name(fmt.Sprint(at - 1))
		}
		fmt.Fprintf(&data, "%s,%s\n", id, line)
	}
	var flipped []string
	for at, line := range strings.Split(strings.TrimSpace(clitest.Read(t, "g/constraints.csv")), "\n") {
		if at == 0 {
			fmt.Fprintln(&right, "i,j,kind")
			fmt.Fprintln(&wrong, "i,j,kind")
			continue
		}
		cells := strings.Split(line, ",")
		fmt.Fprintf(&right, "%s,%s,%s\n", name(cells[0]), name(cells[1]), cells[2])
		if at == 2 || at == 8 {
			cells[2] = map[string]string{"must": "cannot", "cannot": "must"}[cells[2]]
			flipped = append(flipped, fmt.Sprintf("%s,%s,%s,,", name(cells[0]), name(cells[1]), cells[2]))
		}
		fmt.Fprintf(&wrong, "%s,%s,%s\n", name(cells[0]), name(cells[1]), cells[2])
	}
	clitest.Write(t, "d.csv", data.String())
	clitest.Write(t, "right.csv", right.String())
	clitest.Write(t, "wrong.csv", wrong.String())

	r := invoke(t, "run --data d.csv --k 3 --constraints wrong.csv --enforce always --out o")
	if r.code != 0 || !strings.Contains(r.stdout, "suspects     2 of 60 constraints, the clearest r") ||
		!strings.Contains(r.stdout, "; all in suspects.csv") ||
		!strings.Contains(r.stdout, "o: labels.csv suspects.csv") {
		t.Errorf("exit code %d:\n%s%s", r.code, r.stdout, r.stderr)
	}
	if strings.Contains(r.stdout+r.stderr, "no good method") {
		t.Errorf("the same is said in another style:\n%s%s", r.stdout, r.stderr)
	}
	listed := clitest.Read(t, "o/suspects.csv")
	if strings.Count(listed, "\n") != 3 || !strings.HasPrefix(listed, "row,other,kind,label,strength\n") {
		t.Errorf("suspects.csv is\n%s", listed)
	}
	for _, pair := range flipped {
		if !strings.Contains(listed, "\n"+pair) {
			t.Errorf("%s is missing:\n%s", pair, listed)
		}
	}
	if d := readResult(t, clitest.Read(t, "o/result.json")); len(d.GetSuspects()) != 2 ||
		d.GetConstraints().GetSatisfied() != d.GetConstraints().GetTotal() {
		t.Errorf("the result has the suspects %v and the constraints %v", d.GetSuspects(), d.GetConstraints())
	}
	first := strings.Split(flipped[0], ",")
	for where, text := range map[string]string{"page": clitest.Read(t, "o/report.html"),
		"explanation": strings.Join(strings.Fields(succeed(t, "explain o")), " ")} {
		if !strings.Contains(text, "What the data contradicts") || !strings.Contains(text, first[0]) ||
			!strings.Contains(strings.ReplaceAll(text, "</code>", ""), "--enforce never") {
			t.Errorf("the %s does not tell of %v:\n%.3000s", where, first, text)
		}
	}
	r = invoke(t, "run --quiet --data d.csv --k 3 --constraints wrong.csv --out q")
	if r.code != 0 || !strings.Contains(r.stdout, "suspects     2 of 60 constraints") {
		t.Errorf("exit code %d:\n%s%s", r.code, r.stdout, r.stderr)
	}
	if said := succeed(t, "run --data d.csv --k 3 --constraints right.csv --out o"); strings.Contains(said,
		"suspects") {
		t.Errorf("correct constraints are suspects:\n%s", said)
	}
	if _, err := os.Stat("o/suspects.csv"); !os.IsNotExist(err) {
		t.Errorf("suspects.csv of the earlier run is still there: %v", err)
	}
}

// A classifier that was fitted to known rows is a model: it labels the rows of the run nearly as the run did, which
// also looked at their neighbors, and a wrong seed is a suspect by the name of its class.
func TestARunByAClassifier(t *testing.T) {
	t.Chdir(t.TempDir())
	rng := clusteringtest.NewRand(5)
	const rows, columns, wrong = 200, 12, 150
	var data, seeds strings.Builder
	fmt.Fprintln(&data, "id,a,b,c,d,e,f,g,h,i,j,k,l")
	fmt.Fprintln(&seeds, "index,label")
	known := map[string]bool{}
	for row := range rows {
		fmt.Fprintf(&data, "p%d", row)
		sum := 0.0
		for column := range columns {
			v := rng.NormFloat64()
			if row == wrong && column < 4 {
				v = 2
			}
			if column < 4 {
				sum += v
			}
			fmt.Fprintf(&data, ",%.6f", v)
		}
		fmt.Fprintln(&data)
		if row%2 == 0 {
			class := map[bool]string{true: "up", false: "down"}[(sum > 0) != (row == wrong)]
			fmt.Fprintf(&seeds, "p%d,%s\n", row, class)
			known[fmt.Sprintf("p%d", row)] = true
		}
	}
	clitest.Write(t, "d.csv", data.String())
	clitest.Write(t, "s.csv", seeds.String())
	job := "--quiet --data d.csv --k 2 --seeds s.csv --enforce always"
	succeed(t, "run "+job+" --out o")
	d := readResult(t, clitest.Read(t, "o/result.json"))
	if d.GetChoice().GetChosen().GetConstraintUse() != cleavev1.ConstraintUse_CONSTRAINT_USE_DISCRIMINANT ||
		d.GetModel().GetLandmarks().GetColumns() != columns || d.GetLandmarks() != nil {
		t.Fatalf("the choice is %v, the model %v", d.GetChoice(), d.GetModel())
	}
	if listed := clitest.Read(t, "o/suspects.csv"); !strings.Contains(listed, fmt.Sprintf("\np%d,,seed,down,", wrong)) {
		t.Errorf("the wrong seed is missing:\n%s", listed)
	}
	centroids := strings.Split(clitest.Read(t, "o/centroids.csv"), "\n")
	if centroids[0] != "a,b,c,d,e,f,g,h,i,j,k,l" || len(centroids) != 4 ||
		strings.Count(centroids[1], ",") != columns-1 {
		t.Errorf("centroids.csv has no means of the columns:\n%s", strings.Join(centroids, "\n"))
	}
	labels := labelsByID(clitest.Read(t, "o/labels.csv"))
	address := startServe(t, "--workers 2 --data-dir state")
	submitted := invoke(t, "submit --wait "+job+" --server "+address)
	if !strings.Contains(submitted.stderr, fmt.Sprintf("p%d, ", wrong)) {
		t.Errorf("the suspect is not named by its id: %s", submitted.stderr)
	}
	id := strings.TrimSpace(submitted.stdout)
	for _, how := range []string{"--model o", "--job " + id + " --server " + address} {
		predicted := labelsByID(succeed(t, "predict --data d.csv "+how))
		same := 0
		for row, label := range predicted {
			if !known[row] && labels[row] == label {
				same++
			}
		}
		if len(predicted) != rows || same < 9*(rows-len(known))/10 {
			t.Errorf("predict %s: %d of %d unknown rows have the label of the run, of %d rows", how, same,
				rows-len(known), len(predicted))
		}
	}
	table := strings.Split(strings.TrimSpace(data.String()), "\n")
	table[0] += ",kind"
	classes := labelsByID(seeds.String())
	for row := range rows {
		table[row+1] += "," + classes[fmt.Sprintf("p%d", row)]
	}
	clitest.Write(t, "c.csv", strings.Join(table, "\n")+"\n")
	id = strings.TrimSpace(succeed(t,
		"submit --wait --quiet --data c.csv --k 2 --label-column kind --enforce always --server "+address))
	if says, want := succeed(t, "explain "+id+" --server "+address), fmt.Sprintf("p%d (down, ",
		wrong); !strings.Contains(strings.Join(strings.Fields(says), " "), want) {
		t.Errorf("the job does not name the class of its suspect, %q:\n%s", want, says)
	}
	for _, again := range []string{"rerun --quiet o", "run " + job + " --out o"} { // also into the same folder
		succeed(t, again)
	}
	succeed(t, "report o")
	if page := clitest.Read(t, "o/report.html"); !strings.Contains(page, fmt.Sprintf("p%d", wrong)) ||
		strings.Contains(clitest.Read(t, "o/clusters.svg"), ">centroid<") {
		t.Error("the page has no suspects, or scores are drawn as centroids")
	}
}

// labelsByID are the labels of rows by their ids.
func labelsByID(text string) map[string]string {
	labels := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n")[1:] {
		cells := strings.Split(line, ",")
		labels[cells[0]] = cells[1]
	}
	return labels
}
