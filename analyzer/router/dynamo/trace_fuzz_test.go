package dynamo

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"testing"
)

// FuzzTrace feeds any line to isTrace and decode: they don't fail, and what
// decodes is JSON, is consistent and has the hashes that another parser finds.
func FuzzTrace(f *testing.F) {
	for _, name := range []string{"mixed-dp2-1.5.1", "dynamo-pi-agent", "disagg-1.5.1"} {
		for _, line := range readTrace(f, name)[:4] {
			f.Add(line)
		}
	}
	for _, line := range []string{traceRequest, traceBare, envelope(traceBare), "2026-11-30T00:00:00Z stderr F " + traceBare, logLine(traceRequest)} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var dec traceDecoder
		buffer := bytes.Clone(line)
		isTrace(buffer)
		l, skip, err := dec.decode(buffer)
		if !bytes.Equal(buffer, line) {
			t.Fatal("the line was changed")
		}
		if n := btoi(l != nil) + btoi(skip != "") + btoi(err != nil); n != 1 {
			t.Fatalf("got %v, %q, %v: not exactly one", l, skip, err)
		}
		if err != nil {
			return
		}
		if !json.Valid(traceObject(line)) {
			t.Fatalf("decoded what isn't JSON: %q", line)
		}
		if l == nil {
			return
		}
		checkLifecycle(t, l)
		if want, ok := slowHashes(traceObject(line)); ok && !slices.Equal(l.Hashes, want) {
			t.Errorf("hashes %v, want %v", l.Hashes, want)
		}
		again, _, err := dec.decode(line)
		if err != nil || !reflect.DeepEqual(l, again) {
			t.Errorf("got %+v, then %+v, %v", l, again, err)
		}
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// slowHashes reads the hashes with encoding/json. It is not ok with objects
// that could be both an envelope and a bare record.
func slowHashes(object []byte) (hashes []uint64, ok bool) {
	var record map[string]json.RawMessage
	if json.Unmarshal(object, &record) != nil || record["event"] != nil && record["schema"] != nil {
		return nil, false
	}
	if event := record["event"]; event != nil {
		record = nil
		if json.Unmarshal(event, &record) != nil {
			return nil, false
		}
	}
	for _, name := range []string{"request", "replay"} {
		inner := record[name]
		record = nil
		if json.Unmarshal(inner, &record) != nil {
			return nil, false
		}
	}
	var numbers []json.Number
	if json.Unmarshal(record["input_sequence_hashes"], &numbers) != nil {
		return nil, false
	}
	for _, n := range numbers {
		h, err := strconv.ParseUint(n.String(), 10, 64)
		if err != nil {
			return nil, false
		}
		hashes = append(hashes, h)
	}
	return hashes, true
}
