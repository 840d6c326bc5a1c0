// Package testfile reads the compressed files of tests and benchmarks.
package testfile

import (
	"bytes"
	"io"
	"os"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// Gunzip returns what a file in gzip's format holds. The test fails if that
// can't be read.
func Gunzip(tb testing.TB, path string) []byte {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatalf("%s: %s", path, err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		tb.Fatalf("%s: %s", path, err)
	}
	return data
}

// Lines returns the lines that such a file holds, without their ends.
func Lines(tb testing.TB, path string) [][]byte {
	tb.Helper()
	return bytes.Split(bytes.TrimSuffix(Gunzip(tb, path), []byte("\n")), []byte("\n"))
}
