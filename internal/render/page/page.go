// Package page writes report.html: what a job was asked, what it found and how to repeat it, on one page that needs nothing
// else. It lays out and draws what it is given; what that means is up to the caller. Everything that is drawn is there without
// scripts, which add only zoom, highlighting and what lies under the pointer.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
)

// Page is what is shown, from the top to the bottom. What is nil or empty is left out.
type Page struct {
	Title   string
	Answer  string // in a sentence
	Figures []Fact // the few numbers that matter most
	Notices []string
	Asked   []Fact
	Reading []string // how the table of the data was read

	Map        *Map
	Sizes      *Table
	Profiles   *Profiles
	Typical    *Table
	Borderline *Table
	RowsTitle  string // of the section with the two before
	RowsNote   string // about them
	Silhouette *Silhouette
	Confidence *Confidence

	HowMany     *Section
	Suspects    *Section
	Constraints *Section
	Truth       *Section
	Ways        *Section
	Course      *Course
	Plan        *Section
	Times       *Table
	Repeat      *Repeat
}

// Fact is a name and what it is.
type Fact struct{ Name, Value string }

// Section is some sentences, and a table.
type Section struct {
	Text  []string
	Facts []Fact
	Table *Table
}

// Profiles say what sets clusters apart.
type Profiles struct {
	Text     string
	Overview *Table // columns by clusters
	Clusters []Profile
	Note     string // what was left out
}

// Profile is that of one cluster.
type Profile struct {
	Cluster int
	Class   string // "": it has none
	Size    string
	Summary string // in a sentence
	Table   *Table
}

// Confidence says how sure the labels of rows are.
type Confidence struct {
	Text     string
	Clusters *Table // how many rows of each are how sure
	Least    *Table // the rows that are least sure
}

// Repeat is what it takes to get the same answer again.
type Repeat struct {
	Facts   []Fact
	Command string
	Spec    string // JSON
}

//go:embed page.html page.css page.js
var files embed.FS

// asset is a file that becomes a part of the page, and the name by which the page allows it.
type asset struct{ text, hash string }

func newAsset(name string) (asset, error) {
	text, err := files.ReadFile(name)
	sum := sha256.Sum256(text)
	return asset{string(text), "sha256-" + base64.StdEncoding.EncodeToString(sum[:])}, err
}

// document is what the template sees.
type document struct {
	*Page
	Style           template.CSS
	Script          template.JS
	StyleHash       string
	ScriptHash      string
	Shapes          []Shape
	MapDrawing      *drawing
	CourseDrawing   *drawing
	SilhouetteDrawn *drawing
}

// Write writes the page.
func Write(w io.Writer, p *Page) error {
	style, err := newAsset("page.css")
	if err != nil {
		return err
	}
	script, err := newAsset("page.js")
	if err != nil {
		return err
	}
	parsed, err := template.New("page.html").Funcs(functions).ParseFS(files, "page.html")
	if err != nil {
		return err
	}
	d := document{
		Page: p, Style: template.CSS(style.text), StyleHash: style.hash, Script: template.JS(script.text), ScriptHash: script.hash, Shapes: shapes[:],
	}
	if p.Map != nil {
		d.MapDrawing = p.Map.draw()
	}
	if p.Course != nil {
		d.CourseDrawing = p.Course.draw()
	}
	if p.Silhouette != nil {
		d.SilhouetteDrawn = p.Silhouette.draw()
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, d); err != nil {
		return err
	}
	_, err = text.WriteTo(w)
	return err
}

var functions = template.FuncMap{"color": colorClass, "shape": shapeOf}
