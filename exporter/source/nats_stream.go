package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// askTime bounds each question to the server.
	askTime = 5 * time.Second
	// ackWait is how long the server waits for an acknowledgement before it
	// delivers a message again; that is how late messages come that were lost
	// with a connection or a crashed process.
	ackWait = 10 * time.Second
	// maxUnacked bounds what the server delivers without acknowledgement.
	maxUnacked = 8 * batchMessages
	// prefetch is how many messages are asked for at once.
	prefetch = 512
	// heartbeat is how often the server must show that it still knows what we
	// asked for.
	heartbeat = 2 * time.Second
	// settleEvery is how often to find out what became of missing messages.
	settleEvery = time.Second
	// maxStalls is how often in a row nothing may come although there is
	// something.
	maxStalls = 60
)

var errStalled = errors.New("the stream has messages and doesn't deliver them")

// place is how far a stream was read.
type place struct {
	stream  string
	created time.Time // a stream of the same name may be another one
	// alone says that the stream holds only what we read.
	alone bool
	// base is the sequence number above which missing messages are losses.
	// What is below may have been read by an earlier process.
	base uint64
	seen sequences
}

// streamReader is the mailbox of a JetStream consumer.
type streamReader struct {
	n        *NATS
	place    *place
	consumer jetstream.Consumer
	messages jetstream.MessagesContext
	// behind says that the stream has, or may have, more for us.
	behind  bool
	settled time.Time
	stalls  int
	stopped bool
}

// readStream reads the stream that captures the subject.
func (n *NATS) readStream(ctx context.Context, conn *nats.Conn) error {
	s, err := n.open(ctx, conn)
	if err != nil {
		return err
	}
	s.messages, err = s.consumer.Messages(jetstream.PullMaxMessages(prefetch), jetstream.PullHeartbeat(heartbeat))
	if err != nil {
		return err
	}
	defer s.messages.Stop()
	n.log.Info("reading a stream", "stream", n.place.stream, "consumer", n.opts.Durable, "after", n.place.seen.floor)
	return n.pump(ctx, s)
}

func (s *streamReader) next(ctx context.Context, wait time.Duration) (message, error) {
	if s.stopped {
		wait = batchWait // it is here already
	} else if wait == 0 && (s.behind || s.place.seen.gaps()) {
		if err := s.settle(ctx); err != nil {
			return message{}, err
		}
		wait = settleEvery
	}
	until, stop := ctx, context.CancelFunc(func() {})
	if wait > 0 {
		until, stop = context.WithTimeout(ctx, wait)
	}
	defer stop()
	m, err := s.messages.Next(jetstream.NextContext(until))
	switch {
	case err == nil:
		return s.receive(m), nil
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return message{}, errQuiet
	}
	return message{}, err
}

// receive notes that a message came and says what there is to do with it.
func (s *streamReader) receive(m jetstream.Msg) message {
	s.stalls = 0
	meta, err := m.Metadata()
	if err != nil {
		return message{data: m.Data(), ack: m} // not numbered: better twice than never
	}
	s.behind = meta.NumPending > 0
	out := message{ack: m, pending: meta.NumPending}
	if s.place.seen.add(meta.Sequence.Stream) {
		out.data = m.Data()
	}
	return out
}

// keep waits for room in the queue as long as it takes, since the stream keeps
// what we can't take.
func (s *streamReader) keep(ctx context.Context, b *batch) error {
	if err := s.n.store(ctx, b.lines); err != nil {
		return err
	}
	s.n.skip(b)
	for _, m := range b.acks {
		_ = m.Ack() // otherwise it is delivered again, and recognised
	}
	if b.pending == 0 {
		s.n.sink.stats.caughtUp()
	}
	return nil
}

// store is sink.deliver for lines that needn't be dropped.
func (n *NATS) store(ctx context.Context, lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	item := Item{Source: n.spec.Text, Stream: n.stream, Lines: lines}
	for waited := false; ; waited = true {
		err := n.sink.queue.Put(ctx, item, n.opts.MaxWait)
		if err == nil {
			n.sink.stats.lines.Add(uint64(countLines(lines)))
		}
		if !errors.Is(err, ErrFull) {
			return err
		}
		if !waited {
			n.log.Warn("the queue is full, messages stay in the stream")
		}
	}
}

func (s *streamReader) quiet(ctx context.Context) error {
	if !s.behind {
		s.n.sink.stats.caughtUp()
		return nil
	}
	if s.stalls++; s.stalls > maxStalls {
		return errStalled
	}
	return nil
}

// settle asks the server, now and then, how far everything is acknowledged.
// What is missing below that was removed before it could be read; what is
// missing above may still be delivered.
func (s *streamReader) settle(ctx context.Context) error {
	if time.Since(s.settled) < settleEvery {
		return nil
	}
	s.settled = time.Now()
	ask, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	info, err := s.consumer.Info(ask)
	if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	if err != nil {
		return nil // no connection, most likely: the next time will tell
	}
	s.behind = info.NumPending > 0 || info.NumAckPending > 0
	s.n.reach(info.AckFloor.Stream)
	return nil
}

// reach notes that everything up to that sequence number is acknowledged.
func (n *NATS) reach(floor uint64) {
	p := &n.place
	if lost := p.seen.missing(p.base, floor); lost > 0 && p.alone {
		n.sink.stats.lines.Add(lost)
		n.sink.stats.lose(int(lost), 0)
		n.log.Warn("messages were removed from the stream before they were read", "stream", p.stream, "messages", lost)
	}
	p.seen.settle(floor)
}

// stop keeps what was fetched.
func (s *streamReader) stop() {
	s.stopped = true
	s.messages.Drain()
}

// open finds the stream and its consumer, which it creates if need be.
func (n *NATS) open(ctx context.Context, conn *nats.Conn) (*streamReader, error) {
	ask, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	stream, err := n.capturing(ask, js)
	if err != nil {
		return nil, err
	}
	if stream == nil {
		return nil, fmt.Errorf("no stream captures the subject any more: %w", jetstream.ErrStreamNotFound)
	}
	c, created, err := n.consumer(ask, js, stream)
	if err != nil {
		return nil, err
	}
	n.arrive(stream, c.CachedInfo(), created)
	s := &streamReader{n: n, place: &n.place, consumer: c, behind: c.CachedInfo().NumPending > 0}
	if s.behind {
		n.sink.stats.behind()
	}
	return s, nil
}
