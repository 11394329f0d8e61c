package constraint

// Satisfaction counts the distinct constraints that a labeling violates.
type Satisfaction struct {
	Total              int
	MustLinks          int
	MustLinkViolated   int
	CannotLinkViolated int
}

// Satisfied is the number of constraints that hold.
func (s Satisfaction) Satisfied() int { return s.Total - s.MustLinkViolated - s.CannotLinkViolated }

// Violates tells whether labels violate the constraint.
func (p Pair) Violates(labels []int32) bool {
	return (labels[p.I] == labels[p.J]) == (p.Kind == CannotLink)
}

// Satisfaction checks labels against every constraint; where pairs were added by EntailSmall, against those given.
func (s *Set) Satisfaction(labels []int32) Satisfaction {
	report := Satisfaction{Total: len(s.stated())}
	for _, p := range s.stated() {
		if p.Kind == MustLink {
			report.MustLinks++
		}
		switch {
		case !p.Violates(labels):
		case p.Kind == MustLink:
			report.MustLinkViolated++
		default:
			report.CannotLinkViolated++
		}
	}
	return report
}
