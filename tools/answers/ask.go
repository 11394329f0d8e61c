package answers

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/tools/measure"
)

// question is one run of a method.
type question struct {
	suite  string
	set    *set
	method string
	m      int
	seed   int
	noise  float64
}

// batch puts peers that are asked the same into one process, because the start of Python takes longer than they do.
// Where constraints are given the time of each is of interest, and they stay alone.
func batch(questions []question) [][]question {
	var batches [][]question
	same := func(a, b question) bool {
		return a.suite != Constraints && isPeer(a.method) && isPeer(b.method) && a.set == b.set && a.m == b.m &&
			a.seed == b.seed
	}
	for _, q := range questions {
		if last := len(batches) - 1; last >= 0 && same(batches[last][0], q) {
			batches[last] = append(batches[last], q)
		} else {
			batches = append(batches, []question{q})
		}
	}
	return batches
}

// ask runs a method as a user would, in a process of its own, or several peers, and scores the answers. Only what keeps
// the study from going on is an error; a refusal is an answer.
func (s *study) ask(ctx context.Context, batch []question) ([]Answer, error) {
	folder, err := os.MkdirTemp(s.temp, "run-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	q := batch[0]
	known, err := q.writeKnown(folder)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, s.Limit)
	defer cancel()
	command := s.command(limited, batch, folder, known)
	var said bytes.Buffer
	command.Stdout = &said
	usage, err := measure.Run(command)
	seconds := usage.Seconds / float64(len(batch))
	status := Answered
	switch failure := (*measure.Failure)(nil); {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		status = Late
	case errors.As(err, &failure) && errors.As(err, new(*exec.ExitError)):
		status = Refused + ": " + failure.Said
	case err != nil:
		return nil, err
	}
	list := make([]Answer, len(batch))
	for at, q := range batch {
		a := &list[at]
		*a = Answer{
			Suite: q.suite, Set: q.set.name, Group: q.set.group, Kind: q.set.kind, N: q.set.n, K: q.set.k,
			Method: q.method, M: q.m, Noise: q.noise, Seed: q.seed, Seconds: seconds, Status: status,
		}
		if status != Answered {
			continue
		}
		labels := "labels.csv"
		if isPeer(q.method) {
			labels = q.method + ".csv"
		} else {
			a.Chosen = chosen(said.Bytes())
		}
		if err := a.score(q, filepath.Join(folder, labels)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// writeKnown writes what the question tells about the answer into a folder: constraints or seeds. It returns the file,
// or nothing.
func (q question) writeKnown(folder string) (string, error) {
	if q.m == 0 {
		return "", nil
	}
	path := filepath.Join(folder, "known.csv")
	return path, format.WriteFile(path, func(w io.Writer) error {
		if q.suite == Labels {
			return writeSeeds(w, q.set, q.set.seeds(q.m, q.seed))
		}
		return format.WriteConstraints(w, q.set.pairs(q.m, q.seed, q.noise))
	})
}

// command returns the process of a run, which writes labels.csv into the folder, or for peers a file with the name of
// each.
func (s *study) command(ctx context.Context, batch []question, folder, known string) *exec.Cmd {
	q := batch[0]
	if isPeer(q.method) {
		var names []string
		for _, q := range batch {
			names = append(names, q.method)
		}
		arguments := []string{s.script, strings.Join(names, ","), q.set.kind, q.set.file, fmt.Sprint(q.set.n),
			fmt.Sprint(q.set.k), fmt.Sprint(q.seed), folder}
		if known != "" {
			arguments = append(arguments, known)
		}
		command := exec.CommandContext(ctx, s.python, arguments...)
		command.Env = append(os.Environ(), measure.PeerThreads(s.Threads)...)
		return command
	}
	k := fmt.Sprint(q.set.k)
	if q.suite == Range {
		k = fmt.Sprintf("%d..%d", leastClusters, mostClusters)
	}
	arguments := []string{"run", "--k", k, "--seed", fmt.Sprint(q.seed), "--quiet", "--json", "--out", folder}
	if q.set.kind == catalog.Graph {
		arguments = append(arguments, "--graph", q.set.file, "--vertices", fmt.Sprint(q.set.n))
	} else {
		arguments = append(arguments, "--data", q.set.file)
	}
	switch {
	case known != "" && q.suite == Labels:
		arguments = append(arguments, "--seeds", known)
	case known != "":
		arguments = append(arguments, "--constraints", known)
	}
	command := exec.CommandContext(ctx, s.Cleave, append(arguments, flags(q.method, q.m)...)...)
	command.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", s.Threads))
	return command
}

// score compares labels with the truth, on the points whose class is known. Where labels were given it is on the
// others, and what was given is compared too.
func (a *Answer) score(q question, path string) error {
	answer, err := readAnswer(path)
	if err == nil && len(answer) != q.set.n {
		err = fmt.Errorf("it has %d labels for %d rows", len(answer), q.set.n)
	}
	if err != nil {
		return fmt.Errorf("%s on %s: %w", a.Method, a.Set, err)
	}
	rest := q.set.known
	switch q.suite {
	case Labels:
		given := q.set.seeds(q.m, q.seed)
		rest = without(rest, given)
		a.Kept, a.KeptPairs = kept(answer, q.set.classes(), given)
	case Range:
		a.Found = distinct(answer)
	}
	scores, err := evaluate.Compare(answer, q.set.truth, rest)
	a.ARI, a.NMI = scores.ARI, scores.NMI
	return err
}

// readAnswer reads the column of labels, row by row. Rows may have names, which are not of interest here.
func readAnswer(path string) ([]int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 || !slices.Contains(rows[0], "label") {
		return nil, errors.New("it has no column of labels")
	}
	at := slices.Index(rows[0], "label")
	labels := make([]int64, len(rows)-1)
	for i, row := range rows[1:] {
		if labels[i], err = strconv.ParseInt(row[at], 10, 64); err != nil {
			return nil, err
		}
	}
	return labels, nil
}

// chosen returns the method that auto chose and the confidence in the number of clusters, as words separated by spaces.
// It omits what result.json does not have.
func chosen(result []byte) string {
	var answer struct {
		Choice struct {
			Chosen struct{ Space, ConstraintUse string }
		}
		KSelection struct{ Confidence string }
	}
	if json.Unmarshal(result, &answer) != nil { // peers print nothing
		return ""
	}
	method := answer.Choice.Chosen
	word := func(value, prefix string) string {
		return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(value, prefix), "_", "-"))
	}
	return strings.Join(strings.Fields(word(method.Space, "SPACE_")+" "+word(method.ConstraintUse, "CONSTRAINT_USE_")+
		" "+word(answer.KSelection.Confidence, "CONFIDENCE_")), " ")
}
