package clustering

import (
	"fmt"

	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

// Scale is what is done to the columns of points before they are clustered.
type Scale uint8

// The scales.
const (
	ScaleDefault Scale = iota // none, with a notice if one column decides alone; an algorithm may have its own rule
	ScaleAuto                 // standardize if few columns carry the variance, else as by default
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
	default:
		return dataset.Standard
	}
}

// ScaleOf is the scale that units were found by: none where there are no units.
func ScaleOf(units *dataset.Units) Scale {
	switch {
	case units == nil:
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
	if scale == ScaleNone {
		return data, nil, nil, nil
	}
	points, dense := data.(*dataset.Points)
	if !dense {
		if scale == ScaleDefault {
			return data, nil, nil, nil
		}
		return nil, nil, nil, fault.Invalid("OPTION_DOES_NOT_APPLY",
			"the scale %v needs dense points: only they have columns to scale, and these data are of the kind %v", scale, data.Kind()).OnField("spec.scale")
	}
	if scale > ScaleNone {
		units = dataset.UnitsBy(scale.rule(), points)
		scaled, err = units.Apply(points)
		return scaled, units, nil, err
	}
	spread := dataset.ColumnSpread(points)
	carrying, varying := spread.Carrying()
	if scale == ScaleDefault || scale == ScaleAuto && spread.Even() {
		if column, share := spread.Widest(); share > decides && varying > 1 {
			notices = append(notices, Notice{Code: "ONE_COLUMN_DECIDES", Message: fmt.Sprintf(
				"column %d has %.1f%% of the variance of all %d columns, so that the others hardly count; --scale zscore gives all columns the same variance, --scale none says that this is meant",
				column, 100*share, points.D)})
		}
		return data, nil, notices, nil
	}
	if scale == ScaleAuto {
		notices = append(notices, Notice{Code: "COLUMNS_STANDARDIZED", Message: fmt.Sprintf(
			"the variance of %d columns is that of about %.1f of them, so all columns were given the mean 0 and the variance 1; --scale none leaves them as they are",
			varying, carrying)})
	}
	units = spread.StandardUnits()
	scaled, err = units.Apply(points)
	return scaled, units, notices, err
}
