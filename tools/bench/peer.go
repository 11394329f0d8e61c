package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/cpu"

	"github.com/cleave-project/cleave/tools/measure"
)

// peer is the process in which NumPy, SciPy and scikit-learn run. It takes one command at a time, a line of
// JSON, and answers with another; while it waits it uses no processor time.
type peer struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	facts   peerFacts
}

// peerFacts are the versions of the libraries.
type peerFacts struct {
	Python, Numpy, Scipy, Sklearn, Blas string
	environment                         []string
}

// startPeer starts the process.
func startPeer(ctx context.Context, python, script string, threads int, log io.Writer) (*peer, error) {
	process := exec.CommandContext(ctx, python, "-u", script, fmt.Sprint(threads))
	environment := measure.PeerThreads(threads)
	if cpu.X86.HasAVX512F && os.Getenv("OPENBLAS_CORETYPE") == "" {
		// Older versions do not know newer processors and take slower code for them.
		environment = append(environment, "OPENBLAS_CORETYPE=SkylakeX")
	}
	process.Env = append(os.Environ(), environment...)
	process.Stderr = log
	in, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	p := &peer{process: process, in: in, out: bufio.NewReader(out)}
	if err := p.ask(map[string]any{"do": "facts"}, &p.facts); err != nil {
		p.close()
		return nil, err
	}
	p.facts.environment = environment
	return p, nil
}

func (p *peer) ask(command map[string]any, answer any) error {
	line, err := json.Marshal(command)
	if err != nil {
		return err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("the peers' program ended: %w", err)
	}
	reply, err := p.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the peers' program ended: %w", err)
	}
	var failure struct{ Error string }
	if err := json.Unmarshal(reply, &failure); err != nil {
		return err
	}
	if failure.Error != "" {
		return fmt.Errorf("peer, %v: %w", command["do"], errors.New(failure.Error))
	}
	return json.Unmarshal(reply, answer)
}

// seconds asks for a measurement.
func (p *peer) seconds(command map[string]any) (float64, error) {
	var answer struct{ Seconds float64 }
	err := p.ask(command, &answer)
	return answer.Seconds, err
}

// free releases the matrices of the peers.
func (p *peer) free() error {
	if p == nil {
		return nil
	}
	return p.ask(map[string]any{"do": "free"}, &struct{}{})
}

// close ends the process.
func (p *peer) close() {
	if p == nil {
		return
	}
	p.in.Close()
	_ = p.process.Wait() // how it ends does not matter anymore
}

func (f peerFacts) list() []measure.Fact {
	return []measure.Fact{
		{Name: "Peers", Value: fmt.Sprintf("Python %s, NumPy %s, SciPy %s, scikit-learn %s", f.Python, f.Numpy,
			f.Scipy, f.Sklearn)},
		{Name: "BLAS of NumPy", Value: f.Blas},
		{Name: "Environment of the peers", Value: strings.Join(f.environment, " ")},
	}
}
