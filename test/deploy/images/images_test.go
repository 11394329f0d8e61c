package images

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxCompressed is the largest image that we want to push: 40 MB.
const maxCompressed = 40_000_000

// built returns the folder with the images that make image has built.
func built() string {
	if dir := os.Getenv("IMAGES"); dir != "" {
		return dir
	}
	return "../../../bin/images"
}

func TestImages(t *testing.T) {
	for _, program := range []string{"coordinator", "worker", "cleave"} {
		found, err := Read(filepath.Join(built(), program))
		if err != nil {
			t.Fatalf("%v; run make image first", err)
		}
		var architectures []string
		for _, image := range found {
			architectures = append(architectures, image.Architecture)
			checkImage(t, program, image)
		}
		if !slices.Equal(architectures, []string{"amd64", "arm64"}) {
			t.Errorf("%s is built for %v", program, architectures)
		}
	}
}

func checkImage(t *testing.T, program string, image Image) {
	t.Helper()
	what := program + " for " + image.Architecture
	if image.Compressed > maxCompressed {
		t.Errorf("%s has %d bytes, more than %d", what, image.Compressed, maxCompressed)
	}
	if image.Config.User != "65532:65532" {
		t.Errorf("%s runs as %q", what, image.Config.User)
	}
	if !slices.Equal(image.Config.Entrypoint, []string{"/usr/bin/" + program}) {
		t.Errorf("%s starts %q", what, image.Config.Entrypoint)
	}
	for _, label := range []string{"title", "description", "version", "revision", "created", "source", "licenses"} {
		if image.Config.Labels["org.opencontainers.image."+label] == "" {
			t.Errorf("%s has no label %s", what, label)
		}
	}
	var names []string
	for name, file := range image.Files {
		if file.FileInfo().Mode().IsRegular() {
			names = append(names, name)
		}
		own := name == "tmp" || name == "var/lib/cleave" // the folders that volumes are mounted on
		if owner := file.Uid == 65532 && file.Gid == 65532; owner != own || !own && (file.Uid != 0 || file.Gid != 0) {
			t.Errorf("%s: %s belongs to %d:%d", what, name, file.Uid, file.Gid)
		}
		if name == "tmp" {
			if file.Mode&0o7777 != 0o1777 {
				t.Errorf("%s: the mode of tmp is %o", what, file.Mode)
			}
			continue
		}
		if file.Mode&0o022 != 0 {
			t.Errorf("%s: others may write to %s", what, name)
		}
	}
	slices.Sort(names)
	if want := []string{"etc/ssl/certs/ca-certificates.crt", "usr/bin/" + program,
		"usr/share/sbom/" + program + ".cdx.json"}; !slices.Equal(names, want) {
		t.Errorf("%s has the files %q, want %q", what, names, want)
	}
	checkProgram(t, what, image.Architecture, image.Files["usr/bin/"+program].Content)
	checkBill(t, what, image.Files["usr/share/sbom/"+program+".cdx.json"].Content)
}

// checkProgram: the program is for this architecture, and needs no loader and no library.
func checkProgram(t *testing.T, what, architecture string, content []byte) {
	t.Helper()
	program, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if want := map[string]elf.Machine{"amd64": elf.EM_X86_64,
		"arm64": elf.EM_AARCH64}[architecture]; program.Machine != want {
		t.Errorf("%s is a program for %v", what, program.Machine)
	}
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("%s is not static: it has %v", what, p.Type)
		}
	}
}

// checkBill: the bill of materials names the modules that the program is built from, with versions.
func checkBill(t *testing.T, what string, content []byte) {
	t.Helper()
	var bill struct {
		BOMFormat  string
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal(content, &bill); err != nil || bill.BOMFormat != "CycloneDX" {
		t.Errorf("%s has a bill of materials in the format %q, %v", what, bill.BOMFormat, err)
	}
	versions := map[string]string{}
	for _, c := range bill.Components {
		versions[c.Name] = c.Version
	}
	for _, module := range []string{"google.golang.org/grpc", "google.golang.org/protobuf", "std"} {
		if versions[module] == "" {
			t.Errorf("%s: its bill of materials does not name %s", what, module)
		}
	}
}

// The program of the arm64 image runs under qemu, and its answers have the bits of those of amd64.
func TestArm64(t *testing.T) {
	found, err := Read(filepath.Join(built(), "cleave"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	commands := map[string][]string{"amd64": nil, "arm64": {"qemu-aarch64"}}
	for _, image := range found {
		program := filepath.Join(dir, image.Architecture)
		if err := os.WriteFile(program, image.Files["usr/bin/cleave"].Content, 0o700); err != nil {
			t.Fatal(err)
		}
		commands[image.Architecture] = append(commands[image.Architecture], program)
	}
	run := func(architecture string, args ...string) {
		t.Helper()
		words := append(slices.Clone(commands[architecture]), args...)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", words, err, out)
		}
	}
	run("amd64", "generate", "gaussians", "--n", "300", "--d", "4", "--k", "3", "--noise", "2", "--constraints", "20",
		"--seed", "1", "--out", dir)
	for _, algorithm := range []string{"kernel-kmeans", "kmeans", "spectral"} {
		var labels []string
		for _, architecture := range []string{"amd64", "arm64"} {
			out := filepath.Join(dir, algorithm, architecture)
			run(architecture, "run", "--data", filepath.Join(dir, "data.csv"), "--k", "3", "--algorithm", algorithm,
				"--quiet", "--out", out)
			text, err := os.ReadFile(filepath.Join(out, "labels.csv"))
			if err != nil {
				t.Fatal(err)
			}
			labels = append(labels, string(text))
		}
		if labels[0] != labels[1] {
			t.Errorf("%s has other labels on arm64", algorithm)
		}
	}
}

// The same commit gives the same bits in another folder, where everything is compiled again.
func TestImagesAreReproducible(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "another", "folder")
	copyRepository(t, root, copied)
	stamp := []string{"VERSION=v0.0.0-test", "COMMIT=0123456789", "EPOCH=1700000000", "PROGRAMS=worker",
		"ARCHITECTURES=amd64"}
	first := build(t, root, stamp...)
	second := build(t, copied, append(stamp, "REBUILD=1")...)
	if first != second || !strings.Contains(first, "sha256:") {
		t.Errorf("one folder gives\n%s\nand another\n%s", first, second)
	}
	if other := build(t, root, append(stamp, "VERSION=v0.0.0-other")...); other == first {
		t.Errorf("another version gives the same image, %s", other)
	}
}

// build runs scripts/image.sh of a repository and returns the digests.
func build(t *testing.T, repository string, variables ...string) string {
	t.Helper()
	out := t.TempDir()
	cmd := exec.Command(filepath.Join(repository, "scripts", "image.sh"), out)
	cmd.Env = append(os.Environ(), variables...)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("image.sh: %v\n%s", err, output)
	}
	digests, err := os.ReadFile(filepath.Join(out, "digests.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(digests)
}

// copyRepository copies the files of the repository that git knows or would add.
func copyRepository(t *testing.T, from, to string) {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	cmd.Dir = from
	list, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.Trim(string(list), "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(from, name))
		if err != nil || !info.Mode().IsRegular() {
			continue // deleted, or a link
		}
		content, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, content, info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
}
