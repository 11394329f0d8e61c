package report

import (
	"strings"

	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// notices are what there is to say about the answer.
func (b *pageBuilder) notices() []string {
	answer, _ := wire.SplitNotices(wire.WithoutSuspects(b.Result, b.Result.GetWarnings()))
	return sentences(answer)
}

// reading is how the table was read.
func (b *pageBuilder) reading() []string {
	_, table := wire.SplitNotices(b.Result.GetWarnings())
	return sentences(table)
}

func sentences(notices []*cleavev1.Notice) (list []string) {
	for _, notice := range notices {
		if says := notice.GetMessage(); says != "" {
			list = append(list, upperFirst(strings.TrimSuffix(says, ".")+"."))
		}
	}
	return list
}
