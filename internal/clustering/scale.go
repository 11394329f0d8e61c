package clustering

import (
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/text"
)

// Scale is how the columns of dense points are scaled before they are clustered.
type Scale uint8

// The scales.
const (
	ScaleDefault Scale = iota // as ScaleNone, with a notice if one column dominates; an algorithm may have its own rule
	ScaleAuto                 // as ScaleZscore if the units of columns differ, otherwise as ScaleDefault
	ScaleZscore               // every column gets mean 0 and variance 1
	ScaleNone                 // columns stay unchanged
	ScaleMinMax               // every column spans 0 to 1
	ScaleRobust               // every column gets median 0 and an interquartile range of 1
)

// String returns the name of the scale in the catalog, "" for ScaleDefault.
func (s Scale) String() string {
	return text.Name(s, "", "auto", "zscore", "none", "minmax", "robust")
}

// ruleOf holds how the units of each scale are computed.
var ruleOf = [...]dataset.Rule{
	ScaleDefault: dataset.Raw, ScaleAuto: dataset.Raw, ScaleNone: dataset.Raw,
	ScaleZscore: dataset.Standard, ScaleMinMax: dataset.MinMax, ScaleRobust: dataset.Robust,
}

// ScaleOf returns the scale that units were computed by. It returns ScaleNone if units is nil.
func ScaleOf(units *dataset.Units) Scale {
	switch {
	case units == nil || units.Rule == dataset.Raw:
		return ScaleNone
	case units.Rule == dataset.MinMax:
		return ScaleMinMax
	case units.Rule == dataset.Robust:
		return ScaleRobust
	default:
		return ScaleZscore
	}
}

// dominantShare is the share of the variance above which a single column dominates all distances.
const dominantShare = 0.9

// InUnits returns the data converted to the units of a scale, and the units, which are nil if the data is unchanged.
// The notices report what was decided by the data.
func InUnits(data dataset.Dataset,
	scale Scale) (scaled dataset.Dataset, units *dataset.Units, notices []Notice, err error) {
	if units, notices, err = UnitsOf(data, scale); err != nil {
		return nil, nil, nil, err
	}
	scaled, err = units.Apply(data)
	return scaled, units, notices, err
}

// UnitsOf returns the units of a scale for the data, nil if the data stays unchanged. Categorical columns have units in
// every scale, so that each weighs as much as a column of numbers. UnitsOf fails if the scale needs dense points and
// the data has none.
func UnitsOf(data dataset.Dataset, scale Scale) (units *dataset.Units, notices []Notice, err error) {
	points, dense := data.(*dataset.Points)
	if !dense {
		if scale == ScaleDefault || scale == ScaleNone {
			return nil, nil, nil
		}
		return nil, nil, invalid.New(invalid.ScaleNeedsPoints, "scale", scale, "kind", data.Kind())
	}
	units, notices = UnitsOfPoints(points, scale)
	return units, notices, nil
}

// UnitsOfPoints is UnitsOf for dense points, which every scale suits.
func UnitsOfPoints(points *dataset.Points, scale Scale) (units *dataset.Units, notices []Notice) {
	switch scale {
	case ScaleDefault:
		notices = oneDecides(points)
	case ScaleAuto:
		if why := UnlikeUnits(points); why != nil {
			scale = ScaleZscore
			notices = []Notice{NewNotice("COLUMNS_STANDARDIZED",
				append(why,
					text.Plain(", so all columns were scaled to mean 0 and variance 1; use --scale none to leave "+
						"them unchanged"))...)}
		} else {
			notices = oneDecides(points)
		}
	}
	rule := ruleOf[scale]
	if rule == dataset.Raw && len(points.Categorical) == 0 {
		return nil, notices
	}
	return dataset.UnitsBy(rule, points), notices
}

// UnlikeUnits returns why the columns of points appear to have different units, or nil if they may have the same.
// Numeric columns next to categorical ones are taken to have different units, whatever their spans.
func UnlikeUnits(points *dataset.Points) text.Message {
	spans := dataset.ColumnSpans(points)
	switch {
	case spans.Narrow == spans.Wide: // there are no two columns to compare
		return nil
	case len(points.Categorical) > 0:
		return text.Message{text.Plain("there are numeric and categorical columns")}
	case spans.SameUnit:
		return nil
	}
	return text.Message{
		text.Plain("column "), text.Column(spans.Wide), text.Plain(" has %.3g times the span of column ", spans.Ratio),
		text.Column(spans.Narrow),
	}
}

// oneDecides warns if one column alone determines which points are near.
func oneDecides(points *dataset.Points) []Notice {
	column, share, varying := dataset.ColumnSpread(points).Widest(points)
	if share <= dominantShare || varying < 2 {
		return nil
	}
	return []Notice{NewNotice("ONE_COLUMN_DECIDES", text.Plain("column "), text.Column(column), text.Plain(
		" has %.1f%% of the variance of all %d columns, so the others hardly count; use --scale zscore to give all "+
			"columns the same variance, or --scale none if this is intended",
		100*share, points.D))}
}
