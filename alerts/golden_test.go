package alerts

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/kvshadow/kvshadow/internal/artifact"
)

var update = flag.Bool("update", false, "rewrite the files in generated")

const generated = "generated"

// checkGolden compares files with the committed ones, of which there may be no
// more under the folder.
func checkGolden(t *testing.T, folder string, files []File) {
	t.Helper()
	if *update {
		if _, err := artifact.Write(generated, files); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
		committed, err := os.ReadFile(filepath.Join(generated, f.Name))
		if err != nil || !bytes.Equal(committed, f.Data) {
			t.Errorf("%s/%s isn't what the definitions give (%v): go test ./alerts -update writes it", generated, f.Name, err)
		}
	}
	for _, name := range committedFiles(t) {
		if (folder == "." || strings.HasPrefix(name, folder+"/")) && strings.HasPrefix(name, "tests/") == (folder == "tests") && !slices.Contains(names, name) {
			t.Errorf("%s/%s is no longer generated: remove it", generated, name)
		}
	}
}

func committedFiles(t *testing.T) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS(generated), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestGenerated(t *testing.T) {
	files, err := Generate(Default(), Formats())
	if err != nil {
		t.Fatal(err)
	}
	checkGolden(t, ".", files)
}

// TestResources holds that the resources of both operators carry the groups of
// the rule file, unchanged.
func TestResources(t *testing.T) {
	files, err := Generate(Default(), Formats())
	if err != nil {
		t.Fatal(err)
	}
	want := Groups(Default())
	for _, f := range files[1:] {
		var r resource
		d := yaml.NewDecoder(bytes.NewReader(f.Data))
		d.KnownFields(true)
		if err := d.Decode(&r); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		if r.APIVersion == "" || r.Kind == "" || r.Metadata.Name == "" {
			t.Errorf("%s: incomplete head %+v", f.Name, r)
		}
		got, _ := encode(r.Spec.Groups)
		if expected, _ := encode(want); !bytes.Equal(got, expected) {
			t.Errorf("%s: other groups than the definitions", f.Name)
		}
	}
}

func TestWriteFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := artifact.Write(file, []File{{Name: "a.yaml"}}); err == nil {
		t.Error("a file was taken for a folder")
	}
}
