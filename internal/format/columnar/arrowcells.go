package columnar

import (
	"math/big"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// typeOf returns the type that a column is converted to, or the reason why a table cannot hold it.
func typeOf(from arrow.DataType) (to table.Type, refusal string) {
	switch from := from.(type) {
	case *arrow.DictionaryType:
		return typeOf(from.ValueType)
	case arrow.ExtensionType:
		return typeOf(from.StorageType())
	case arrow.DecimalType:
		if from.GetScale() < 0 || from.GetScale() > maxScale {
			return 0, "holds decimals of an invalid size"
		}
		return table.Number, ""
	}
	switch from.ID() {
	case arrow.BOOL, arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP,
		arrow.NULL, arrow.STRING, arrow.BINARY, arrow.LARGE_STRING, arrow.LARGE_BINARY, arrow.STRING_VIEW,
		arrow.BINARY_VIEW:
		return table.Text, ""
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64:
		return table.Integer, ""
	case arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64, arrow.DURATION:
		return table.Number, ""
	case arrow.INTERVAL_MONTHS, arrow.INTERVAL_DAY_TIME, arrow.INTERVAL_MONTH_DAY_NANO:
		return 0, "holds intervals of months and days"
	case arrow.FIXED_SIZE_BINARY:
		return 0, "holds bytes, not text"
	case arrow.LIST, arrow.LARGE_LIST, arrow.FIXED_SIZE_LIST, arrow.LIST_VIEW, arrow.LARGE_LIST_VIEW:
		return 0, "holds lists"
	case arrow.STRUCT:
		return 0, "is nested"
	case arrow.SPARSE_UNION, arrow.DENSE_UNION:
		return 0, "holds values of several types"
	case arrow.MAP:
		return 0, "holds maps"
	case arrow.RUN_END_ENCODED:
		return 0, "is run-end encoded"
	}
	return 0, "has an unknown type"
}

// column converts the values of a batch.
func (a *Arrow) column(f *field, values arrow.Array) (c table.Column, err error) {
	if values, ok := values.(array.ExtensionArray); ok {
		return a.column(f, values.Storage())
	}
	rows := values.Len()
	if f.to == 0 || values.DataType().ID() == arrow.NULL {
		// These cells take no bytes of the file, so that only this limit bounds the number of rows.
		a.free -= int64(rows)
		if a.free < 0 {
			return c, tooMuchGrowth()
		}
		return nothing(f.name, rows), nil
	}
	if err := a.take(8 * int64(rows)); err != nil {
		return c, err
	}
	if values, ok := values.(*array.Dictionary); ok {
		return a.lookUp(f, values)
	}
	c = table.Column{Name: f.name, Type: f.to}
	c.Empty, err = emptyOf(f, values)
	if err != nil {
		return c, err
	}
	switch f.to {
	case table.Integer:
		c.Integers, err = f.integers(values)
	case table.Number:
		c.Numbers, err = f.numbers(values)
	default:
		c.Texts, err = a.texts(f, values, c.Empty)
	}
	if err != nil {
		return c, err
	}
	return c, checkCells(&c, f.unneeded, values.DataType().ID() == arrow.UINT64)
}

// emptyOf reports which values are missing. It returns nil if none is.
func emptyOf(f *field, values arrow.Array) ([]bool, error) {
	if values.NullN() == 0 || values.Len() == 0 {
		return nil, nil
	}
	marks := values.NullBitmapBytes()
	offset := values.Data().Offset()
	if offset+values.Len() > 8*len(marks) {
		return nil, corrupt(arrowName, "column %q has fewer bytes than its rows need", f.name).With("column", f.name)
	}
	empty := make([]bool, values.Len())
	for row := range empty {
		empty[row] = marks[(offset+row)/8]>>((offset+row)%8)&1 == 0
	}
	return empty, nil
}

// integers returns the values of an array of a type that fits into int64.
func (f *field) integers(values arrow.Array) ([]int64, error) {
	switch values := values.(type) {
	case *array.Int8:
		return asIntegers(values.Int8Values()), nil
	case *array.Int16:
		return asIntegers(values.Int16Values()), nil
	case *array.Int32:
		return asIntegers(values.Int32Values()), nil
	case *array.Int64:
		return asIntegers(values.Int64Values()), nil
	case *array.Uint8:
		return asIntegers(values.Uint8Values()), nil
	case *array.Uint16:
		return asIntegers(values.Uint16Values()), nil
	case *array.Uint32:
		return asIntegers(values.Uint32Values()), nil
	case *array.Uint64:
		return asIntegers(values.Uint64Values()), nil
	}
	return nil, f.unknown(values)
}

func (f *field) unknown(values arrow.Array) error {
	return corrupt(arrowName, "column %q has type %v in a batch, unlike in the schema", f.name, values.DataType()).With(
		"column", f.name)
}

func asIntegers[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](values []T) []int64 {
	out := make([]int64, len(values))
	for row, v := range values {
		out[row] = int64(v)
	}
	return out
}

// numbers returns the values of an array of fractions or durations.
func (f *field) numbers(values arrow.Array) ([]float64, error) {
	switch values := values.(type) {
	case *array.Float64:
		return append(make([]float64, 0, values.Len()), values.Float64Values()...), nil
	case *array.Float32:
		return asNumbers(values.Float32Values(), 1), nil
	case *array.Float16:
		out := make([]float64, values.Len())
		for row, v := range values.Values() {
			out[row] = scan.Half(v.Uint16())
		}
		return out, nil
	case *array.Duration:
		return asNumbers(values.DurationValues(), float64(perSecond(values))), nil
	case *array.Decimal32:
		return asDecimals(values, func(row int) *big.Int { return big.NewInt(int64(values.Value(row))) }), nil
	case *array.Decimal64:
		return asDecimals(values, func(row int) *big.Int { return big.NewInt(int64(values.Value(row))) }), nil
	case *array.Decimal128:
		return asDecimals(values, func(row int) *big.Int { return values.Value(row).BigInt() }), nil
	case *array.Decimal256:
		return asDecimals(values, func(row int) *big.Int { return values.Value(row).BigInt() }), nil
	}
	return nil, f.unknown(values)
}

// perSecond returns how many units of the values are a second, 1 if they have no unit.
func perSecond(values arrow.Array) int64 {
	if timed, ok := values.DataType().(arrow.TemporalWithUnit); ok {
		return int64(time.Second / timed.TimeUnit().Multiplier())
	}
	return 1
}

func asNumbers[T ~int64 | ~float32](values []T, per float64) []float64 {
	out := make([]float64, len(values))
	for row, v := range values {
		out[row] = float64(v) / per
	}
	return out
}

func asDecimals(values arrow.Array, unscaled func(row int) *big.Int) []float64 {
	scale := int(values.DataType().(arrow.DecimalType).GetScale())
	out := make([]float64, values.Len())
	for row := range out {
		out[row] = decimal(unscaled(row), scale)
	}
	return out
}

// texts copies all texts of a column at once. Texts stored as views are not copied, because several may share the same
// bytes.
func (a *Arrow) texts(f *field, values arrow.Array, empty []bool) ([]string, error) {
	out := make([]string, values.Len())
	if len(out) == 0 { // even the first offset may be missing
		return out, nil
	}
	value := momentOf(values)
	if value != nil {
		if err := a.take(momentBytes * int64(len(out))); err != nil {
			return nil, err
		}
	}
	switch values := values.(type) {
	case withOffsets[int32]:
		return split(out, values.ValueBytes(), values.ValueOffsets()), nil
	case withOffsets[int64]:
		return split(out, values.ValueBytes(), values.ValueOffsets()), nil
	case *array.StringView:
		value = values.Value
	case *array.BinaryView:
		value = values.ValueString
	}
	if value == nil {
		return nil, f.unknown(values)
	}
	for row := range out {
		if empty == nil || !empty[row] {
			out[row] = value(row)
		}
	}
	return out, nil
}

// momentOf returns the text of each row for dates, times and Booleans, and nil for other values.
func momentOf(values arrow.Array) func(row int) string {
	per := perSecond(values)
	switch values := values.(type) {
	case *array.Boolean:
		return func(row int) string { return strconv.FormatBool(values.Value(row)) }
	case *array.Date32:
		return func(row int) string { return dateText(int64(values.Value(row))) }
	case *array.Date64:
		return func(row int) string { return timeOf(int64(values.Value(row)), 1e3).Format(time.DateOnly) }
	case *array.Time32:
		return func(row int) string { return clockText(int64(values.Value(row)), per) }
	case *array.Time64:
		return func(row int) string { return clockText(int64(values.Value(row)), per) }
	case *array.Timestamp:
		return func(row int) string { return timestampText(int64(values.Value(row)), per) }
	}
	return nil
}

// withOffsets is an array of texts or bytes that are stored one after the other.
type withOffsets[T int32 | int64] interface {
	ValueBytes() []byte
	ValueOffsets() []T
}

// split cuts data into texts at the given offsets, one more than there are texts.
func split[T int32 | int64](out []string, data []byte, offsets []T) []string {
	all := string(data)
	for row := range out {
		out[row] = all[offsets[row]-offsets[0] : offsets[row+1]-offsets[0]]
	}
	return out
}

// lookUp replaces indices by the values of a dictionary.
func (a *Arrow) lookUp(f *field, values *array.Dictionary) (c table.Column, err error) {
	if dictionary := values.Data().Dictionary(); f.dictionary != dictionary {
		f.known, err = a.column(f, values.Dictionary())
		if err != nil {
			return c, err
		}
		f.dictionary = dictionary
	}
	indices := field{name: f.name, to: table.Integer}
	places, err := a.column(&indices, values.Indices())
	if err != nil {
		return c, err
	}
	c = table.Column{Name: f.name, Type: f.known.Type, Empty: places.Empty}
	c.Make(len(places.Integers))
	for row, index := range places.Integers {
		if c.Empty != nil && c.Empty[row] {
			continue
		}
		if index < 0 || index >= int64(f.known.Len()) {
			return c, corrupt(arrowName, "column %q: index %d is outside the dictionary of %d values", f.name, index,
				f.known.Len())
		}
		switch {
		case f.known.Empty != nil && f.known.Empty[index]:
			c.MarkEmpty(row)
		case c.Type == table.Integer:
			c.Integers[row] = f.known.Integers[index]
		case c.Type == table.Number:
			c.Numbers[row] = f.known.Numbers[index]
		default:
			c.Texts[row] = f.known.Texts[index]
		}
	}
	return c, nil
}
