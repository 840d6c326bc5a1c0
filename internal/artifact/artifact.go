// Package artifact holds generated files and writes them.
package artifact

import (
	"os"
	"path/filepath"
)

// File is a generated file. Name is its slash-separated place under the folder
// of all.
type File struct {
	Name string
	Data []byte
}

// Write writes files below a folder, which is made if there is none. It returns
// the paths of those that were written, also beside an error.
func Write(dir string, files []File) (written []string, err error) {
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return written, err
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			return written, err
		}
		written = append(written, path)
	}
	return written, nil
}
