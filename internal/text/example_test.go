package text_test

import (
	"fmt"

	"github.com/cleave-project/cleave/internal/text"
)

func ExamplePlural() {
	fmt.Println(text.Plural(1, "row"))
	fmt.Println(text.Plural(2, "row"))
	// Output:
	// 1 row
	// 2 rows
}

func ExampleFirst() {
	fmt.Println(text.First([]int{2, 3, 5, 7, 11}, 3))
	// Output: 2, 3, 5 and 2 more
}

func ExampleOr() {
	fmt.Println(text.Or([]int{2}))
	fmt.Println(text.Or([]string{"shift", "stop", "ignore"}))
	// Output:
	// 2
	// shift, stop or ignore
}

func ExampleBytes() {
	fmt.Println(text.Bytes(int64(1536)))
	fmt.Println(text.Bytes(uint64(64 << 20)))
	// Output:
	// 1.5 KiB
	// 64 MiB
}

func ExampleSimilar() {
	flags := []string{"data-dir", "log-format", "log-level"}
	fmt.Printf("%q %q\n", text.Similar("log-levl", flags), text.Similar("knn", flags))
	// Output: "log-level" ""
}

func ExampleGrouped() {
	fmt.Println(text.Grouped(0), text.Grouped(999), text.Grouped(1000), text.Grouped(-1234567), text.Grouped(-100))
	// Output: 0 999 1,000 -1,234,567 -100
}

func ExampleGroupedCount() {
	fmt.Println(text.GroupedCount(1, "vertex", "vertices"), text.GroupedCount(2000, "vertex", "vertices"))
	// Output: 1 vertex 2,000 vertices
}
