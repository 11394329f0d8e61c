package answers

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// usualRows is how many rows a made table has unless its kind is about that.
const usualRows = 600

var (
	months   = strings.Fields("January February March April May June July August September October November December")
	weekdays = strings.Fields("Mon Tue Wed Thu Fri Sat Sun")
	colors   = strings.Fields("red green blue")
)

// inUnits returns a table of groups in columns of different units, and what is added to it.
func inUnits(groups, columns int, more ...func(t *madeTable)) func(t *madeTable) {
	return func(t *madeTable) {
		t.groups(groups)
		t.measured(t.points(columns, 5.5))
		for _, add := range more {
			add(t)
		}
	}
}

// madeKinds are all kinds of made tables. Most groups are about 5.5 standard deviations apart, over all columns: who
// fills gaps, standardizes and leaves out what tells nothing finds them, while a column in a large unit alone does not
// tell them.
var madeKinds = []madeKind{
	{"units-3", usualRows, inUnits(3, 3)},
	{"units-4", usualRows, inUnits(4, 4)},
	{"units-5", usualRows, inUnits(3, 5)},
	{"units-6", usualRows, inUnits(5, 6)},
	{"units-8", usualRows, inUnits(4, 8)},
	{"rows-20000", 20_000, inUnits(4, 4)},
	{"shares-75-20-5", usualRows, func(t *madeTable) {
		t.groups(3, 0.75, 0.2, 0.05)
		t.measured(t.points(4, 6))
	}},
	{"groups-12", usualRows, inUnits(12, 6)},
	{"groups-2", usualRows, inUnits(2, 4)},
	{"groups-8-columns-2", usualRows, inUnits(8, 2)},
	{"rows-60", 60, inUnits(3, 4)},
	{"wide-40", 150, func(t *madeTable) {
		t.groups(3)
		t.measured(t.points(40, 9))
	}},
	{"range-60-and-1", usualRows, func(t *madeTable) { // an age beside a score from 0 to 1
		t.groups(3)
		points := t.points(2, 5.5)
		t.column(quantity{"age", 48, 5, 0}, func(i int) float64 { return points[i][0] })
		t.column(quantity{"score", 0.5, 0.08, 3}, func(i int) float64 { return points[i][1] })
	}},
	{"ranges-1-1000", usualRows, func(t *madeTable) { // the column of the smallest range tells most
		t.groups(3)
		points := t.points(4, 5)
		t.column(quantity{"index", 0.5, 0.05, 3}, func(i int) float64 {
			return 2.5*float64(t.truth[i]) - 2.5 + points[i][0]
		})
		for at, name := range []string{"north", "east", "height"} {
			t.column(quantity{name, 500, 80, 0}, func(i int) float64 { return points[i][at+1] })
		}
	}},

	{"id", usualRows, func(t *madeTable) {
		t.groups(3)
		t.id("id", 1)
		t.measured(t.points(4, 5.5))
	}},
	{"id-nr", usualRows, func(t *madeTable) {
		t.groups(3)
		points := t.points(4, 5.5)
		for at := range 4 {
			if at == 2 {
				t.id("nr", 1001)
			}
			t.column(measures[at], func(i int) float64 { return points[i][at] })
		}
	}},
	{"id-shuffled", usualRows, func(t *madeTable) {
		t.groups(3)
		numbers := t.rng.Perm(t.n)
		t.add("customer", func(i int) string { return strconv.Itoa(40_001 + numbers[i]) })
		t.measured(t.points(4, 5.5))
	}},

	{"words-3-unrelated", usualRows, inUnits(3, 4, func(t *madeTable) { t.words("color", 0, colors...) })},
	{"words-28-unrelated", usualRows, inUnits(3, 4, func(t *madeTable) {
		t.words("branch", 0, numbered("branch ", 28)...)
	})},
	{"words-three-unrelated", usualRows, inUnits(4, 5, func(t *madeTable) {
		t.words("color", 0, colors...)
		t.words("region", 0, "north", "south", "east", "west")
		t.words("payment", 0, "card", "cash", "invoice", "transfer", "voucher")
	})},
	{"words-telling", usualRows, func(t *madeTable) { // the numbers alone leave two of the groups close
		t.groups(3)
		t.measured(t.points(3, 3.5))
		t.words("type", 0.93, "basic", "plus", "professional")
	}},
	{"words-only", usualRows, func(t *madeTable) {
		t.groups(3)
		t.words("habitat", 0.85, "woods", "meadow", "water", "town")
		t.words("color", 0.85, "red", "green", "blue", "brown", "white")
		t.words("size", 0.85, "small", "medium", "large")
		t.words("shape", 0.85, "round", "long", "flat", "square")
		t.words("surface", 0.85, "smooth", "rough", "hairy")
	}},
	{"words-200", usualRows, inUnits(3, 4, func(t *madeTable) { t.words("product", 0, numbered("product ", 200)...) })},
	{"texts", usualRows, inUnits(3, 4, func(t *madeTable) {
		t.add("comment", func(i int) string {
			return fmt.Sprintf("%s of order %d, %s", weekdays[t.rng.IntN(7)], 7000+13*i, colors[t.rng.IntN(3)])
		})
	})},
	{"weekdays-months", usualRows, inUnits(3, 4, func(t *madeTable) {
		t.words("weekday", 0, weekdays...)
		t.words("month", 0, months...)
	})},

	{"gaps-5", usualRows, inUnits(3, 5, func(t *madeTable) { t.gaps(0.05) })},
	{"gaps-20", usualRows, func(t *madeTable) {
		t.groups(3)
		t.measured(t.points(8, 9))
		t.gaps(0.2)
	}},
	{"gaps-column-40", usualRows, inUnits(3, 5, func(t *madeTable) {
		t.empty(1, "", func(int) float64 { return 0.4 })
	})},
	{"gaps-not-at-random", usualRows, func(t *madeTable) { // a quantity is seldom given where another one is large
		t.groups(3)
		points := t.points(6, 7)
		t.measured(points)
		for column := range 3 {
			t.empty(column, "", func(i int) float64 { return 0.35 / (1 + math.Exp(-2*points[i][column+3])) })
		}
	}},
	{"gaps-words", usualRows, inUnits(3, 5, func(t *madeTable) {
		t.words("region", 0.6, "north", "south", "east", "west")
		t.words("payment", 0, "card", "cash", "invoice")
		t.empty(5, "", func(int) float64 { return 0.2 })
		t.empty(6, "NA", func(int) float64 { return 0.2 })
		t.empty(0, "", func(int) float64 { return 0.1 })
	})},
	{"sentinel-minus-999", usualRows, inUnits(3, 5, func(t *madeTable) {
		t.empty(1, "-999", func(int) float64 { return 0.08 })
		t.empty(4, "-999", func(int) float64 { return 0.08 })
	})},
	{"sentinel-9999", usualRows, inUnits(3, 5, func(t *madeTable) {
		t.empty(0, "9999", func(int) float64 { return 0.06 })
		t.empty(4, "9999", func(int) float64 { return 0.06 })
	})},
	{"sentinel-0", usualRows, inUnits(3, 5, func(t *madeTable) {
		t.empty(0, "0", func(int) float64 { return 0.08 })
		t.empty(3, "0", func(int) float64 { return 0.08 })
	})},
	{"outliers", usualRows, inUnits(3, 4, func(t *madeTable) { // a point lost, a unit mistaken
		for at, column := range []int{1, 3} {
			row := 17 + 300*at
			v, _ := strconv.ParseFloat(t.columns[column][row], 64)
			t.columns[column][row] = t.format(100*v, 0)
		}
	})},
	// incomes and the like: a factor, not a difference, tells groups apart
	{"heavy-tails", usualRows, func(t *madeTable) {
		t.groups(3)
		points := t.points(4, 6)
		for at, m := range []quantity{{"income", 30_000, 0.45, 0}, {"assets", 80_000, 0.6, 0},
			{"spending", 900, 0.4, 2}} {
			t.add(m.name, func(i int) string { return t.format(m.middle*math.Exp(m.spread*points[i][at]), m.digits) })
		}
		t.column(measures[0], func(i int) float64 { return points[i][3] })
	}},

	{"constant", usualRows, inUnits(3, 4, func(t *madeTable) {
		t.add("currency", func(int) string { return "EUR" })
		t.add("version", func(int) string { return "2" })
	})},
	{"copies", usualRows, func(t *madeTable) { // the same quantity in several units
		t.groups(3)
		points := t.points(4, 6)
		t.measured(points)
		for at, name := range []string{"distance_km", "distance_miles", "distance_feet"} {
			t.column(quantity{name, 8.2 / (1 + float64(at)/2), 0.64 / (1 + float64(at)/2), 3}, func(i int) float64 {
				return points[i][3]
			})
		}
	}},
	// five columns go with one another, in every group; two others tell the groups
	{"correlated", usualRows, func(t *madeTable) {
		t.groups(3)
		points := t.points(2, 6)
		size := t.normal()
		for _, m := range []quantity{{"length_mm", 210, 20, 1}, {"width_mm", 95, 9, 1}, {"height_mm", 60, 6, 1},
			{"weight_g", 840, 90, 0}, {"volume_ml", 1200, 130, 0}} {
			t.column(m, func(i int) float64 { return size[i] + 0.3*t.rng.NormFloat64() })
		}
		t.column(quantity{"hardness", 5, 0.5, 2}, func(i int) float64 { return points[i][0] })
		t.column(quantity{"acidity_ph", 6.8, 0.25, 2}, func(i int) float64 { return points[i][1] })
	}},
	{"noise-10", usualRows, func(t *madeTable) {
		t.groups(3)
		t.measured(t.points(4, 7))
		t.noise(10)
	}},
	{"noise-30", usualRows, func(t *madeTable) {
		t.groups(3)
		t.measured(t.points(6, 9))
		t.noise(30)
	}},
	{"zip-codes", usualRows, inUnits(3, 4, func(t *madeTable) {
		t.add("zip", func(int) string { return fmt.Sprintf("%05d", 1000+t.rng.IntN(98_000)) })
	})},
	{"flags-telling", usualRows, func(t *madeTable) {
		t.groups(4)
		t.measured(t.points(3, 4.5))
		for at, name := range []string{"member", "newsletter", "mobile"} {
			t.add(name, func(i int) string {
				yes := (int(t.truth[i])>>(at%2)&1 == 1) != (t.rng.Float64() < 0.08)
				return map[bool]string{true: "yes", false: "no"}[yes]
			})
		}
	}},
	{"flags-unrelated", usualRows, inUnits(3, 4, func(t *madeTable) {
		for _, name := range []string{"member", "newsletter", "mobile", "is_active"} {
			t.words(name, 0, "yes", "no")
		}
	})},
	{"flags-0-1", usualRows, inUnits(3, 4, func(t *madeTable) {
		for _, name := range []string{"member", "newsletter", "mobile"} {
			t.words(name, 0, "0", "1")
		}
	})},
	{"dates", usualRows, func(t *madeTable) {
		t.groups(3)
		first := time.Date(2021, 1, 4, 0, 0, 0, 0, time.UTC)
		t.add("ordered_on", func(int) string { return first.AddDate(0, 0, t.rng.IntN(1200)).Format(time.DateOnly) })
		t.measured(t.points(4, 5.5))
	}},
	{"totals-row", usualRows, inUnits(3, 4, func(t *madeTable) {
		t.names = append([]string{"name"}, t.names...)
		names := make([]string, t.n)
		for i := range names {
			names[i] = fmt.Sprintf("store %d", i+1)
		}
		for at, cells := range t.columns {
			sum := 0.0
			for _, cell := range cells {
				v, _ := strconv.ParseFloat(cell, 64)
				sum += v
			}
			t.columns[at] = append(cells, t.format(sum, 1))
		}
		t.columns = append([][]string{append(names, "Total")}, t.columns...)
		t.truth = append(t.truth, -1)
	})},
	{"stray-words", usualRows, inUnits(3, 4, func(t *madeTable) {
		t.columns[1][77] = "unknown"
		t.columns[1][401] = "n.a."
		t.columns[3][250] = "see note"
	})},
	{"money", usualRows, func(t *madeTable) {
		t.groups(3)
		points := t.points(4, 5.5)
		t.add("revenue", func(i int) string { return "$" + grouped(2_400_000+180_000*points[i][0]) })
		t.add("employees", func(i int) string { return grouped(5200 + 420*points[i][1]) })
		t.add("margin", func(i int) string { return t.format(22+1.6*points[i][2], 1) + "%" })
		t.column(measures[7], func(i int) float64 { return points[i][3] })
	}},
	{"decimal-commas", usualRows, func(t *madeTable) {
		t.delimiter, t.decimal = ";", ","
		t.groups(4)
		t.measured(t.points(5, 5.5))
	}},

	{"unlike-widths", usualRows, func(t *madeTable) {
		t.groups(3)
		widths := []float64{0.4, 1, 2}
		centers := t.centers(4, 8)
		points := make([][]float64, t.n)
		for i := range points {
			points[i] = make([]float64, 4)
			for c := range points[i] {
				points[i][c] = centers[t.truth[i]][c] + widths[t.truth[i]]*t.rng.NormFloat64()
			}
		}
		t.measured(points)
	}},
	{"elongated", usualRows, func(t *madeTable) { // three parallel strips, aslant in columns of different units
		t.groups(3)
		points := make([][]float64, t.n)
		for i := range points {
			along := 14 * (t.rng.Float64() - 0.5)
			across := 5*(float64(t.truth[i])-1) + 0.8*t.rng.NormFloat64()
			points[i] = []float64{0.8*along - 0.6*across, 0.6*along + 0.8*across, 0.8 * t.rng.NormFloat64()}
		}
		t.measured(points)
	}},
	{"moons-units", usualRows, func(t *madeTable) {
		t.groups(2)
		t.curved(func(i int, turn float64) (x, y float64) {
			if t.truth[i] == 0 {
				return math.Cos(turn / 2), math.Sin(turn / 2)
			}
			return 1 - math.Cos(turn/2), 0.5 - math.Sin(turn/2)
		}, 0.06)
	}},
	{"circles-units", usualRows, func(t *madeTable) {
		t.groups(2)
		t.curved(func(i int, turn float64) (x, y float64) {
			radius := 0.5 + float64(t.truth[i])
			return radius * math.Cos(turn), radius * math.Sin(turn)
		}, 0.08)
	}},

	{"survey", usualRows, func(t *madeTable) { // twenty questions, answered from 1 to 5
		t.groups(3)
		for question := range 20 {
			mood := []float64{1.9, 3, 4.1}
			t.rng.Shuffle(3, func(i, j int) { mood[i], mood[j] = mood[j], mood[i] })
			t.add(fmt.Sprintf("q%d", question+1), func(i int) string {
				return strconv.Itoa(int(min(max(math.Round(mood[t.truth[i]]+t.rng.NormFloat64()), 1), 5)))
			})
		}
	}},
	{"counts", usualRows, func(t *madeTable) {
		t.groups(3)
		for _, name := range []string{"calls", "visits", "orders", "returns", "complaints", "clicks"} {
			typical := 1.5 * math.Exp(2*t.rng.Float64())
			means := []float64{typical, typical, 4 * typical}
			t.rng.Shuffle(3, func(i, j int) { means[i], means[j] = means[j], means[i] })
			t.add(name, func(i int) string { return strconv.Itoa(t.poisson(means[t.truth[i]])) })
		}
	}},
	{"shares-of-100", usualRows, func(t *madeTable) {
		t.groups(3)
		names := []string{"rent", "food", "travel", "clothes", "savings"}
		weights := make([][]float64, t.k) // of each group
		for g := range weights {
			weights[g] = make([]float64, len(names))
			for c := range names {
				weights[g][c] = float64(2 + (c*2+g*3+t.rng.IntN(2))%7)
			}
		}
		cells := make([][]string, len(names))
		for i := range t.n {
			parts := make([]float64, len(names))
			sum := 0.0
			for c := range parts {
				parts[c] = weights[t.truth[i]][c] * math.Exp(0.22*t.rng.NormFloat64())
				sum += parts[c]
			}
			for c := range parts {
				cells[c] = append(cells[c], t.format(100*parts[c]/sum, 1))
			}
		}
		t.names, t.columns = names, cells
	}},
	{"mixed", usualRows, func(t *madeTable) {
		t.groups(4)
		t.id("record", 1)
		t.measured(t.points(5, 6.5))
		t.words("region", 0, "north", "south", "east", "west")
		t.words("contract", 0.7, "none", "monthly", "yearly", "flat")
		t.words("member", 0, "yes", "no")
		for column := 1; column < len(t.columns); column++ {
			t.empty(column, "", func(int) float64 { return 0.06 })
		}
	}},
}

// normal draws a value of every row.
func (t *madeTable) normal() []float64 {
	values := make([]float64, t.n)
	for i := range values {
		values[i] = t.rng.NormFloat64()
	}
	return values
}

// curved adds two columns, one in thousands, of points along curves.
func (t *madeTable) curved(at func(i int, turn float64) (x, y float64), noise float64) {
	xs := make([]float64, t.n)
	ys := make([]float64, t.n)
	for i := range xs {
		xs[i], ys[i] = at(i, 2*math.Pi*t.rng.Float64())
		xs[i] += noise * t.rng.NormFloat64()
		ys[i] += noise * t.rng.NormFloat64()
	}
	t.column(quantity{"easting_m", 4000, 900, 1}, func(i int) float64 { return xs[i] })
	t.column(quantity{"depth_km", 2, 0.5, 4}, func(i int) float64 { return ys[i] })
}
