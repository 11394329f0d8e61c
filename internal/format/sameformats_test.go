package format

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/format/csv"
)

// Dates, times, Booleans and words for missing values become the same points from a CSV and from a file that stores
// their types.
func TestFormatsFollowTheSameRules(t *testing.T) {
	fields := []arrow.Field{
		{Name: "flag", Type: arrow.FixedWidthTypes.Boolean}, {Name: "day", Type: arrow.FixedWidthTypes.Date32},
		{Name: "at", Type: arrow.FixedWidthTypes.Timestamp_ms},
		{Name: "clock", Type: arrow.FixedWidthTypes.Time32s}, {Name: "word", Type: arrow.BinaryTypes.String},
		{Name: "x", Type: arrow.PrimitiveTypes.Float64},
	}
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	var text strings.Builder
	text.WriteString("flag,day,at,clock,word,x\n")
	for row := range 40 {
		at := time.Date(2024, 5, 1+row%9, row%24, 30, 0, 0, time.UTC)
		word := []string{"red", "NA", "blue", "n/a"}[row%4]
		b.Field(0).(*array.BooleanBuilder).Append(row%3 == 0)
		b.Field(1).(*array.Date32Builder).Append(arrow.Date32FromTime(at))
		b.Field(2).(*array.TimestampBuilder).Append(arrow.Timestamp(at.UnixMilli()))
		b.Field(3).(*array.Time32Builder).Append(arrow.Time32(3600*at.Hour() + 60*at.Minute()))
		b.Field(4).(*array.StringBuilder).Append(word)
		b.Field(5).(*array.Float64Builder).Append(float64(row*row%17) / 4)
		fmt.Fprintf(&text, "%v,%s,%s,%s,%s,%v\n", row%3 == 0, at.Format("2006-01-02"), at.Format("2006-01-02 15:04:05"),
			at.Format("15:04:05"), word, float64(row*row%17)/4)
	}
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	if err := w.Write(b.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, dates := range []bool{false, true} {
		var made [2]*recipe.Prepared
		var notices [2][]string
		for at, content := range []string{text.String(), out.String()} {
			r, err := OpenTable([]string{"-"}, csv.Options{Format: []string{"csv", "arrow"}[at],
				Stdin: strings.NewReader(content)})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			read, err := r.ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			fitted, says, err := recipe.Fit(t.Context(), read, recipe.Options{Dates: dates})
			if err != nil {
				t.Fatal(err)
			}
			if made[at], err = fitted.Apply(t.Context(), read); err != nil {
				t.Fatal(err)
			}
			notices[at] = says
		}
		if !reflect.DeepEqual(made[0].Points, made[1].Points) || !reflect.DeepEqual(made[0].Names, made[1].Names) ||
			!reflect.DeepEqual(notices[0], notices[1]) {
			t.Errorf("as numbers: %v\n%v\n%v\n%v\n%v", dates, made[0].Names, made[1].Names, notices[0], notices[1])
		}
	}
}
