package source

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
)

// What a plain subscription holds for us while the queue is full.
const (
	maxPendingMessages = 1 << 16 // the client library can't do more
	maxPendingBytes    = 64 << 20
	// checkEvery is how often to ask for what was dropped.
	checkEvery = time.Second
)

// subscription is the mailbox of a plain subscription.
type subscription struct {
	n       *NATS
	sub     *nats.Subscription
	dropped int // how many messages the client library has dropped so far
	// dropping says that it still did at last; only changes are logged.
	dropping bool
	// left is how many messages are still to be taken when it was stopped.
	stopped bool
	left    int
	first   *nats.Msg // received when we made sure of the subscription
}

// subscribe reads a plain subscription. The client library renews it after
// each reconnect.
func (n *NATS) subscribe(ctx context.Context, conn *nats.Conn) error {
	sub, err := conn.SubscribeSync(n.spec.Subject)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	if err := sub.SetPendingLimits(n.opts.maxPending, maxPendingBytes); err != nil {
		return err
	}
	ask, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	if err := conn.FlushWithContext(ask); err != nil {
		return err
	}
	first, err := sub.NextMsg(time.Millisecond) // it tells if we may not subscribe
	if err != nil && !errors.Is(err, nats.ErrTimeout) {
		return err
	}
	n.log.Info("subscribed", "subject", n.spec.Subject)
	return n.pump(ctx, &subscription{n: n, sub: sub, first: first})
}

func (s *subscription) next(ctx context.Context, wait time.Duration) (message, error) {
	until, cancel := context.WithTimeout(ctx, cmp.Or(wait, checkEvery))
	defer cancel()
	var m *nats.Msg
	var err error
	switch {
	case s.first != nil:
		m, s.first = s.first, nil
	case s.stopped && s.left == 0:
		return message{}, nats.ErrBadSubscription
	case s.stopped:
		s.left--
		m, err = s.sub.NextMsg(time.Millisecond) // it is here already
	default:
		m, err = s.sub.NextMsgWithContext(until)
	}
	switch {
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return message{}, errQuiet
	case errors.Is(err, nats.ErrSlowConsumer):
		s.countDropped()
		return message{}, errQuiet
	case err != nil:
		return message{}, err
	}
	return message{data: m.Data}, nil
}

// countDropped counts what the client library dropped: messages, since it
// doesn't say how many lines or bytes there were in them.
func (s *subscription) countDropped() {
	total, err := s.sub.Dropped()
	if err != nil || total <= s.dropped {
		return
	}
	n := total - s.dropped
	s.dropped = total
	s.n.sink.stats.lines.Add(uint64(n))
	s.n.sink.stats.lose(n, 0)
	if !s.dropping {
		s.dropping = true
		s.n.log.Warn("the client drops messages, since the queue was full for too long")
	}
}

func (s *subscription) keep(ctx context.Context, b *batch) error {
	s.countDropped()
	s.n.skip(b)
	if !s.stopped {
		ctx = context.WithoutCancel(ctx) // MaxWait bounds it
	}
	s.n.sink.deliver(ctx, s.n.stream, b.lines)
	if waiting, _, err := s.sub.Pending(); err == nil && waiting == 0 {
		s.caughtUp()
	}
	return nil
}

func (s *subscription) caughtUp() {
	s.n.sink.stats.caughtUp()
	if s.dropping {
		s.dropping = false
		s.n.log.Info("the client no longer drops messages", "dropped", s.dropped)
	}
}

func (s *subscription) quiet(context.Context) error {
	s.countDropped()
	return nil
}

func (s *subscription) stop() {
	s.countDropped()
	s.stopped = true
	s.left, _, _ = s.sub.Pending() // none if the subscription is gone
}

// skip counts the lines of the batch that were too long.
func (n *NATS) skip(b *batch) {
	n.sink.stats.lines.Add(uint64(b.tooLong))
	n.sink.stats.tooLongLines.Add(uint64(b.tooLong))
}
