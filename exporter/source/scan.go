package source

import (
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// name is a name that matches the glob, and what it led to.
type name struct {
	path string
	info fs.FileInfo
}

// sightings is what a scan saw.
type sightings struct {
	names []name // of regular files, oldest content first
	// unclear are names of which it can't be told where they lead.
	unclear []string
	// complete is false if names may be missing.
	complete bool
}

func (t *Tailer) scan() sightings {
	s := sightings{complete: t.directoryReadable()}
	paths, _ := filepath.Glob(t.glob) // fails on a bad pattern only
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			t.failing.note(path, err)
			s.unclear = append(s.unclear, path)
		case info.Mode().IsRegular():
			s.names = append(s.names, name{path, info})
		}
	}
	slices.SortStableFunc(s.names, func(a, b name) int {
		return a.info.ModTime().Compare(b.info.ModTime())
	})
	t.forgetFailures(paths)
	return s
}

// directoryReadable reports errors that filepath.Glob ignores. A directory
// part that is itself a pattern isn't checked.
func (t *Tailer) directoryReadable() bool {
	dir := filepath.Dir(t.glob)
	if strings.ContainsAny(dir, `*?[\`) {
		return true
	}
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true // it may come later
	}
	if err != nil {
		t.failing.note(dir, err)
		return false
	}
	t.failing.clear(dir)
	_ = d.Close()
	return true
}

// match finds the file behind each name and returns the names of new files.
func (t *Tailer) match(s sightings) (fresh []name) {
	byPath := make(map[string]*tailed, len(t.files))
	for _, f := range t.files {
		byPath[f.path] = f
		f.present = f.present && !s.complete
	}
	for _, path := range s.unclear {
		if f := byPath[path]; f != nil {
			f.present = true
		}
	}
	seen := make(map[*tailed]bool, len(t.files))
	for _, n := range s.names {
		f := byPath[n.path]
		if f == nil || !f.is(n.info) {
			f = t.find(n.info)
		}
		switch {
		case f == nil:
			fresh = append(fresh, n)
		case !seen[f]: // otherwise it is a second link to the file
			seen[f] = true
			f.sighted(n)
		}
	}
	for _, f := range t.files {
		if !f.present {
			f.limit = math.MaxInt64 // a file without a name is drained whole
		}
	}
	return fresh
}

func (t *Tailer) find(info fs.FileInfo) *tailed {
	for _, f := range t.files {
		if f.is(info) {
			return f
		}
	}
	return nil
}

// is says whether info is about this file. A finished file isn't held open:
// it may have grown, or its inode may have been given to another file.
func (f *tailed) is(info fs.FileInfo) bool {
	return os.SameFile(f.info, info) && !(f.done && !alike(f.info, info))
}

// forgetFailures forgets the failures of paths that no longer matter.
func (t *Tailer) forgetFailures(paths []string) {
	if len(t.failing.reasons) == 0 {
		return
	}
	matter := map[string]bool{filepath.Dir(t.glob): true}
	for _, path := range paths {
		matter[path] = true
	}
	for _, f := range t.files {
		matter[f.path] = true
	}
	maps.DeleteFunc(t.failing.reasons, func(path, _ string) bool { return !matter[path] })
}

// failures remembers what is failing, so that each change is counted and
// logged once.
type failures struct {
	stats   *Stats
	log     *slog.Logger
	reasons map[string]string
}

func (f *failures) note(path string, err error) {
	if f.reasons[path] == err.Error() {
		return
	}
	f.reasons[path] = err.Error()
	f.stats.errors.Add(1)
	f.log.Warn("cannot read", "path", path, "err", err)
}

func (f *failures) clear(path string) {
	if _, failed := f.reasons[path]; failed {
		delete(f.reasons, path)
		f.log.Info("can read again", "path", path)
	}
}
