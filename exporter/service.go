package exporter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kvshadow/kvshadow/analyzer"
	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/input"
	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
	"github.com/kvshadow/kvshadow/analyzer/twin"
	"github.com/kvshadow/kvshadow/exporter/demo"
	"github.com/kvshadow/kvshadow/exporter/source"
)

// The bounds of the queue between the sources and the evaluation.
const (
	maxQueuedItems = 4096
	maxQueuedBytes = 64 << 20
)

// idle is how long the input pauses before a decision no longer waits for log
// messages that may follow it.
const idle = time.Second

// Options configures a [Service].
type Options struct {
	// Sources are where input comes from. Demo adds the embedded captures.
	Sources []source.Spec
	Demo    bool
	// FromEnd skips what is in files at start-up.
	FromEnd bool
	Stdin   io.Reader
	// NATSConsumer names the JetStream consumer of NATS sources; see
	// [source.NATSOptions].
	NATSConsumer string
	// Twin says what request traces leave out about the fleet. Its Wait is how
	// long a rebuilt decision waits for records of requests that began earlier.
	Twin twin.Options
	// Capacities, if set, asks the router for the KV capacity of each model's
	// ranks, in blocks. It is asked at start-up and then every now and then.
	Capacities func(ctx context.Context) (map[string]int, error)
	// Policies loads the policies, at start-up and at each reload.
	Policies func() ([]dynamo.Policy, error)
	Logger   *slog.Logger
	// Now replaces the clock, for tests; nil means time.Now.
	Now func() time.Time
}

// Service evaluates what its sources bring. Create it with [New], run it with
// [Service.Run]; the other methods may be called from several goroutines at
// once.
type Service struct {
	opts    Options
	log     *slog.Logger
	queue   *source.Queue
	state   *state
	losses  *losses
	intake  *analyzer.Intake // used by the evaluating goroutine only
	current *feed            // whose input is being evaluated
	rebuilt rebuilt
	inputs  []*feed
	byName  map[string]*feed
	http    *source.HTTPHandler
	learned chan map[string]int // capacities, for the evaluating goroutine
	ready   atomic.Bool
	reloads sync.Mutex
}

// runner is a source that reads on its own until its context ends.
type runner interface {
	Run(ctx context.Context) error
}

// feed is one source with its decoder. Only the evaluating goroutine uses the
// decoder; counts is its copy for scrapes.
type feed struct {
	name    string
	stats   *source.Stats
	run     runner
	decoder *input.Decoder

	mu        sync.Mutex
	decisions uint64
	ignored   uint64
	lost      map[string]uint64
}

// New returns a service that is ready to run. It loads the policies and opens
// nothing.
func New(opts Options) (*Service, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	policies, err := opts.Policies()
	if err != nil {
		return nil, err
	}
	s := &Service{opts: opts, log: opts.Logger, queue: source.NewQueue(maxQueuedItems, maxQueuedBytes), byName: map[string]*feed{}, learned: make(chan map[string]int, 1)}
	s.losses = newLosses(policies)
	s.state = newState(policies, s.losses.observe, opts.Now())
	s.intake = analyzer.NewIntake(opts.Twin, s.evaluate)
	for _, spec := range opts.Sources {
		if s.byName[spec.Text] != nil {
			return nil, fmt.Errorf("source %q is given twice", spec.Text)
		}
		s.addSource(spec)
	}
	s.rebuilt.publish(s.intake)
	if opts.Demo {
		for _, c := range demo.Captures() {
			f := s.addFeed(c.Source)
			f.run = source.NewStdin(source.Spec{Text: c.Source}, c.NewReader(), source.StdinOptions{Logger: s.log}, s.queue, f.stats)
		}
	}
	return s, nil
}

func (s *Service) addSource(spec source.Spec) {
	f := s.addFeed(spec.Text)
	switch spec.Kind {
	case source.KindFile:
		f.run = source.NewFile(spec, source.FileOptions{FromStart: !s.opts.FromEnd, Logger: s.log}, s.queue, f.stats)
	case source.KindStdin:
		f.run = source.NewStdin(spec, s.opts.Stdin, source.StdinOptions{Logger: s.log}, s.queue, f.stats)
	case source.KindNATS:
		f.run = source.NewNATS(spec, source.NATSOptions{Durable: s.opts.NATSConsumer, Logger: s.log}, s.queue, f.stats)
	case source.KindHTTP:
		s.http = source.NewHTTP(spec, decodeRecord, source.HTTPOptions{}, s.queue, f.stats)
	}
}

func (s *Service) addFeed(name string) *feed {
	f := &feed{name: name, stats: source.NewStats(name)}
	f.decoder = s.intake.NewDecoder()
	f.publish()
	s.inputs = append(s.inputs, f)
	s.byName[name] = f
	return f
}

func decodeRecord(line []byte) (*decision.Decision, error) {
	d := new(decision.Decision)
	return d, decision.Unmarshal(line, d)
}

// Run reads the sources until ctx ends, then evaluates what is queued and
// returns. It must be called once only.
func (s *Service) Run(ctx context.Context) error {
	var sources sync.WaitGroup
	for _, f := range s.inputs {
		if f.run == nil {
			continue
		}
		sources.Go(func() {
			if err := f.run.Run(ctx); err != nil {
				s.log.Error("source ended", "source", f.name, "err", err)
			}
		})
	}
	if s.opts.Capacities != nil {
		sources.Go(func() { s.askCapacities(ctx) })
	}
	go func() {
		<-ctx.Done()
		s.ready.Store(false)
		sources.Wait()
		s.queue.Close()
	}()
	s.ready.Store(true)
	s.consume()
	return nil
}

// capacityInterval is the time between two questions for capacities.
const capacityInterval = 30 * time.Second

// askCapacities asks the router for capacities until ctx ends. A router that
// doesn't answer is asked again; what it said before stays.
func (s *Service) askCapacities(ctx context.Context) {
	tick := time.NewTicker(capacityInterval)
	defer tick.Stop()
	for failing := false; ; {
		capacities, err := s.opts.Capacities(ctx)
		switch {
		case err == nil:
			failing = false
			select {
			case s.learned <- capacities:
			default: // the last answer hasn't been used yet, and is as good
			}
		case !failing && ctx.Err() == nil:
			failing = true
			s.log.Warn("the router doesn't tell its KV capacities", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// learn uses the capacities that came meanwhile.
func (s *Service) learn() {
	select {
	case capacities := <-s.learned:
		for model, blocks := range capacities {
			s.intake.SetCapacity(model, blocks)
		}
	default:
	}
}

// consume evaluates queued items until the queue is closed and empty.
func (s *Service) consume() {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), idle)
		item, err := s.queue.Get(ctx)
		cancel()
		s.learn()
		switch {
		case err == nil:
			s.take(&item)
		case errors.Is(err, context.DeadlineExceeded):
			s.flush((*input.Decoder).FlushReady)
			s.intake.Idle(idle)
			s.rebuilt.publish(s.intake)
		default: // the queue is closed and empty
			s.flush((*input.Decoder).Flush)
			s.intake.Flush()
			s.rebuilt.publish(s.intake)
			return
		}
	}
}

// flush lets every decoder hand on what waits in it.
func (s *Service) flush(how func(*input.Decoder)) {
	for _, f := range s.inputs {
		s.current = f
		how(f.decoder)
		f.publish()
	}
}

func (s *Service) take(item *source.Item) {
	f := s.byName[item.Source]
	s.current = f
	for _, d := range item.Decisions {
		s.evaluate(d)
	}
	for lines := item.Lines; len(lines) > 0; {
		line, rest, _ := bytes.Cut(lines, []byte{'\n'})
		lines = rest
		if err := f.decoder.Line(item.Stream, bytes.TrimSuffix(line, []byte{'\r'})); err != nil {
			s.log.Warn("record refused", "source", f.name, "err", err)
		}
	}
	f.publish()
	s.rebuilt.publish(s.intake)
}

func (s *Service) evaluate(d *decision.Decision) {
	f := s.current
	f.mu.Lock()
	f.decisions++
	f.mu.Unlock()
	s.state.evaluate(d)
}

// publish copies the decoder's counts to where scrapes see them.
func (f *feed) publish() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ignored = f.decoder.Ignored()
	if f.lost == nil {
		f.lost = map[string]uint64{}
	}
	f.decoder.Undecodable(func(reason string, n uint64) { f.lost[reason] = n })
}

// Reload loads the policies again. If that fails the old ones stay in use, and
// the error says why.
func (s *Service) Reload() error {
	s.reloads.Lock()
	defer s.reloads.Unlock()
	policies, err := s.opts.Policies()
	if err != nil {
		s.state.refuse(err)
		s.log.Error("policies not reloaded, the old ones stay in use", "err", err)
		return err
	}
	s.state.replace(policies, s.opts.Now(), s.losses.replace)
	s.log.Info("policies loaded", "policies", len(policies))
	return nil
}
