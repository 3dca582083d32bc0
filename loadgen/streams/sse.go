package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const longestLine = 1 << 20

// EventStreams is a load of streams of server-sent events, each with the same number of events, a fixed time apart.
//
// With a rate, streams begin on a schedule, however many are open; without, a fixed number of them is open at any time.
type EventStreams struct {
	*Load
	open     int
	events   int
	gap      time.Duration
	streams  struct{ due, begun, complete, cut, open atomic.Int64 }
	late     *Times
	longest  *Times
	stream   *Times
	client   *http.Client
	encoding sync.Map
}

func eventStreamsOf(flags *flag.FlagSet, load *Load) func() *Report {
	e := &EventStreams{Load: load, late: newTimes(), longest: newTimes(), stream: newTimes()}
	flags.IntVar(&e.open, "open", 1, "number of streams that are open at any time, without -rate")
	flags.IntVar(&e.events, "events", 1, "events of a stream")
	flags.DurationVar(&e.gap, "gap", 0, "time between two events; 0: as soon as possible")
	return e.run
}

func (e *EventStreams) run() *Report {
	e.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1 << 14, DisableCompression: true}}
	var running sync.WaitGroup
	begin := func(due time.Time) {
		defer running.Done()
		e.streams.due.Add(1)
		e.read(due)
	}
	if e.rate > 0 {
		// Streams that are open at the end are let to their end: of the last ones, too, all events count.
		patient, cancel := context.WithCancel(context.Background())
		defer cancel()
		scheduled := e.done
		e.eachDue(func(number int64) { running.Add(1); go begin(e.due(number)) })
		go func() {
			<-scheduled.Done()
			time.Sleep(e.timeout + 2*time.Duration(e.events)*e.gap)
			cancel()
		}()
		e.done = patient
	} else {
		for range e.open {
			running.Add(1)
			go func() {
				defer running.Done()
				for e.done.Err() == nil {
					running.Add(1)
					begin(time.Now())
				}
			}()
		}
	}
	running.Wait()

	report := &Report{Kind: "sse", Negotiated: map[string]int64{}, Times: map[string]*Summary{
		"late": e.late.summary(), "longest_gap": e.longest.summary(), "stream": e.stream.summary(),
	}}
	e.encoding.Range(func(name, count any) bool {
		report.Negotiated[name.(string)] = count.(*atomic.Int64).Load()
		return true
	})
	report.Streams = &Streams{
		Due: e.streams.due.Load(), Begun: e.streams.begun.Load(), Complete: e.streams.complete.Load(),
		Cut: e.streams.cut.Load(), Open: e.streams.open.Load(),
	}
	return report
}

// read reads one stream to its end. `latency` is the time from when it was due to its first event.
func (e *EventStreams) read(due time.Time) {
	ctx, cancel := context.WithCancel(e.done)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url, nil)
	check(err)
	request.Header.Set("Accept", "text/event-stream")
	// An event that does not come in time ends the stream.
	watchdog := time.AfterFunc(e.timeout, func() { e.errors[timeout].Add(1); cancel() })
	defer watchdog.Stop()
	response, err := e.client.Do(request)
	if err != nil {
		if ctx.Err() == nil {
			e.errors[connect].Add(1)
		}
		return
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		e.errors[status].Add(1)
		return
	}
	count, _ := e.encoding.LoadOrStore(response.Header.Get("Content-Encoding"), new(atomic.Int64))
	count.(*atomic.Int64).Add(1)

	e.streams.begun.Add(1)
	var first, last time.Time
	var gap time.Duration
	seen := 0
	events := bufio.NewScanner(counted{response.Body, &e.bytes})
	events.Buffer(nil, longestLine)
	data, whole := "", false
	for events.Scan() {
		line := strings.TrimSuffix(events.Text(), "\r")
		if rest, ok := strings.CutPrefix(line, "data:"); ok {
			data, whole = strings.TrimPrefix(rest, " "), true
			continue
		}
		// Comments keep a connection open; other fields say nothing about the order.
		if line != "" || !whole {
			continue
		}
		now := time.Now()
		whole = false
		watchdog.Reset(e.timeout + e.gap)
		number, ok := numberOfEvent(data)
		switch {
		case !ok:
			e.errors[wrong].Add(1)
			continue
		case number < seen:
			e.errors[doubled].Add(1)
			continue
		case number > seen:
			e.errors[missing].Add(int64(number - seen))
		}
		seen = number + 1
		e.units.Add(1)
		if first.IsZero() {
			first = now
			e.latency.Record(now.Sub(due))
		} else {
			gap = max(gap, now.Sub(last))
		}
		if e.gap > 0 {
			e.late.Record(now.Sub(first.Add(time.Duration(number) * e.gap)))
		}
		last = now
	}
	switch {
	case seen == e.events && events.Err() == nil:
		e.streams.complete.Add(1)
		e.stream.Record(last.Sub(due))
	case e.done.Err() != nil:
		e.streams.open.Add(1)
	default:
		e.streams.cut.Add(1)
		e.errors[read].Add(1)
	}
	if seen > 1 {
		e.longest.Record(gap)
	}
}

// numberOfEvent is the member "n" of an event's data, which is a JSON object.
func numberOfEvent(data string) (int, bool) {
	var event struct {
		N *int `json:"n"`
	}
	if err := json.Unmarshal([]byte(data), &event); err != nil || event.N == nil {
		return 0, false
	}
	return *event.N, *event.N >= 0
}

// counted counts the bytes of a body.
type counted struct {
	io.Reader
	bytes *atomic.Int64
}

func (c counted) Read(into []byte) (int, error) {
	n, err := c.Reader.Read(into)
	c.bytes.Add(int64(n))
	return n, err
}

func eventOf(number int) string {
	return `data: {"n":` + strconv.Itoa(number) + `,"token":" benchmark"}` + "\n\n"
}
