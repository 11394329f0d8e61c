package answers

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// madeKind is a kind of ordinary table with clear groups, as people have them: columns in different units, words, gaps,
// numbers of rows, and whatever else programs export. A seed draws one table of the kind.
type madeKind struct {
	name string
	rows int
	fill func(t *madeTable)
}

// madeTable is a table that is being made, column by column.
type madeTable struct {
	rng       *rand.Rand
	n, k      int
	truth     []int64
	names     []string
	columns   [][]string // the cells of each column
	delimiter string
	decimal   string // the decimal point
	units     int    // how many of the measures are in use
}

// draw makes the table of a kind that belongs to a seed.
func (kind madeKind) draw(seed int) *madeTable {
	name := fnv.New64a()
	name.Write([]byte(kind.name))
	t := &madeTable{rng: rand.New(rand.NewPCG(name.Sum64(), uint64(seed))), n: kind.rows, delimiter: ",", decimal: "."}
	kind.fill(t)
	return t
}

// csv returns the table as a file.
func (t *madeTable) csv() []byte {
	var b bytes.Buffer
	line := func(cell func(column int) string) {
		for at := range t.names {
			if at > 0 {
				b.WriteString(t.delimiter)
			}
			text := cell(at)
			if strings.ContainsAny(text, t.delimiter+"\"\n") {
				text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
			}
			b.WriteString(text)
		}
		b.WriteString("\n")
	}
	line(func(column int) string { return t.names[column] })
	for i := range t.truth {
		line(func(column int) string { return t.columns[column][i] })
	}
	return b.Bytes()
}

// truthCSV returns the file of the groups.
func (t *madeTable) truthCSV() []byte {
	var b bytes.Buffer
	b.WriteString("index,label\n")
	for i, group := range t.truth {
		fmt.Fprintf(&b, "%d,%d\n", i, group)
	}
	return b.Bytes()
}

// WriteTables writes the made tables of a seed below a folder: NAME/data.csv, NAME/truth.csv and NAME/k.
func WriteTables(folder string, seed int) error {
	for _, kind := range madeKinds {
		t := kind.draw(seed)
		at := filepath.Join(folder, kind.name)
		if err := os.MkdirAll(at, 0o777); err != nil {
			return err
		}
		for name, content := range map[string][]byte{"data.csv": t.csv(), "truth.csv": t.truthCSV(),
			"k": fmt.Appendln(nil, t.k)} {
			if err := os.WriteFile(filepath.Join(at, name), content, 0o666); err != nil {
				return err
			}
		}
	}
	return nil
}

// groups gives every row a group, in a random order. Without shares the groups are of the same size.
func (t *madeTable) groups(k int, shares ...float64) {
	t.k = k
	t.truth = make([]int64, t.n)
	for i := range t.truth {
		t.truth[i] = int64(i * k / t.n)
	}
	if len(shares) > 0 {
		group, end := 0, shares[0]
		for i := range t.truth {
			for group < k-1 && float64(i) >= end*float64(t.n) {
				group++
				end += shares[group]
			}
			t.truth[i] = int64(group)
		}
	}
	t.rng.Shuffle(t.n, func(i, j int) { t.truth[i], t.truth[j] = t.truth[j], t.truth[i] })
}

// add adds a column.
func (t *madeTable) add(name string, cell func(i int) string) {
	cells := make([]string, t.n)
	for i := range cells {
		cells[i] = cell(i)
	}
	t.names = append(t.names, name)
	t.columns = append(t.columns, cells)
}

// format writes a number with some digits behind the point.
func (t *madeTable) format(v float64, digits int) string {
	return strings.Replace(strconv.FormatFloat(v, 'f', digits, 64), ".", t.decimal, 1)
}

// quantity is something that tables measure, in its unit: what is in the middle, and the spread of a group.
type quantity struct {
	name           string
	middle, spread float64
	digits         int
}

var measures = []quantity{
	{"age", 45, 4, 0}, {"income", 52_000, 4200, 0}, {"score", 0.5, 0.04, 3}, {"distance_m", 8200, 640, 0},
	{"temperature_c", 18.4, 1.3, 1}, {"weight_kg", 74, 5.5, 1}, {"pressure_pa", 101_325, 220, 0},
	{"rating", 3.1, 0.2, 2},
	{"duration_ms", 1450, 105, 0}, {"voltage", 3.3, 0.05, 3}, {"area_m2", 95_000, 7800, 0}, {"visits", 34, 2.9, 0},
}

// column adds a measure of values whose spread within a group is 1.
func (t *madeTable) column(m quantity, value func(i int) float64) {
	t.add(m.name, func(i int) string { return t.format(m.middle+m.spread*value(i), m.digits) })
}

// measured adds the columns of points in the next units; a name after all of them gets a number.
func (t *madeTable) measured(points [][]float64) {
	for at := range points[0] {
		m := measures[t.units%len(measures)]
		if round := t.units / len(measures); round > 0 {
			m.name = fmt.Sprintf("%s_%d", m.name, round+1)
		}
		t.units++
		t.column(m, func(i int) float64 { return points[i][at] })
	}
}

// centers returns the middles of the groups: random, but each is at least so far from all others, in as small a cube as
// that allows, so that one column alone does not tell the groups.
func (t *madeTable) centers(columns int, apart float64) [][]float64 {
	for side := apart / 2; ; side *= 1.02 {
		centers := make([][]float64, t.k)
		for g := range centers {
			centers[g] = make([]float64, columns)
			for c := range centers[g] {
				centers[g][c] = side * (t.rng.Float64() - 0.5)
			}
		}
		nearest := math.Inf(1)
		for g := range centers {
			for h := range g {
				sum := 0.0
				for c := range centers[g] {
					sum += (centers[g][c] - centers[h][c]) * (centers[g][c] - centers[h][c])
				}
				nearest = min(nearest, math.Sqrt(sum))
			}
		}
		if nearest >= apart {
			return centers
		}
	}
}

// points draws points that are normal around the centers of their groups.
func (t *madeTable) points(columns int, apart float64) [][]float64 {
	centers := t.centers(columns, apart)
	points := make([][]float64, t.n)
	for i := range points {
		points[i] = make([]float64, columns)
		for c := range points[i] {
			points[i][c] = centers[t.truth[i]][c] + t.rng.NormFloat64()
		}
	}
	return points
}

// noise adds columns that have nothing to do with the groups.
func (t *madeTable) noise(columns int) {
	points := make([][]float64, t.n)
	for i := range points {
		points[i] = make([]float64, columns)
		for c := range points[i] {
			points[i][c] = 2 * t.rng.NormFloat64()
		}
	}
	t.measured(points)
}

// words adds a column of words. A row has the word of its group with the given probability, and else any.
func (t *madeTable) words(name string, telling float64, levels ...string) {
	own := t.rng.Perm(len(levels))
	t.add(name, func(i int) string {
		if t.rng.Float64() < telling {
			return levels[own[int(t.truth[i])%len(own)]]
		}
		return levels[t.rng.IntN(len(levels))]
	})
}

// numbered returns words with a number: branch 1, branch 2 and so on.
func numbered(word string, count int) []string {
	list := make([]string, count)
	for at := range list {
		list[at] = fmt.Sprintf("%s%02d", word, at+1)
	}
	return list
}

// empty replaces cells of a column, by its number, with a probability that may depend on the row.
func (t *madeTable) empty(column int, by string, probability func(i int) float64) {
	for i := range t.columns[column] {
		if t.rng.Float64() < probability(i) {
			t.columns[column][i] = by
		}
	}
}

// gaps empties a share of the cells of all columns.
func (t *madeTable) gaps(share float64) {
	for column := range t.columns {
		t.empty(column, "", func(int) float64 { return share })
	}
}

// id adds a column of numbers that count the rows from the first on.
func (t *madeTable) id(name string, first int) {
	t.add(name, func(i int) string { return strconv.Itoa(first + i) })
}

// grouped writes a whole number with commas between its thousands.
func grouped(v float64) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', 0, 64)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	if v < 0 {
		text = "-" + text
	}
	return text
}

// poisson draws a count by counting uniform factors.
func (t *madeTable) poisson(mean float64) int {
	count := 0
	product := t.rng.Float64()
	least := math.Exp(-mean)
	for product > least {
		count++
		product *= t.rng.Float64()
	}
	return count
}
