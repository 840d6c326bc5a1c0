package source

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Defaults of [NATSOptions].
const (
	DefaultNATSMaxWait = 10 * time.Second
	DefaultNATSRetry   = time.Second
)

// byeTime bounds how long the last acknowledgements may take.
const byeTime = 2 * time.Second

// NATSOptions configures a [NATS]. The zero value is usable.
type NATSOptions struct {
	// MaxWait is how long messages of a plain subscription wait for room in
	// the queue before they are dropped, and how long the end of Run may wait
	// for it; 0 means [DefaultNATSMaxWait].
	MaxWait time.Duration
	// MaxLineBytes limits the length of a line, newline included; 0 means
	// [MaxLineBytes].
	MaxLineBytes int
	// Durable is the name of the JetStream consumer, which remembers how far
	// we have read; empty means [DefaultDurable] of the subject. Processes
	// that use the same name on the same stream share its messages.
	Durable string
	// Retry is the time between two attempts to connect or to read; 0 means
	// [DefaultNATSRetry].
	Retry time.Duration
	// Logger takes changes of state; nil discards them.
	Logger *slog.Logger

	maxPending int // for tests; 0 means maxPendingMessages
}

// DefaultDurable returns the name of the JetStream consumer for a subject.
func DefaultDurable(subject string) string {
	sum := sha256.Sum256([]byte(subject))
	return "kvshadow-" + hex.EncodeToString(sum[:6])
}

// CheckDurable says what is wrong with the name of a JetStream consumer.
func CheckDurable(name string) error {
	if i := strings.IndexAny(name, " \t\r\n.*>/\\"); i >= 0 {
		return fmt.Errorf("the name of a consumer can't have %q in it", name[i])
	}
	return nil
}

// NATS reads the messages that are published to a subject and puts them into a
// [Queue], all as one stream. A message is a line, or several; it needn't end
// with a newline. Messages that arrive within 100 ms share an item.
//
// If a JetStream stream captures all of the subject, the messages are read
// from there by a durable pull consumer, from the oldest on when it is first
// created. They are acknowledged once they are in the queue, so that neither a
// restart of this process nor a full queue loses any: what doesn't fit stays
// in the stream. One that is delivered again is not queued again. Messages
// that were removed from the stream before they were read are counted in
// [Snapshot.DroppedLines], provided that the stream holds no other subjects,
// since its sequence numbers don't tell whose messages are gone. The consumer
// stays when Run ends; delete it when it isn't needed any more.
//
// Otherwise it is a plain subscription. It misses what is published while
// there is no connection; [Snapshot.Reconnects] tells how often that was. What
// the client library drops because the queue was full for too long is counted
// in [Snapshot.DroppedLines], a line a message. A work-queue stream is read in
// that way, too, since reading it properly would take messages away from those
// whom they are meant for.
//
// Which of the two it is, is found out at the first connection and then stays,
// since a change would lose or repeat messages.
type NATS struct {
	spec   Spec
	opts   NATSOptions
	log    *slog.Logger
	sink   sink
	stream uint64
	link   *link

	chosen    bool // whether it is known what follows
	jetStream bool
	place     place
}

// NewNATS returns a NATS source for a [KindNATS] spec. It opens nothing yet.
func NewNATS(spec Spec, opts NATSOptions, queue *Queue, stats *Stats) *NATS {
	opts.MaxWait = cmp.Or(opts.MaxWait, DefaultNATSMaxWait)
	opts.MaxLineBytes = cmp.Or(opts.MaxLineBytes, MaxLineBytes)
	opts.Durable = cmp.Or(opts.Durable, DefaultDurable(spec.Subject))
	opts.Retry = cmp.Or(opts.Retry, DefaultNATSRetry)
	opts.maxPending = cmp.Or(opts.maxPending, maxPendingMessages)
	log := orDiscard(opts.Logger).With("source", spec.Text)
	return &NATS{
		spec: spec, opts: opts, log: log,
		sink:   sink{source: spec.Text, queue: queue, stats: stats, maxWait: opts.MaxWait, log: orDiscard(opts.Logger)},
		stream: queue.NewStream(),
		link:   newLink(stats, log, opts.Retry),
	}
}

// Run reads until ctx ends, then delivers what was already fetched, and
// returns nil. A server that is absent, or that refuses us, is tried again for
// ever. Run fails only if the options are bad. It must be called once only.
func (n *NATS) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		conn, err := n.link.dial(n.spec.Servers)
		if err != nil {
			n.sink.stats.errors.Add(1)
			return fmt.Errorf("source %q: %w", n.spec.Text, err)
		}
		n.serve(ctx, conn)
		conn.Close()
	}
	return nil
}

// serve reads until ctx ends or the connection is closed.
func (n *NATS) serve(ctx context.Context, conn *nats.Conn) {
	for connected(ctx, conn) {
		err := n.read(ctx, conn)
		if ctx.Err() != nil {
			bye, stop := context.WithTimeout(context.WithoutCancel(ctx), byeTime)
			_ = conn.FlushWithContext(bye) // what isn't acknowledged comes again
			stop()
			return
		}
		n.link.fails(err)
		pause(ctx, n.opts.Retry)
	}
}

// read reads until ctx ends or something fails.
func (n *NATS) read(ctx context.Context, conn *nats.Conn) error {
	if !n.chosen {
		if err := n.choose(ctx, conn); err != nil {
			return err
		}
	}
	if n.jetStream {
		return n.readStream(ctx, conn)
	}
	return n.subscribe(ctx, conn)
}

// errQuiet means that no message came for a while.
var errQuiet = errors.New("no message came")

// mailbox is where messages come from.
type mailbox interface {
	// next returns the next message. With a wait above 0 it returns errQuiet
	// after that time; otherwise when there is something else to do.
	next(ctx context.Context, wait time.Duration) (message, error)
	// keep puts the batch into the queue. An error means that it isn't there,
	// and that keep may be called again.
	keep(ctx context.Context, b *batch) error
	// quiet is called when no message has come for a while.
	quiet(ctx context.Context) error
	// stop lets next return only what was already fetched, and then an error
	// or errQuiet.
	stop()
}

// pump moves messages to the queue until ctx ends or something fails.
func (n *NATS) pump(ctx context.Context, box mailbox) error {
	n.link.works()
	b := &batch{maxLine: n.opts.MaxLineBytes}
	for {
		err := n.fill(ctx, box, b)
		if !b.empty() && ctx.Err() == nil {
			err = cmp.Or(n.keep(ctx, box, b), err)
		} else if errors.Is(err, errQuiet) {
			err = box.quiet(ctx)
		}
		if ctx.Err() != nil {
			return n.drain(ctx, box, b)
		}
		if err != nil && !errors.Is(err, errQuiet) {
			return err
		}
	}
}

// keep puts the batch into the queue and begins the next one.
func (n *NATS) keep(ctx context.Context, box mailbox, b *batch) error {
	err := box.keep(ctx, b)
	if err == nil {
		b.next()
	}
	return err
}

// fill adds messages to the batch until it is due.
func (n *NATS) fill(ctx context.Context, box mailbox, b *batch) error {
	for !b.due() {
		var wait time.Duration
		if !b.empty() {
			wait = max(b.left(), time.Millisecond)
		}
		m, err := box.next(ctx, wait)
		if err != nil {
			return err
		}
		if len(m.data) > 0 {
			n.sink.stats.read(len(m.data))
		}
		b.add(m)
	}
	return nil
}

// drain delivers what was fetched before ctx ended.
func (n *NATS) drain(ctx context.Context, box mailbox, b *batch) error {
	grace, stop := context.WithTimeout(context.WithoutCancel(ctx), n.opts.MaxWait)
	defer stop()
	box.stop()
	for {
		err := n.fill(grace, box, b)
		if !b.empty() {
			err = n.keep(grace, box, b)
		}
		if err != nil {
			return err
		}
	}
}
