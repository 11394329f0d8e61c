package cli

import (
	"context"
	"image"
	"image/png"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/test/clitest"
)

// halves draws a picture and makes its graph and constraints, in the folders p and g.
func halves(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	succeed(t, "generate picture --width 30 --height 20 --seed 1 --out p")
	succeed(t, "generate image-affinity p/picture.png --constraint-boxes p/boxes.csv --out g")
}

// As in Wang2014 7.1, but by another algorithm: the two halves of a picture are found. Each is a gradient with
// noise, so that no threshold would separate them.
func TestAPictureIsSegmented(t *testing.T) {
	halves(t)
	const job = "run --graph g/edges.csv --k 2 --objective normalized-cut --constraints g/constraints.csv --truth " +
		"p/truth.csv " +
		"--init random --restarts 20 --quiet --out r --json"
	if d := readResult(t, succeed(t, job)); d.Evaluation.GetNmi() != 1 ||
		d.Constraints.Satisfied != d.Constraints.Total || d.Constraints.Total == 0 {
		t.Errorf("scores %+v, constraints %+v", d.Evaluation, d.Constraints)
	}
}

// The commands in the guide to pictures work.
func TestPicturesOfTheGuide(t *testing.T) {
	_, section, found := strings.Cut("\n"+clitest.Read(t, "../../docs/guide/pictures.md"), "\n# Pictures\n")
	_, block, begins := strings.Cut(section, "\n```sh\n")
	block, _, ends := strings.Cut(block, "\n```\n")
	if !found || !begins || !ends {
		t.Fatal("the guide has no commands about pictures")
	}
	t.Chdir(t.TempDir())
	var said string
	for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", "")) {
		said += succeed(t, strings.TrimPrefix(line, "bin/cleave "))
	}
	if !strings.Contains(said, "NMI          1.0000\n") {
		t.Errorf("the halves are not found:\n%s", said)
	}
}

// Edges are counted, and end with the context: the file is then not written.
func TestEdgesEndWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	count, used := 0, 0
	for range counted(ctx, slices.Values([]int{1, 2, 3}), &count) {
		if used++; used == 2 {
			cancel()
		}
	}
	if used != 2 {
		t.Errorf("%d values were used after the second ended the context", used)
	}
	t.Chdir(t.TempDir())
	succeed(t, "generate picture --out p")
	if r := invokeIn(ctx, "generate image-affinity p/picture.png --out g", func(string) string {
		return ""
	}); r.code != 130 {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
	if _, err := os.Stat("g/edges.csv"); !os.IsNotExist(err) {
		t.Errorf("a part of the edges is there: %v", err)
	}
}

func TestAffinityFiles(t *testing.T) {
	halves(t)
	for _, name := range []string{"p/picture.png", "g/edges.csv", "g/constraints.csv"} {
		before := clitest.Read(t, name)
		succeed(t, "generate picture --width 30 --height 20 --seed 1 --out p")
		succeed(t, "generate image-affinity p/picture.png --constraint-boxes p/boxes.csv --out g")
		if clitest.Read(t, name) != before {
			t.Errorf("%s differs from run to run", name)
		}
	}
	graph, err := format.LoadGraph("g/edges.csv", 0)
	if err != nil || graph.N != 600 {
		t.Fatalf("%v, %v", graph, err)
	}
	if got := clitest.Read(t, "g/picture.csv"); !strings.HasPrefix(got,
		"width,height,radius,sigma_position,sigma_gray\n30,20,5,2.5,") {
		t.Errorf("picture.csv is %q", got)
	}
	// Two boxes of 5 x 5: all pairs of 50 pixels, or two chains of 24 must-links and 25 cannot-links.
	for args, want := range map[string]int{"--all-pairs": 1225, "--constraint-weight 2.5": 73} {
		succeed(t,
			"generate image-affinity p/picture.png --constraint-boxes p/boxes.csv --radius 1 --sigma-gray 20 --out a "+
				args)
		_, constraints, err := format.LoadTable("a/constraints.csv", table.Constraints, 600)
		if err != nil || len(constraints) != want {
			t.Errorf("%s: %d constraints, %v; want %d", args, len(constraints), err, want)
		}
	}
	if got := clitest.Read(t, "a/picture.csv"); !strings.HasSuffix(got, "\n30,20,1,0.5,20\n") {
		t.Errorf("picture.csv is %q", got)
	}
	succeed(t, "generate image-affinity p/picture.png --out n")
	if got := clitest.Read(t, "n/constraints.csv"); got != "i,j,kind,weight\n" {
		t.Errorf("without boxes the constraints are %q", got)
	}
}

func TestBadPictureCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate picture --width 8 --height 8 --out p")
	whole := clitest.Read(t, "p/picture.png")
	clitest.Write(t, "text.png", "index,label\n0,1\n")
	clitest.Write(t, "cut.png", whole[:len(whole)-30])
	clitest.Write(t, "outside.csv", "x,y,width,height,label\n4,4,5,1,0\n")
	clitest.Write(t, "both.csv", "x,y,width,height,label\n0,0,3,3,0\n2,2,2,2,1\n")
	one, err := os.Create("one.png")
	if err != nil {
		t.Fatal(err)
	}
	if err := png.Encode(one, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil || one.Close() != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"generate picture": "the output folder is " +
			"missing; give --out DIR",
		"generate picture --width 7 --out g":       `--width is "7"`,
		"generate picture --width 4194304 --out g": "at most 4194304 in all",
		"generate picture --noise -1 --out g":      "it must be at least 0",
		"generate image-affinity --out g":          "the picture is missing",
		"generate image-affinity p/picture.png": "the output folder is " +
			"missing; give --out DIR",
		"generate image-affinity text.png --out g": "text.png: the file is not a " +
			"picture in a supported format; use PNG, JPEG or GIF",
		"generate image-affinity cut.png --out g": "cut.png: the PNG is damaged",
		"generate image-affinity missing.png --out g": "missing.png: the file " +
			"cannot be read",
		"generate image-affinity one.png --out g": "one.png: a picture " +
			"of one pixel",
		"generate image-affinity p/picture.png --radius 0.5 --out g":   "it must be at least 1",
		"generate image-affinity p/picture.png --sigma-gray 0 --out g": "it must be greater than 0",
		"generate image-affinity p/picture.png --all-pairs --out g":    "require --constraint-boxes",
		"generate image-affinity p/picture.png --constraint-boxes outside.csv --out g": "outside.csv, line 2: the " +
			"box of 5 x 1 pixels at (4, 4) is not inside the picture of 8 x 8",
		"generate image-affinity p/picture.png --constraint-boxes both.csv --out g": "both.csv: box 1 gives the " +
			"pixel (2, 2) the label 1",
	} {
		r := invoke(t, args)
		if r.code != 2 || !strings.Contains(r.stderr, want) || strings.Count(r.stderr, "\n") != 1 || r.stdout != "" {
			t.Errorf("%s: exit code %d\nstdout %q\nstderr %q\nwant exit code 2 and one line with %q", args, r.code,
				r.stdout, r.stderr, want)
		}
	}
}
