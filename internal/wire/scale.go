package wire

import (
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
)

func scaleProto(s clustering.Scale) cleavev1.Scale {
	return cleavev1.Scale(enumNumber(cleavev1.Scale(0).Descriptor(), s.String()))
}

// ScaleOf is what was done to the columns of the points of a result.
func ScaleOf(r *cleavev1.Result) clustering.Scale {
	if r.Scale == nil {
		switch SpaceOf(r.GetChoice().GetChosen()) { // results of the first versions have no scale
		case clustering.SpaceStandardized, clustering.SpaceStandardizedNeighbors:
			return clustering.ScaleZscore
		}
		return clustering.ScaleNone
	}
	return catalog.Named(EnumWord(r.GetScale()), clustering.ScaleRobust)
}
