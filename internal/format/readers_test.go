package format

import (
	"io"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/segment"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// The functions below read a file of the given name that is not on a disk.

func inputOf(r io.Reader, name string) Input { return Input{Path: "-", Stdin: r, Label: name} }

func ReadPoints(r io.Reader, name string) (*dataset.Points, []string, error) {
	return inputOf(r, name).LoadPoints()
}

func ReadCompletePoints(r io.Reader,
	name string) (points *dataset.Points, header []string, incomplete []int32, err error) {
	return inputOf(r, name).points(true)
}

func ReadSparsePoints(r io.Reader, name string, features int) (*dataset.SparsePoints, error) {
	return inputOf(r, name).LoadSparsePoints(features)
}

func ReadCompleteSparsePoints(r io.Reader, name string) (points *dataset.SparsePoints, incomplete []int32, err error) {
	return inputOf(r, name).sparsePoints(0, true)
}

func ReadKernel(r io.Reader, name string) (*dataset.Kernel, error) {
	return inputOf(r, name).LoadKernel()
}

func ReadGraph(r io.Reader, name string, vertices int) (*dataset.Graph, error) {
	g, err := readInput(inputOf(r, name), scan.Options{}, func(s *scan.Source) (*NamedGraph, error) {
		return readGraph(s, vertices)
	})
	if err != nil {
		return nil, err
	}
	return g.Graph, nil
}

func ReadNamed[T any](r io.Reader, name string, kind table.Kind[T], points int,
	naming table.Naming) (*table.Table, []T, error) {
	return LoadNamed(inputOf(r, name), kind, points, naming)
}

func ReadBeliefs(r io.Reader, name string, points int, naming table.Naming) ([]constraint.Belief, error) {
	return inputOf(r, name).beliefs(points, naming)
}

func ReadBoxes(r io.Reader, name string, width, height int) ([]segment.Box, error) {
	return inputOf(r, name).boxes(width, height)
}

func ReadPicture(r io.Reader, name string) (*segment.Picture, error) {
	return readInput(inputOf(r, name), scan.Options{AnyFormat: true}, readPicture)
}
