package source

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

func TestNATSPlain(t *testing.T) {
	b := newBroker(t, server.Options{})
	r := b.read(100, NATSOptions{MaxLineBytes: 10})
	b.awaitInterest()
	start := time.Now()
	b.publish("a", "b\n", "", "c\nd\r\n\n", "more than ten", "e\nmore than ten\nf")
	r.want("a", "b", "c", "d\r", "", "e", "f")
	if waited := time.Since(start); waited > 10*batchWait {
		t.Errorf("it took %v", waited)
	}
	r.awaitStats("lag", func(s Snapshot) bool { return s.BehindSince.IsZero() })
	r.stop()
	s := r.stats.Snapshot()
	if s.Lines != 9 || s.TooLongLines != 2 || s.DroppedLines != 0 || s.Bytes != 39 || s.Errors != 0 || s.Reconnects != 0 || s.LastRead.IsZero() {
		t.Errorf("%+v", s)
	}
}

func TestNATSWildcard(t *testing.T) {
	b := newBroker(t, server.Options{})
	r := readFrom(t, "nats://"+b.srv.Addr().String()+"/dynamo.*.v1", 100, NATSOptions{})
	b.awaitInterest()
	b.publish("a")
	b.must(b.conn.Publish("dynamo.other", []byte("x")))
	b.must(b.conn.Publish("dynamo.other.v1", []byte("b")))
	r.want("a", "b")
	r.stop()
}

// TestNATSAbsent starts the server after the source.
func TestNATSAbsent(t *testing.T) {
	at := freeAddress(t)
	r := readFrom(t, at.String(), 100, NATSOptions{})
	r.awaitStats("the error", func(s Snapshot) bool { return s.Errors == 1 })
	port, err := strconv.Atoi(at.Port())
	if err != nil {
		t.Fatal(err)
	}
	b := newBroker(t, server.Options{Port: port})
	b.awaitInterest()
	b.publish("a")
	r.want("a")
	r.stop()
	logs := r.logs.String()
	if s := r.stats.Snapshot(); s.Errors != 1 || s.Reconnects != 0 || strings.Count(logs, "cannot read") != 1 || strings.Count(logs, "can read again") != 1 {
		t.Errorf("%+v\n%s", s, logs)
	}
}

// TestNATSRestart stops the server for a while.
func TestNATSRestart(t *testing.T) {
	b := newBroker(t, server.Options{})
	r := b.read(100, NATSOptions{})
	b.awaitInterest()
	b.publish("a")
	r.want("a")
	for i := range 2 {
		b.stop()
		r.awaitStats("the error", func(s Snapshot) bool { return s.Errors == uint64(i)+1 })
		b.start()
		r.awaitStats("the reconnect", func(s Snapshot) bool { return s.Reconnects == uint64(i)+1 })
		b.awaitInterest()
	}
	b.publish("b")
	r.want("a", "b")
	r.stop()
	if s := r.stats.Snapshot(); s.Errors != 2 || s.Lines != 2 {
		t.Errorf("%+v", s)
	}
}

// TestNATSDenied uses a user that may not subscribe, and one with a wrong
// password.
func TestNATSDenied(t *testing.T) {
	b := newBroker(t, server.Options{JetStream: true, Users: []*server.User{
		{Username: "admin", Password: "admin"},
		{Username: "u", Password: "secret", Permissions: &server.Permissions{Subscribe: &server.SubjectPermission{Deny: []string{subject}}}},
		{Username: "v", Password: "secret", Permissions: &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{">"}}}},
	}})
	f := func(user, log string) {
		t.Helper()
		r := readFrom(t, "nats://"+user+"@"+b.srv.Addr().String()+"/"+subject, 100, NATSOptions{})
		r.awaitLog(log)
		r.stop()
		if s := r.stats.Snapshot(); s.Errors != 1 || strings.Contains(r.logs.String(), "secret") {
			t.Errorf("%s: %+v\n%s", user, s, r.logs)
		}
	}
	f("u:secret", "Permissions Violation")
	f("u:wrong", "Authorization Violation")

	// Who may not ask for streams gets a plain subscription.
	r := readFrom(t, "nats://v:secret@"+b.srv.Addr().String()+"/"+subject, 100, NATSOptions{})
	r.awaitLog("msg=subscribed")
	b.publish("a")
	r.want("a")
	r.stop()
}

// TestNATSPlainQueueFull drops what doesn't fit, twice: what waits too long,
// and what the client library can't hold.
func TestNATSPlainQueueFull(t *testing.T) {
	b := newBroker(t, server.Options{MaxPending: 1 << 30})
	r := b.read(1, NATSOptions{MaxWait: time.Millisecond})
	b.awaitInterest()
	b.publish("a")
	eventually(t, "a full queue", func() bool { n, _ := r.queue.Depth(); return n == 1 })
	b.publish("b", "c")
	r.awaitStats("the drop", func(s Snapshot) bool { return s.DroppedLines == 2 })
	r.want("a")
	b.publish("d")
	r.want("a", "d")
	r.stop()
	if s := r.stats.Snapshot(); s.Lines != 4 || s.DroppedBytes != 4 {
		t.Errorf("%+v", s)
	}

	r = b.read(1, NATSOptions{MaxWait: time.Hour, maxPending: 100})
	r.awaitLog("msg=subscribed")
	b.publish("a")
	eventually(t, "a full queue", func() bool { n, _ := r.queue.Depth(); return n == 1 })
	const more = 5 * batchMessages
	b.publish(some("x", more)...)
	r.awaitLog("slow consumer")
	r.want("a")
	r.awaitDelivered(more + 1)
	b.publish("z")
	r.awaitDelivered(more + 2)
	r.stop()
	if s := r.stats.Snapshot(); s.DroppedLines == 0 || s.DroppedBytes != 0 || s.Lines != more+2 || uint64(len(r.lines))+s.DroppedLines != s.Lines {
		t.Errorf("%d delivered, %+v", len(r.lines), s)
	}
	r.awaitLog("the client no longer drops messages")
}

// awaitDelivered takes from the queue until that many lines were delivered or
// dropped.
func (r *reader) awaitDelivered(n int) {
	r.Helper()
	eventually(r.T, "lines", func() bool {
		for items, _ := r.queue.Depth(); items > 0; items, _ = r.queue.Depth() {
			item, err := r.queue.Get(r.Context())
			if err != nil {
				r.Fatal(err)
			}
			r.takeIn(item)
		}
		return len(r.lines)+int(r.stats.Snapshot().DroppedLines) >= n
	})
}

// TestNATSCancel ends sources in every state and looks for goroutines that
// they leave behind.
func TestNATSCancel(t *testing.T) {
	b := newBroker(t, server.Options{JetStream: true})
	f := func(name string, r *reader, ready func(), want ...string) {
		t.Helper()
		ready()
		start := time.Now()
		r.cancel()
		r.awaitEnd()
		if waited := time.Since(start); waited > 5*time.Second {
			t.Errorf("%s: it took %v", name, waited)
		}
		r.stop()
		if !slices.Equal(r.lines, want) {
			t.Errorf("%s: %q, want %q", name, r.lines, want)
		}
	}
	before := strings.Count(stacks("nats.go@"), "\n\n")
	absent := readFrom(t, freeAddress(t).String(), 100, NATSOptions{})
	f("absent", absent, func() { absent.awaitLog("cannot read") })

	plain := b.read(100, NATSOptions{})
	f("plain", plain, func() {
		b.awaitInterest()
		b.publish("a", "b")
		plain.awaitStats("", func(s Snapshot) bool { return s.Bytes == 2 })
	}, "a", "b")

	b.addStream(subject)
	durable := b.read(100, NATSOptions{})
	f("stream", durable, func() { b.publish("c", "d"); durable.awaitStats("", func(s Snapshot) bool { return s.Bytes == 2 }) }, "c", "d")
	b.awaitAcks()

	gone := b.read(100, NATSOptions{})
	f("server gone", gone, func() { gone.awaitLog("reading a stream"); b.stop(); gone.awaitLog("cannot read") })
	eventually(t, "the end of all goroutines", func() bool {
		return strings.Count(stacks("nats.go@"), "\n\n") <= before && stacks("source.(*NATS)") == ""
	})
}
