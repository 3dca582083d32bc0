// streams loads services that do not answer with one short response: WebSockets, and streams of server-sent events.
//
//	streams websocket -connections N [-rate R] [-size BYTES] [-deflate] -duration D URL
//	streams sse [-open N | -rate R] -events K [-gap G] -duration D URL
//	streams null -listen ADDRESS
//
// It prints one JSON object (see Report) when the time is over or at SIGINT, and then exits with status 0. A latency is
// from when a message or stream was due, whenever it was sent. Histograms of their own have, in an open loop, how late it
// was sent (lag) and the latency from then on (sent).
//
// The process may be stopped (SIGSTOP) and continued: only the time in which it runs counts for -timeout, and the time
// in between counts for latencies and -duration.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"loadgen/pace"
)

var errUsage = errors.New("usage: streams websocket|sse|null OPTION... [URL]")

// The kinds of errors. `wrong`: another content than was sent or agreed; `doubled`, `disorder`, `missing`: see Sequence.
const (
	connect = iota
	status
	read
	write
	timeout
	wrong
	doubled
	disorder
	missing
	right // no error
)

var kinds = [right]string{"connect", "status", "read", "write", "timeout", "wrong", "doubled", "disorder", "missing"}

// Counts are errors by kind.
type Counts [right]atomic.Int64

func (c *Counts) report() map[string]int64 {
	all := map[string]int64{}
	for i, kind := range kinds {
		all[kind] = c[i].Load()
	}
	return all
}

// Load is what all kinds of loads have in common.
type Load struct {
	url      string
	header   http.Header
	rate     float64
	duration time.Duration
	timeout  time.Duration
	clock    *Clock
	// interrupted ends at SIGINT, scheduled also when the load's time is over.
	interrupted, scheduled context.Context
	began                  time.Time
	elapsed                time.Duration
	errors                 Counts
	units, bytes           atomic.Int64
	latency, lag, sent     *Times
	negotiated             Tally
}

// due is when the unit of this number should be sent in an open loop.
func (l *Load) due(number int64) time.Time { return l.began.Add(l.after(number)) }

func (l *Load) after(number int64) time.Duration {
	return time.Duration(float64(number) / l.rate * float64(time.Second))
}

// eachDue calls send at the time at which each unit is due. Those of a time in which this program did not run are sent late.
func (l *Load) eachDue(send func(number int64, due time.Time)) error {
	timer, err := pace.NewTimer()
	if err != nil {
		return err
	}
	defer timer.Close()
	defer context.AfterFunc(l.interrupted, func() { _ = timer.Stop() })()
	defer func() { l.elapsed = time.Since(l.began) }()
	number := int64(0)
	for ; l.after(number) < l.duration; number++ {
		due := l.due(number)
		err := timer.Until(due)
		if l.interrupted.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		send(number, due)
	}
	// The load ends when the next one would be due, or it would be at a higher rate.
	if err := timer.Until(l.due(number)); err != nil && l.interrupted.Err() == nil {
		return err
	}
	return nil
}

// run runs the load that the arguments ask for, until its time is over or the context is done.
func run(interrupted context.Context, arguments []string) (*Report, error) {
	if len(arguments) == 0 {
		return nil, errUsage
	}
	load := &Load{
		header: http.Header{}, clock: newClock(), interrupted: interrupted,
		latency: newTimes(), lag: newTimes(), sent: newTimes(),
	}
	flags := flag.NewFlagSet("streams "+arguments[0], flag.ContinueOnError)
	flags.Float64Var(&load.rate, "rate", 0, "messages or streams per second; 0: as soon as the last one is answered")
	flags.DurationVar(&load.duration, "duration", 0, "how long to send them")
	flags.DurationVar(&load.timeout, "timeout", 10*time.Second, "how long to wait for a message or event")
	flags.Func("header", "a request's header, as 'Name: value'; may be repeated", func(line string) error {
		name, value, found := strings.Cut(line, ":")
		if !found {
			return errors.New("no colon")
		}
		load.header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
		return nil
	})
	var begin func() (*Report, error)
	switch arguments[0] {
	case "websocket":
		begin = websocketOf(flags, load)
	case "sse":
		begin = eventStreamsOf(flags, load)
	default:
		return nil, errUsage
	}
	if err := flags.Parse(arguments[1:]); err != nil {
		return nil, err
	}
	if flags.NArg() != 1 || load.duration <= 0 || load.timeout <= 0 || load.rate < 0 {
		return nil, fmt.Errorf("usage: streams %s -duration TIME OPTION... URL", arguments[0])
	}
	load.url = flags.Arg(0)

	ticking, stop := context.WithCancel(context.Background())
	defer stop()
	go load.clock.run(ticking)
	report, err := begin()
	if err != nil {
		return nil, err
	}
	report.URL = load.url
	report.Duration = load.elapsed.Seconds()
	report.Units, report.Bytes, report.Errors = load.units.Load(), load.bytes.Load(), load.errors.report()
	report.Negotiated = load.negotiated.report()
	report.Times["latency"], report.Times["lag"] = load.latency.summary(), load.lag.summary()
	report.Times["sent"] = load.sent.summary()
	return report, nil
}

// start begins the load's time. The caller ends it. It is no deadline: what ends with a deadline may fail just before it is
// over, and would count as an error.
func (l *Load) start() context.CancelFunc {
	scheduled, end := context.WithCancel(l.interrupted)
	l.scheduled, l.began = scheduled, time.Now()
	time.AfterFunc(l.duration, end)
	return end
}

// pause waits before something is tried again that has just failed, so that this program does not try it all the time.
func pause(until context.Context) {
	select {
	case <-until.Done():
	case <-time.After(tick):
	}
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("streams: ")
	if len(os.Args) > 1 && os.Args[1] == "null" {
		flags := flag.NewFlagSet("streams null", flag.ExitOnError)
		listen := flags.String("listen", ":8080", "address to listen on")
		_ = flags.Parse(os.Args[2:])
		log.Fatal(http.ListenAndServe(*listen, nullServer()))
	}
	// Until the end: callers repeat SIGINT, and the second one must not end it without its report.
	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, err := run(interrupted, os.Args[1:])
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		log.Fatal(err)
	}
}

// Tally counts how often services said what, as far as there is room for what they said.
type Tally struct {
	mutex  sync.Mutex
	counts map[string]int64
}

// In a Tally: characters of a text, and texts.
const longestText, mostTexts = 200, 20

func (t *Tally) add(text string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	text = text[:min(len(text), longestText)]
	if _, there := t.counts[text]; !there && len(t.counts) >= mostTexts {
		text = "others"
	}
	if t.counts == nil {
		t.counts = map[string]int64{}
	}
	t.counts[text]++
}

func (t *Tally) report() map[string]int64 {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.counts == nil {
		return map[string]int64{}
	}
	return t.counts
}
