package input

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// fakeRouter knows the lines that begin with "router".
type fakeRouter struct {
	calls []string
}

func (r *fakeRouter) Line(stream uint64, line []byte) bool {
	r.calls = append(r.calls, string(rune('0'+stream))+string(line))
	return strings.HasPrefix(string(line), "router")
}
func (r *fakeRouter) Flush()                                      { r.calls = append(r.calls, "Flush") }
func (r *fakeRouter) FlushReady()                                 { r.calls = append(r.calls, "FlushReady") }
func (r *fakeRouter) Undecodable(f func(reason string, n uint64)) { f("lost", 7) }

func TestDecoder(t *testing.T) {
	const record = `{"schema":"kvshadow.decision.v1","request_id":"a","worker_type":"decode","selected":{"worker_id":18446744073709551615},"candidates":[{"worker_id":18446744073709551615}]}`
	router := &fakeRouter{}
	var got []*decision.Decision
	d := NewDecoder(router, func(x *decision.Decision) { got = append(got, x) })

	ok := func(line string) {
		t.Helper()
		if err := d.Line(1, []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(line, pointer string) {
		t.Helper()
		err := d.Line(1, []byte(line))
		if x, is := errors.AsType[*decision.FieldError](err); !is || x.Pointer != pointer {
			t.Fatalf("%v; want an error of %s", err, pointer)
		}
	}
	ok(record)
	ok("  " + strings.Replace(record, `"schema":`, `"schema" : `, 1))
	ok("router line")
	ok("other line")
	ok("")
	ok(`{"schema":"another.v1"}`)
	refused(`{"schema":"kvshadow.decision.v2"}`, "/schema")
	refused(strings.Replace(record, "decode", "both", 1), "/worker_type")
	refused(record[:len(record)-3], "/candidates/0")
	refused("\xef\xbb\xbf"+record, "") // a byte-order mark is no JSON
	d.FlushReady()
	d.Flush()

	if len(got) != 2 || got[0] == got[1] || got[0].Selected.WorkerID != 1<<64-1 {
		t.Fatalf("%d decisions, or wrong ones", len(got))
	}
	if d.Ignored() != 3 {
		t.Fatalf("Ignored %d; want 3", d.Ignored())
	}
	lost := map[string]uint64{}
	d.Undecodable(func(reason string, n uint64) { lost[reason] = n })
	if want := map[string]uint64{InvalidRecord: 4, "lost": 7}; !maps.Equal(lost, want) {
		t.Fatalf("Undecodable %v; want %v", lost, want)
	}
	want := `1router line|1other line|1|1{"schema":"another.v1"}|FlushReady|Flush`
	if calls := strings.Join(router.calls, "|"); calls != want {
		t.Fatalf("router got %s; want %s", calls, want)
	}
}
