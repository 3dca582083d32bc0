package main

import (
	"log"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The shortest and longest time that a histogram tells apart, in ns, and its significant digits.
const (
	shortest = int64(time.Microsecond)
	longest  = int64(time.Minute)
	digits   = 3
)

// Times is a histogram that several goroutines may record in.
type Times struct {
	mutex     sync.Mutex
	histogram *hdrhistogram.Histogram
}

func newTimes() *Times {
	return &Times{histogram: hdrhistogram.New(shortest, longest, digits)}
}

// Record adds a time. What is out of range counts as the nearest time in it: it must not be missing from a percentile.
func (t *Times) Record(elapsed time.Duration) {
	t.mutex.Lock()
	err := t.histogram.RecordValue(min(max(int64(elapsed), shortest), longest))
	t.mutex.Unlock()
	if err != nil {
		log.Fatal(err)
	}
}

// Summary is a histogram in the report, in seconds, and all of it: times in ns, and how many are in the class up to each.
type Summary struct {
	Count       int64              `json:"count"`
	Mean        float64            `json:"mean"`
	Max         float64            `json:"max"`
	Percentiles map[string]float64 `json:"percentiles"`
	Nanoseconds []int64            `json:"ns"`
	Counts      []int64            `json:"counts"`
}

var percentiles = map[string]float64{"p50": 50, "p75": 75, "p90": 90, "p99": 99, "p99.9": 99.9}

// summary is null if no time was recorded.
func (t *Times) summary() *Summary {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.histogram.TotalCount() == 0 {
		return nil
	}
	var values, counts []int64
	for _, class := range t.histogram.Distribution() {
		if class.Count > 0 {
			values, counts = append(values, class.To), append(counts, class.Count)
		}
	}
	at := map[string]float64{}
	for name, percentile := range percentiles {
		at[name] = float64(t.histogram.ValueAtQuantile(percentile)) / 1e9
	}
	return &Summary{
		Count:       t.histogram.TotalCount(),
		Mean:        t.histogram.Mean() / 1e9,
		Max:         float64(t.histogram.Max()) / 1e9,
		Percentiles: at,
		Nanoseconds: values,
		Counts:      counts,
	}
}

// Report is what the program prints: one JSON object.
type Report struct {
	Kind       string              `json:"kind"`
	URL        string              `json:"url"`
	Duration   float64             `json:"duration_s"`
	Units      int64               `json:"units"`
	Bytes      int64               `json:"bytes"`
	Errors     map[string]int64    `json:"errors"`
	Negotiated map[string]int64    `json:"negotiated"`
	Streams    *Streams            `json:"streams,omitempty"`
	Times      map[string]*Summary `json:"times"`
}

// Streams counts streams of events. Each that was due was refused (errors `connect` and `status`), is complete, was cut
// (with an error), or was open at the end; `begun`: those whose response began as agreed.
type Streams struct {
	Due      int64 `json:"due"`
	Begun    int64 `json:"begun"`
	Complete int64 `json:"complete"`
	Cut      int64 `json:"cut"`
	Open     int64 `json:"open"`
}
