package auto

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering/heldout"
)

// text returns how the documents write a bar: "> 1.28", ">= -1", or nothing for a use that does not compete.
func (b bar) text() string {
	if b == nil {
		return ""
	}
	for _, least := range []float64{minAdvantage, minAdvantageUnsure, clearlyWorse} {
		above := b(math.Nextafter(least, math.Inf(1)))
		below := b(math.Nextafter(least, math.Inf(-1)))
		switch {
		case above && !b(least):
			return fmt.Sprintf("> %v", least)
		case b(least) && !below:
			return fmt.Sprintf(">= %v", least)
		}
	}
	return "unknown"
}

// The tables of docs/ALGORITHMS.md have the candidates in their order, with their bars, and the limits of the regimes.
func TestTheDocumentHasTheDecision(t *testing.T) {
	file, err := os.ReadFile("../../../docs/ALGORITHMS.md")
	if err != nil {
		t.Fatal(err)
	}
	document := string(file)
	words := strings.Join(strings.Fields(document), " ") // lines are wrapped
	for _, limit := range []string{
		fmt.Sprintf("| fewer than %d pairs ", heldout.EnoughPairs),
		fmt.Sprintf("advantage over the best so far exceeds %v ", minAdvantageFew),
		fmt.Sprintf("answer of that space is below %v.", clearlyWorse),
		fmt.Sprintf("| %d seeds or more, dense points", fromManySeeds),
	} {
		if !strings.Contains(words, limit) {
			t.Errorf("the document does not say %q", limit)
		}
	}
	const head = "| use | spaces | a contradiction | fewer than 10 checks | 10 checks or more |\n" +
		"|---|---|---|---|---|\n"
	_, table, found := strings.Cut(document, head)
	if !found {
		t.Fatalf("the document has no table %s", head)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var documented, decided []string
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(line, "| \n"), "|")
		cells = slices.Delete(cells, 1, 2) // spaces are described in words
		for at := range cells {
			cells[at] = strings.TrimSuffix(strings.TrimSpace(cells[at]), ", with seeds only")
		}
		for len(cells) < 2+int(confirmed) {
			cells = append(cells, "")
		}
		documented = append(documented, strings.Join(cells, " | "))
	}
	for _, c := range candidates() {
		cells := []string{fmt.Sprintf("`%s`", c.use)}
		for _, b := range c.bars {
			cells = append(cells, b.text())
		}
		decided = append(decided, strings.Join(cells, " | "))
	}
	if !slices.Equal(documented, decided) {
		t.Errorf("the document has\n%s\nbut the code\n%s", strings.Join(documented, "\n"), strings.Join(decided, "\n"))
	}
}
