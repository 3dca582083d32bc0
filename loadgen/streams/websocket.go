package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lxzan/gws"

	"loadgen/pace"
)

const (
	numberDigits = 16
	filler       = "In the beginning was the benchmark, and it had one row; "
	// How long answers that are on their way are awaited at the end of a closed loop, or once interrupted.
	lastAnswers = 200 * time.Millisecond
	// The clock ends a handshake (see Clock): gws would do so by the time of day.
	handshake = 24 * time.Hour
)

// Echo is a load of messages that should come back as they are. A message begins with its number, and the connections take
// turns in the order of numbers. In a closed loop each connection has one message in flight. One that gave a wrong answer,
// or none in time, is opened anew: whatever it would still answer could be taken for the answer to the next message.
type Echo struct {
	*Load
	connections int
	size        int
	deflate     bool
	stop        bool
	content     []byte
	sockets     []*socket
	// behind: how late each message was sent in an open loop, in ns.
	behind []atomic.Int64
	// opening ends when no connection is opened any more, ending when none is read any more.
	opening, ending context.Context
}

func websocketOf(flags *flag.FlagSet, load *Load) func() (*Report, error) {
	echo := &Echo{Load: load}
	flags.IntVar(&echo.connections, "connections", 1, "number of connections")
	flags.IntVar(&echo.size, "size", numberDigits, "bytes of a message, from 16")
	flags.BoolVar(&echo.deflate, "deflate", false, "offer permessage-deflate")
	flags.BoolVar(&echo.stop, "stop", false, "with -rate: once connected, stop the process group until SIGCONT, then begin")
	return echo.run
}

func (e *Echo) run() (*Report, error) {
	address, err := url.Parse(e.url)
	if err != nil {
		return nil, err
	}
	if address.Scheme != "ws" && address.Scheme != "wss" || e.connections < 1 || e.size < numberDigits {
		return nil, errors.New("websocket takes a ws:// or wss:// URL, at least one connection, and at least 16 bytes")
	}
	e.content = []byte(strings.Repeat(filler, e.size/len(filler)+1)[:e.size])
	for index := range e.connections {
		e.sockets = append(e.sockets, &socket{echo: e, index: int64(index), buffer: bytes.Clone(e.content)})
	}
	ending, end := context.WithCancel(context.Background())
	defer end()
	e.ending = ending

	var reading sync.WaitGroup
	if e.rate > 0 {
		err = e.openLoop(&reading)
	} else {
		e.closedLoop(&reading)
	}
	end()
	for _, s := range e.sockets {
		if l := s.link.Load(); l != nil {
			l.leave()
		}
	}
	reading.Wait()
	return &Report{Kind: "websocket", Times: map[string]*Summary{}}, err
}

func (e *Echo) closedLoop(reading *sync.WaitGroup) {
	defer e.start()()
	e.opening = e.scheduled
	for _, s := range e.sockets {
		reading.Add(1)
		go func() { defer reading.Done(); s.serve(func() {}) }()
	}
	<-e.scheduled.Done()
	e.elapsed = time.Since(e.began)
	e.await(lastAnswers)
}

func (e *Echo) openLoop(reading *sync.WaitGroup) error {
	opening, opened := context.WithCancel(e.interrupted)
	defer opened()
	e.opening = opening
	var connecting sync.WaitGroup
	for _, s := range e.sockets {
		reading.Add(1)
		connecting.Add(1)
		go func() { defer reading.Done(); s.serve(sync.OnceFunc(connecting.Done)) }()
	}
	connecting.Wait()
	if e.stop {
		if err := pace.UntilContinued(); err != nil {
			return err
		}
	}
	e.behind = make([]atomic.Int64, int(e.rate*e.duration.Seconds())+2)
	defer e.start()()
	err := e.eachDue(func(number int64, due time.Time) {
		behind := time.Since(due)
		e.lag.Record(behind)
		e.behind[number].Store(int64(behind))
		if !e.sockets[number%int64(e.connections)].send(number) {
			e.errors[write].Add(1)
		}
	})
	opened()
	e.await(e.timeout)
	return err
}

// await waits until no message is in flight, or for this long.
func (e *Echo) await(limit time.Duration) {
	for end := e.clock.now.Load() + ticks(limit); e.clock.now.Load() < end; time.Sleep(time.Millisecond) {
		if e.interrupted.Err() != nil {
			end = min(end, e.clock.now.Load()+ticks(lastAnswers))
		}
		inFlight := int64(0)
		for _, s := range e.sockets {
			if l := s.link.Load(); l != nil {
				inFlight += max(0, l.sent.Load()-l.answered.Load())
			}
		}
		if inFlight == 0 {
			return
		}
	}
}

// socket is one of the connections, however often it is opened anew.
type socket struct {
	echo   *Echo
	index  int64
	link   atomic.Pointer[link]
	buffer []byte       // for the goroutine that sends
	last   atomic.Int64 // how many messages of this socket were due, which is the number of the next one in its own order
	// For the goroutine that reads.
	sequence Sequence
}

// serve reads the connection until the end, and opens it anew when it has closed. It calls `opened` after the first try.
func (s *socket) serve(opened func()) {
	for ; s.echo.opening.Err() == nil; pause(s.echo.opening) {
		l := s.connect()
		if l == nil {
			opened()
			continue
		}
		s.link.Store(l)
		opened()
		if s.echo.rate == 0 {
			l.sendNext()
		}
		if s.echo.ending.Err() != nil {
			l.leave()
		}
		l.conn.ReadLoop()
		s.link.Store(nil)
		l.lost()
	}
	opened()
}

func (s *socket) connect() *link {
	e := s.echo
	ctx, cancel := context.WithCancel(e.opening)
	defer cancel()
	watch := e.clock.watch(cancel)
	defer watch.forget()
	watch.start(e.timeout)

	l := &link{socket: s}
	dialer := &dialer{ctx: ctx}
	conn, response, err := gws.NewClient(l, &gws.ClientOption{
		Addr:             e.url,
		RequestHeader:    e.header.Clone(),
		HandshakeTimeout: handshake,
		NewDialer:        func() (gws.Dialer, error) { return dialer, nil },
		// As the other load tools: no certificate is verified.
		TlsConfig:          &tls.Config{InsecureSkipVerify: true},
		ReadMaxPayloadSize: e.size + 1<<10,
		PermessageDeflate: gws.PermessageDeflate{
			Enabled: e.deflate, ServerContextTakeover: true, ClientContextTakeover: true,
		},
	})
	if dialer.keep != nil && !dialer.keep() && err == nil {
		err = context.Canceled
	}
	switch {
	case err == nil:
	case e.opening.Err() != nil:
		return nil
	case response != nil:
		e.errors[status].Add(1)
		return nil
	default:
		e.errors[connect].Add(1)
		return nil
	}
	e.negotiated.add(strings.Join(response.Header.Values("Sec-WebSocket-Extensions"), ", "))
	l.conn = conn
	l.watch = e.clock.watch(func() { l.abandon(timeout) })
	return l
}

// dialer opens a connection that closes with the context, until `keep` is called; false: it was too late.
type dialer struct {
	ctx  context.Context
	keep func() bool
}

func (d *dialer) Dial(network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(d.ctx, network, address)
	if err == nil {
		d.keep = context.AfterFunc(d.ctx, func() { _ = conn.Close() })
	}
	return conn, err
}

// send sends this message in an open loop; false: there is no connection to send it on.
func (s *socket) send(number int64) bool {
	s.last.Store(number/int64(s.echo.connections) + 1)
	l := s.link.Load()
	return l != nil && l.send(number)
}

// link is one connection.
type link struct {
	gws.BuiltinEventHandler
	*socket
	conn *gws.Conn
	// watch waits for an answer in a closed loop, and in an open one for a message to be written.
	watch *Watch
	// over: its end is this program's doing, or has been counted.
	over atomic.Bool
	// sending is held while a message is written in an open loop.
	sending        sync.Mutex
	sent, answered atomic.Int64
	sentAt         time.Time
}

func (l *link) send(number int64) bool {
	l.sending.Lock()
	defer l.sending.Unlock()
	l.sent.Add(1)
	l.watch.start(l.echo.timeout)
	err := l.write(number)
	l.watch.stop()
	if err != nil {
		l.sent.Add(-1)
	}
	return err == nil
}

// sendNext sends the next message in a closed loop.
func (l *link) sendNext() {
	position := l.last.Add(1) - 1
	l.sequence.next = position
	l.sent.Add(1)
	l.watch.start(l.echo.timeout)
	l.sentAt = time.Now()
	if l.write(position*int64(l.echo.connections)+l.index) != nil {
		l.abandon(write)
	}
}

func (l *link) write(number int64) error {
	putNumber(l.buffer, number)
	return l.conn.WriteMessage(gws.OpcodeText, l.buffer)
}

// OnMessage counts a message that has come, and sends the next one in a closed loop.
func (l *link) OnMessage(_ *gws.Conn, message *gws.Message) {
	now, e := time.Now(), l.echo
	defer message.Close()
	if l.over.Load() {
		return // What came with a wrong answer is still read.
	}
	content := message.Bytes()
	e.bytes.Add(int64(len(content)))
	kind := wrong
	number, ok := numberOf(content, e.content)
	if ok && message.Opcode == gws.OpcodeText && number%int64(e.connections) == l.index {
		kind = l.sequence.take(number/int64(e.connections), l.last.Load())
	}

	since := l.sentAt
	if e.rate > 0 && kind == right {
		since = e.due(number)
	}
	switch kind {
	case right:
		l.answered.Add(1)
		e.units.Add(1)
		e.latency.Record(now.Sub(since))
		if e.rate > 0 {
			e.sent.Record(now.Sub(since) - time.Duration(e.behind[number].Load()))
		}
	case wrong, disorder:
		l.answered.Add(1)
		e.errors[kind].Add(1)
	default:
		e.errors[kind].Add(1)
	}
	if e.rate > 0 {
		return
	}
	switch {
	case kind == wrong:
		l.leave()
	case kind != right:
	case e.scheduled.Err() != nil:
		l.watch.stop()
	default:
		l.sendNext()
	}
}

// OnPing answers with what it was asked with: to a server, any other answer is none.
func (l *link) OnPing(conn *gws.Conn, payload []byte) { _ = conn.WritePong(payload) }

// OnClose counts a connection that the service has closed.
func (l *link) OnClose(*gws.Conn, error) {
	if !l.over.Swap(true) {
		l.echo.errors[read].Add(1)
	}
}

// abandon closes the connection because of an error, which it counts. It does not wait for a message that is being written.
func (l *link) abandon(kind int) {
	if !l.over.Swap(true) {
		l.echo.errors[kind].Add(1)
	}
	_ = l.conn.NetConn().Close()
}

// leave closes the connection as the protocol says.
func (l *link) leave() {
	l.over.Store(true)
	_ = l.conn.NetConn().SetDeadline(time.Now().Add(lastAnswers))
	_ = l.conn.WriteClose(1000, nil)
}

// lost counts, in an open loop, the messages that no answer came to before the connection closed.
func (l *link) lost() {
	l.watch.forget()
	if l.echo.rate > 0 && l.echo.interrupted.Err() == nil {
		l.sending.Lock()
		defer l.sending.Unlock()
		l.echo.errors[missing].Add(max(0, l.sent.Load()-l.answered.Load()))
	}
}

const hexDigits = "0123456789abcdef"

func putNumber(content []byte, number int64) {
	for i := numberDigits - 1; i >= 0; i-- {
		content[i] = hexDigits[number&15]
		number >>= 4
	}
}

// numberOf is the number of a message; false if it is not like those that were sent.
func numberOf(content, sent []byte) (number int64, ok bool) {
	if len(content) != len(sent) || !bytes.Equal(content[numberDigits:], sent[numberDigits:]) {
		return 0, false
	}
	for _, digit := range content[:numberDigits] {
		switch {
		case '0' <= digit && digit <= '9':
			digit -= '0'
		case 'a' <= digit && digit <= 'f':
			digit -= 'a' - 10
		default:
			return 0, false
		}
		number = number<<4 | int64(digit)
	}
	return number, number >= 0
}
