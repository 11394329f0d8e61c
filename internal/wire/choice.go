package wire

import (
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
)

// WayTriedProto converts the trial of a way.
func WayTriedProto(t clustering.Trial) *cleavev1.WayTried {
	return &cleavev1.WayTried{
		Way: wayProto(t.Way), Fold: uint32(t.Fold), Folds: uint32(t.Folds),
		MustLinks: uint32(t.MustLinks), MustLinksRight: uint32(t.MustLinksRight),
		CannotLinks: uint32(t.CannotLinks), CannotLinksRight: uint32(t.CannotLinksRight),
	}
}

// wayProto converts a way. Spaces and uses go by their names.
func wayProto(w clustering.Way) *cleavev1.Way {
	return &cleavev1.Way{
		Space: cleavev1.Space(enumNumber(cleavev1.Space(0).Descriptor(), w.Space.String())),
		Use:   cleavev1.Use(enumNumber(cleavev1.Use(0).Descriptor(), w.Use.String())),
	}
}

// SpaceOf is the space of a way, 0 where the API has one that this version does not know.
func SpaceOf(w *cleavev1.Way) clustering.Space {
	return catalog.Named(EnumWord(w.GetSpace()), clustering.SpaceLevels)
}

func choiceProto(c *clustering.Choice) *cleavev1.Choice {
	if c == nil {
		return nil
	}
	p := &cleavev1.Choice{Chosen: wayProto(c.Chosen), Reason: c.Reason}
	for _, t := range c.Trials {
		p.Tried = append(p.Tried, &cleavev1.TriedWay{
			Way: wayProto(t.Way), MustLinks: uint32(t.MustLinks), MustLinksRight: uint32(t.MustLinksRight),
			CannotLinks: uint32(t.CannotLinks), CannotLinksRight: uint32(t.CannotLinksRight),
			Agreement: t.Agreement(), Advantage: t.Advantage,
		})
	}
	return p
}
