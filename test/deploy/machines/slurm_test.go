package machines

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Near the time limit, the script for Slurm ends with exit code 75, or requeues its job, only if the run can continue.
func TestSlurmContinuesOnlyWhatCanContinue(t *testing.T) {
	script, err := filepath.Abs("../../../deploy/slurm/cleave.sbatch")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, program := range map[string]string{
		"cleave": `[ "$1" = run ] || exit 0; trap 'exit $CODE' TERM; kill -TERM $PPID; while :; do ` +
			`sleep 0.05; done`,
		"coordinator": `echo listening on 127.0.0.1:1; exec sleep 1000`,
		"worker":      `exec sleep 1000`,
		"srun":        `exec sleep 1000`,
		"scontrol":    `[ "$1" = requeue ] && echo "requeued" >&2 || echo node`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+program+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for code, continues := range map[string]bool{"75": true, "1": false, "2": false, "3": false, "130": false} {
		cmd := exec.Command("bash", script, "--data", "x.csv", "--k", "2")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "CLEAVE_BIN="+dir, "CODE="+code,
			"CLEAVE_REQUEUE=1",
			"SLURM_JOB_ID=1", "SLURM_SUBMIT_DIR="+dir, "SLURM_JOB_NODELIST=node", "SLURM_MEM_PER_NODE=1000")
		out, err := cmd.CombinedOutput()
		if got := cmd.ProcessState.String(); got != "exit status "+code ||
			strings.Contains(string(out), "requeued") != continues {
			t.Errorf("a run that ends with %s: %s (%v)\n%s", code, got, err, out)
		}
	}
}
