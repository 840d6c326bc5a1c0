package source

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// choose finds out whether to read a stream or to subscribe.
func (n *NATS) choose(ctx context.Context, conn *nats.Conn) error {
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	ask, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	defer context.AfterFunc(n.link.denied, stop)()
	stream, err := n.capturing(ask, js)
	switch {
	case err == nil:
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrJetStreamNotEnabled),
		errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		stream = nil
	case ctx.Err() == nil && n.link.denied.Err() != nil:
		n.log.Warn("no permission to ask for streams: messages published while there is no connection will be missed")
		stream = nil
	default:
		return err
	}
	if stream != nil && stream.Config.Retention == jetstream.WorkQueuePolicy {
		n.log.Info("leaving the messages of a work queue to those that work on them", "stream", stream.Config.Name)
		stream = nil
	}
	n.chosen, n.jetStream = true, stream != nil
	return nil
}

// capturing returns the stream that captures everything that is published to
// the subject; nil if there is none.
func (n *NATS) capturing(ctx context.Context, js jetstream.JetStream) (*jetstream.StreamInfo, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop() // also ends the listing if it isn't read to its end
	streams := js.ListStreams(ctx, jetstream.WithStreamListSubject(n.spec.Subject))
	for info := range streams.Info() {
		if slices.ContainsFunc(info.Config.Subjects, func(s string) bool { return covers(s, n.spec.Subject) }) {
			return info, nil
		}
		n.log.Warn("a stream captures a part of the subject only and is not used", "stream", info.Config.Name)
	}
	return nil, streams.Err()
}

// consumer returns our consumer of the stream and whether it is new.
func (n *NATS) consumer(ctx context.Context, js jetstream.JetStream, stream *jetstream.StreamInfo) (c jetstream.Consumer, created bool, err error) {
	c, err = js.Consumer(ctx, stream.Config.Name, n.opts.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		c, err = js.CreateConsumer(ctx, stream.Config.Name, n.consumerConfig(stream))
		return c, err == nil, err
	}
	if err != nil {
		return nil, false, err
	}
	is := c.CachedInfo().Config
	if is.FilterSubject != n.spec.Subject || is.AckPolicy != jetstream.AckExplicitPolicy {
		return nil, false, fmt.Errorf("consumer %q of stream %q exists, but isn't one that reads %q with explicit acknowledgement",
			n.opts.Durable, stream.Config.Name, n.spec.Subject)
	}
	return c, false, nil
}

func (n *NATS) consumerConfig(stream *jetstream.StreamInfo) jetstream.ConsumerConfig {
	c := jetstream.ConsumerConfig{
		Durable:       n.opts.Durable,
		Description:   "kvshadow: re-scores routing decisions",
		FilterSubject: n.spec.Subject,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       ackWait,
		MaxAckPending: maxUnacked,
	}
	if n.place.is(stream) && n.place.seen.floor > 0 { // somebody deleted ours
		c.DeliverPolicy = jetstream.DeliverByStartSequencePolicy
		c.OptStartSeq = n.place.seen.floor + 1
	}
	return c
}

// is says whether the place is one in that stream.
func (p *place) is(stream *jetstream.StreamInfo) bool {
	return p.stream == stream.Config.Name && p.created.Equal(stream.Created)
}

// arrive takes in where in the stream the consumer stands.
func (n *NATS) arrive(stream *jetstream.StreamInfo, consumer *jetstream.ConsumerInfo, created bool) {
	if n.place.is(stream) {
		if !created {
			n.reach(consumer.AckFloor.Stream)
		}
		return
	}
	config := stream.Config
	n.place = place{stream: config.Name, created: stream.Created, base: consumer.Delivered.Stream}
	n.place.alone = config.Mirror == nil && len(config.Sources) == 0 &&
		!slices.ContainsFunc(config.Subjects, func(s string) bool { return !covers(n.spec.Subject, s) })
	n.place.seen.settle(consumer.AckFloor.Stream) // of a new consumer: what the stream had lost before
}
