// Command tables writes the tables of the catalog into documents, between lines such as
//
//	<!-- catalog: kernels -->
//	<!-- end of catalog -->
//
// With -check it changes nothing and fails when a document is not current.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
)

var section = regexp.MustCompile(`(?s)(<!-- catalog: ([a-z -]+) -->\n).*?(<!-- end of catalog -->)`)

func main() {
	check := flag.Bool("check", false, "change nothing, and fail when a document is not current")
	flag.Parse()
	tables := catalogTables()
	for _, path := range flag.Args() {
		text, err := os.ReadFile(path)
		if err != nil {
			fail("%v", err)
		}
		current := section.ReplaceAllStringFunc(string(text), func(old string) string {
			parts := section.FindStringSubmatch(old)
			table, known := tables[parts[2]]
			if !known {
				fail("%s: the catalog has no table %s", path, parts[2])
			}
			return parts[1] + table + parts[3]
		})
		switch {
		case current == string(text):
		case *check:
			fail("%s is not current: run make generate", path)
		default:
			if err := os.WriteFile(path, []byte(current), 0o644); err != nil {
				fail("%v", err)
			}
		}
	}
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "tables: "+format+"\n", args...)
	os.Exit(1)
}
