package wire

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
)

// MatrixSpecToProto converts a matrix spec. Its two arrays may be large, so the caller packs them: PackFloat64s of
// spec.Mean and spec.Scale, nil if there is none.
func MatrixSpecToProto(spec kernel.MatrixSpec, mean, scale *workerv1.Payload) *workerv1.MatrixSpec {
	source := matrixSources.write(spec.Function)
	if source == workerv1.MatrixSource_MATRIX_SOURCE_UNSPECIFIED {
		source = workerv1.MatrixSource_MATRIX_SOURCE_KERNEL
	}
	return &workerv1.MatrixSpec{
		Source:       source,
		Function:     kernelFunctions.write(spec.Function),
		Rho:          spec.Rho,
		Gamma:        spec.Gamma,
		Coef0:        spec.Coef0,
		Degree:       uint32(spec.Degree),
		ZeroDiagonal: spec.ZeroDiagonal,
		GridExponent: int32(spec.Grid),
		Rows:         uint64(spec.Rows),
		Columns:      uint64(spec.Columns),
		Mean:         mean,
		Scale:        scale,
		HalfScale:    spec.HalfScale,
		Entries:      uint64(spec.Entries),
	}
}

// MatrixSpecFromProto is the inverse of MatrixSpecToProto. The caller has fetched the two arrays. It fails for values
// that make no sense.
func MatrixSpecFromProto(m *workerv1.MatrixSpec, mean, scale []float64) (kernel.MatrixSpec, error) {
	function, err := matrixFunction(m)
	if err != nil {
		return kernel.MatrixSpec{}, err
	}
	spec := kernel.MatrixSpec{
		Function:     function,
		Rho:          m.GetRho(),
		Gamma:        m.GetGamma(),
		Coef0:        m.GetCoef0(),
		Degree:       int(m.GetDegree()),
		ZeroDiagonal: m.GetZeroDiagonal(),
		Grid:         kernel.Grid(m.GetGridExponent()),
		Rows:         int(m.GetRows()),
		Columns:      int(m.GetColumns()),
		Mean:         mean,
		Scale:        scale,
		HalfScale:    m.GetHalfScale(),
		Entries:      int64(m.GetEntries()),
	}
	switch {
	case m.GetRows() < 1 || m.GetRows() > dataset.MaxRows || m.GetColumns() > math.MaxInt32 ||
		m.GetEntries() > math.MaxInt64/64:
		return spec, fmt.Errorf("wire: a matrix of %d rows over %d columns with %d entries", m.GetRows(),
			m.GetColumns(), m.GetEntries())
	case mean != nil && len(mean) != spec.Columns:
		return spec, fmt.Errorf("wire: a mean of %d values for %d columns", len(mean), spec.Columns)
	case scale != nil && len(scale) != spec.Rows:
		return spec, fmt.Errorf("wire: a scale of %d values for %d rows", len(scale), spec.Rows)
	}
	return spec, nil
}

// StatsToProto converts cluster statistics.
func StatsToProto(all []kernel.ClusterStats) []*workerv1.ClusterStats {
	return each(all, func(s kernel.ClusterStats) *workerv1.ClusterStats {
		return &workerv1.ClusterStats{
			Lane: uint32(s.Lane), Sigma: s.Sigma,
			Weight: PackFloat64s(s.Weight), SelfAffinity: PackFloat64s(s.SelfAffinity), Count: PackInt32s(s.Count),
		}
	})
}

// StatsFromProto is the inverse of StatsToProto.
func StatsFromProto(packed []*workerv1.ClusterStats) ([]kernel.ClusterStats, error) {
	return eachOrError(packed, statsFromProto)
}

// statsFromProto refuses statistics whose lists differ in length.
func statsFromProto(p *workerv1.ClusterStats) (kernel.ClusterStats, error) {
	stats := kernel.ClusterStats{Lane: int(p.GetLane()), Sigma: p.GetSigma()}
	var err error
	if stats.Weight, err = UnpackFloat64s(p.GetWeight()); err != nil {
		return stats, err
	}
	if stats.SelfAffinity, err = UnpackFloat64s(p.GetSelfAffinity()); err != nil {
		return stats, err
	}
	if stats.Count, err = UnpackInt32s(p.GetCount()); err != nil {
		return stats, err
	}
	if len(stats.Weight) != len(stats.Count) || len(stats.SelfAffinity) != len(stats.Count) {
		return stats, fmt.Errorf("wire: statistics of %d, %d and %d clusters", len(stats.Weight),
			len(stats.SelfAffinity), len(stats.Count))
	}
	return stats, nil
}

// CandidatesToProto converts the farthest points of lanes.
func CandidatesToProto(candidates []labeling.Candidate) []*workerv1.Candidate {
	return each(candidates, func(c labeling.Candidate) *workerv1.Candidate {
		return &workerv1.Candidate{Found: c.Found, Point: uint32(c.Point), Distance: c.Distance}
	})
}

// CandidatesFromProto is the inverse of CandidatesToProto.
func CandidatesFromProto(packed []*workerv1.Candidate) ([]labeling.Candidate, error) {
	return eachOrError(packed, func(p *workerv1.Candidate) (c labeling.Candidate, err error) {
		if p.GetPoint() > math.MaxInt32 {
			return c, fmt.Errorf("wire: point %d is out of range", p.GetPoint())
		}
		return labeling.Candidate{Found: p.GetFound(), Point: int32(p.GetPoint()), Distance: p.GetDistance()}, nil
	})
}

// BlocksToProto converts blocks of points.
func BlocksToProto(blocks []kernel.Block) []*workerv1.Block {
	return each(blocks, func(b kernel.Block) *workerv1.Block {
		return &workerv1.Block{Lane: uint32(b.Lane), Points: PackInt32s(b.Points)}
	})
}

// BlocksFromProto is the inverse of BlocksToProto.
func BlocksFromProto(packed []*workerv1.Block) ([]kernel.Block, error) {
	return eachOrError(packed, func(p *workerv1.Block) (kernel.Block, error) {
		points, err := UnpackInt32s(p.GetPoints())
		return kernel.Block{Lane: int(p.GetLane()), Points: points}, err
	})
}

// CommandName returns the name of a command's operation field, or "none" if it is unknown.
func CommandName(c *workerv1.Command) string {
	if field := operationField(c); field != nil {
		return string(field.Name())
	}
	return "none"
}

// Operation returns the operation of a command, or nil if it is unknown.
func Operation(c *workerv1.Command) proto.Message {
	field := operationField(c)
	if field == nil {
		return nil
	}
	return c.ProtoReflect().Get(field).Message().Interface()
}

func operationField(c *workerv1.Command) protoreflect.FieldDescriptor {
	m := c.ProtoReflect()
	return m.WhichOneof(m.Descriptor().Oneofs().ByName("operation"))
}

// Constants that a coordinator and its workers agree on.
const (
	// WorkerProtocol is the major version of the worker protocol. Both sides must have the same. Compatible additions
	// keep it: an operation or field that changes what is computed may be sent only from the release after the one
	// whose workers know it.
	WorkerProtocol = 11
	// RememberedTileLists is how many numbered lists of tiles a worker remembers for each job. Methods alternate
	// between few: all tiles of the worker, and those with constrained points. It is part of the protocol: a
	// coordinator that counts on more lists than its workers remember sends every long list twice.
	RememberedTileLists = 4
	// TableRules counts the versions of how files become tables: raise it if the same bytes become another table, or
	// if the bits of TextSurvey change. The objects of an import are read by workers with the coordinator's rules
	// only, so that all of its parts are read alike.
	TableRules = 1
	// InlineBytes is the size of the largest payload that is sent on the Attach stream. A larger one is sent by
	// reference, on a stream of its own, so that no heartbeat waits behind it.
	InlineBytes = 64 << 10
	// ChunkBytes is the size of the messages that a larger payload is cut into.
	ChunkBytes = 1 << 20
	// WorkerMessageBytes limits the size of any message of the worker protocol.
	WorkerMessageBytes = 8 << 20
)
