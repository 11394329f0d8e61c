package wire

import (
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/fault"
)

// CheckInput rejects a spec that does not say what to cluster.
func CheckInput(p *cleavev1.JobSpec) error {
	switch {
	case p.GetTable() == nil && p.GetDatasetId() == "":
		return fault.Invalid("FIELD_REQUIRED", "spec.dataset_id is required, or spec.table: say what is clustered").
			OnField("spec.dataset_id")
	case p.GetTable() == nil:
		return nil
	case p.GetTable().GetTableId() == "":
		return fault.Invalid("FIELD_REQUIRED", "%s.table_id is required: upload the table first", fieldTable).
			OnField(fieldTable + ".table_id")
	}
	return nil
}

const fieldTable = "spec.table"

// OnTable marks a fault as being about the table whose rows are clustered.
func OnTable(err error) error { return OnField(err, fieldTable) }

// RecipeOptions converts what a spec says about the columns of its table.
func RecipeOptions(p *cleavev1.TablePoints) recipe.Options {
	return recipe.Options{
		ID: p.GetIdColumn(), Label: p.GetLabelColumn(), Ignore: p.GetIgnore(), Only: p.GetOnly(),
		Categorical: p.GetCategorical(), Missing: recipe.Missing(EnumWord(p.GetMissing())),
		Decimals: p.GetDecimalMark(),
		Keep:     p.GetKeep(), Dates: p.GetDatesAsNumbers(), KeepLastRow: p.GetKeepLastRow(),
	}
}

// TablePointsProto is the inverse of RecipeOptions. The caller sets the id of the table.
func TablePointsProto(o recipe.Options) *cleavev1.TablePoints {
	return &cleavev1.TablePoints{
		IdColumn: o.ID, LabelColumn: o.Label, Ignore: o.Ignore, Only: o.Only,
		Categorical: o.Categorical, Missing: enumValue[cleavev1.MissingPolicy](string(o.Missing)),
		DecimalMark: o.Decimals,
		Keep:        o.Keep, DatesAsNumbers: o.Dates, KeepLastRow: o.KeepLastRow,
	}
}

// RecipeProto converts a recipe, nil to nil.
func RecipeProto(r *recipe.Recipe) *cleavev1.Recipe {
	if r == nil {
		return nil
	}
	return &cleavev1.Recipe{
		IdColumn: r.ID, LabelColumn: r.Label, Missing: enumValue[cleavev1.MissingPolicy](string(r.Missing)),
		DecimalMark: r.Decimals,
		TotalColumn: r.TotalColumn, TotalSums: r.TotalSums,
		Features: each(r.Features, func(f recipe.Feature) *cleavev1.RecipeFeature {
			return &cleavev1.RecipeFeature{
				Column: f.Column, Categories: f.Categories, Fill: f.Fill, FillCategory: f.FillCategory,
				Donors: f.Donors, DonorGaps: f.DonorGaps, Unit: f.Unit,
				Absent: f.Absent, AbsentTexts: f.AbsentTexts, Other: f.Other, Dates: f.Dates,
			}
		}),
	}
}

// Recipe is the inverse of RecipeProto.
func Recipe(p *cleavev1.Recipe) *recipe.Recipe {
	if p == nil {
		return nil
	}
	return &recipe.Recipe{
		ID: p.GetIdColumn(), Label: p.GetLabelColumn(), Missing: recipe.Missing(EnumWord(p.GetMissing())),
		Decimals:    p.GetDecimalMark(),
		TotalColumn: p.GetTotalColumn(), TotalSums: p.GetTotalSums(),
		Features: each(p.GetFeatures(), func(f *cleavev1.RecipeFeature) recipe.Feature {
			return recipe.Feature{
				Column: f.GetColumn(), Categories: f.GetCategories(), Fill: f.GetFill(),
				FillCategory: f.GetFillCategory(),
				Donors:       f.GetDonors(), DonorGaps: f.GetDonorGaps(), Unit: f.GetUnit(),
				Absent: f.GetAbsent(), AbsentTexts: f.GetAbsentTexts(), Other: f.GetOther(), Dates: f.GetDates(),
			}
		}),
	}
}

// TableNotice is the code of notices about a table.
const TableNotice = "TABLE"

// TableNotices returns messages as notices about a table.
func TableNotices(messages []string) []clustering.Notice {
	return each(messages, func(m string) clustering.Notice { return clustering.Notice{Code: TableNotice, Message: m} })
}

// NoticesProto converts notices.
func NoticesProto(list []clustering.Notice) []*cleavev1.Notice {
	return each(list, NoticeProto)
}
