package format_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
)

// The suffix of the name tells the format. A header is optional.
func ExampleInput_LoadPoints() {
	input := func(name, text string) format.Input {
		return format.Input{Path: "-", Stdin: strings.NewReader(text), Label: name}
	}
	points, header, err := input("points.csv", "x,y\n1,2\n3,4\n").LoadPoints()
	fmt.Println(points.N, points.D, header, points.Row(1), err)
	_, _, err = input("points.csv", "1,2\n3,oops\n").LoadPoints()
	fmt.Println(err)
	_, _, err = input("points.xyz", "").LoadPoints()
	why, _, _ := strings.Cut(err.Error(), ";")
	fmt.Println(why)
	// Output:
	// 2 2 [x y] [3 4] <nil>
	// points.csv, line 2: row 1, column 1 is "oops", which is not a number
	// points.xyz: the suffix ".xyz" is not supported
}

func ExampleLoadNamed() {
	text := "i,j,kind,weight\n0,1,must,\n1,2,cannot,2.5\n"
	in := format.Input{Path: "-", Stdin: strings.NewReader(text), Label: "constraints.csv"}
	_, constraints, err := format.LoadNamed(in, table.Constraints, 3, table.Naming{})
	for _, c := range constraints {
		fmt.Println(c.I, c.J, c.Kind, c.Weighted, c.Weight)
	}
	fmt.Println(err)
	in.Stdin = strings.NewReader(text)
	_, _, err = format.LoadNamed(in, table.Constraints, 2, table.Naming{})
	fmt.Println(err)
	// Output:
	// 0 1 must false 0
	// 1 2 cannot true 2.5
	// <nil>
	// constraints.csv, line 3, column "j": point 2 is outside 0..1
}

func ExampleInput_LoadNamedGraph() {
	text := "# a triangle\n0 1\n1 2\n2 0 0.5\n"
	graph, err := format.Input{Path: "-", Stdin: strings.NewReader(text), Label: "graph.edges"}.LoadNamedGraph(
		format.GraphOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(graph.Row(0))
	// Output:
	// [1 2] [1 0.5]
}

func ExampleWriteLabels() {
	if err := format.WriteLabels(os.Stdout, []int32{1, 0, 1}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// index,label
	// 0,1
	// 1,0
	// 2,1
}
