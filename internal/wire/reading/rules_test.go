package reading

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/wire"
)

// texts use every notation, word for a missing value and kind of line.
var texts = []string{
	"id,a,b\n1,\"$1,234.50\",x\n2,-$3,NA\n3,(7),?\n",
	"a;b;c;d\n1.234,50 €;12 %;3 kg;<0,5\n3 €;0;0;2,5*\n\u22125 €;7,5 %;12 kg;~7\n",
	"a;b;c\n1 234,5;1'234.5;5 EUR\n12\u202f345;1'000'000;USD 7\n–;..;#DIV/0!\n",
	"Sales of May\n\nzip;n;when\n00123;none;2024-05-01\n04567;-;1.5.2024\n\nzip;n;when\n# a note\n;;\n",
	"time,flag,day\n14:30,true,1 day\n9:05,false,2 days\n",
	"x y\n1 2.5\n3 1e3\n",
	"year,2019,2020\na,1,2\nb,3,4\n",
}

// A change of how texts become tables, or of the survey that workers exchange, must raise wire.TableRules.
func TestTableRules(t *testing.T) {
	hash := sha256.New()
	for at, text := range texts {
		r, err := format.OpenTable([]string{"-"}, format.TableOptions{Format: "csv", Stdin: strings.NewReader(text)})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		read, err := r.ReadAll()
		if err != nil {
			t.Fatalf("text %d: %v", at, err)
		}
		fmt.Fprintln(hash, read.ID())
	}
	fmt.Fprintln(hash, lateSurvey(t).Seen)
	const rules, want = 1, "1424595e8e1f32aa"
	if got := fmt.Sprintf("%.8x", hash.Sum(nil)); got != want || wire.TableRules != rules {
		t.Errorf("the texts are read as %s by rules %d, recorded are %s and %d; raise wire.TableRules if tables "+
			"changed, and record both", got, wire.TableRules, want, rules)
	}
}

// lateSurvey returns what the last row of a text shows, which has another notation in each column than the rows
// before.
func lateSurvey(t *testing.T) *format.Survey {
	last := []string{"$5", "5 %", "5 €", "5 CHF", "(5)", "\u22125", "<5", "5*", "1.234,5", "1,234.5", "1 234.5",
		"1'234.5", "2,5", "007", "+7", "x", "5 kg"}
	text := strings.Repeat(strings.Repeat("1;", len(last)-1)+"1\n", 20_000) + strings.Join(last, ";") + "\n"
	r, err := format.OpenObject(format.Object{Name: "t.csv", ReaderAt: strings.NewReader(text), Size: int64(len(text))},
		nil, format.TableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for err == nil {
		_, err = r.Next()
	}
	if !errors.Is(err, format.ErrRestarted) {
		t.Fatal(err)
	}
	return r.Survey()
}
