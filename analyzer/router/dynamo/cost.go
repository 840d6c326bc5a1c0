package dynamo

import "math"

// costs writes each eligible candidate's cost under p, in blocks, after
// taints; lower is better. It returns their sum, which is finite if and only
// if they all are (no fleet's costs come near the largest float64), and
// allocates nothing.
//
// Every product is converted explicitly: Go may otherwise fuse it with the
// addition that follows on some architectures, and costs would differ there.
func (c *columns) costs(p *Params, dst []float64) (sum float64) {
	dst = dst[:len(c.index)]
	credit := c.effectiveCredit(p)
	if c.decodeForm(credit) || c.hasTiers || c.hasShared || c.decays(p) {
		affinity := c.affinity(p, credit)
		for i := range dst {
			dst[i] = c.base(p, credit, affinity, i)
			sum += dst[i]
		}
	} else {
		sum = c.costsPlain(p, credit, dst)
	}
	if c.hasTaint {
		sum = 0
		for i, t := range c.taint[:len(dst)] {
			dst[i] = float64(dst[i] * t)
			sum += dst[i]
		}
	}
	return sum
}

// decays says whether p's decay changes any credit of this decision.
func (c *columns) decays(p *Params) bool {
	return c.tracks && c.hasExcess && p.OverlapScoreCreditDecay > 0
}

// affinity is the weight of missing blocks: plain load-only decode charges
// none.
func (c *columns) affinity(p *Params, credit float64) float64 {
	if c.isDecode && !c.tracks && credit == 0 {
		return 0
	}
	return p.PrefixAffinityWeight
}

// costsPlain is base for all candidates, with the terms left out that are 0 for every
// candidate of this decision: no host, disk or shared blocks and no decay.
func (c *columns) costsPlain(p *Params, credit float64, dst []float64) (sum float64) {
	n := len(dst)
	raw, device, decode := c.raw[:n], c.device[:n], c.decode[:n]
	requests, missing := c.requests[:n], c.missing[:n]
	scale, perRequest, affinity := p.PrefillLoadScale, p.DecodeActiveRequestWeight, c.affinity(p, credit)
	for i := range dst {
		prefill := raw[i] - float64(credit*device[i])
		if prefill < 0 {
			prefill = 0
		}
		cost := float64(scale*prefill) + decode[i] + float64(perRequest*requests[i]) + float64(affinity*missing[i])
		dst[i] = cost
		sum += cost
	}
	return sum
}

// base is a candidate's cost before taints, in either form.
func (c *columns) base(p *Params, credit, affinity float64, i int) float64 {
	requests := float64(p.DecodeActiveRequestWeight * c.requests[i])
	missing := float64(affinity * c.missing[i])
	if c.decodeForm(credit) {
		return max(0, c.decode[i]-c.credit(p, credit, i)) + requests + missing
	}
	prefill := max(0, c.raw[i]-c.credit(p, credit, i))
	return float64(p.PrefillLoadScale*prefill) + c.decode[i] + requests + missing
}

// cost is one candidate's cost, as costs computes it for all.
func (c *columns) cost(p *Params, i int) float64 {
	credit := c.effectiveCredit(p)
	v := c.base(p, credit, c.affinity(p, credit), i)
	if c.hasTaint {
		v *= c.taint[i]
	}
	return v
}

// effectiveCredit is the device credit, which plain decode forces to 0.
func (c *columns) effectiveCredit(p *Params) float64 {
	if c.loadOnly {
		return 0
	}
	return p.OverlapScoreCredit
}

// decodeForm says whether the cost takes the cache-aware form for decode ranks
// that book no prefill.
func (c *columns) decodeForm(credit float64) bool {
	return c.isDecode && !c.tracks && credit > 0
}

// credit sums a candidate's overlap credits in upstream's order of addition.
func (c *columns) credit(p *Params, credit float64, i int) float64 {
	return float64(float64(credit*c.decay(p, i))*c.device[i]) +
		float64(p.HostCacheHitWeight*c.host[i]) +
		float64(p.DiskCacheHitWeight*c.disk[i]) +
		float64(p.SharedCacheMultiplier*c.shared[i])
}

// decay is the factor on the device credit, in (0, 1].
func (c *columns) decay(p *Params, i int) float64 {
	if !c.decays(p) {
		return 1
	}
	return 1 / (1 + float64(p.OverlapScoreCreditDecay*c.excess[i]))
}

// probabilities writes the chance with which the router picks each candidate
// at p's temperature and returns false; at temperature 0 it writes nothing and
// returns true.
//
// Costs are divided by their range before the softmax, so that scaling all
// weights alike changes nothing. With a vanishing temperature upstream's
// probabilities are NaN and its draw falls through to the last candidate.
func probabilities(p *Params, costs, dst []float64) (deterministic bool) {
	if p.RouterTemperature == 0 {
		return true
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range costs {
		lo, hi = min(lo, v), max(hi, v)
	}
	dst = dst[:len(costs)]
	if lo == hi {
		for i := range dst {
			dst[i] = 1 / float64(len(dst))
		}
		return false
	}
	best := -(lo / (hi - lo)) / p.RouterTemperature
	sum := 0.0
	for i, v := range costs {
		dst[i] = math.Exp(-(v/(hi-lo))/p.RouterTemperature - best)
		sum += dst[i]
	}
	if math.IsNaN(sum) {
		clear(dst)
		dst[len(dst)-1] = 1
		return false
	}
	for i := range dst {
		dst[i] /= sum
	}
	return false
}
