package fleet

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
)

// Experiment is a workload under several policies, each in several worlds. The
// worlds of a seed meet the same arrivals and the same sequence of draws under
// every policy, so that policies can be compared seed by seed.
type Experiment struct {
	Config   Config
	Workload *Workload
	// Policies is how many policies there are; the first is the live one.
	Policies int
	// Seeds is how many worlds each policy gets.
	Seeds int
	// Chooser returns a new chooser; each is used by one goroutine.
	Chooser func() Chooser
	// Done, if set, is called after each world, from several goroutines.
	Done func()
}

// Run simulates every world on all cores and returns the results by policy and
// seed. They are independent of the number of cores.
func (x *Experiment) Run(ctx context.Context) ([][]*Result, error) {
	if err := x.Config.validate(x.Workload); err != nil {
		return nil, err
	}
	results := make([][]*Result, x.Policies)
	for p := range results {
		results[p] = make([]*Result, x.Seeds)
	}
	jobs := make(chan int)
	errs := make(chan error, 1)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), x.Policies*x.Seeds) {
		workers.Go(func() {
			chooser := x.Chooser()
			for job := range jobs {
				p, seed := job%x.Policies, job/x.Policies
				r, err := Run(x.Config, x.Workload, chooser, p, uint64(seed))
				if err != nil {
					select {
					case errs <- fmt.Errorf("policy %d, seed %d: %w", p, seed, err):
					default:
					}
					continue
				}
				results[p][seed] = r
				if x.Done != nil {
					x.Done()
				}
			}
		})
	}
	err := x.feed(ctx, jobs, errs)
	close(jobs)
	workers.Wait()
	if err == nil {
		select {
		case err = <-errs:
		default:
		}
	}
	return results, err
}

func (x *Experiment) feed(ctx context.Context, jobs chan<- int, errs chan error) error {
	for job := range x.Policies * x.Seeds {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-errs:
			return err
		case jobs <- job:
		}
	}
	return nil
}

// Summary is a figure over the seeds of a policy.
type Summary struct {
	Mean, Min, Max float64
	// Difference is the mean of the seed-by-seed differences to the live
	// policy, and HalfWidth half the width of its 95 % interval (Student's t);
	// NaN for fewer than two seeds.
	Difference, HalfWidth float64
}

// Summarise sums a figure of one policy's worlds up, paired with those of the
// live policy.
func Summarise(worlds, live []*Result, figure func(*Result) float64) Summary {
	s := Summary{Min: math.Inf(1), Max: math.Inf(-1), HalfWidth: math.NaN()}
	n := float64(len(worlds))
	for i, r := range worlds {
		v := figure(r)
		s.Mean += v / n
		s.Min, s.Max = min(s.Min, v), max(s.Max, v)
		s.Difference += (v - figure(live[i])) / n
	}
	if len(worlds) < 2 {
		return s
	}
	squares := 0.0
	for i, r := range worlds {
		d := figure(r) - figure(live[i]) - s.Difference
		squares += d * d
	}
	s.HalfWidth = studentT(len(worlds)-1) * math.Sqrt(squares/(n-1)/n)
	return s
}

// studentT returns the 97.5 % quantile of Student's t distribution: exact to
// four digits up to 12 degrees of freedom, and by Cornish-Fisher's expansion
// (Abramowitz and Stegun 26.7.5) beyond.
func studentT(freedom int) float64 {
	small := [...]float64{12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788}
	if freedom <= len(small) {
		return small[freedom-1]
	}
	const z = 1.959964
	v := float64(freedom)
	z3, z5, z7 := z*z*z, math.Pow(z, 5), math.Pow(z, 7)
	return z + (z3+z)/(4*v) + (5*z5+16*z3+3*z)/(96*v*v) + (3*z7+19*z5+17*z3-15*z)/(384*v*v*v)
}
