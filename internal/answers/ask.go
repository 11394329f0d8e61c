package answers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/cleave-project/cleave/internal/catalog"
	"github.com/cleave-project/cleave/internal/evaluate"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/table"
)

// question is one run of a method.
type question struct {
	set    *set
	method string
	m      int
	seed   int
	noise  float64
}

// ask runs a method as a user would, in a process of its own, and scores its answer. Only what keeps the study from
// going on is an error; a refusal is an answer.
func (s *study) ask(ctx context.Context, q question) (Answer, error) {
	a := Answer{
		Set: q.set.name, Group: q.set.group, Kind: q.set.kind, N: q.set.n, K: q.set.k,
		Method: q.method, M: q.m, Noise: q.noise, Seed: q.seed,
	}
	folder, err := os.MkdirTemp(s.temp, "run-")
	if err != nil {
		return a, err
	}
	defer os.RemoveAll(folder)
	constraints := ""
	if q.m > 0 {
		constraints = filepath.Join(folder, "constraints.csv")
		pairs := q.set.pairs(q.m, q.seed, q.noise)
		if err := format.WriteFile(constraints, func(w io.Writer) error { return format.WriteConstraints(w, pairs) }); err != nil {
			return a, err
		}
	}
	limited, cancel := context.WithTimeout(ctx, s.Limit)
	defer cancel()
	command := s.command(limited, q, folder, constraints)
	var said, complaint bytes.Buffer
	command.Stdout, command.Stderr = &said, &complaint
	command.WaitDelay = time.Second
	begun := time.Now()
	err = command.Run()
	a.Seconds = time.Since(begun).Seconds()
	switch {
	case ctx.Err() != nil:
		return a, ctx.Err()
	case limited.Err() != nil:
		a.Status = Late
		return a, nil
	case err != nil:
		var ended *exec.ExitError
		if !errors.As(err, &ended) {
			return a, err
		}
		a.Status = Refused + ": " + lastLine(complaint.String())
		return a, nil
	}
	a.Status, a.Chosen = Answered, chosen(said.Bytes())
	return a, a.score(q.set, filepath.Join(folder, "labels.csv"))
}

// command is the process of a run, which writes labels.csv into the folder.
func (s *study) command(ctx context.Context, q question, folder, constraints string) *exec.Cmd {
	if isPeer(q.method) {
		arguments := []string{s.script, q.method, q.set.kind, q.set.file, fmt.Sprint(q.set.n), fmt.Sprint(q.set.k), fmt.Sprint(q.seed), filepath.Join(folder, "labels.csv")}
		if constraints != "" {
			arguments = append(arguments, constraints)
		}
		command := exec.CommandContext(ctx, s.python, arguments...)
		command.Env = append(os.Environ(), fmt.Sprintf("OMP_NUM_THREADS=%d", s.Threads), fmt.Sprintf("OPENBLAS_NUM_THREADS=%d", s.Threads))
		return command
	}
	arguments := []string{"run", "--k", fmt.Sprint(q.set.k), "--seed", fmt.Sprint(q.seed), "--quiet", "--json", "--out", folder}
	if q.set.kind == catalog.Graph {
		arguments = append(arguments, "--graph", q.set.file, "--vertices", fmt.Sprint(q.set.n))
	} else {
		arguments = append(arguments, "--data", q.set.file)
	}
	if constraints != "" {
		arguments = append(arguments, "--constraints", constraints)
	}
	command := exec.CommandContext(ctx, s.Cleave, append(arguments, flags(q.method, q.m)...)...)
	command.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", s.Threads))
	return command
}

// score compares labels with the truth, on the points whose class is known.
func (a *Answer) score(s *set, labels string) error {
	_, answer, err := format.LoadTable(labels, table.Labels, s.n)
	if err != nil {
		return fmt.Errorf("%s on %s: %w", a.Method, a.Set, err)
	}
	scores, err := evaluate.Compare(answer, s.truth, s.known)
	a.ARI, a.NMI = scores.ARI, scores.NMI
	return err
}

// chosen is the way that an answer was found by, where result.json has a choice between ways: its words, joined.
func chosen(result []byte) string {
	var answer struct {
		Choice struct {
			Chosen struct{ Space, Use string }
		}
	}
	if json.Unmarshal(result, &answer) != nil { // peers print nothing
		return ""
	}
	way := answer.Choice.Chosen
	word := func(value, prefix string) string {
		return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(value, prefix), "_", "-"))
	}
	return strings.TrimSpace(word(way.Space, "SPACE_") + " " + word(way.Use, "USE_"))
}

// lastLine is the beginning of the last line of what a program said.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := []rune(lines[len(lines)-1])
	return string(last[:min(len(last), 160)])
}
