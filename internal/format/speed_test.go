package format

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format/csv"
)

// BenchmarkTables reads the same 100,000 x 16 numbers from CSV and from Parquet.
func BenchmarkTables(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	columns := make([]table.Column, 16)
	for at := range columns {
		columns[at] = table.Column{Name: "x" + strconv.Itoa(at), Type: table.Number, Numbers: make([]float64, 100_000)}
		for row := range columns[at].Numbers {
			columns[at].Numbers[row] = random.NormFloat64()
		}
	}
	t, err := table.New(columns)
	if err != nil {
		b.Fatal(err)
	}
	for _, as := range []string{"csv", "parquet"} {
		b.Run(as, func(b *testing.B) {
			var content bytes.Buffer
			if err := WriteTable(&content, as, t); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(content.Len()))
			for b.Loop() {
				r, err := OpenTable([]string{"-"}, csv.Options{Format: as, Stdin: bytes.NewReader(content.Bytes())})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := r.ReadAll(); err != nil {
					b.Fatal(err)
				}
				r.Close()
			}
		})
	}
}
