package source

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// TestNATSDurable goes on where an earlier source ended.
func TestNATSDurable(t *testing.T) {
	b := newBroker(t, server.Options{JetStream: true})
	b.addStream("dynamo.>")
	b.publish(some("a", 10)...) // before anybody reads
	r := b.read(100, NATSOptions{})
	r.want(some("a", 10)...)
	b.publish("b")
	r.want(append(some("a", 10), "b")...)
	r.awaitStats("lag", func(s Snapshot) bool { return s.BehindSince.IsZero() })
	r.stop()
	b.awaitAcks()

	b.publish("c1", "c2") // while nobody reads
	r = b.read(100, NATSOptions{})
	r.want("c1", "c2")
	r.stop()
	if s := r.stats.Snapshot(); s.Lines != 2 || s.Bytes != 4 || s.DroppedLines != 0 || s.Errors != 0 {
		t.Errorf("%+v", s)
	}
}

// TestNATSConsumers lets two sources read the same stream, each all of it.
func TestNATSConsumers(t *testing.T) {
	b := newBroker(t, server.Options{JetStream: true})
	b.addStream(subject)
	one, other := b.read(100, NATSOptions{Durable: "one"}), b.read(100, NATSOptions{Durable: "other"})
	b.publish(some("a", 20)...)
	one.want(some("a", 20)...)
	other.want(some("a", 20)...)
	for _, r := range []*reader{one, other} {
		r.stop()
		if s := r.stats.Snapshot(); s.Lines != 20 || s.DroppedLines != 0 || s.Errors != 0 {
			t.Errorf("%+v", s)
		}
	}
}

func TestCheckDurable(t *testing.T) {
	f := func(name, wrong string) {
		t.Helper()
		switch err := CheckDurable(name); {
		case wrong == "" && err != nil, wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong)):
			t.Errorf("%q: %v", name, err)
		}
	}
	f("", "")
	f(DefaultDurable(subject), "")
	f("kvshadow-canary_2", "")
	f("a.b", `'.'`)
	f("a b", `' '`)
	f("all>", `'>'`)
}

// TestNATSStreamRestart stops the server for a while.
func TestNATSStreamRestart(t *testing.T) {
	b := newBroker(t, server.Options{JetStream: true})
	b.addStream(subject)
	r := b.read(100, NATSOptions{})
	b.publish("a")
	b.awaitMessages(1)
	r.want("a")
	b.stop()
	r.awaitStats("the error", func(s Snapshot) bool { return s.Errors == 1 })
	b.start()
	b.publish("b")
	r.want("a", "b")
	r.stop()
	if s := r.stats.Snapshot(); s.Lines != 2 || s.DroppedLines != 0 || s.Reconnects != 1 {
		t.Errorf("%+v", s)
	}
}

// TestNATSStreamQueueFull loses nothing.
func TestNATSStreamQueueFull(t *testing.T) {
	b := newBroker(t, server.Options{JetStream: true})
	b.addStream(subject)
	b.publish(some("a", 3*batchMessages)...)
	b.awaitMessages(3 * batchMessages)
	r := b.read(1, NATSOptions{MaxWait: time.Millisecond})
	r.awaitLog("messages stay in the stream")
	if s := r.stats.Snapshot(); s.BehindSince.IsZero() {
		t.Errorf("%+v", s)
	}
	r.want(some("a", 3*batchMessages)...)
	b.awaitAcks()
	r.awaitStats("lag", func(s Snapshot) bool { return s.BehindSince.IsZero() })
	r.stop()
	if s := r.stats.Snapshot(); s.Lines != 3*batchMessages || s.DroppedLines != 0 {
		t.Errorf("%+v", s)
	}
}

// TestNATSUnacknowledged ends a source that can't deliver what it fetched: it
// comes again to the next one.
func TestNATSUnacknowledged(t *testing.T) {
	b := newBroker(t, server.Options{JetStream: true})
	b.impatient(b.addStream(subject))
	b.publish("a", "b")
	r := b.read(1, NATSOptions{MaxWait: 200 * time.Millisecond})
	eventually(t, "a full queue", func() bool { n, _ := r.queue.Depth(); return n == 1 })
	b.publish("c", "d")
	r.awaitLog("messages stay in the stream")
	r.cancel()
	r.awaitEnd() // the queue is still full
	r.want("a", "b")

	r = b.read(100, NATSOptions{})
	b.publish("e")
	r.awaitDelivered(3)
	r.stop()
	slices.Sort(r.lines) // the server may change the order
	r.want("c", "d", "e")
	if s := r.stats.Snapshot(); s.Lines != 3 || s.DroppedLines != 0 {
		t.Errorf("%+v", s)
	}
}

// impatient creates our consumer so that it soon delivers again what isn't
// acknowledged.
func (b *broker) impatient(s jetstream.Stream) {
	b.Helper()
	_, err := s.CreateConsumer(b.Context(), jetstream.ConsumerConfig{
		Durable: DefaultDurable(subject), FilterSubject: subject, AckPolicy: jetstream.AckExplicitPolicy, AckWait: 50 * time.Millisecond,
	})
	b.must(err)
}

// TestNATSRedelivery is offered the same messages again and again while the
// queue is full.
func TestNATSRedelivery(t *testing.T) {
	b := newBroker(t, server.Options{JetStream: true})
	b.impatient(b.addStream(subject, "other")) // the numbers have gaps
	var lines []string
	for i := range 20 {
		lines = append(lines, some("a", i+1)[i])
		b.publish(lines[i])
		b.must(b.conn.Publish("other", nil))
	}
	b.awaitMessages(40)
	r := b.read(1, NATSOptions{MaxWait: time.Millisecond})
	eventually(t, "a full queue", func() bool { n, _ := r.queue.Depth(); return n == 1 })
	b.publish("b1", "b2")
	b.await("redelivery", func() bool { return b.consumer().NumRedelivered > 0 })
	lines = append(lines, "b1", "b2")
	r.want(lines...)
	b.awaitAcks()
	b.publish("c")
	r.want(append(lines, "c")...)
	r.stop()
	if s := r.stats.Snapshot(); s.Lines != 23 || s.DroppedLines != 0 {
		t.Errorf("%+v", s)
	}
}

// TestNATSGaps removes messages before they are read.
func TestNATSGaps(t *testing.T) {
	b := newBroker(t, server.Options{JetStream: true})
	s := b.addStream(subject)
	b.publish(some("x", 5)...)
	b.awaitMessages(5)
	b.must(s.Purge(t.Context())) // before we were ever there: no loss
	b.publish("a")
	r := b.read(100, NATSOptions{})
	r.want("a")
	r.stop()
	b.awaitAcks()
	if s := r.stats.Snapshot(); s.DroppedLines != 0 || s.Lines != 1 {
		t.Errorf("%+v", s)
	}

	b.publish(some("b", 6)...) // numbers 7 to 12
	b.awaitMessages(12)
	for _, n := range []uint64{7, 9, 10} {
		b.must(s.DeleteMsg(t.Context(), n))
	}
	r = b.read(100, NATSOptions{})
	r.want("b2", "b5", "b6")
	r.awaitStats("the loss", func(s Snapshot) bool { return s.DroppedLines == 3 && s.BehindSince.IsZero() })
	r.stop()
	if s := r.stats.Snapshot(); s.Lines != 6 || s.DroppedLines != 3 || s.DroppedBytes != 0 {
		t.Errorf("%+v", s)
	}
}

// TestNATSPurged removes what is waiting in the stream.
func TestNATSPurged(t *testing.T) {
	b := newBroker(t, server.Options{JetStream: true})
	s := b.addStream(subject)
	const n = 3 * batchMessages
	b.publish(some("a", n)...)
	b.awaitMessages(n)
	r := b.read(1, NATSOptions{MaxWait: time.Millisecond})
	r.awaitLog("messages stay in the stream")
	b.must(s.Purge(t.Context()))
	b.publish("b")
	r.awaitDelivered(n + 1)
	r.awaitStats("lag", func(s Snapshot) bool { return s.BehindSince.IsZero() })
	r.stop()
	if s := r.stats.Snapshot(); s.DroppedLines == 0 || s.Lines != n+1 || r.lines[len(r.lines)-1] != "b" {
		t.Errorf("%+v", s)
	}
}

func TestNATSReach(t *testing.T) {
	f := func(alone bool, base, want uint64) {
		t.Helper()
		n := NewNATS(Spec{}, NATSOptions{}, NewQueue(1, 1), NewStats(""))
		n.place = place{alone: alone, base: base}
		for _, seq := range []uint64{2, 5} {
			n.place.seen.add(seq)
		}
		n.reach(4)
		n.reach(6)
		if s := n.sink.stats.Snapshot(); s.DroppedLines != want || s.Lines != want {
			t.Errorf("alone %v, base %d: %+v", alone, base, s)
		}
	}
	f(true, 0, 4) // 1, 3, 4 and 6
	f(true, 3, 2)
	f(true, 9, 0)
	f(false, 0, 0)
}

// TestNATSStreamReplaced deletes our consumer, and then the whole stream.
func TestNATSStreamReplaced(t *testing.T) {
	b := newBroker(t, server.Options{JetStream: true})
	s := b.addStream(subject)
	r := b.read(100, NATSOptions{})
	b.publish("a", "b")
	r.want("a", "b")
	b.awaitAcks()
	b.must(s.DeleteConsumer(t.Context(), DefaultDurable(subject)))
	b.publish("c")
	r.want("a", "b", "c")
	b.awaitAcks()
	if c := b.consumer(); c.Delivered.Consumer != 1 {
		t.Errorf("the new consumer has delivered %d messages", c.Delivered.Consumer)
	}
	b.must(b.js.DeleteStream(t.Context(), stream))
	r.awaitStats("the error", func(s Snapshot) bool { return s.Errors == 2 })
	b.addStream(subject)
	b.publish("d")
	r.want("a", "b", "c", "d")
	r.stop()
	if s := r.stats.Snapshot(); s.Lines != 4 || s.DroppedLines != 0 || s.Errors != 2 {
		t.Errorf("%+v", s)
	}
}

// TestNATSNotOurStream has streams that must not be read.
func TestNATSNotOurStream(t *testing.T) {
	f := func(name, log string, config jetstream.StreamConfig) {
		t.Helper()
		b := newBroker(t, server.Options{JetStream: true})
		config.Name = stream
		_, err := b.js.CreateStream(t.Context(), config)
		b.must(err)
		r := readFrom(t, "nats://"+b.srv.Addr().String()+"/dynamo.*.v1", 100, NATSOptions{})
		r.awaitLog("msg=subscribed")
		r.awaitLog(log)
		b.publish("a")
		r.want("a")
		r.stop()
	}
	f("work queue", "work queue", jetstream.StreamConfig{Subjects: []string{"dynamo.>"}, Retention: jetstream.WorkQueuePolicy})
	f("part", "a part of the subject", jetstream.StreamConfig{Subjects: []string{subject}})

	b := newBroker(t, server.Options{JetStream: true})
	s := b.addStream(subject)
	_, err := s.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "mine", AckPolicy: jetstream.AckNonePolicy})
	b.must(err)
	r := b.read(100, NATSOptions{Durable: "mine"})
	r.awaitLog("explicit acknowledgement")
	r.stop()
	if s := r.stats.Snapshot(); s.Errors != 1 {
		t.Errorf("%+v", s)
	}
}

// TestNATSManyMessages has enough for many items, in order.
func TestNATSManyMessages(t *testing.T) {
	b := newBroker(t, server.Options{JetStream: true})
	b.addStream(subject)
	lines := some("line ", 5000)
	for part := range slices.Chunk(lines, 1000) {
		b.publish(part...)
	}
	b.awaitMessages(uint64(len(lines)))
	r := b.read(4, NATSOptions{})
	start := time.Now()
	r.want(lines...)
	t.Logf("%d messages in %v", len(lines), time.Since(start))
	b.awaitAcks()
	r.stop()
	if s := r.stats.Snapshot(); s.Lines != uint64(len(lines)) || s.DroppedLines != 0 {
		t.Errorf("%+v", s)
	}
}
