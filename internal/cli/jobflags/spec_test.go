package jobflags

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/test/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func TestFlagsBecomeAJobSpec(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	pairs := tableText("i j kind weight", "0 1 must -", "0 2 cannot 2.5")
	seeds := tableText("index label", "0 0", "2 1")
	for _, c := range []struct{ args, want string }{
		{"--data p.csv --k 2", `display_name:"p.csv" k:2 auto:{}`},
		{"--data p.csv --k 2 --name mine --seed 18446744073709551615 --restarts 5 --tolerance 1e-6",
			`display_name:"mine" k:2 seed:18446744073709551615 restarts:5 tolerance:1e-6 auto:{}`},
		{"--data p.csv --k 2 --max-iterations 0 --algorithm kernel-kmeans",
			`display_name:"p.csv" k:2 max_iterations:0 kernel_kmeans:{}`},
		{"--data p.csv --k 2 --algorithm kernel-kmeans --kernel gaussian --rho 1.5",
			`display_name:"p.csv" k:2 kernel_kmeans:{kernel:{function:KERNEL_FUNCTION_GAUSSIAN rho:1.5}}`},
		{"--data p.csv --k 2 --rho auto", `display_name:"p.csv" k:2 kernel_kmeans:{kernel:{}}`},
		{"--data p.csv --k 2 --kernel polynomial --gamma 0.5 --coef0 -1 --degree 3",
			`display_name:"p.csv" k:2 kernel_kmeans:{kernel:{function:KERNEL_FUNCTION_POLYNOMIAL gamma:0.5 coef0:-1 ` +
				`degree:3}}`},
		{"--data p.csv --k 2 --kernel sigmoid --gamma 2",
			`display_name:"p.csv" k:2 kernel_kmeans:{kernel:{function:KERNEL_FUNCTION_SIGMOID gamma:2}}`},
		{"--data p.csv --k 2 --sigma auto --on-rise stop --empty keep",
			`display_name:"p.csv" k:2 kernel_kmeans:{shift:{rule:SHIFT_RULE_AUTO} on_rise:RISE_POLICY_STOP ` +
				`on_empty:EMPTY_POLICY_KEEP}`},
		{"--data p.csv --k 2 --sigma 0.25", `display_name:"p.csv" k:2 kernel_kmeans:{shift:{sigma:0.25}}`},
		{"--data p.csv --k 2 --objective ratio-cut --affinity-diagonal keep",
			`display_name:"p.csv" k:2 kernel_kmeans:{objective:OBJECTIVE_RATIO_CUT ` +
				`affinity_diagonal:AFFINITY_DIAGONAL_KEEP}`},
		{"--data p.csv --k 2 --affinity-diagonal keep",
			`display_name:"p.csv" k:2 kernel_kmeans:{affinity_diagonal:AFFINITY_DIAGONAL_KEEP}`}, // implied
		{"--graph e.csv --k 2 --affinity-diagonal keep",
			`display_name:"e.csv" k:2 kernel_kmeans:{affinity_diagonal:AFFINITY_DIAGONAL_KEEP}`},
		{"--graph e.csv --vertices 6 --k 2 --objective normalized-cut",
			`display_name:"e.csv" k:2 kernel_kmeans:{objective:OBJECTIVE_NORMALIZED_CUT}`},
		{"--kernel-matrix k.csv --k 2 --objective ratio-association",
			`display_name:"k.csv" k:2 kernel_kmeans:{objective:OBJECTIVE_RATIO_ASSOCIATION}`},
		{"--data p.csv --k 2 --weights w.csv --objective kernel-kmeans",
			`display_name:"p.csv" k:2 kernel_kmeans:{objective:OBJECTIVE_KERNEL_KMEANS weights:` +
				tableText("index weight", "1 2") + `}`},
		{"--data p.csv --k 2 --constraints c.csv --entail --farthest mean",
			`display_name:"p.csv" k:2 supervision:{entail:true constraints:` + pairs + `}
				initialization:{farthest:FARTHEST_RULE_MEAN} kernel_kmeans:{}`},
		{"--data p.csv --k 2 --constraints none.csv --farthest mean",
			`display_name:"p.csv" k:2 supervision:{constraints:` + tableText("i j kind weight") +
				`} initialization:{} kernel_kmeans:{}`},
		{"--data p.csv --k 2 --seeds s.csv", `display_name:"p.csv" k:2 supervision:{seeds:` + seeds + `} auto:{}`},
		{"--data p.csv --k 2 --seeds s.csv --init seeds",
			`display_name:"p.csv" k:2 supervision:{seeds:` + seeds +
				`} initialization:{start:START_SEEDS} kernel_kmeans:{}`},
		{"--data p.csv --k 2 --init labels:l.csv",
			`display_name:"p.csv" k:2 initialization:{start:START_LABELS labels:` + tableText("index label", "0 0",
				"1 0", "2 1", "3 1") + `} kernel_kmeans:{}`},
		{"--data p.csv --k 2 --init kmeans++",
			`display_name:"p.csv" k:2 initialization:{start:START_KMEANS_PLUS_PLUS} kernel_kmeans:{}`},
		{"--data p.csv --k 2 --init random",
			`display_name:"p.csv" k:2 initialization:{start:START_RANDOM} kernel_kmeans:{}`},
		{"--data p.csv --k 2 --init farthest-first --farthest total",
			`display_name:"p.csv" k:2 initialization:{start:START_FARTHEST_FIRST farthest:FARTHEST_RULE_TOTAL} ` +
				`kernel_kmeans:{}`},
		{"--data p.csv --k 2 --storage float32",
			`display_name:"p.csv" k:2 storage:STORAGE_MODE_FLOAT32 kernel_kmeans:{}`},
		{"--data p.csv --k 2 --storage none", `display_name:"p.csv" k:2 storage:STORAGE_MODE_NONE kernel_kmeans:{}`},
		{"--graph e.csv --k 2 --storage float32",
			`display_name:"e.csv" k:2 storage:STORAGE_MODE_FLOAT32 kernel_kmeans:{}`},
		{"--data p.csv --k 2 --storage auto", `display_name:"p.csv" k:2 auto:{}`},
		{"--data p.csv -f job.yaml",
			`display_name:"p.csv" k:3 seed:7 kernel_kmeans:{kernel:{function:KERNEL_FUNCTION_LAPLACIAN rho:2}}`},
		{"--data p.csv -f job.yaml --k 2 --seed 0 --rho 3",
			`display_name:"p.csv" k:2 kernel_kmeans:{kernel:{function:KERNEL_FUNCTION_LAPLACIAN rho:3}}`},
		{"--data p.csv -f job.yaml --kernel linear", // takes the file's rho with it
			`display_name:"p.csv" k:3 seed:7 kernel_kmeans:{kernel:{function:KERNEL_FUNCTION_LINEAR}}`},
		{"--data p.csv --k 2 --algorithm kmeans", `display_name:"p.csv" k:2 kmeans:{}`},
		{"--data p.csv --k 2 --algorithm kmeans --geometry spherical --distortion cosine --metric identity --empty " +
			"farthest --storage auto",
			`display_name:"p.csv" k:2 kmeans:{geometry:GEOMETRY_SPHERICAL}`}, // the rest is implied
		{"--data x.svm --k 2 --algorithm kmeans --geometry euclidean --distortion euclidean",
			`display_name:"x.svm" k:2 kmeans:{geometry:GEOMETRY_EUCLIDEAN}`},
		{"--data p.csv --k 2 --algorithm seeded-kmeans --seeds s.csv --init seeds",
			`display_name:"p.csv" k:2 supervision:{seeds:` + seeds +
				`} initialization:{start:START_SEEDS} seeded_kmeans:{}`},
		{"--data p.csv --k 2 --algorithm constrained-kmeans --seeds likely.csv", `display_name:"p.csv" k:2
			supervision:{seeds:` + tableText("index label probability", "0 0 0.75", "0 1 0.25", "2 1 -") +
			`} constrained_kmeans:{}`},
		{"--data p.csv --k 2 --algorithm cop-kmeans --constraints c.csv --max-restarts 3 --empty keep",
			`display_name:"p.csv" k:2
			supervision:{constraints:` + pairs + `}
			cop_kmeans:{max_restarts:3}`},
		{"--data p.csv --k 2 --algorithm pc-kmeans --penalty potts --metric identity --inference lp",
			`display_name:"p.csv" k:2 pc_kmeans:{inference:INFERENCE_LP}`},
		{"--data p.csv --k 2 --algorithm m-kmeans --metric full --geometry euclidean",
			`display_name:"p.csv" k:2 m_kmeans:{metric:METRIC_FULL}`},
		{"--data p.csv --k 2 --algorithm mpc-kmeans --penalty bilenko2004 --metric diagonal --inference exact --init " +
			"weighted-farthest-first",
			`display_name:"p.csv" k:2 initialization:{start:START_WEIGHTED_FARTHEST_FIRST}
			mpc_kmeans:{penalty:PENALTY_BILENKO2004 metric:METRIC_DIAGONAL inference:INFERENCE_EXACT}`},
		{"--data p.csv --k 2 --algorithm hmrf-kmeans --distortion i-divergence --penalty basu2003 --inference bp " +
			"--init neighborhoods",
			`display_name:"p.csv" k:2 initialization:{start:START_NEIGHBORHOODS}
			hmrf_kmeans:{distortion:DISTORTION_I_DIVERGENCE penalty:PENALTY_BASU2003 inference:INFERENCE_BP}`},
		{"--data p.csv --k 2 --algorithm pc-kmeans --init neighborhoods",
			`display_name:"p.csv" k:2 initialization:{start:START_NEIGHBORHOODS} pc_kmeans:{}`},
		{"--data p.csv --k 2 --algorithm hmrf-kmeans --distortion cosine --geometry spherical --metric identity",
			`display_name:"p.csv" k:2 hmrf_kmeans:{distortion:DISTORTION_COSINE metric:METRIC_IDENTITY}`},
		{"--data p.csv --k 2 --algorithm kmeans --init centroids:m.csv",
			`display_name:"p.csv" k:2 initialization:{start:START_CENTROIDS centroids:0 centroids:0.5 centroids:5 ` +
				`centroids:5.5} kmeans:{}`},
		{"--data x.svm --k 2 --algorithm kmeans --init centroids:m3.csv",
			`display_name:"x.svm" k:2 initialization:{start:START_CENTROIDS centroids:0 centroids:0 centroids:0 ` +
				`centroids:1 centroids:1 centroids:1} kmeans:{}`},
		{"--data p.csv -f hmrf.yaml --inference lp",
			`display_name:"p.csv" k:2 hmrf_kmeans:{distortion:DISTORTION_COSINE inference:INFERENCE_LP}`},
		{"--data p.csv -f hmrf.yaml --algorithm hmrf-kmeans", // the same one keeps its options
			`display_name:"p.csv" k:2 hmrf_kmeans:{distortion:DISTORTION_COSINE inference:INFERENCE_BP}`},
		{"--data p.csv -f hmrf.yaml --algorithm kmeans", `display_name:"p.csv" k:2 kmeans:{}`}, // another does not
		// the upload sets the id
		{"--data p.csv -f byid.yaml", `display_name:"p.csv" dataset_id:"abc" k:2 auto:{}`},
	} {
		t.Run(c.args, func(t *testing.T) { checkSpec(t, c.args, c.want) })
	}
}

// tableText is an inline table as prototext: its columns, and rows of cells, of which "-" is empty.
func tableText(header string, rows ...string) string {
	text := ""
	for at, name := range strings.Fields(header) {
		kind := map[string]string{"kind": "texts", "weight": "numbers", "probability": "numbers",
			"belief": "numbers"}[name]
		cells, empty := "", ""
		for row, line := range rows {
			cell := strings.Fields(line)[at]
			if cell == "-" {
				cell = "0"
				empty += fmt.Sprintf(" empty_rows:%d", row)
			}
			if kind == "texts" {
				cell = strconv.Quote(cell)
			}
			cells += " values:" + cell
		}
		text += fmt.Sprintf("columns:{name:%q %s:{%s}%s} ", name, cmp.Or(kind, "integers"), cells, empty)
	}
	return "{inline:{" + text + "}}"
}

// checkSpec prepares the job of flags and compares its spec with one in prototext.
func checkSpec(t *testing.T, args, text string) {
	t.Helper()
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f := Add(set, nil)
	if err := set.Parse(strings.Fields(args)); err != nil {
		t.Fatal(err)
	}
	j, err := f.Prepare(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &cleavev1.JobSpec{}
	if err := prototext.Unmarshal([]byte(text), want); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(j.Spec, want) {
		t.Errorf("got  %v\nwant %v", j.Spec, want)
	}
	if j.Data == nil || j.Points != j.Data.Rows() {
		t.Errorf("data %v with %d rows", j.Data, j.Points)
	}
}

// A job file may set every field of the scheduling, by both names of the field.
func TestJobFileSetsTheScheduling(t *testing.T) {
	const yaml = "priority: PRIORITY_LOW\ntime_limit: 9s\nwebhook_url: https://h\n"
	const json = `{"priority": "PRIORITY_LOW", "timeLimit": "9s", "webhookUrl": "https://h"}`
	clitest.Folder(t, map[string]string{"job.yaml": yaml, "job.json": json})
	for _, path := range []string{"job.yaml", "job.json"} {
		job, err := readJobFile(path)
		if err != nil {
			t.Fatal(err)
		}
		message := job.Scheduling.ProtoReflect()
		for at := range message.Descriptor().Fields().Len() {
			if field := message.Descriptor().Fields().Get(at); !message.Has(field) {
				t.Errorf("%s: %s is not set", path, field.Name())
			}
		}
	}
}
