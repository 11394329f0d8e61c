package format

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/cleave-project/cleave/internal/format/scan"
)

// Reading 100,000 rows of 16 numbers, in bytes of the file a second.
func BenchmarkLoadPoints(b *testing.B) {
	const rows, columns = 100_000, 16
	rng := rand.New(rand.NewPCG(1, 2))
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }\n", rows, columns)
	npy := append([]byte(scan.NPYMagic+"\x01\x00"), byte(len(header)), 0)
	npy = append(npy, header...)
	var csv []byte
	for i := range rows * columns {
		v := float32(rng.NormFloat64())
		npy = binary.LittleEndian.AppendUint32(npy, math.Float32bits(v))
		csv = strconv.AppendFloat(csv, float64(v), 'g', 8, 64)
		if (i+1)%columns == 0 {
			csv = append(csv, '\n')
		} else {
			csv = append(csv, ',')
		}
	}
	for name, content := range map[string][]byte{"x.npy": npy, "x.csv": csv} {
		b.Run(name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), name)
			if err := os.WriteFile(path, content, 0o600); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				if _, _, err := LoadPoints(path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
