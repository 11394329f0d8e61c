package resultpage

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/render/page"
	"github.com/cleave-project/cleave/internal/render/profile"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Limits of the description of clusters.
const (
	maxProfileValues  = 2_000_000 // of more, a sample of the rows
	minProfileRows    = 1000
	profiledClusters  = 40 // with their traits
	profileTraits     = 6
	overviewColumns   = 16
	overviewClusters  = 24
	clearDifference   = 0.5 // standard deviations: a difference worth a word
	fullDifference    = 2.0 // a difference that fills its bar
	rowColumns        = 6
	borderlineRows    = 12
	typicalRowsOfFew  = 3
	typicalRowsOfMany = 1
	fewClusters       = 8
	maxTraitName      = 60 // letters
	maxHeading        = 32
)

// describe returns what the columns tell: what sets clusters apart, typical and borderline rows, and the confidence of
// rows. Each is nil if nothing is known.
func (s *sample) describe() (profiles, rows, confidence *page.Section) {
	telling := choose.All[int](len(s.columns))
	if len(s.columns) > 0 && s.k > 1 && len(s.Labels) > 0 {
		sample := profile.Sample(s.Labels, s.k, max(minProfileRows, maxProfileValues/len(s.columns)))
		columns, labels := s.profiled(sample)
		traits := profile.Traits(columns, labels, s.k)
		telling = tellingColumns(traits, len(columns))
		profiles = s.profiles(traits, telling)
		if profiles != nil && len(sample) < len(s.all.Labels) {
			profiles.Note = strings.TrimSpace(
				profiles.Note + fmt.Sprintf(" From %s of %s, an even sample of each cluster.",
					text.Grouped(len(sample)), s.counted(len(s.all.Labels))))
		}
	}
	if sparse, ok := s.scene.Data.(*dataset.SparsePoints); ok && s.k > 1 && len(s.Labels) > 0 {
		profiles = s.sparseProfiles(sparse)
	}
	shown := telling[:min(rowColumns, len(telling))]
	return profiles, s.describeRows(shown), s.confidence(shown)
}

// describeRows lists typical and borderline rows, with the given columns. It returns nil if rows cannot be compared.
func (s *sample) describeRows(columns []int) *page.Section {
	if s.space == nil {
		return nil
	}
	title := "Typical " + s.plural()
	note := title + " are nearest to the middle of their cluster, " + s.space.words + "."
	if s.space.graph {
		note = title + " have most of their edges within their cluster."
	}
	borderline := s.borderline(columns)
	if borderline != nil {
		title = "Typical and borderline " + s.plural()
		note += " Borderline ones lie between two clusters: a margin of 1 is in the middle of a cluster, 0 halfway " +
			"to the next, less than 0 nearer to the next."
	}
	if n := len(s.space.places); n < len(s.all.Labels) {
		note += fmt.Sprintf(" Chosen from a sample of %s.", s.counted(n))
	}
	return &page.Section{ID: "rows", Title: title, Text: []string{note},
		Tables: []*page.Table{s.typical(columns), borderline}}
}

// tellingColumns orders the columns, those that tell clusters apart best first.
func tellingColumns(traits [][]profile.Trait, columns int) []int {
	most := make([]float64, columns)
	for _, list := range traits {
		for _, t := range list {
			most[t.Column] = max(most[t.Column], math.Abs(t.Difference))
		}
	}
	order := choose.All[int](columns)
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(most[y], most[x]) })
	return order
}

// profiles describes the clusters of a table by their traits; telling lists the columns, the most telling first.
func (s *sample) profiles(traits [][]profile.Trait, telling []int) *page.Section {
	return s.profileSection("The rows of each cluster are compared with all others, by means of columns and shares "+
		"of categories. A difference is in standard deviations: 0.5 is noticeable, 1 is large, 2 or more "+
		"hardly overlaps.",
		s.overview(traits, telling), traits)
}

// profileSection describes the clusters, the largest if there are many. It returns nil if none has a trait.
func (s *sample) profileSection(intro string, overview *page.Table, traits [][]profile.Trait) *page.Section {
	p := &page.Section{ID: "profiles", Title: "What sets them apart", Text: []string{intro},
		Tables: []*page.Table{overview}}
	sizes := s.all.sizesOf()
	shown := choose.All[int](s.k)
	if s.k > profiledClusters {
		slices.SortStableFunc(shown, func(x, y int) int { return cmp.Compare(sizes[y], sizes[x]) })
		shown = shown[:profiledClusters]
		slices.Sort(shown)
		p.Note = fmt.Sprintf("Shown: the %d largest of %s clusters.", profiledClusters, text.Grouped(s.k))
	}
	for _, cluster := range shown {
		if list := traits[cluster]; len(list) > 0 {
			p.Profiles = append(p.Profiles, s.profile(cluster, sizes[cluster], list))
		}
	}
	if len(p.Profiles) == 0 {
		return nil
	}
	return p
}

// profile lists the traits of a cluster.
func (s *sample) profile(cluster, size int, traits []profile.Trait) page.Profile {
	t := page.NewTable(fmt.Sprintf("What sets %s apart", s.clusterWords(cluster)), "column").Numbers("here",
		"elsewhere").Words("difference")
	var words []string
	for _, trait := range traits[:min(len(traits), profileTraits)] {
		name := s.traitName(trait.Column)
		here := s.meanCell(trait.Inside)
		elsewhere := s.meanCell(trait.Outside)
		word := page.Isolated(page.Short(name, 50))
		more, less := "higher "+word, "lower "+word
		if trait.Category != "" {
			name += " = " + trait.Category
			here = page.Text(page.Percent(trait.Inside.Mean))
			elsewhere = page.Text(page.Percent(trait.Outside.Mean))
			word = page.Isolated(page.Short(name, 50))
			more, less = "more often "+word, "less often "+word
		}
		heading := page.Named(page.Short(name, maxTraitName))
		t.Add(heading, here, elsewhere, page.DifferenceBar(differenceText(trait.Difference),
			trait.Difference/fullDifference))
		switch {
		case len(words) == 3:
		case trait.Difference >= clearDifference:
			words = append(words, more)
		case trait.Difference <= -clearDifference:
			words = append(words, less)
		}
	}
	summary := "No column sets it clearly apart."
	if len(words) > 0 {
		summary = upperFirst(strings.Join(words, ", ") + ".")
	}
	return page.Profile{Cluster: cluster, Class: s.clusterClass(cluster), Size: s.counted(size),
		Summary: summary, Table: t}
}

// upperFirst begins a text with a capital letter, in any script.
func upperFirst(words string) string {
	_, size := utf8.DecodeRuneInString(words)
	return strings.ToUpper(words[:size]) + words[size:]
}

// meanCell shows the mean, and the median below, or the share of rows that have a value.
func (s *sample) meanCell(mean profile.Summary) page.Cell {
	if s.columns == nil {
		return page.Cell{Text: page.Number(mean.Mean), Below: "in " + page.Percent(mean.Present)}
	}
	return page.Cell{Text: page.Number(mean.Mean), Below: "median " + page.Number(mean.Median)}
}

// differenceText writes a difference, in words where nothing varies.
func differenceText(difference float64) string {
	switch {
	case difference >= profile.MaxDifference:
		return "all higher"
	case difference <= -profile.MaxDifference:
		return "all lower"
	}
	return page.Signed(difference, 2)
}

// overview shows the most telling columns and all clusters in one table.
func (s *sample) overview(traits [][]profile.Trait, telling []int) *page.Table {
	if s.k > overviewClusters || len(telling) < 2 {
		return nil
	}
	t := page.NewTable("Differences at a glance, in standard deviations", "column")
	t.Wide = true
	for cluster := range s.k {
		t.Columns = append(t.Columns, page.Column{Name: fmt.Sprint(cluster), Numbers: true, Mark: &cluster,
			Class: s.clusterClass(cluster)})
	}
	for _, at := range telling[:min(len(telling), overviewColumns)] {
		row := []page.Cell{page.Named(page.Short(s.columns[at].name, maxName))}
		for cluster := range s.k {
			found := slices.IndexFunc(traits[cluster], func(t profile.Trait) bool { return t.Column == at })
			if found < 0 {
				row = append(row, page.Text(""))
				continue
			}
			difference := traits[cluster][found].Difference
			cell := page.Text(shortDifference(difference)).Tinted(difference / fullDifference)
			if category := traits[cluster][found].Category; category != "" {
				cell.Text = page.Short(category, 20) + " " + cell.Text
				cell.FromData = true
			}
			row = append(row, cell)
		}
		t.Add(row...)
	}
	if len(telling) > overviewColumns {
		t.Note = fmt.Sprintf("The %d of %s columns that tell clusters apart best.", overviewColumns,
			text.Grouped(len(telling)))
	}
	return t
}

// shortDifference writes a difference for a narrow cell.
func shortDifference(difference float64) string {
	switch {
	case difference >= 10:
		return "> 10"
	case difference <= -10:
		return "< \u221210"
	}
	return page.Signed(math.Round(10*difference)/10, 1)
}

// typical lists the rows that are nearest to the middle of their clusters.
func (s *sample) typical(columns []int) *page.Table {
	each := typicalRowsOfMany
	if s.k <= fewClusters {
		each = typicalRowsOfFew
	}
	t := page.NewTable("Typical "+s.plural(), s.idHeading(), "cluster")
	s.headColumns(t, columns)
	for cluster, list := range profile.Typical(s.space.places, s.Labels, s.k, each) {
		if cluster == profiledClusters {
			t.Note = fmt.Sprintf("Shown: the first %d clusters.", profiledClusters)
			break
		}
		for _, p := range list {
			s.addRow(t, p.Row, columns)
		}
	}
	return t
}

// borderline lists the rows of the smallest margins.
func (s *sample) borderline(columns []int) *page.Table {
	t := page.NewTable("Borderline "+s.plural(), s.idHeading(), "cluster", "next").Numbers("margin")
	s.headColumns(t, columns)
	for _, p := range profile.Borderline(s.space.places, borderlineRows) {
		s.addRow(t, p.Row, columns, s.ofCluster(int(p.Next)), page.Text(page.Signed(p.Margin(), 2)))
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// headColumns adds the headings of the given columns to a table.
func (s *sample) headColumns(t *page.Table, columns []int) {
	for _, at := range columns {
		t.Columns = append(t.Columns, page.Column{Name: page.Short(s.columns[at].name, maxHeading),
			Numbers: s.columns[at].number != nil})
	}
}

// addRow adds a row about a point to a table: its name, its cluster, more cells, and its values in the given columns.
func (s *sample) addRow(t *page.Table, point int32, columns []int, more ...page.Cell) {
	cells := append([]page.Cell{page.Named(s.name(point)), s.ofCluster(int(s.Labels[point]))}, more...)
	for _, at := range columns {
		cells = append(cells, page.Named(page.Short(s.columns[at].text(point), maxName)))
	}
	t.Add(cells...)
}

// column gives access to the values of one data column by point of the sample. It keeps the table of the sample alive,
// and copies nothing.
type column struct {
	name   string                    // as in the file, in any script
	number func(point int32) float64 // NaN if missing; nil for a column of texts
	text   func(point int32) string  // "" if missing
}

// maxCategories is the largest number of distinct texts in a column that describes clusters.
const maxCategories = 50

// findColumns returns the columns of the table that the data comes from, or else those of the points. It returns nil
// if there are no labels, or if the points do not match them.
func (s *sample) findColumns() []column {
	if len(s.Labels) == 0 {
		return nil
	}
	if s.scene.Table != nil {
		return s.tableColumns(s.scene.Table)
	}
	points, ok := s.scene.Data.(*dataset.Points)
	if !ok || points.N != len(s.Labels) {
		return nil
	}
	list := make([]column, points.D)
	for at := range list {
		number := func(point int32) float64 { return points.Values[int(point)*points.D+at] }
		list[at] = column{s.columnName(at), number, func(point int32) string { return page.Number(number(point)) }}
	}
	return list
}

// tableColumns returns the columns of a table without ids, texts with too many values, and the true classes, which do
// not describe clusters that were made to agree with them.
func (s *sample) tableColumns(t *table.Table) (list []column) {
	if s.fileRow(int32(len(s.Labels)-1)) >= t.Rows() {
		return nil
	}
	steps := wire.Recipe(s.Result.GetRecipe())
	for at := range t.Columns {
		c := &t.Columns[at]
		if steps != nil {
			c = steps.AsRead(c)
		}
		if s.isID(c) || c.Name == s.scene.LabelColumn {
			continue
		}
		read := column{name: c.Name, text: func(point int32) string { return c.CellText(s.fileRow(point)) }}
		if c.Type != table.Text {
			read.number = func(point int32) float64 {
				if row := s.fileRow(point); !c.IsEmpty(row) {
					return c.Number(row)
				}
				return math.NaN()
			}
		}
		if c.Type == table.Number {
			read.text = func(point int32) string {
				if v := read.number(point); !math.IsNaN(v) {
					return page.Number(v)
				}
				return ""
			}
		}
		list = append(list, read)
	}
	return list
}

// isID reports whether a column holds row ids, or so many different texts that none describes a cluster.
func (s *sample) isID(c *table.Column) bool {
	if c.Type == table.Text {
		seen := map[string]bool{}
		for _, value := range c.Texts {
			seen[value] = true
			if len(seen) > maxCategories {
				return true
			}
		}
		return len(seen) == c.Len() && c.Len() > 1
	}
	if len(s.RowIDs) == 0 || c.Type != table.Integer || c.Len() == 0 || c.Len() != len(s.RowIDs) {
		return false
	}
	for _, row := range []int{0, c.Len() / 2, c.Len() - 1} {
		if c.CellText(row) != s.RowIDs[row] {
			return false
		}
	}
	return true
}

// profiled returns the columns of the given points, and their labels.
func (s *sample) profiled(points []int32) ([]profile.Column, []int32) {
	columns := make([]profile.Column, len(s.columns))
	for at, c := range s.columns {
		columns[at].Name = c.name
		for _, i := range points {
			if c.number != nil {
				columns[at].Numbers = append(columns[at].Numbers, c.number(i))
			} else {
				columns[at].Texts = append(columns[at].Texts, c.text(i))
			}
		}
	}
	return columns, choose.At(s.Labels, points)
}

// maxMeanValues limits the values in the means of all clusters. Above it, sparse rows are not compared with the means.
const maxMeanValues = 5e7

// byDirection reports whether the run compared sparse rows by their directions, as auto does.
func (s *sample) byDirection(spec *cleavev1.JobSpec) bool {
	return s.Result.GetChoice() != nil || s.Model != nil && s.Model.Distortion == metric.Cosine ||
		spec != nil && wire.ComparesDirections(spec)
}

// amongSparse compares sparse rows as the run did. It returns nil if there are too many columns.
func (s *sample) amongSparse(points *dataset.SparsePoints) *space {
	if float64(s.k)*float64(points.D) > maxMeanValues {
		return nil
	}
	words := "by distances between rows"
	if s.byDirection(s.spec()) {
		points = profile.Directions(points)
		words = "by the directions of rows"
	}
	perRow := max(1, float64(points.NonZeros())/float64(max(1, points.N)))
	rows := profile.Sample(s.Labels, s.k, max(minSampleRows, int(maxPlaceWork/(float64(s.k)*perRow))))
	few := profile.Sample(s.Labels, s.k,
		max(minSampleRows, min(maxSilhouetteRows, int(math.Sqrt(maxSilhouetteWork/(2*perRow))))))
	return &space{
		words: words, places: profile.SparsePlaces(points, s.Labels, s.k, rows),
		rows: few, silhouettes: profile.Silhouettes(profile.SparseEuclidean(points), s.Labels, few),
	}
}

// sparseProfiles returns the columns that are highest in each cluster, or nil if there are none.
func (s *sample) sparseProfiles(points *dataset.SparsePoints) *page.Section {
	return s.profileSection("For each cluster, the columns whose values are highest compared with all other rows. "+
		"Each cell shows the mean, with missing entries as 0, "+
		"and below it the share of rows with an entry. Differences are in standard deviations: 0.5 is noticeable, "+
		"1 is large.",
		nil, profile.SparseTraits(points, s.Labels, s.k, profileTraits))
}

// traitName returns the name of a column that distinguishes a cluster.
func (s *sample) traitName(at int) string {
	if s.columns == nil {
		return s.columnName(at)
	}
	return s.columns[at].name
}
