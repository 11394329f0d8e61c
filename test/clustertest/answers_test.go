package clustertest

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/test/testscale"
)

// answersFile has a line for each job: its name, its options, and its recorded answer.
const answersFile = "testdata/answers.txt"

// recordAnswers, set to anything in the environment, records the answers of this build.
const recordAnswers = "CLEAVE_RECORD_ANSWERS"

// TestTheAnswersOfEveryAlgorithm runs jobs over all algorithms, kernels, objectives, starts and ways of
// storing, and compares every bit of what they write with what was recorded.
func TestTheAnswersOfEveryAlgorithm(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	makeAnswerData(t, dir)
	text, err := os.ReadFile(answersFile)
	must(t, text, err)
	var recorded bytes.Buffer
	lines := bufio.NewScanner(bytes.NewReader(text))
	every := testscale.Count(4, 1)
	revision := fmt.Sprintf("# revision %d", clustering.Revision)
	kept := strings.Contains(string(text), revision+"\n") // the answers are those of this revision
	if !kept && os.Getenv(recordAnswers) == "" {
		t.Errorf("the answers are not those of revision %d; record them", clustering.Revision)
	}
	if os.Getenv(recordAnswers) != "" {
		every = 1
	}
	for at := 0; lines.Scan(); at++ {
		if strings.HasPrefix(lines.Text(), "# revision ") {
			fmt.Fprintln(&recorded, revision)
			continue
		}
		if strings.HasPrefix(lines.Text(), "#") {
			fmt.Fprintln(&recorded, lines.Text())
			continue
		}
		if at%every != 0 {
			continue
		}
		name, rest, _ := strings.Cut(lines.Text(), ": ")
		options, want, _ := strings.Cut(rest, " => ")
		got := answer(t, dir, name, strings.Fields(options))
		fmt.Fprintf(&recorded, "%s: %s => %s\n", name, options, got)
		switch recording := os.Getenv(recordAnswers) != ""; {
		case got == want:
		case !recording:
			t.Errorf("%s: cleave run %s\nanswers  %s\nrecorded %s", name, options, got, want)
		case kept && want != "":
			t.Fatalf("%s: the answer changes from %s to %s: increase clustering.Revision, so that no job that is "+
				"running during an upgrade mixes both", name, want, got)
		}
	}
	if os.Getenv(recordAnswers) != "" {
		if err := os.WriteFile(answersFile, recorded.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// answer runs a job and returns its objective, with all digits, and a hash of the files that it wrote.
func answer(t *testing.T, dir, name string, options []string) string {
	t.Helper()
	out := filepath.Join(dir, "out", name)
	ran := CleaveIn(t, dir, append([]string{"run", "--quiet", "--out", out}, options...)...)
	if ran.ExitCode != 0 {
		t.Fatalf("%s: cleave run %v ends with exit code %d: %s", name, options, ran.ExitCode, ran.Stderr)
	}
	text, err := os.ReadFile(filepath.Join(out, "result.json"))
	must(t, text, err)
	var result struct {
		Objective  float64 `json:"objective"`
		Iterations int     `json:"iterations"`
	}
	if err := json.Unmarshal(text, &result); err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	for _, file := range []string{"labels.csv", "centroids.csv", "metric.csv", "units.csv", "mixture.csv",
		"landmarks.csv", "projection.csv", "forest.csv", "embedding.csv"} {
		if text, err := os.ReadFile(filepath.Join(out, file)); err == nil {
			if file == "labels.csv" {
				text = withoutScores(text)
			}
			fmt.Fprintf(hash, "%s %d\n%s", file, len(text), text)
		}
	}
	return fmt.Sprintf("%d iterations, objective %v, files %.8x", result.Iterations, result.Objective, hash.Sum(nil))
}

// withoutScores are the labels of labels.csv, without what is said of each beside.
func withoutScores(table []byte) []byte {
	var labels bytes.Buffer
	for line := range bytes.Lines(table) {
		cells := bytes.SplitN(bytes.TrimSuffix(line, []byte("\n")), []byte(","), 3)
		fmt.Fprintf(&labels, "%s,%s\n", cells[0], cells[1])
	}
	return labels.Bytes()
}

// makeAnswerData makes the data sets that the jobs name.
func makeAnswerData(t *testing.T, dir string) {
	t.Helper()
	for _, command := range []string{
		"two-circles --n 200 --constraints 50 --seed 1 --out circles",
		"two-moons --n 300 --noise 0.1 --background 60 --constraints 30 --seed 2 --out moons",
		"gaussians --n 300 --d 4 --k 3 --noise 3 --constraints 100 --seed 1 --out blobs",
		"gaussians --n 2600 --d 5 --k 6 --noise 4 --constraints 300 --seed 4 --out many",
		"blocks --n 300 --k 3 --constraints 300 --seed 1 --out blocks",
		"blocks --n 3000 --k 4 --constraints 600 --seed 5 --out vertices",
	} {
		if ran := CleaveIn(t, dir, append([]string{"generate"}, strings.Fields(command)...)...); ran.ExitCode != 0 {
			t.Fatalf("cleave generate %s ends with exit code %d: %s", command, ran.ExitCode, ran.Stderr)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rng := random(7)
	var words, matrix, weights, seeds, uncertain, known, start, centroids, beliefs, positive, pieces strings.Builder
	topics := "i,j,kind\n"
	for i := range 150 { // counts of 40 words, of which every topic has ten of its own
		fmt.Fprintf(&words, "%d", i%3)
		for word := range 40 {
			if often := word%4 == i%3 || word%4 == 3; often && rng.IntN(3) == 0 || rng.IntN(20) == 0 {
				fmt.Fprintf(&words, " %d:%d", word+1, 1+rng.IntN(4))
			}
		}
		fmt.Fprintf(&words, " 41:1\n")
		if i%5 == 0 {
			topics += fmt.Sprintf("%d,%d,cannot\n", i, (i+31)%150)
			topics += fmt.Sprintf("%d,%d,must\n", i, (i+63)%150)
		}
	}
	position := make([]float64, 80) // two groups on a line, and the exponentials of their distances
	for i := range position {
		position[i] = rng.NormFloat64() + float64(i%2)*3
	}
	for i := range position {
		for j := range position {
			separator := ","
			if j == 0 {
				separator = ""
			}
			fmt.Fprintf(&matrix, "%s%.6f", separator, math.Exp(-math.Abs(position[i]-position[j])))
		}
		matrix.WriteString("\n")
	}
	weights.WriteString("index,weight\n")
	start.WriteString("index,label\n")
	seeds.WriteString("index,label\n0,0\n1,1\n2,2\n3,0\n4,1\n9,0\n")
	uncertain.WriteString("index,label,probability\n0,0,0.7\n0,1,0.3\n1,1,1\n2,2,0.5\n2,0,0.5\n5,2,0.9\n")
	known.WriteString("index,label\n")
	centroids.WriteString("1,2,3,4\n-1,0,5,-2\n0,0,0,1\n")
	beliefs.WriteString("i,j,belief\n")
	for i := range 300 {
		fmt.Fprintf(&weights, "%d,%.3f\n", i, 0.5+rng.Float64())
		fmt.Fprintf(&start, "%d,%d\n", i, rng.IntN(3))
		fmt.Fprintf(&positive, "%.4f,%.4f,%.4f\n", rng.ExpFloat64()+float64(i%3), rng.ExpFloat64(),
			rng.ExpFloat64()+float64(i%2))
		if i%7 == 0 {
			fmt.Fprintf(&known, "%d,%d\n", i, i%3)
		}
		if i%3 == 0 {
			fmt.Fprintf(&beliefs, "%d,%d,%.3f\n", i, (i+1+rng.IntN(250))%300, rng.Float64()*2-1)
		}
	}
	pieces.WriteString("src,dst,weight\n") // two circles with chords, a small piece, a loop, and vertices without edges
	for i := range 120 {
		first := i / 60 * 60
		fmt.Fprintf(&pieces, "%d,%d,1e-200\n%d,%d,%.3fe-200\n", i, first+(i+1)%60, i, first+(i*i+7)%60, rng.Float64())
	}
	pieces.WriteString("3,77,1e-201\n120,121,1e-200\n125,125,1e-200\n130,131,0\n")
	write("pieces.csv", pieces.String())
	write("words.svm", words.String())
	write("topics.csv", topics)
	write("matrix.csv", matrix.String())
	write("weights.csv", weights.String())
	write("seeds.csv", seeds.String())
	write("uncertain.csv", uncertain.String())
	write("known.csv", known.String())
	write("start.csv", start.String())
	write("centroids.csv", centroids.String())
	write("beliefs.csv", beliefs.String())
	write("positive.csv", positive.String())
}
