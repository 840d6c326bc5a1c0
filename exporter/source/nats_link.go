package source

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// A connection is taken for dead after that long without an answer, two pings.
const pingInterval = 15 * time.Second

// link watches one connection and notes when reading begins to fail and when
// it works again. The client library calls it from goroutines of its own.
type link struct {
	stats *Stats
	log   *slog.Logger
	retry time.Duration
	// denied ends when the server doesn't let us ask about streams.
	denied context.Context
	deny   context.CancelFunc

	mu   sync.Mutex
	down bool
}

func newLink(stats *Stats, log *slog.Logger, retry time.Duration) *link {
	l := &link{stats: stats, log: log, retry: retry}
	l.denied, l.deny = context.WithCancel(context.Background())
	return l
}

// dial returns a connection that is made, and made again whenever it is lost,
// in the background for ever. It fails only if the arguments are bad.
func (l *link) dial(servers Servers) (*nats.Conn, error) {
	return nats.Connect(string(servers),
		nats.Name("kvshadow"),
		nats.RetryOnFailedConnect(true),
		nats.IgnoreAuthErrorAbort(),
		nats.PermissionErrOnSubscribe(true),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(l.retry),
		nats.ReconnectJitter(l.retry/4, l.retry/4),
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(2),
		nats.ConnectHandler(func(*nats.Conn) { l.works() }),
		nats.DisconnectErrHandler(l.lost),
		nats.ReconnectErrHandler(l.lost),
		nats.ReconnectHandler(func(*nats.Conn) {
			l.stats.reconnects.Add(1)
			l.works()
		}),
		nats.ErrorHandler(l.trouble),
	)
}

func (l *link) lost(_ *nats.Conn, err error) {
	if err != nil { // otherwise we closed it
		l.fails(err)
	}
}

// trouble takes what the server reports out of turn.
func (l *link) trouble(_ *nats.Conn, _ *nats.Subscription, err error) {
	switch {
	case errors.Is(err, nats.ErrSlowConsumer):
		l.log.Debug("slow consumer") // counted message by message
	case errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), "$JS.API."):
		if l.denied.Err() == nil {
			l.log.Warn("the server denies a question about streams", "err", err)
		}
		l.deny()
	default:
		l.fails(err)
	}
}

// fails notes that nothing can be read. Only the first failure counts.
func (l *link) fails(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return
	}
	l.down = true
	l.stats.errors.Add(1)
	l.log.Warn("cannot read", "err", err)
}

// works notes that messages can be read.
func (l *link) works() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		l.down = false
		l.log.Info("can read again")
	}
}

// connected waits until the connection is there. It returns false if ctx ends
// first, or if the connection is closed for good.
func connected(ctx context.Context, conn *nats.Conn) bool {
	changes := conn.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer conn.RemoveStatusListener(changes)
	for !conn.IsConnected() && !conn.IsClosed() {
		select {
		case <-ctx.Done():
			return false
		case <-changes:
		}
	}
	return ctx.Err() == nil && !conn.IsClosed()
}

// pause waits, at most until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
