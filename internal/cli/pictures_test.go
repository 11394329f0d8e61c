package cli

import (
	"context"
	"fmt"
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
	const job = "run --graph g/edges.csv --k 2 --objective normalized-cut --constraints g/constraints.csv --truth p/truth.csv " +
		"--init random --restarts 20 --quiet --out r --json"
	if d := readResult(t, succeed(t, job)); d.Evaluation.GetNmi() != 1 || d.Constraints.Satisfied != d.Constraints.Total || d.Constraints.Total == 0 {
		t.Errorf("scores %+v, constraints %+v", d.Evaluation, d.Constraints)
	}
	out := succeed(t, "overlay --picture p/picture.png --labels r/labels.csv --constraint-boxes p/boxes.csv --scale 3 --out s.png")
	if out != "s.png: 30 x 20 pixels, scale 3\n" {
		t.Errorf("overlay says %q", out)
	}
	drawn := openImage(t, "s.png")
	if drawn.Bounds() != image.Rect(0, 0, 90, 60) {
		t.Fatalf("drawn on %v", drawn.Bounds())
	}
	// The boundary between the halves is the white line at the right end of column 14.
	for y := range 60 {
		if r, g, b, _ := drawn.At(44, y).RGBA(); r != 0xFFFF || g != 0xFFFF || b != 0xFFFF {
			t.Fatalf("(44, %d) is %v, not white", y, drawn.At(44, y))
		}
	}
	if drawn.At(1, 1) == drawn.At(88, 1) {
		t.Error("both halves look the same")
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
	openImage(t, "halves/segments.png")
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
	if r := invokeIn(ctx, "generate image-affinity p/picture.png --out g", func(string) string { return "" }); r.code != 130 {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
	if _, err := os.Stat("g/edges.csv"); !os.IsNotExist(err) {
		t.Errorf("a part of the edges is there: %v", err)
	}
}

func openImage(t *testing.T, path string) image.Image {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	drawn, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	return drawn
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
	if got := clitest.Read(t, "g/picture.csv"); !strings.HasPrefix(got, "width,height,radius,sigma_position,sigma_gray\n30,20,5,2.5,") {
		t.Errorf("picture.csv is %q", got)
	}
	// Two boxes of 5 x 5: all pairs of 50 pixels, or two chains of 24 must-links and 25 cannot-links.
	for args, want := range map[string]int{"--all-pairs": 1225, "--constraint-weight 2.5": 73} {
		succeed(t, "generate image-affinity p/picture.png --constraint-boxes p/boxes.csv --radius 1 --sigma-gray 20 --out a "+args)
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

// A heat map uses the index, not the order of the rows.
func TestHeatMapOfAnEmbedding(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate picture --width 8 --height 8 --out p")
	var forward, backward strings.Builder
	forward.WriteString("index,u0,u1\n")
	backward.WriteString("u1,u0,index\n")
	for i := range 64 {
		fmt.Fprintf(&forward, "%d,%d,%d\n", i, i%8-4, i)
		fmt.Fprintf(&backward, "%d,%d,%d\n", 63-i, (63-i)%8-4, 63-i)
	}
	clitest.Write(t, "f.csv", forward.String())
	clitest.Write(t, "b.csv", backward.String())
	succeed(t, "overlay --picture p/picture.png --embedding f.csv --out first.png")
	succeed(t, "overlay --picture p/picture.png --embedding b.csv --column u0 --out u0.png")
	succeed(t, "overlay --picture p/picture.png --embedding f.csv --column u1 --out u1.png")
	if clitest.Read(t, "first.png") != clitest.Read(t, "u0.png") {
		t.Error("the same column in another order of rows is drawn differently")
	}
	if clitest.Read(t, "first.png") == clitest.Read(t, "u1.png") {
		t.Error("two columns look the same")
	}
	drawn := openImage(t, "u0.png")
	left, _, blue, _ := drawn.At(1, 1).RGBA()
	right, _, pale, _ := drawn.At(drawn.Bounds().Dx()-1, 1).RGBA()
	if left >= blue || right <= pale {
		t.Errorf("the left is %v and the right %v, not blue and red", drawn.At(1, 1), drawn.At(drawn.Bounds().Dx()-1, 1))
	}
}

func TestBadPictureCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate picture --width 8 --height 8 --out p")
	whole := clitest.Read(t, "p/picture.png")
	clitest.Write(t, "text.png", "index,label\n0,1\n")
	clitest.Write(t, "cut.png", whole[:len(whole)-30])
	clitest.Write(t, "few.csv", "index,label\n0,1\n1,0\n")
	clitest.Write(t, "far.csv", "index,label\n64,1\n")
	clitest.Write(t, "outside.csv", "x,y,width,height,label\n4,4,5,1,0\n")
	clitest.Write(t, "both.csv", "x,y,width,height,label\n0,0,3,3,0\n2,2,2,2,1\n")
	clitest.Write(t, "short.csv", "index,u0\n0,1\n")
	clitest.Write(t, "bare.csv", strings.Repeat("1,2\n", 64))
	clitest.Write(t, "twice.csv", "index,u0\n"+strings.Repeat("1,2\n", 64))
	clitest.Write(t, "lone.csv", "index\n"+strings.Repeat("1\n", 64))
	one, err := os.Create("one.png")
	if err != nil {
		t.Fatal(err)
	}
	if err := png.Encode(one, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil || one.Close() != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"generate picture":                                                             "the output folder is missing; give --out DIR",
		"generate picture --width 7 --out g":                                           `--width is "7"`,
		"generate picture --width 4194304 --out g":                                     "at most 4194304 in all",
		"generate picture --noise -1 --out g":                                          "it must be at least 0",
		"generate image-affinity --out g":                                              "the picture is missing",
		"generate image-affinity p/picture.png":                                        "the output folder is missing; give --out DIR",
		"generate image-affinity text.png --out g":                                     "text.png: the file is not a picture in a supported format; use PNG, JPEG or GIF",
		"generate image-affinity cut.png --out g":                                      "cut.png: the PNG is damaged",
		"generate image-affinity missing.png --out g":                                  "missing.png: the file cannot be read",
		"generate image-affinity one.png --out g":                                      "one.png: a picture of one pixel",
		"generate image-affinity p/picture.png --radius 0.5 --out g":                   "it must be at least 1",
		"generate image-affinity p/picture.png --sigma-gray 0 --out g":                 "it must be greater than 0",
		"generate image-affinity p/picture.png --all-pairs --out g":                    "require --constraint-boxes",
		"generate image-affinity p/picture.png --constraint-boxes outside.csv --out g": "outside.csv, line 2: the box of 5 x 1 pixels at (4, 4) is not inside the picture of 8 x 8",
		"generate image-affinity p/picture.png --constraint-boxes both.csv --out g":    "both.csv: box 1 gives the pixel (2, 2) the label 1",
		"overlay --labels few.csv --out o.png":                                         "the picture is missing",
		"overlay --picture p/picture.png --out o.png":                                  "give either --labels FILE or --embedding FILE",
		"overlay --picture p/picture.png --labels few.csv --column u0 --out o.png":     "--column requires --embedding",
		"overlay --picture p/picture.png --labels few.csv --out o.svg":                 "give --out FILE.png",
		"overlay --picture p/picture.png --labels few.csv --out o.png":                 "p/picture.png has 8 x 8 pixels: few.csv: the table has 2 labels for 64 points",
		"overlay --picture p/picture.png --labels far.csv --out o.png":                 "p/picture.png has 8 x 8 pixels: far.csv, line 2, column \"index\": point 64",
		"overlay --picture p/picture.png --labels p/truth.csv --scale 1.5 --out o.png": "use a whole number or auto",
		"overlay --picture p/picture.png --labels p/truth.csv --scale 999 --out o.png": "can be drawn up to 512 times",
		"overlay --picture p/picture.png --embedding short.csv --out o.png":            "short.csv: the file has 1 row; each pixel needs one",
		"overlay --picture p/picture.png --embedding short.csv --column v --out o.png": `there is no column "v"; the columns are index, u0`,
		"overlay --picture p/picture.png --embedding bare.csv --out o.png":             "bare.csv: the file has no header",
		"overlay --picture p/picture.png --embedding twice.csv --out o.png":            "twice.csv: row 1 has the index 1",
		"overlay --picture p/picture.png --embedding lone.csv --out o.png":             "lone.csv: the file has no column but index",
	} {
		r := invoke(t, args)
		if r.code != 2 || !strings.Contains(r.stderr, want) || strings.Count(r.stderr, "\n") != 1 || r.stdout != "" {
			t.Errorf("%s: exit code %d\nstdout %q\nstderr %q\nwant exit code 2 and one line with %q", args, r.code, r.stdout, r.stderr, want)
		}
	}
	if _, err := os.Stat("o.png"); err == nil {
		t.Error("a refused command left a drawing behind")
	}
}
