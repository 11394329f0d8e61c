// Package page writes report.html: what a job was asked, what it found and how to repeat it, on one page that loads
// nothing else. Callers supply the content. The page is complete without scripts, which add zoom, highlighting and
// tooltips.
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // page.html, page.css, page.js
	"encoding/base64"
	"html/template"
	"io"
	"regexp"

	"github.com/cleave-project/cleave/internal/render/picture"
	"github.com/cleave-project/cleave/internal/text"
)

// Page is the content of a report, in order. Nil and empty sections are omitted. All texts are plain: the template
// escapes them.
type Page struct {
	Title    string // the name of the data, in any script
	Answer   string // in a few sentences
	Figures  Facts  // the few numbers that matter most
	Notices  []string
	Sections []*Section // a nil one is left out, so that callers need not check
}

// Section is a part of the page with a heading. Its fields are in the order in which they are shown.
type Section struct {
	ID, Title string   // the ID is the target of links, and differs from those of other sections
	Text      []string // paragraphs
	Facts     Facts
	Command   string // a command line
	Details   *Details
	Chart     *Chart
	Tables    []*Table // a nil one is left out
	Profiles  []Profile
	Note      string // what was left out
}

// Details is what the reader opens: a list of sentences, or code, or both.
type Details struct {
	Summary string // what the reader sees first
	Items   []string
	Code    string
}

// Chart is a figure with a note below it, and the same as a table for those who cannot see it.
type Chart struct {
	Figure *picture.Figure // nil leaves out the drawing
	Note   string          // unused if the figure is a map, which has a note of its own
	Table  *Table          // nil if the text above says it all
}

// Fact is a line of a list of facts. The value may come from the data, in any script.
type Fact struct{ Name, Value string }

// Facts is a list of facts.
type Facts []Fact

// Add adds a fact, unless its value is "".
func (f *Facts) Add(name, value string) {
	if value != "" {
		*f = append(*f, Fact{name, value})
	}
}

// Profile describes what sets a cluster apart.
type Profile struct {
	Cluster int
	Class   string // "" for none
	Size    string // with its noun: "40 rows"
	Summary string // in a sentence
	Table   *Table
}

var (
	//go:embed page.html
	markup string
	//go:embed page.css
	style string
	//go:embed page.js
	script string
)

// document is the data of the template. The content security policy of the page names the hashes, and so allows this
// style sheet and this script and no others, whatever the data contains.
type document struct {
	*Page
	Style                 template.CSS
	Script                template.JS
	StyleHash, ScriptHash string
	Shapes                template.HTML // the markers that charts and tables refer to
}

// Write writes the page. It writes nothing if the template fails.
func Write(w io.Writer, p *Page) error {
	parsed, err := template.New("page.html").Funcs(functions).Parse(markup)
	if err != nil {
		return err
	}
	d := document{Page: p, Style: template.CSS(picture.Style + style), Script: template.JS(script),
		Shapes: picture.Shapes(1)}
	d.StyleHash = hash(string(d.Style))
	d.ScriptHash = hash(string(d.Script))
	var written bytes.Buffer
	if err := parsed.Execute(&written, d); err != nil {
		return err
	}
	_, err = written.WriteTo(w)
	return err
}

// hash names a style sheet or a script in the Content-Security-Policy that allows it.
func hash(source string) string {
	sum := sha256.Sum256([]byte(source))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

var functions = template.FuncMap{"color": picture.ColorClass, "shape": picture.ShapeName, "count": text.Grouped,
	"pieces": pieces}

// piece is a part of a sentence: an option of the command line, or the text before it.
type piece struct {
	Text   string
	Option bool
}

var optionName = regexp.MustCompile(`--[a-z][a-z-]+`)

// pieces divides a sentence, so that the page can keep a line from ending within an option.
func pieces(sentence string) (all []piece) {
	end := 0
	for _, at := range optionName.FindAllStringIndex(sentence, -1) {
		all = append(all, piece{Text: sentence[end:at[0]]}, piece{Text: sentence[at[0]:at[1]], Option: true})
		end = at[1]
	}
	return append(all, piece{Text: sentence[end:]})
}
