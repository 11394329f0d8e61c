package text_test

import (
	"fmt"

	"github.com/cleave-project/cleave/internal/text"
)

func ExampleMessage() {
	links := []text.Part{text.Link(0, 1, true), text.Link(2, 3, false), text.Link(4, 5, false)}
	fmt.Println(append(text.Message{text.Plain("%d links: ", len(links))}, text.FirstParts(links, 2)...))
	fmt.Println(text.Message{text.Plain("column "), text.Column(3), text.Plain(" of row "), text.Row(7)})
	// Output:
	// 3 links: 0-1 (must), 2-3 (cannot) and 1 more
	// column 3 of row 7
}
