package dynamo

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// ErrNoEndpoints is upstream's error for a choice without eligible workers.
var ErrNoEndpoints = errors.New("no endpoints available to route work")

// columns are the inputs of the cost function, one slice per term, one element
// per eligible candidate. They depend on the decision and on the live weights,
// never on a candidate policy, so they are computed once and read by all.
type columns struct {
	index     []int    // position in Decision.Candidates
	active    []uint64 // prefill tokens booked on the rank
	effective []float64
	device    []float64
	host      []float64
	disk      []float64
	shared    []float64
	raw       []float64 // prefill tokens on the rank with this prompt, in blocks
	excess    []float64 // prefill blocks above the least eligible rank, per block of the prompt
	decode    []float64
	requests  []float64
	missing   []float64
	load      []float64 // decode cost + active prefill blocks
	taint     []float64
	names     []string // of the preferred taints

	hasTiers, hasShared, hasExcess, hasTaint bool
	isDecode, tracks, loadOnly               bool
	blocksOnly                               bool // raw came in blocks, not in tokens
	selected                                 int  // row of the recorded worker, or -1
	recordedRows                             bool // the source recorded candidates' costs
	// Half a unit in the last place of the inputs; 0 where they are exact.
	rawError, deviceError, decayError float64
}

// fill computes the columns. live holds the weights of the router that made
// the decision: some sources print only products of a weight and an input.
//
// A candidate is read once, front to back: reading them from memory is most of
// the cost of evaluating a large fleet.
func (c *columns) fill(d *decision.Decision, live Params) error {
	if d.Pinned && d.AllowedWorkerIDs != nil && !slices.Contains(d.AllowedWorkerIDs, d.Selected.WorkerID) {
		return fmt.Errorf("pinned worker %d is not in allowed worker set", d.Selected.WorkerID)
	}
	c.reset(d)
	for i := range d.Candidates {
		x := &d.Candidates[i]
		if !eligible(d, x) {
			continue
		}
		row := len(c.index)
		c.index = append(c.index, i)
		if x.Key == d.Selected {
			c.selected = row
		}
		c.recordedRows = c.recordedRows || x.Recorded.CostBlocks.Set
		c.fillOverlap(row, d, x, live)
		c.fillLoad(row, d, x, live)
	}
	if len(c.index) == 0 {
		return ErrNoEndpoints
	}
	c.fillExcess(d, live)
	c.fillTaints(d)
	return nil
}

// reset makes room for every candidate.
func (c *columns) reset(d *decision.Decision) {
	n := len(d.Candidates)
	c.index = slices.Grow(c.index[:0], n)
	c.active = slices.Grow(c.active[:0], n)[:n]
	for _, col := range []*[]float64{&c.effective, &c.device, &c.host, &c.disk, &c.shared, &c.raw,
		&c.excess, &c.decode, &c.requests, &c.missing, &c.load, &c.taint} {
		*col = slices.Grow((*col)[:0], n)[:n]
	}
	c.isDecode = d.WorkerType == decision.Decode
	c.tracks, c.loadOnly = d.TracksPrefill, d.LoadOnly
	c.hasTiers, c.hasShared, c.hasTaint, c.blocksOnly = false, false, false, false
	c.rawError, c.deviceError = 0, 0
	c.selected, c.recordedRows = -1, false
}

// eligible applies the router's tests; a pin leaves only the pinned rank.
func eligible(d *decision.Decision, x *decision.Candidate) bool {
	if x.Ineligible || d.Pinned && x.Key != d.Selected {
		return false
	}
	if d.AllowedWorkerIDs != nil && !slices.Contains(d.AllowedWorkerIDs, x.WorkerID) {
		return false
	}
	for _, t := range d.RequiredTaints {
		if !slices.Contains(x.Taints, t) {
			return false
		}
	}
	return true
}

func (c *columns) fillOverlap(row int, d *decision.Decision, x *decision.Candidate, live Params) {
	device := x.EffectiveOverlapBlocks
	switch {
	case x.DeviceBlocks.Set:
		device = x.DeviceBlocks.Value
	case d.Unknown.Has(decision.UnknownTiers):
		// The row blends the tiers; only what the source named apart can be
		// taken out again.
		device = max(0, device-float64(live.HostCacheHitWeight*x.HostBlocks)-float64(live.DiskCacheHitWeight*x.DiskBlocks))
	case d.TierMaps:
		device = 0
	}
	shared := x.SharedBeyondBlocks.Value
	if !x.SharedBeyondBlocks.Set {
		shared = sharedBeyond(d.SharedHits, device)
	}
	c.effective[row], c.device[row] = x.EffectiveOverlapBlocks, device
	c.host[row], c.disk[row], c.shared[row] = x.HostBlocks, x.DiskBlocks, shared
	c.missing[row] = max(0, float64(d.RequestBlocks)-device)
	if d.Unknown.Has(decision.UnknownRequestBlocks) {
		// An unknown constant shifts every rank alike, so picks stay exact.
		c.missing[row] = -device
	}
	c.hasTiers = c.hasTiers || x.HostBlocks != 0 || x.DiskBlocks != 0
	c.hasShared = c.hasShared || shared != 0
	if d.CostToleranceBlocks > 0 && device != math.Trunc(device) {
		c.deviceError = 0.005 // rows print overlap with two decimals
	}
}

// sharedBeyond counts shared hits past the device prefix, which upstream
// rounds half away from zero and saturates to u32.
func sharedBeyond(hits []decision.BlockRange, device float64) float64 {
	if len(hits) == 0 {
		return 0
	}
	prefix := uint32(min(max(0, math.Round(device)), math.MaxUint32))
	var n uint64
	for _, r := range hits {
		if start := max(r.Start, prefix); start < r.End {
			n += uint64(r.End - start)
		}
	}
	return float64(min(n, math.MaxUint32))
}

func (c *columns) fillLoad(row int, d *decision.Decision, x *decision.Candidate, live Params) {
	block := float64(d.BlockSizeTokens)
	c.active[row] = x.ActivePrefillTokens
	active := float64(x.ActivePrefillTokens) / block
	switch {
	case !d.TracksPrefill:
		c.raw[row], active = 0, 0
	case x.RawPrefillBlocks.Set:
		c.raw[row], active = x.RawPrefillBlocks.Value, x.RawPrefillBlocks.Value
		c.rawError, c.blocksOnly = d.CostToleranceBlocks, true
	case x.NoLoadEntry:
		c.raw[row], active = float64(d.InputTokens)/block, 0
	default:
		c.raw[row] = float64(rawPrefillTokens(x.ActivePrefillTokens, d.InputTokens, x.CachedTokens)) / block
	}
	c.decode[row], c.load[row] = x.DecodeCostBlocks, x.DecodeCostBlocks+active
	c.requests[row] = float64(x.ActiveRequests)
	if cost := x.Recorded.ActiveRequestCostBlocks; cost.Set && live.DecodeActiveRequestWeight > 0 && x.ActiveRequests == 0 {
		c.requests[row] = math.Round(cost.Value / live.DecodeActiveRequestWeight)
	}
}

// rawPrefillTokens adds the prompt's uncached tokens and then its cached ones,
// as upstream does: the sum exceeds active + isl where cached exceeds isl.
func rawPrefillTokens(active, isl, cached uint64) uint64 {
	uncached := uint64(0)
	if isl > cached {
		uncached = isl - cached
	}
	return saturatingAdd(saturatingAdd(active, uncached), cached)
}

func saturatingAdd(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// fillExcess measures each rank's prefill backlog against the least loaded
// eligible rank; the saturating subtraction happens in whole tokens.
func (c *columns) fillExcess(d *decision.Decision, live Params) {
	c.hasExcess, c.decayError = false, 0
	clear(c.excess)
	if !d.TracksPrefill {
		return
	}
	blocks := float64(max(1, d.RequestBlocks))
	switch {
	case d.Unknown.Has(decision.UnknownRequestBlocks):
		c.excessFromDecay(d, live)
	case c.blocksOnly:
		least := slices.Min(c.raw[:len(c.index)])
		for row := range c.index {
			c.excess[row] = (c.raw[row] - least) / blocks
		}
		c.decayError = 2 * d.CostToleranceBlocks / blocks
	default:
		least := slices.Min(c.active[:len(c.index)])
		for row, active := range c.active[:len(c.index)] {
			excess := float64(active-least) / float64(d.BlockSizeTokens)
			c.excess[row] = excess / blocks
		}
	}
	for _, x := range c.excess[:len(c.index)] {
		c.hasExcess = c.hasExcess || x != 0
	}
}

// excessFromDecay inverts the printed decay factor where the prompt's length
// is unknown. Without a live decay it stays 0, which the caller reports as an
// approximation.
func (c *columns) excessFromDecay(d *decision.Decision, live Params) {
	k := live.OverlapScoreCreditDecay
	for row, i := range c.index {
		y := d.Candidates[i].Recorded.OverlapCreditDecay
		if k > 0 && y.Set && y.Value > 0 {
			c.excess[row] = (1/y.Value - 1) / k
			c.decayError = d.CostToleranceBlocks
		}
	}
}

// fillTaints computes exp(-tanh(sum of matching weights)). Pins ignore
// preferences.
func (c *columns) fillTaints(d *decision.Decision) {
	if len(d.PreferredTaints) == 0 || d.Pinned {
		return
	}
	c.hasTaint = true
	c.names = c.names[:0]
	for name := range d.PreferredTaints {
		c.names = append(c.names, name)
	}
	slices.Sort(c.names) // one order of addition
	for row, i := range c.index {
		sum := 0.0
		for _, n := range c.names {
			if slices.Contains(d.Candidates[i].Taints, n) {
				sum += float64(d.PreferredTaints[n])
			}
		}
		c.taint[row] = math.Exp(-math.Tanh(sum))
	}
}
