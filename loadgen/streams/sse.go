package main

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"io"
	"log"
	"mime"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"loadgen/pace"
)

// often is how often this program checks whether it is late itself.
const often = 5 * time.Millisecond

// EventStreams is a load of streams of server-sent events, each with the same number of events, a fixed time apart.
//
// With a rate, streams begin on a schedule, however many are open; without, a fixed number of them is open at any time.
// When the time is over, no stream begins any more. With a rate, the open ones are let to their end, because of the last
// ones, too, the first event counts, however late it is; without, they are cut.
type EventStreams struct {
	*Load
	concurrent int
	events     int
	gap        time.Duration
	request    *http.Request
	transport  *http.Transport
	due        atomic.Int64
	begun      atomic.Int64
	complete   atomic.Int64
	cut        atomic.Int64
	open       atomic.Int64
	late       *Times
	longestGap *Times
	stream     *Times
	waking     *Times
}

func eventStreamsOf(flags *flag.FlagSet, load *Load) func() (*Report, error) {
	e := &EventStreams{Load: load, late: newTimes(), longestGap: newTimes(), stream: newTimes(), waking: newTimes()}
	flags.IntVar(&e.concurrent, "open", 1, "without -rate: number of streams that are open at any time")
	flags.IntVar(&e.events, "events", 1, "events of a stream")
	flags.DurationVar(&e.gap, "gap", 0, "time between two events; 0: as soon as possible")
	return e.run
}

func (e *EventStreams) run() (*Report, error) {
	address, err := url.Parse(e.url)
	if err != nil {
		return nil, err
	}
	if address.Scheme != "http" && address.Scheme != "https" || e.concurrent < 1 || e.events < 1 || e.gap < 0 {
		return nil, errors.New("sse takes an http:// or https:// URL, and at least one open stream and event")
	}
	e.request = &http.Request{Method: http.MethodGet, URL: address, Host: e.header.Get("Host"), Header: e.header}
	if e.header.Get("Accept") == "" {
		e.header.Set("Accept", "text/event-stream")
	}
	e.transport = &http.Transport{
		// No more than is asked for with -header, and nothing of it is hidden.
		DisableCompression:     true,
		MaxIdleConnsPerHost:    1 << 14,
		MaxResponseHeaderBytes: 1 << 16,
		ReadBufferSize:         1 << 14,
		// As the other load tools: no certificate is verified. It also keeps to HTTP/1.1, by Go's rule for own settings.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}
	defer e.transport.CloseIdleConnections()
	if e.rate > 0 {
		err = e.onSchedule()
	} else {
		e.alwaysOpen()
	}
	return &Report{
		Kind: "sse",
		Streams: &Streams{
			Due: e.due.Load(), Begun: e.begun.Load(), Complete: e.complete.Load(), Cut: e.cut.Load(), Open: e.open.Load(),
		},
		Times: map[string]*Summary{
			"late": e.late.summary(), "longest_gap": e.longestGap.summary(), "stream": e.stream.summary(),
			"waking": e.waking.summary(),
		},
	}, err
}

// wakes records how late this program is for what it has to do every few milliseconds, until the returned function is
// called: an event that comes meanwhile is read as late. Of a time in which it did not run, each of these points counts.
func (e *EventStreams) wakes() (end func()) {
	if e.gap == 0 {
		return func() {}
	}
	timer, err := pace.NewTimer()
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for due := e.began; timer.Until(due) == nil; due = due.Add(often) {
			e.waking.Record(time.Since(due))
		}
	}()
	return func() {
		_ = timer.Stop()
		<-ended
		_ = timer.Close()
	}
}

func (e *EventStreams) alwaysOpen() {
	var reading sync.WaitGroup
	defer e.start()()
	defer e.wakes()()
	for range e.concurrent {
		reading.Add(1)
		go func() {
			defer reading.Done()
			for e.scheduled.Err() == nil {
				if !e.read(e.scheduled, time.Now()) {
					pause(e.scheduled)
				}
			}
		}()
	}
	<-e.scheduled.Done()
	e.elapsed = time.Since(e.began)
	reading.Wait()
}

func (e *EventStreams) onSchedule() error {
	var reading sync.WaitGroup
	patient, end := context.WithCancel(e.interrupted)
	defer end()
	defer e.start()()
	defer e.wakes()()
	err := e.eachDue(func(_ int64, due time.Time) {
		reading.Add(1)
		go func() {
			defer reading.Done()
			e.lag.Record(time.Since(due))
			e.read(patient, due)
		}()
	})
	last := e.clock.watch(end)
	defer last.forget()
	last.start(e.timeout + 2*time.Duration(e.events)*e.gap)
	reading.Wait()
	return err
}

// read reads one stream to its end, or until the context is done; false: it failed.
func (e *EventStreams) read(until context.Context, due time.Time) bool {
	e.due.Add(1)
	sent := time.Now()
	ctx, cancel := context.WithCancel(until)
	defer cancel()
	var late atomic.Bool
	watch := e.clock.watch(func() { late.Store(true); cancel() })
	defer watch.forget()
	watch.start(e.timeout)

	fail := func(kind int, err error) bool {
		switch {
		case late.Load():
			e.errors[timeout].Add(1)
			e.cut.Add(1)
		case err != nil && until.Err() != nil:
			e.open.Add(1)
		case kind == connect || kind == status:
			e.errors[kind].Add(1)
		default:
			e.errors[kind].Add(1)
			e.cut.Add(1)
		}
		return false
	}
	response, err := e.transport.RoundTrip(e.request.WithContext(ctx))
	if err != nil {
		return fail(connect, err)
	}
	defer response.Body.Close()
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	encoding := response.Header.Get("Content-Encoding")
	if response.StatusCode != http.StatusOK || media != "text/event-stream" || encoding != "" && encoding != "gzip" {
		return fail(status, nil)
	}
	e.negotiated.add(encoding)
	e.begun.Add(1)
	body := io.Reader(counted{response.Body, &e.bytes})
	if encoding == "gzip" {
		if body, err = gzip.NewReader(body); err != nil {
			return fail(read, err)
		}
	}

	var sequence Sequence
	// began: when the first event was sent, as far as one can tell from the first that came.
	var began, last time.Time
	var gap time.Duration
	seen, misread := 0, int64(0)
	events := newEvents(body)
	for {
		data, ok := events.next()
		if !ok {
			break
		}
		now := time.Now()
		kind := wrong
		number, ok := numberOfEvent(data)
		if ok {
			kind = sequence.take(number, int64(e.events))
		}
		if kind != right {
			e.errors[kind].Add(1)
			if kind == wrong {
				misread++
			}
			continue
		}
		watch.start(e.timeout + e.gap)
		e.units.Add(1)
		after := time.Duration(number) * e.gap
		if seen++; seen == 1 {
			began = now.Add(-after)
			if number == 0 {
				e.latency.Record(now.Sub(due))
				if e.rate > 0 {
					e.sent.Record(now.Sub(sent))
				}
			}
		} else {
			gap = max(gap, now.Sub(last))
			if e.gap > 0 {
				e.late.Record(now.Sub(began) - after)
			}
		}
		last = now
	}
	watch.stop()
	if seen > 1 {
		e.longestGap.Record(gap)
	}
	if err := events.err(); err != nil {
		return fail(read, err)
	}
	if absent := sequence.missing(int64(e.events)); absent > 0 {
		// A wrong event is in the place of another one.
		e.errors[missing].Add(max(0, absent-misread))
		e.cut.Add(1)
		return false
	}
	e.complete.Add(1)
	e.stream.Record(last.Sub(due))
	return true
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
