package decision

import "time"

// Lifecycle is what a request trace says about one finished request: when it
// came, which workers served it, which blocks its prompt has, and how long its
// parts took. From lifecycles alone package twin rebuilds the decisions.
//
// Durations are negative where the trace doesn't say.
type Lifecycle struct {
	RequestID string
	SessionID string
	Model     string

	// Received is when the request came; traces round it down to a whole
	// millisecond.
	Received time.Time
	// Wait is from Received until the request was handed to its worker.
	Wait time.Duration
	// FirstToken and Total are from Received to the first and the last token.
	FirstToken time.Duration
	Total      time.Duration

	InputTokens, OutputTokens uint64
	// CachedTokens are the prompt tokens that the engine reused; negative if
	// the trace doesn't say.
	CachedTokens int64
	// HitRate is the router's own effective overlap over the prompt's blocks,
	// at the moment of the choice.
	HitRate Float

	BlockSizeTokens uint32
	// Hashes are the chain hashes of the prompt's blocks; a last, partial
	// block has one too. Equal hashes mean equal prompts up to there.
	Hashes []uint64

	// Prefill and Decode are the workers; in aggregated deployments they are
	// the same. HasWorkers is false where the trace doesn't name them.
	Prefill, Decode Key
	HasWorkers      bool
}

// FullBlocks returns the hashes of the prompt's full blocks, the only ones that
// a cache can hold.
func (l *Lifecycle) FullBlocks() []uint64 {
	if l.BlockSizeTokens == 0 {
		return nil
	}
	return l.Hashes[:min(uint64(len(l.Hashes)), l.InputTokens/uint64(l.BlockSizeTokens))]
}

// Aggregated says whether one worker did both prefill and decode.
func (l *Lifecycle) Aggregated() bool { return l.Prefill == l.Decode }

// Selection is the end of a choice as a log prints it: the winner, its cost and
// the moment, without the candidates.
type Selection struct {
	RequestID  string
	Time       time.Time
	WorkerType WorkerType
	Pool       string
	Selected   Key
	CostBlocks Float
}
