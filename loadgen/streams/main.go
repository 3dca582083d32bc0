// streams loads services that do not answer with one short response: WebSockets, and streams of server-sent events.
//
//	streams websocket -connections N [-rate R] [-size BYTES] [-deflate] -duration D URL
//	streams sse [-open N | -rate R] -events K [-gap G] -duration D URL
//	streams null -listen ADDRESS
//
// It prints one JSON object (see Report) when the time is over or at SIGINT, and then exits with status 0. A latency is
// from when a message or stream was due, never from when it was sent; how late it was sent is a histogram of its own.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"loadgen/pace"
)

const program = "streams"

func check(err error) {
	if err != nil {
		log.Fatal(program, ": ", err)
	}
}

// Counts are errors by kind, in the order of kinds.
type Counts [len(kinds)]atomic.Int64

// Kinds of errors. `wrong`: another content than sent or agreed; `doubled`, `disorder`, `missing`: by sequence numbers.
var kinds = [...]string{"connect", "status", "read", "write", "timeout", "wrong", "doubled", "disorder", "missing"}

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
)

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
	rate     float64
	duration time.Duration
	timeout  time.Duration
	began    time.Time
	done     context.Context
	errors   Counts
	units    atomic.Int64
	bytes    atomic.Int64
	latency  *Times
	lag      *Times
}

// due is when the unit of this number should be sent in an open loop.
func (l *Load) due(number int64) time.Time {
	return l.began.Add(time.Duration(float64(number) / l.rate * float64(time.Second)))
}

// eachDue calls send at the time at which each unit is due, until the load's time is over.
func (l *Load) eachDue(send func(number int64)) {
	timer, err := pace.NewTimer()
	check(err)
	for number := int64(0); ; number++ {
		due := l.due(number)
		if due.Sub(l.began) >= l.duration || l.done.Err() != nil {
			return
		}
		check(timer.Until(due))
		l.lag.Record(time.Since(due))
		send(number)
	}
}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: streams websocket|sse|null OPTION...")
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	if os.Args[1] == "null" {
		listen := flags.String("listen", ":8080", "address to listen on")
		check(flags.Parse(os.Args[2:]))
		serveNull(*listen)
		return
	}

	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	load := &Load{latency: newTimes(), lag: newTimes()}
	flags.Float64Var(&load.rate, "rate", 0, "messages or streams per second; 0: as soon as the last one is answered")
	flags.DurationVar(&load.duration, "duration", 0, "how long to send them")
	flags.DurationVar(&load.timeout, "timeout", 10*time.Second, "how long to wait for a message or event")
	var run func() *Report
	switch os.Args[1] {
	case "websocket":
		run = websocketOf(flags, load)
	case "sse":
		run = eventStreamsOf(flags, load)
	default:
		log.Fatal("usage: streams websocket|sse|null OPTION...")
	}
	check(flags.Parse(os.Args[2:]))
	if flags.NArg() != 1 || load.duration <= 0 {
		log.Fatal("usage: streams ", os.Args[1], " -duration TIME OPTION... URL")
	}
	load.url = flags.Arg(0)
	limited, cancel := context.WithTimeout(interrupted, load.duration)
	defer cancel()
	load.done = limited

	load.began = time.Now()
	report := run()
	report.URL = load.url
	report.Duration = time.Since(load.began).Seconds()
	report.Units, report.Bytes, report.Errors = load.units.Load(), load.bytes.Load(), load.errors.report()
	report.Times["latency"] = load.latency.summary()
	if load.rate > 0 {
		report.Times["lag"] = load.lag.summary()
	}
	report.print()
}
