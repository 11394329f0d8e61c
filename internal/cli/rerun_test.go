package cli

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/test/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// smallSets makes data of every kind, in the folder of the test.
func smallSets(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	succeed(t, "generate gaussians --n 60 --d 3 --k 3 --noise 2 --constraints 20 --seed 1 --out points")
	succeed(t, "generate blocks --n 60 --k 3 --constraints 60 --seed 1 --out graph")
	var kernel strings.Builder
	for i := range 12 {
		for j := range 12 {
			entry := "0"
			if i%3 == j%3 {
				entry = "0.5"
			}
			if i == j {
				entry = "1"
			}
			kernel.WriteString(entry + map[bool]string{true: "\n", false: ","}[j == 11])
		}
	}
	clitest.Write(t, "kernel.csv", kernel.String())
	truth := strings.SplitAfter(clitest.Read(t, "points/truth.csv"), "\n")
	clitest.Write(t, "seeds.csv", strings.Join(truth[:16], ""))
	clitest.Write(t, "weights.csv", "index,weight\n3,2\n")
	clitest.Write(t, "beliefs.csv", "i,j,belief\n0,1,0.9\n0,2,-0.5\n1,2,-0.5\n")
}

// A run is repeated from its folder, wherever that is done from, to the same files.
func TestRerunGivesTheSameBits(t *testing.T) {
	smallSets(t)
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	succeed(t, "run --data points/data.csv --k 3 --algorithm kmeans --quiet --out first")
	clitest.Write(t, "job.yaml", "k: 3\nseed: 7\nkmeans: {}\n")
	for at, args := range []string{
		"--data points/data.csv --k 3 --constraints points/constraints.csv --truth points/truth.csv",
		"--data points/data.csv --k 3 --algorithm seeded-kmeans --seeds seeds.csv",
		"--data points/data.csv --k 3 --algorithm kernel-kmeans --weights weights.csv --restarts 2",
		"--data points/data.csv --k 3 --algorithm kmeans --init labels:first/labels.csv",
		"--data points/data.csv --k 3 --algorithm kmeans --init centroids:first/centroids.csv",
		"--data points/data.csv -f job.yaml",
		"--graph graph/edges.csv --k 3 --constraints graph/constraints.csv",
		"--graph graph/edges.csv --k 2 --algorithm constrained-spectral --beliefs beliefs.csv",
		"--kernel-matrix kernel.csv --k 3",
	} {
		out := filepath.Join(home, "out"+string(rune('a'+at)))
		succeed(t, "run "+args+" --quiet --out "+out)
		t.Chdir("/")
		got := succeed(t, "rerun "+out+" --quiet --out "+out+"/again")
		t.Chdir(home)
		if !strings.HasPrefix(got, "identical to "+out+": ") {
			t.Errorf("%s: %q", args, got)
		}
		if clitest.Read(t, out+"/labels.csv") != clitest.Read(t, out+"/again/labels.csv") {
			t.Errorf("%s: labels.csv differs", args)
		}
	}
	succeed(t, "rerun outa/again --quiet") // what rerun wrote is a run too
}

// Flags that belong to the recorded run and not to its repetition do not prevent it.
func TestRerunOfFlagsForOneRun(t *testing.T) {
	smallSets(t)
	address := startServe(t, "--workers 1")
	for _, flags := range []string{"--join", "--labels-format parquet", "--request-id night --server " + address,
		"--request-id day --on-term cancel --server " + address} {
		succeed(t, "run --data points/data.csv --k 3 --algorithm kmeans --quiet --out out "+flags)
		for _, out := range []string{"", " --out again"} {
			if got := succeed(t, "rerun out --quiet"+out); !strings.HasPrefix(got, "identical to out: ") {
				t.Errorf("%s%s: %q", flags, out, got)
			}
		}
	}
}

// The flags of rerun say where to run, and not those that the run recorded.
func TestRerunElsewhere(t *testing.T) {
	smallSets(t)
	address := startServe(t, "--workers 1")
	succeed(t, "run --data points/data.csv --k 3 --algorithm kmeans --workers 2 --quiet --out out")
	if got := succeed(t, "rerun out --quiet --server "+address); !strings.HasPrefix(got, "identical to out: ") {
		t.Errorf("on a coordinator: %q", got)
	}
	succeed(t, "run --data points/data.csv --k 3 --algorithm kmeans --server "+address+" --quiet --out there")
	for _, dir := range []string{"out", "there"} {
		if r := invoke(t, "rerun "+dir+" --quiet --context prod"); r.code != 2 ||
			!strings.Contains(r.stderr, `there is no login "prod"`) {
			t.Errorf("%s with a login: exit code %d, %q, %q", dir, r.code, r.stdout, r.stderr)
		}
	}
	if r := invoke(t, "rerun there --quiet --token-file nowhere"); r.code != 2 ||
		!strings.Contains(r.stderr, "the token cannot be read") {
		t.Errorf("with a token: exit code %d, %q, %q", r.code, r.stdout, r.stderr)
	}
}

// The notices of a job that is repeated on a coordinator name rows of the file, as those of the job did.
func TestRerunNamesRowsOfTheFile(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"t.csv": "x,y\n,\n0,1\n1,0\n0,0.5\n9,8\n8,9\n9,9\n",
		"c.csv": "i,j,kind\n1,2,must\n2,3,must\n1,3,cannot\n",
	})
	address := startServe(t, "--workers 1")
	id := strings.TrimSpace(succeed(t,
		"submit --wait --quiet --data t.csv --k 2 --missing drop --constraints c.csv --enforce always --server "+
			address))
	succeed(t, "result "+id+" --quiet --out first --server "+address)
	succeed(t, "rerun first --quiet --out again --server "+address)
	notices := func(dir string) (all []string) {
		for _, n := range readResult(t, clitest.Read(t, dir+"/result.json")).GetWarnings() {
			all = append(all, n.GetMessage())
		}
		return all
	}
	first := notices("first")
	again := notices("again")
	if !slices.Equal(first, again) || !strings.Contains(strings.Join(first, " "), "1-3 (cannot)") {
		t.Errorf("the notices were %q and are %q", first, again)
	}
}

func TestRerunRefuses(t *testing.T) {
	smallSets(t)
	succeed(t, "run --data points/data.csv --k 3 --constraints points/constraints.csv --algorithm pc-kmeans "+
		"--quiet --out out")
	refused := func(args, want string, code int) {
		t.Helper()
		if r := invoke(t, "rerun "+args); r.code != code || !strings.Contains(r.stderr, want) || r.stdout != "" {
			t.Errorf("rerun %s: exit code %d, %q, %q; want %q", args, r.code, r.stdout, r.stderr, want)
		}
	}
	refused("", "rerun takes one folder", 2)
	refused("nowhere", "nowhere/result.json: the file cannot be read", 2)
	if err := os.Symlink("out", "link"); err != nil {
		t.Fatal(err)
	}
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{"out", "./out/", filepath.Join(home, "out"), "link"} {
		refused("out --out "+out, "is the folder of the run itself", 2)
	}
	constraints := clitest.Read(t, "points/constraints.csv")
	clitest.Write(t, "points/constraints.csv", constraints+"0,1,must,\n")
	refused("out --quiet", "points/constraints.csv has changed", 2)
	if err := os.Remove("points/data.csv"); err != nil {
		t.Fatal(err)
	}
	refused("out --quiet", "points/data.csv is missing", 2)
	refused("out --quiet", "points/constraints.csv has changed; ", 2)

	succeed(t, "generate gaussians --n 60 --d 3 --k 3 --noise 2 --constraints 20 --seed 1 --out points")
	labels := clitest.Read(t, "out/labels.csv")
	first := strings.SplitN(labels, "\n", 3)[1] // the first row is put into another cluster
	cells := strings.Split(first, ",")
	cells[1] = map[bool]string{true: "1", false: "0"}[cells[1] == "0"]
	clitest.Write(t, "out/labels.csv", strings.Replace(labels, first, strings.Join(cells, ","), 1))
	refused("out --quiet", "the result differs from out: 1 of 60 labels differ, and the objective is", 1)
	clitest.Write(t, "out/result.json", `{"k": 3}`)
	refused("out", "does not record how it was made", 2)
}

// What a command line should not have had does not stay in result.json.
func TestOriginHasNoSecrets(t *testing.T) {
	smallSets(t)
	secret := "cleave_" + strings.Repeat("aB3-_", 9)
	succeed(t, "run --data points/data.csv --k 3 --algorithm kmeans --quiet --out out --name "+secret)
	result, run, err := report.ReadResult("out")
	if err != nil {
		t.Fatal(err)
	}
	origin := run.GetOrigin()
	if command := strings.Join(origin.GetCommand(), " "); strings.Contains(command, secret) ||
		!strings.HasSuffix(command, "--name [redacted]") {
		t.Errorf("the command is %q", command)
	}
	if input := origin.GetInputs()[0]; len(origin.GetInputs()) != 1 || input.GetFlag() != "data" ||
		input.GetPath() != "points/data.csv" || len(input.GetSha256()) != 64 ||
		input.GetBytes() != uint64(len(clitest.Read(t, "points/data.csv"))) {
		t.Errorf("the inputs are %v", origin.GetInputs())
	}
	if origin.GetVersion() == "" || result.GetVersion() == "" || origin.GetSpec().GetKmeans() == nil {
		t.Errorf("the origin is %v, the version %q", origin, result.GetVersion())
	}
}

// labels.csv has how far rows are from their clusters and how sure their labels are, and is read as labels again.
func TestLabelsHaveScores(t *testing.T) {
	smallSets(t)
	for args, header := range map[string]string{
		"--data points/data.csv --algorithm kmeans":              "index,label,distance,margin,confidence",
		"--data points/data.csv --algorithm kmeans --restarts 1": "index,label,distance,margin",
		"--graph graph/edges.csv":                                "index,label,distance,margin",
	} {
		succeed(t, "run "+args+" --k 3 --quiet --out out")
		labels := clitest.Read(t, "out/labels.csv")
		if lines := strings.Split(labels, "\n"); lines[0] != header || len(lines) != 62 ||
			strings.Contains(labels, ",,") {
			t.Errorf("%s: labels.csv is\n%s", args, labels)
		}
		if got := succeed(t, "evaluate --labels out/labels.csv --truth out/labels.csv"); !strings.Contains(got,
			"NMI         1.0000") {
			t.Errorf("%s: %s", args, got)
		}
	}
	data := strings.SplitAfter(clitest.Read(t, "points/data.csv"), "\n")
	data[2] = "?" + data[2][strings.Index(data[2], ","):]
	clitest.Write(t, "holes.csv", strings.Join(data, ""))
	succeed(t, "run --data holes.csv --missing drop --k 3 --algorithm kmeans --quiet --out holes")
	if lines := strings.Split(clitest.Read(t, "holes/labels.csv"), "\n"); lines[2] != "1,-1,,," {
		t.Errorf("a dropped row is %q", lines[2])
	}
}

// A file that changes while the run lasts has no hash in result.json: it may not be what the run has read.
func TestChangedInputsHaveNoHash(t *testing.T) {
	clitest.Folder(t, map[string]string{"same.csv": "x\n1\n", "longer.csv": "x\n1\n", "replaced.csv": "x\n1\n"})
	var said strings.Builder
	a := &app{stderr: &said, env: func(string) string { return "" }, command: command{}}
	cmd, f := a.runCommand()
	if err := cmd.ParseFlags([]string{"--data", "same.csv", "--data", "longer.csv", "--data",
		"replaced.csv"}); err != nil {
		t.Fatal(err)
	}
	in := a.noteInputs(t.Context(), &f.job.DataFlags, &outputFlags{json: true})
	clitest.Write(t, "longer.csv", "x\n1\n2\n")
	clitest.Write(t, "new.csv", "x\n1\n")
	if err := os.Rename("new.csv", "replaced.csv"); err != nil {
		t.Fatal(err)
	}
	origin := a.origin(in, "", nil)
	for _, input := range origin.GetInputs() {
		if (input.GetSha256() != "") != (input.GetPath() == "same.csv") {
			t.Errorf("%s has the hash %q", input.GetPath(), input.GetSha256())
		}
	}
	if strings.Count(said.String(), "changed during the run") != 2 {
		t.Errorf("said %q", said.String())
	}
}

// writeHugeTable writes a Parquet table of a few rows, with a hole of 64 GiB before the directory at its end: reading
// the rows takes no time, and hashing the file takes longer than a test.
func writeHugeTable(t *testing.T, path string) {
	t.Helper()
	type point struct {
		X float64 `parquet:"x"`
		Y float64 `parquet:"y"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[point](&b)
	_, err := w.Write([]point{{0, 0}, {0, 1}, {5, 5}, {5, 6}})
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	content := b.Bytes()
	size := len(content) - 8 // of the rows, before the directory, its length and the mark at the end
	size -= int(binary.LittleEndian.Uint32(content[size:]))
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.Write(content[:size])
	_, err2 := file.WriteAt(content[size:], int64(size)+64<<30)
	if err := errors.Join(err, err2, file.Close()); err != nil {
		t.Fatal(err)
	}
}

// Inputs are hashed for result.json and report.html only.
func TestInputsAreHashedForARecordOnly(t *testing.T) {
	t.Chdir(t.TempDir())
	writeHugeTable(t, "huge.parquet")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // ends the test if the file is hashed
	defer cancel()
	for _, out := range []string{"", " --out -"} {
		r := invokeIn(ctx, "run --data huge.parquet --k 2 --algorithm kmeans"+out, func(string) string { return "" })
		if r.code != 0 {
			t.Errorf("run%s: exit code %d: %s", out, r.code, r.stderr)
		}
	}
}

// A run that waits for the hashes of its inputs can be interrupted.
func TestHashingCanBeInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	writeHugeTable(t, "huge.parquet")
	a := &app{env: func(string) string { return "" }}
	cmd, f := a.runCommand()
	if err := cmd.ParseFlags([]string{"--data", "huge.parquet"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	in := a.noteInputs(ctx, &f.job.DataFlags, &outputFlags{json: true})
	cancel()
	origin := a.origin(in, "", nil)
	if hash := origin.GetInputs()[0].GetSha256(); hash != "" {
		t.Errorf("the file has the hash %s", hash)
	}
	origin = &cleavev1.Origin{Inputs: []*cleavev1.InputFile{{Flag: "data", Path: "huge.parquet", Sha256: "00"}}}
	if _, changed, err := recordedFiles(ctx, origin); !errors.Is(err, context.Canceled) {
		t.Errorf("%v: %v", changed, err)
	}
}
