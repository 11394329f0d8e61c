package format

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// npy is a file of version 1 with the given values.
func npy(descr string, fortran bool, shape string, values ...any) string {
	order := map[bool]string{true: "True", false: "False"}[fortran]
	return npyFile(1, fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, order, shape),
		npyBytes(descr, values...))
}

func npyBytes(descr string, values ...any) string {
	var b bytes.Buffer
	var order binary.ByteOrder = binary.LittleEndian
	if descr[0] == '>' {
		order = binary.BigEndian
	}
	for _, v := range values {
		if err := binary.Write(&b, order, v); err != nil {
			panic(err)
		}
	}
	return b.String()
}

func npyFile(version byte, header, body string) string {
	length := binary.LittleEndian.AppendUint16(nil, uint16(len(header)))
	if version > 1 {
		length = binary.LittleEndian.AppendUint32(nil, uint32(len(header)))
	}
	return scan.NPYMagic + string([]byte{version, 0}) + string(length) + header + body
}

func TestNPYElements(t *testing.T) {
	for what, c := range map[string]struct {
		text string
		want []float64
	}{
		"float64":     {npy("<f8", false, "(2, 2)", 1.5, 2.0, -3.0, 4.0), []float64{1.5, 2, -3, 4}},
		"big float64": {npy(">f8", false, "(2, 2)", 1.5, 2.0, -3.0, 4.0), []float64{1.5, 2, -3, 4}},
		"fortran":     {npy("<f8", true, "(2, 2)", 1.5, -3.0, 2.0, 4.0), []float64{1.5, 2, -3, 4}},
		"float32":     {npy("<f4", false, "(1, 2)", float32(1.5), float32(-2)), []float64{1.5, -2}},
		"big float32": {npy(">f4", false, "(1, 2)", float32(1.5), float32(-2)), []float64{1.5, -2}},
		"half": {npy("<f2", false, "(1, 5)", uint16(0x3C00), uint16(0xC000), uint16(0x3555), uint16(1),
			uint16(0x8000)), []float64{1, -2, 0.333251953125, math.Ldexp(1, -24), math.Copysign(0, -1)}},
		"int64":     {npy("<i8", false, "(1, 2)", int64(-5), int64(1)<<40), []float64{-5, 1 << 40}},
		"big int32": {npy(">i4", false, "(1, 2)", int32(-5), int32(70000)), []float64{-5, 70000}},
		"int16":     {npy("<i2", false, "(1, 1)", int16(-300)), []float64{-300}},
		"int8":      {npy("|i1", false, "(1, 2)", int8(-3), int8(3)), []float64{-3, 3}},
		"uint8":     {npy("|u1", false, "(1, 2)", uint8(200), uint8(3)), []float64{200, 3}},
		"uint16":    {npy("<u2", false, "(1, 1)", uint16(60000)), []float64{60000}},
		"uint32":    {npy("<u4", false, "(1, 1)", uint32(4e9)), []float64{4e9}},
		"uint64":    {npy("<u8", false, "(1, 1)", uint64(1)<<63), []float64{1 << 63}},
		"bool":      {npy("|b1", false, "(1, 2)", true, false), []float64{1, 0}},
		"version 2": {npyFile(2, `{"shape": (1L, 2L), "descr": "<f8", "fortran_order": False}`,
			npyBytes("<f8", 7.0, 8.0)), []float64{7, 8}},
		"version 3": {npyFile(3, "{'descr':'<f8','fortran_order':True,'shape':(1,2),}   \n",
			npyBytes("<f8", 7.0, 8.0)), []float64{7, 8}},
		"gzip is also": {npy("<f8", false, "(1, 1)", 2.5), []float64{2.5}},
	} {
		name := "p.npy"
		if strings.HasPrefix(what, "gzip") {
			name = "p.npy.gz"
			c.text = gzipped(c.text)
		}
		points, header, err := ReadPoints(strings.NewReader(c.text), name)
		if err != nil || header != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if !slices.Equal(points.Values, c.want) ||
			math.Signbit(points.Values[len(c.want)-1]) != math.Signbit(c.want[len(c.want)-1]) {
			t.Errorf("%s: got %v, want %v", what, points.Values, c.want)
		}
	}
}

func TestNPYShapes(t *testing.T) {
	points, _, err := ReadPoints(strings.NewReader(npy("|u1", false, "(3,)", []byte{1, 2, 3})), "p.npy")
	if err != nil || points.N != 3 || points.D != 1 {
		t.Errorf("one dimension is a column: %+v, %v", points, err)
	}
	points, _, err = ReadPoints(strings.NewReader(npy("|u1", true, "(2, 3)", []byte{1, 4, 2, 5, 3, 6})), "p.npy")
	if err != nil || points.N != 2 || !slices.Equal(points.Values, []float64{1, 2, 3, 4, 5, 6}) {
		t.Errorf("Fortran order: %+v, %v", points, err)
	}
}

func TestNPYOverManyBlocks(t *testing.T) {
	want := make([]float64, 5*8192+17)
	for i := range want {
		want[i] = float64(i) / 3
	}
	points, _, err := ReadPoints(strings.NewReader(npy("<f8", false, fmt.Sprintf("(%d, 1)", len(want)), want)), "p.npy")
	if err != nil || !slices.Equal(points.Values, want) {
		t.Errorf("%v", err)
	}
}

func TestInvalidNPY(t *testing.T) {
	good := npy("<f8", false, "(2, 2)", 1.0, 2.0, 3.0, 4.0)
	for what, c := range map[string]struct {
		text, reason string
		says         []string
	}{
		"empty":             {"", "TRUNCATED_FILE", []string{"p.npy"}},
		"cut in the header": {good[:20], "TRUNCATED_FILE", nil},
		"cut in the values": {good[:len(good)-9], "TRUNCATED_FILE", []string{"4 values", "after 2"}},
		"more than it says": {good + "x", "TRAILING_DATA", nil},
		"no NPY":            {"NUMPY, but not so", "NOT_NPY", nil},
		"version 9":         {scan.NPYMagic + "\x09\x00\x00\x00", "NOT_NPY", []string{"9"}},
		"huge header":       {scan.NPYMagic + "\x02\x00\xFF\xFF\xFF\xFF", "NOT_NPY", nil},
		"claims terabytes":  {npy("<f8", false, "(1000000000, 1000)", 1.0), "TRUNCATED_FILE", []string{"after 1"}},
		"product overflows": {npy("<f8", false, "(2000000000, 9000000000000000000)", 1.0), "SIZE_OVERFLOW", nil},
		"product wraps":     {npy("<f8", false, "(2, 9223372036854775807)", 1.0), "SIZE_OVERFLOW", nil},
		"number overflows":  {npy("<f8", false, "(2, 99999999999999999999)", 1.0), "NOT_NPY", nil},
		"too many rows":     {npy("<f8", false, "(3000000000, 1)", 1.0), "SIZE_OVERFLOW", nil},
		"no rows":           {npy("<f8", false, "(0, 4)"), "EMPTY_DATA", []string{"p.npy"}},
		"no columns":        {npy("<f8", false, "(4, 0)"), "EMPTY_DATA", nil},
		"a number":          {npy("<f8", false, "()", 1.0), "WRONG_SHAPE", []string{"0 dimensions"}},
		"a cube":            {npy("<f8", false, "(1, 1, 1)", 1.0), "WRONG_SHAPE", []string{"3 dimensions"}},
		"a negative size":   {npy("<f8", false, "(-1, 1)", 1.0), "NOT_NPY", nil},
		"complex":           {npy("<c16", false, "(1, 1)", 1.0, 1.0), "UNSUPPORTED_DTYPE", []string{"<c16"}},
		"objects":           {npy("|O", false, "(1, 1)"), "UNSUPPORTED_DTYPE", nil},
		"strings":           {npy("<U3", false, "(1, 1)"), "UNSUPPORTED_DTYPE", nil},
		"records": {npyFile(1, "{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (1,)}", ""),
			"NOT_NPY", []string{"records"}},
		"a key short": {npyFile(1, "{'descr': '<f8', 'shape': (1,)}", ""), "NOT_NPY", nil},
		"a key too many": {npyFile(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'x': 1}", ""),
			"NOT_NPY", nil},
		"a key twice": {npyFile(1, "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}",
			""), "NOT_NPY", nil},
		"not a dictionary": {npyFile(1, "[1, 2]", ""), "NOT_NPY", nil},
		"NaN": {npy("<f8", true, "(2, 2)", 1.0, 2.0, math.NaN(), 4.0), "NOT_FINITE",
			[]string{"row 0, column 1"}},
		"infinite half value": {npy("<f2", false, "(1, 1)", uint16(0x7C00)), "NOT_FINITE", nil},
		"NaN half value":      {npy("<f2", false, "(1, 1)", uint16(0x7C01)), "NOT_FINITE", nil},
	} {
		var err error
		bytes := allocated(func() { _, _, err = ReadPoints(strings.NewReader(c.text), "p.npy") })
		wantFault(t, what, err, c.reason, c.says...)
		if bytes > 4<<20 {
			t.Errorf("%s: allocated %d bytes for a file of %d", what, bytes, len(c.text))
		}
	}
}

// A file is read at several places at a time; what it gives is what a stream of its bytes gives, mistakes too.
func TestNPYFilesAreReadAsStreamsAre(t *testing.T) {
	const rows, columns = 20*8192 + 5, 3
	values := make([]byte, 0, 4*rows*columns)
	for i := range uint32(rows * columns) {
		values = binary.LittleEndian.AppendUint32(values, math.Float32bits(float32(i)/7))
	}
	whole := npy("<f4", false, fmt.Sprintf("(%d, %d)", rows, columns), values)
	bad := whole[:len(whole)-8] + "\x00\x00\xc0\x7f" + whole[len(whole)-4:]
	for what, text := range map[string]string{"whole": whole, "cut": whole[:len(whole)-1], "longer": whole + "x",
		"not a number": bad} {
		path := filepath.Join(t.TempDir(), "x.npy")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		want, _, wantErr := ReadPoints(strings.NewReader(text), path)
		got, _, err := LoadPoints(path)
		same := (got == nil) == (want == nil)
		if got != nil && want != nil {
			id, _ := dataset.ID(got)
			wantID, _ := dataset.ID(want)
			same = got.N == want.N && got.D == want.D && slices.Equal(got.Values, want.Values) && id == wantID
		}
		if !same || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%s: the file gives %v, a stream of its bytes %v, or other values", what, err, wantErr)
		}
	}
}
