package report

import (
	"math"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/render/page"
	"github.com/cleave-project/cleave/internal/render/picture"
	"github.com/cleave-project/cleave/internal/render/profile"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Rows are placed among clusters whose means have at most so many values.
const maxMeanValues = 5e7

// byDirection tells whether sparse rows were compared by their directions, as auto does.
func (r *Report) byDirection(spec *cleavev1.JobSpec) bool {
	return r.Result.GetChoice() != nil || r.Model != nil && r.Model.Distortion == metric.Cosine || spec != nil && wire.ComparesDirections(spec)
}

// projectSparse gives sparse rows their places in the plane, and says what these are.
func (r *Report) projectSparse(points *dataset.SparsePoints, spec *cleavev1.JobSpec) (xy [][2]float64, axes [2]string, words string) {
	words = "the two directions in which they differ most (principal components)"
	if r.byDirection(spec) {
		points, words = profile.Directions(points), words+", all of length 1"
	}
	xy, axes = picture.ProjectSparse(points)
	return xy, axes, words
}

// amongSparse compares sparse rows as the run did, nil if there are too many columns.
func (b *pageBuilder) amongSparse(points *dataset.SparsePoints) *space {
	if float64(b.k)*float64(points.D) > maxMeanValues {
		return nil
	}
	words := "by distances between rows"
	if b.byDirection(b.spec()) {
		points, words = profile.Directions(points), "by the directions of rows"
	}
	perRow := max(1, float64(points.NonZeros())/float64(max(1, points.N)))
	rows := profile.Sample(b.Labels, b.k, max(minSampleRows, int(maxPlaceWork/(float64(b.k)*perRow))))
	few := profile.Sample(b.Labels, b.k, max(minSampleRows, min(maxSilhouetteRows, int(math.Sqrt(maxSilhouetteWork/(2*perRow))))))
	return &space{
		words: words, places: profile.SparsePlaces(points, b.Labels, b.k, rows),
		rows: few, silhouettes: profile.Silhouettes(profile.SparseEuclidean(points), b.Labels, b.k, few),
	}
}

// sparseProfiles are the columns that are highest in each cluster.
func (b *pageBuilder) sparseProfiles(points *dataset.SparsePoints) *page.Profiles {
	p := &page.Profiles{Text: "The columns that are highest in the rows of each cluster, compared with all others: their means, where what is not there is 0, " +
		"and below the share of rows that have them. A difference is in standard deviations: 0.5 is noticeable, 1 is large."}
	b.addProfiles(p, profile.SparseTraits(points, b.Labels, b.k, profileTraits))
	if len(p.Clusters) == 0 {
		return nil
	}
	return p
}

// traitName is the name of a column that sets a cluster apart.
func (b *pageBuilder) traitName(at int) string {
	if b.columns == nil {
		return b.columnName(at)
	}
	return b.columns[at].name
}
