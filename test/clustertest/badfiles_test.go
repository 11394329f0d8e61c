package clustertest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/test/testscale"
)

// badFiles are arguments of `cleave run` with the files that they name. All must end with exit code 2 and
// one sentence that says where the mistake is.
var badFiles = []struct {
	name  string
	files map[string]string
	args  string
	says  string
}{
	{"NaN", map[string]string{"d.csv": "a,b\n1,2\n3,NaN\n"}, "--data d.csv --k 1 --missing error", "line 3"},
	{"infinity", map[string]string{"d.csv": "1,2\n-Inf,4\n"}, "--data d.csv --k 1", "line 2"},
	{"a value that overflows", map[string]string{"d.csv": "1,2\n3,1e999\n"}, "--data d.csv --k 1", "line 2"},
	{"a word among numbers", map[string]string{"d.csv": "1,2\n3,four\n"}, "--data d.csv --k 1", "line 2"},
	{"ragged rows", map[string]string{"d.csv": "1,2\n3,4\n5\n"}, "--data d.csv --k 1", "line 3"},
	{"an empty file", map[string]string{"d.csv": ""}, "--data d.csv --k 1", "d.csv"},
	{"a header without rows", map[string]string{"d.csv": "a,b\n"}, "--data d.csv --k 1", "d.csv"},
	{"no file", nil, "--data d.csv --k 1", "d.csv"},
	{"a directory", nil, "--data . --k 1", "."},
	{"an unknown format", map[string]string{"d.xyz": "1\n"}, "--data d.xyz --k 1", "d.xyz"},
	{"k of 0", good, "--data d.csv --k 0", "k"},
	{"k over n", good, "--data d.csv --k 5", "k is 5"},
	{"no k", good, "--data d.csv", "--k"},
	{"a negative k", good, "--data d.csv --k -1", "-1"},
	{"no data", nil, "--k 2", "--data"},
	{"two kinds of data", good, "--data d.csv --graph d.csv --k 2", "--graph"},
	{"an unknown flag", good, "--data d.csv --k 2 --frobnicate", "--frobnicate"},
	{"an unknown algorithm", good, "--data d.csv --k 2 --algorithm magic", "magic"},
	{"an unknown objective", good, "--data d.csv --k 2 --objective happiness", "happiness"},
	{"an unknown kernel", good, "--data d.csv --k 2 --kernel corn", "corn"},
	{"a negative width", good, "--data d.csv --k 2 --rho -1", "rho"},
	{"an option that does not apply", good, "--data d.csv --k 2 --kernel linear --rho 1", "rho"},

	{"a constraint out of range", with("c.csv", "i,j,kind\n0,4,must\n"), "--data d.csv --k 2 --constraints c.csv", "4"},
	{"a constraint of a negative point", with("c.csv", "i,j,kind\n0,-1,must\n"),
		"--data d.csv --k 2 --constraints c.csv", "line 2"},
	{"a self cannot-link", with("c.csv", "i,j,kind\n1,1,cannot\n"), "--data d.csv --k 2 --constraints c.csv", "1"},
	{"an unknown kind", with("c.csv", "i,j,kind\n0,1,perhaps\n"), "--data d.csv --k 2 --constraints c.csv", "perhaps"},
	{"a negative constraint weight", with("c.csv", "i,j,kind,weight\n0,1,must,-2\n"),
		"--data d.csv --k 2 --constraints c.csv", "-2"},
	{"constraints without columns", with("c.csv", "i,j\n0,1\n"), "--data d.csv --k 2 --constraints c.csv", "c.csv"},
	{"a seed out of range", with("s.csv", "index,label\n9,0\n"), "--data d.csv --k 2 --seeds s.csv", "9"},
	{"a seed label out of range", with("s.csv", "index,label\n0,2\n"), "--data d.csv --k 2 --seeds s.csv", "2"},
	{"contradictory seeds", with("s.csv", "index,label\n0,0\n0,1\n"), "--data d.csv --k 2 --seeds s.csv", "0"},
	{"a negative weight", with("w.csv", "index,weight\n0,1\n1,-1\n2,1\n3,1\n"), "--data d.csv --k 2 --weights w.csv",
		"-1"},
	{"a weight out of range", with("w.csv", "index,weight\n7,1\n"), "--data d.csv --k 2 --weights w.csv", "7"},
	{"labels of other points", with("l.csv", "index,label\n0,0\n"), "--data d.csv --k 2 --init labels:l.csv", "l.csv"},
	{"truth of other points", with("t.csv", "index,label\n9,0\n"), "--data d.csv --k 2 --truth t.csv", "t.csv"},

	{"a kernel that is not square", map[string]string{"k.csv": "1,2,3\n2,1,3\n"}, "--kernel-matrix k.csv --k 1",
		"square"},
	{"an asymmetric kernel", map[string]string{"k.csv": "1,0.5\n0.25,1\n"}, "--kernel-matrix k.csv --k 1", "0.25"},
	{"negative affinities", map[string]string{"k.csv": "1,-1\n-1,1\n"},
		"--kernel-matrix k.csv --k 1 --algorithm kernel-kmeans --objective normalized-cut", "-1"},
	{"a graph with a negative edge", map[string]string{"g.csv": "src,dst,weight\n0,1,-1\n0,2,3\n1,2,3\n"},
		"--graph g.csv --k 2 --algorithm kernel-kmeans", "-1"},
	{"an edge of three ends", map[string]string{"g.csv": "src,dst\n0,1\n0,1,2,3\n"}, "--graph g.csv --k 1", "line 3"},
	{"an edge beyond the vertices", map[string]string{"g.csv": "src,dst\n0,9\n"},
		"--graph g.csv --vertices 3 --k 1", "9"},
	{"a vertex beyond all bounds", map[string]string{"g.csv": "src,dst\n0,99999999999\n"}, "--graph g.csv --k 1",
		"99999999999"},
	{"a graph without edges", map[string]string{"g.csv": "src,dst\n"}, "--graph g.csv --k 1", "g.csv"},

	{"an NPY file that claims more than it has", map[string]string{"d.npy": npy("(1000000, 1000000)", 16)},
		"--data d.npy --k 1", "d.npy"},
	{"an NPY file whose size overflows", map[string]string{"d.npy": npy("(4294967296, 4294967296)", 16)},
		"--data d.npy --k 1", "d.npy"},
	{"an NPY file with a negative size", map[string]string{"d.npy": npy("(-1, 2)", 16)}, "--data d.npy --k 1", "d.npy"},
	{"an NPY file that is none", map[string]string{"d.npy": "hello"}, "--data d.npy --k 1", "d.npy"},
	{"an NPY file with a NaN",
		map[string]string{
			"d.npy": npy("(1, 2)", 0) + "\x00\x00\x00\x00\x00\x00\xf0\x3f\x01\x00\x00\x00\x00\x00\xf8\x7f"},
		"--data d.npy --k 1", "NaN"},
	{"a Matrix Market file that claims more than it has",
		map[string]string{"g.mtx": "%%MatrixMarket matrix coordinate real symmetric\n3 3 1000000000000\n2 1 1\n"},
		"--graph g.mtx --k 1", "g.mtx"},
	{"a Matrix Market file that is none", map[string]string{"g.mtx": "3 3 1\n1 2 3\n"}, "--graph g.mtx --k 1", "g.mtx"},
}

var good = map[string]string{"d.csv": "0,0\n0,1\n9,9\n9,8\n"}

func with(name, text string) map[string]string {
	return map[string]string{"d.csv": good["d.csv"], name: text}
}

// npy is a NumPy file of float64 with a shape in its header and a number of bytes after it.
func npy(shape string, bytes int) string {
	header := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': %s, }", shape)
	header += strings.Repeat(" ", 117-len(header)) + "\n"
	return "\x93NUMPY\x01\x00" + string([]byte{byte(len(header)), 0}) + header + strings.Repeat("\x00", bytes)
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	c, _ := StartCluster(t, 1)
	for number, where := range []struct {
		name string
		args []string
	}{{"embedded", nil}, {"on a server", []string{"--server", c.Addr}}} {
		for at, bad := range badFiles {
			if !testscale.Long && at%2 != number {
				continue // every other one is sent to a server
			}
			what := bad.name + ", " + where.name
			dir := t.TempDir()
			for name, text := range bad.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			args := append(append([]string{"run", "--quiet", "--out", "out"}, strings.Fields(bad.args)...),
				where.args...)
			ran := CleaveIn(t, dir, args...)
			if ran.ExitCode != 2 || ran.Stdout != "" || !oneSentence(ran.Stderr) ||
				!strings.Contains(ran.Stderr, bad.says) {
				t.Errorf("%s: exit code %d, %q and %q; want 2, nothing, and one sentence that contains %q",
					what, ran.ExitCode, ran.Stdout, ran.Stderr, bad.says)
			}
			if left, err := filepath.Glob(filepath.Join(dir, "out", "*")); err != nil || len(left) > 0 {
				t.Errorf("%s: it left %v behind", what, left)
			}
		}
	}
	if ran := CleaveIn(t, writeGood(t), "run", "--quiet", "--data", "d.csv", "--k", "2", "--algorithm", "kernel-kmeans",
		"--json", "--server", c.Addr); ran.ExitCode != 0 {
		t.Errorf("after all that, a good job fails: %s", ran.Stderr)
	}
}

func writeGood(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "d.csv"), []byte(good["d.csv"]), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// oneSentence tells whether a text is one line, begins with the program's name, and is no dump of a value.
func oneSentence(text string) bool {
	return strings.HasPrefix(text, "cleave: ") && strings.Count(text, "\n") == 1 && len(text) > len("cleave: ")+10 &&
		!bytes.ContainsAny([]byte(text), "{}\t") && !strings.Contains(text, "rpc error")
}
