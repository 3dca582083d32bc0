package main

import (
	"bytes"
	"flag"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lxzan/gws"
)

const (
	numberDigits = 16
	filler       = "In the beginning was the benchmark, and it had one row; "
)

// Echo is a load of messages that are to come back as they are. Their first 16 bytes are the message's number.
type Echo struct {
	*Load
	connections int
	size        int
	deflate     bool
	template    []byte
	sockets     []*socket
	mutex       sync.Mutex
	negotiated  map[string]int64
}

// socket is one connection: what it expects next, and since when.
type socket struct {
	gws.BuiltinEventHandler
	echo   *Echo
	index  int64
	mutex  sync.Mutex
	conn   *gws.Conn
	next   int64
	sent   time.Time
	buffer []byte
	open   bool
}

func websocketOf(flags *flag.FlagSet, load *Load) func() *Report {
	echo := &Echo{Load: load, negotiated: map[string]int64{}}
	flags.IntVar(&echo.connections, "connections", 1, "number of connections")
	flags.IntVar(&echo.size, "size", numberDigits, "bytes of a message")
	flags.BoolVar(&echo.deflate, "deflate", false, "offer permessage-deflate")
	return echo.run
}

func (e *Echo) run() *Report {
	e.size = max(e.size, numberDigits)
	e.template = []byte(strings.Repeat(filler, e.size/len(filler)+1)[:e.size])
	var opening sync.WaitGroup
	for index := range e.connections {
		s := &socket{echo: e, index: int64(index), next: int64(index)}
		e.sockets = append(e.sockets, s)
		opening.Add(1)
		go func() { defer opening.Done(); s.connect() }()
	}
	opening.Wait()

	e.began = time.Now()
	if e.rate > 0 {
		e.eachDue(func(number int64) { e.sockets[number%int64(e.connections)].send(number) })
		e.await()
	} else {
		for _, s := range e.sockets {
			go s.send(s.index)
		}
		e.watch()
	}
	report := &Report{Kind: "websocket", Negotiated: e.negotiated, Times: map[string]*Summary{}}
	return report
}

// watch reports, in a closed loop, connections whose message is not answered in time, and opens those anew that have closed.
func (e *Echo) watch() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-e.done.Done():
			return
		case <-tick.C:
			for _, s := range e.sockets {
				s.look()
			}
		}
	}
}

// await waits, after an open loop, for messages in flight; those that do not come within the timeout are missing.
func (e *Echo) await() {
	sent := e.lag.histogram.TotalCount()
	end := time.Now().Add(e.timeout)
	for time.Now().Before(end) && e.units.Load()+e.errors[wrong].Load() < sent {
		time.Sleep(time.Millisecond)
	}
	e.errors[missing].Add(max(0, sent-e.units.Load()-e.errors[wrong].Load()))
}

func (s *socket) connect() {
	option := &gws.ClientOption{Addr: s.echo.url, HandshakeTimeout: s.echo.timeout}
	option.PermessageDeflate = gws.PermessageDeflate{
		Enabled: s.echo.deflate, ServerContextTakeover: true, ClientContextTakeover: true,
	}
	conn, response, err := gws.NewClient(s, option)
	if err != nil {
		kind := connect
		if response != nil && response.StatusCode != http.StatusSwitchingProtocols {
			kind = status
		}
		s.echo.errors[kind].Add(1)
		return
	}
	s.mutex.Lock()
	s.conn, s.open, s.sent = conn, true, time.Time{}
	s.mutex.Unlock()
	s.echo.mutex.Lock()
	s.echo.negotiated[response.Header.Get("Sec-WebSocket-Extensions")]++
	s.echo.mutex.Unlock()
	go conn.ReadLoop()
}

// look is for the goroutine that watches a closed loop.
func (s *socket) look() {
	s.mutex.Lock()
	open, late := s.open, !s.sent.IsZero() && time.Since(s.sent) > s.echo.timeout
	if late {
		s.sent = time.Time{}
	}
	s.mutex.Unlock()
	switch {
	case late:
		s.echo.errors[timeout].Add(1)
	case !open:
		if s.connect(); s.open {
			s.send(s.next)
		}
	}
}

func (s *socket) send(number int64) {
	s.mutex.Lock()
	if !s.open {
		s.mutex.Unlock()
		s.echo.errors[write].Add(1)
		return
	}
	if s.buffer == nil {
		s.buffer = bytes.Clone(s.echo.template)
	}
	text := strconv.FormatInt(number, 16)
	copy(s.buffer, strings.Repeat("0", numberDigits-len(text))+text)
	s.sent = time.Now()
	conn := s.conn
	err := conn.WriteMessage(gws.OpcodeText, s.buffer)
	s.mutex.Unlock()
	if err != nil {
		s.echo.errors[write].Add(1)
	}
}

// OnMessage counts a message that came back, and sends the next one in a closed loop.
func (s *socket) OnMessage(_ *gws.Conn, message *gws.Message) {
	now := time.Now()
	content := message.Bytes()
	s.echo.bytes.Add(int64(len(content)))
	number, ok := s.numberOf(content)
	closed := s.echo.rate == 0
	if closed && s.echo.done.Err() != nil {
		_ = message.Close()
		return
	}
	s.mutex.Lock()
	since, expected := s.sent, s.next
	s.mutex.Unlock()
	switch {
	case !ok:
		s.echo.errors[wrong].Add(1)
	case number < expected:
		s.echo.errors[doubled].Add(1)
	case number > expected:
		s.echo.errors[disorder].Add(1)
	default:
		s.echo.units.Add(1)
		if !closed {
			since = s.echo.due(number)
		}
		if !since.IsZero() {
			s.echo.latency.Record(now.Sub(since))
		}
	}
	_ = message.Close()
	if ok && number < expected {
		return
	}
	s.mutex.Lock()
	s.next = max(number, expected) + int64(s.echo.connections)
	next := s.next
	s.mutex.Unlock()
	if closed {
		s.send(next)
	}
}

// numberOf is the number of a message; false if it is not one of those that were sent.
func (s *socket) numberOf(content []byte) (int64, bool) {
	if len(content) != s.echo.size || !bytes.Equal(content[numberDigits:], s.echo.template[numberDigits:]) {
		return 0, false
	}
	number, err := strconv.ParseInt(string(content[:numberDigits]), 16, 64)
	return number, err == nil && number%int64(s.echo.connections) == s.index
}

// OnClose counts a connection that the service has closed.
func (s *socket) OnClose(*gws.Conn, error) {
	s.mutex.Lock()
	s.open = false
	s.mutex.Unlock()
	if s.echo.done.Err() == nil {
		s.echo.errors[read].Add(1)
	}
}
