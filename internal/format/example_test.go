package format_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
)

// The suffix of the name tells the format. A header is optional.
func ExampleReadPoints() {
	points, header, err := format.ReadPoints(strings.NewReader("x,y\n1,2\n3,4\n"), "points.csv")
	fmt.Println(points.N, points.D, header, points.Row(1), err)
	_, _, err = format.ReadPoints(strings.NewReader("1,2\n3,oops\n"), "points.csv")
	fmt.Println(err)
	_, _, err = format.ReadPoints(strings.NewReader(""), "points.xyz")
	why, _, _ := strings.Cut(err.Error(), ";")
	fmt.Println(why)
	// Output:
	// 2 2 [x y] [3 4] <nil>
	// points.csv, line 2: row 1, column 1 is "oops", which is not a number
	// points.xyz: the suffix ".xyz" is not supported
}

func ExampleReadNamed() {
	text := "i,j,kind,weight\n0,1,must,\n1,2,cannot,2.5\n"
	_, constraints, err := format.ReadNamed(strings.NewReader(text), "constraints.csv", table.Constraints, 3, table.Naming{})
	for _, c := range constraints {
		fmt.Println(c.I, c.J, c.Kind, c.Weighted, c.Weight)
	}
	fmt.Println(err)
	_, _, err = format.ReadNamed(strings.NewReader(text), "constraints.csv", table.Constraints, 2, table.Naming{})
	fmt.Println(err)
	// Output:
	// 0 1 must false 0
	// 1 2 cannot true 2.5
	// <nil>
	// constraints.csv, line 3, column "j": point 2 is outside 0..1
}

func ExampleReadGraph() {
	graph, err := format.ReadGraph(strings.NewReader("# a triangle\n0 1\n1 2\n2 0 0.5\n"), "graph.edges", 0)
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
