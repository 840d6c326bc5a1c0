package source

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// natsDeadline bounds each wait; nothing takes that long.
const natsDeadline = 60 * time.Second

// subject is what the tests read, stream what captures it.
const (
	subject = "dynamo.request_trace.v1"
	stream  = "TRACES"
)

// broker is a NATS server that can be stopped and started again at the same
// address.
type broker struct {
	*testing.T
	opts server.Options
	srv  *server.Server
	conn *nats.Conn // the publisher's
	js   jetstream.JetStream
}

// newBroker starts a server.
func newBroker(t *testing.T, opts server.Options) *broker {
	t.Helper()
	opts.Host, opts.Port, opts.NoLog, opts.NoSigs = "127.0.0.1", cmp.Or(opts.Port, server.RANDOM_PORT), true, true
	if opts.JetStream {
		opts.StoreDir = t.TempDir()
	}
	b := &broker{T: t, opts: opts}
	b.start()
	t.Cleanup(func() { b.stop() })
	return b
}

func (b *broker) start() {
	b.Helper()
	opts := b.opts
	srv, err := server.NewServer(&opts)
	b.must(err)
	b.srv = srv
	srv.Start()
	if !srv.ReadyForConnections(natsDeadline) {
		b.Fatal("the server doesn't start")
	}
	b.opts.Port = srv.Addr().(*net.TCPAddr).Port
	b.conn, err = nats.Connect("", nats.InProcessServer(srv), nats.UserInfo("admin", "admin"))
	b.must(err)
	b.js, err = jetstream.New(b.conn)
	b.must(err)
}

func (b *broker) stop() {
	b.conn.Close()
	b.srv.Shutdown()
	b.srv.WaitForShutdown()
}

func (b *broker) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// publish publishes one message for each line and waits until they arrived.
func (b *broker) publish(lines ...string) {
	b.Helper()
	for _, line := range lines {
		b.must(b.conn.Publish(subject, []byte(line)))
	}
	b.must(b.conn.FlushTimeout(natsDeadline))
}

// addStream creates the stream that captures the subjects.
func (b *broker) addStream(subjects ...string) jetstream.Stream {
	b.Helper()
	s, err := b.js.CreateStream(b.Context(), jetstream.StreamConfig{Name: stream, Subjects: subjects})
	b.must(err)
	return s
}

// awaitMessages waits until the stream holds that many messages: publishing
// doesn't wait for it.
func (b *broker) awaitMessages(n uint64) {
	b.Helper()
	b.await("messages in the stream", func() bool {
		s, err := b.js.Stream(b.Context(), stream)
		return err == nil && s.CachedInfo().State.LastSeq >= n
	})
}

// consumer returns what the server knows about our consumer.
func (b *broker) consumer() *jetstream.ConsumerInfo {
	c, err := b.js.Consumer(b.Context(), stream, DefaultDurable(subject))
	if err != nil {
		return &jetstream.ConsumerInfo{}
	}
	return c.CachedInfo()
}

// awaitAcks waits until the server has nothing more for our consumer.
func (b *broker) awaitAcks() {
	b.Helper()
	b.await("acknowledgements", func() bool {
		c := b.consumer()
		return c.Name != "" && c.NumPending == 0 && c.NumAckPending == 0
	})
}

// awaitInterest waits until somebody subscribes to the subject.
func (b *broker) awaitInterest() {
	b.Helper()
	b.await("the subscription", func() bool { return b.srv.GlobalAccount().SubscriptionInterest(subject) })
}

func (b *broker) await(what string, done func() bool) {
	b.Helper()
	eventually(b.T, what, done)
}

// eventually polls until done.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(natsDeadline); !done(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("%s: not in time\n%s", what, stacks("exporter/source.(*NATS)"))
		}
	}
}

// reader is a running NATS source.
type reader struct {
	*testing.T
	queue  *Queue
	stats  *Stats
	logs   *syncBuffer
	cancel context.CancelFunc
	done   chan struct{}
	err    error // what Run returned, once it is done
	lines  []string
}

// read runs a source that reads from the broker into a queue of that many
// items.
func (b *broker) read(items int, opts NATSOptions) *reader {
	b.Helper()
	return readFrom(b.T, fmt.Sprintf("nats://127.0.0.1:%d/%s", b.opts.Port, subject), items, opts)
}

func readFrom(t *testing.T, text string, items int, opts NATSOptions) *reader {
	t.Helper()
	spec, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{T: t, queue: NewQueue(items, 1<<30), stats: NewStats(spec.Text), logs: &syncBuffer{}, done: make(chan struct{})}
	opts.Logger = slog.New(slog.NewTextHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	opts.Retry = 10 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	r.cancel = cancel
	n := NewNATS(spec, opts, r.queue, r.stats)
	go func() {
		r.err = n.Run(ctx)
		close(r.done)
	}()
	t.Cleanup(func() {
		cancel()
		if t.Failed() {
			t.Logf("%+v\n%s", r.stats.Snapshot(), r.logs)
		}
	})
	return r
}

// want takes from the queue until there are as many lines as wanted, and
// compares all lines so far. An empty queue at the end is part of it.
func (r *reader) want(lines ...string) {
	r.Helper()
	ctx, stop := context.WithTimeout(r.Context(), natsDeadline)
	defer stop()
	for len(r.lines) < len(lines) {
		item, err := r.queue.Get(ctx)
		if err != nil {
			r.Fatalf("%d lines so far, want %d: %v", len(r.lines), len(lines), err)
		}
		r.takeIn(item)
	}
	if !slices.Equal(r.lines, lines) {
		r.Fatalf("%d lines, want %d:\n%q", len(r.lines), len(lines), clip(strings.Join(r.lines, "|")))
	}
}

func (r *reader) takeIn(item Item) {
	r.Helper()
	if item.Source != r.stats.source || item.Stream == 0 || item.End || !bytes.HasSuffix(item.Lines, []byte("\n")) {
		r.Fatalf("%+v", item)
	}
	for line := range strings.Lines(string(item.Lines)) {
		r.lines = append(r.lines, strings.TrimSuffix(line, "\n"))
	}
}

// stop ends the source and takes in what it still delivers.
func (r *reader) stop() {
	r.Helper()
	r.cancel()
	r.awaitEnd()
	r.queue.Close()
	for {
		item, err := r.queue.Get(r.Context())
		if err != nil {
			return
		}
		r.takeIn(item)
	}
}

func (r *reader) awaitEnd() {
	r.Helper()
	select {
	case <-r.done:
		if r.err != nil {
			r.Fatal(r.err)
		}
	case <-time.After(natsDeadline):
		r.Fatalf("Run doesn't end\n%s", stacks("exporter/source"))
	}
}

// awaitStats waits for counters.
func (r *reader) awaitStats(what string, done func(Snapshot) bool) {
	r.Helper()
	eventually(r.T, what, func() bool { return done(r.stats.Snapshot()) })
}

func (r *reader) awaitLog(text string) {
	r.Helper()
	eventually(r.T, text, func() bool { return strings.Contains(r.logs.String(), text) })
}

// stacks returns the stacks of the goroutines that run that code.
func stacks(code string) string {
	buf := make([]byte, 1<<20)
	var out strings.Builder
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, code) {
			out.WriteString(stack + "\n\n")
		}
	}
	return out.String()
}

// some returns the lines PREFIX1 to PREFIXn.
func some(prefix string, n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = prefix + strconv.Itoa(i+1)
	}
	return lines
}

// freeAddress returns an address that nobody listens on.
func freeAddress(t *testing.T) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return &url.URL{Scheme: "nats", Host: l.Addr().String(), Path: subject}
}
