package clustering

import (
	"fmt"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

// Scale is what is done to the columns of points before they are clustered.
type Scale uint8

// The scales.
const (
	ScaleDefault Scale = iota // none, with a notice if one column decides alone; an algorithm may have its own rule
	ScaleAuto                 // standardize if the units of columns differ, else as by default
	ScaleZscore               // standardize: every column has the mean 0 and the variance 1
	ScaleNone                 // columns stay as they are
	ScaleMinMax               // every column spans 0 to 1
	ScaleRobust               // every column has the median 0 and quartiles that are 1 apart
)

// String is the name of a scale in the catalog.
func (s Scale) String() string {
	return [...]string{"", "auto", "zscore", "none", "minmax", "robust"}[s]
}

// rule is how the units of a scale are found.
func (s Scale) rule() dataset.Rule {
	switch s {
	case ScaleMinMax:
		return dataset.MinMax
	case ScaleRobust:
		return dataset.Robust
	case ScaleZscore:
		return dataset.Standard
	default:
		return dataset.Raw
	}
}

// ScaleOf is the scale that units were found by: none where there are no units.
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

// decides is the share of the variance above which one column decides alone which points are near.
const decides = 0.9

// InUnits gives the data in the units that a scale asks for, and the units: nil where the data stay as they are. The
// notices say what the data decided.
func InUnits(data dataset.Dataset, scale Scale) (scaled dataset.Dataset, units *dataset.Units, notices []Notice, err error) {
	if units, notices, err = UnitsOf(data, scale); err != nil {
		return nil, nil, nil, err
	}
	scaled, err = units.Apply(data)
	return scaled, units, notices, err
}

// UnitsOf are the units that a scale asks for; nil: the data stay as they are. Columns of words have units in any scale, so that
// each weighs as much as a column of numbers.
func UnitsOf(data dataset.Dataset, scale Scale) (units *dataset.Units, notices []Notice, err error) {
	points, dense := data.(*dataset.Points)
	if !dense {
		if scale == ScaleDefault || scale == ScaleNone {
			return nil, nil, nil
		}
		return nil, nil, fault.Invalid("OPTION_DOES_NOT_APPLY",
			"the scale %v needs dense points: only they have columns to scale, and these data are of the kind %v", scale, data.Kind()).OnField("spec.scale")
	}
	switch scale {
	case ScaleDefault:
		notices = oneDecides(points)
	case ScaleAuto:
		if why := UnlikeUnits(points); why != "" {
			scale = ScaleZscore
			notices = []Notice{{Code: "COLUMNS_STANDARDIZED", Message: why + ", so all columns were given the mean 0 and the variance 1; --scale none leaves them as they are"}}
		} else {
			notices = oneDecides(points)
		}
	}
	rule := scale.rule()
	if rule == dataset.Raw && len(points.Words) == 0 {
		return nil, notices, nil
	}
	return dataset.UnitsBy(rule, points), notices, nil
}

// UnlikeUnits says why the columns of points are in several units, and "" where they may be in one. Columns of numbers beside
// words tell of different things, and their spans only of how these are counted.
func UnlikeUnits(points *dataset.Points) string {
	spans := dataset.ColumnSpans(points)
	switch {
	case spans.Narrow == spans.Wide: // there are none to compare
		return ""
	case len(points.Words) > 0:
		return "columns of numbers stand beside columns of words"
	case spans.Alike():
		return ""
	}
	return fmt.Sprintf("column %d has %.3g times the span of column %d", spans.Wide, spans.Ratio, spans.Narrow)
}

// oneDecides warns where one column decides alone which points are near.
func oneDecides(points *dataset.Points) []Notice {
	column, share, varying := dataset.ColumnSpread(points).Widest(points)
	if share <= decides || varying < 2 {
		return nil
	}
	return []Notice{{Code: "ONE_COLUMN_DECIDES", Message: fmt.Sprintf(
		"column %d has %.1f%% of the variance of all %d columns, so that the others hardly count; --scale zscore gives all columns the same variance, --scale none says that this is meant",
		column, 100*share, points.D)}}
}
