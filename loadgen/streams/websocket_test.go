package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lxzan/gws"
)

// service is a WebSocket server that answers as a test wants.
type service struct {
	received atomic.Int64
	pong     chan []byte
	opened   func(*peer)
	// answer is given the content of a message and its number on this connection, from 1.
	answer func(p *peer, number int, content []byte)
}

// peer is one connection of a service.
type peer struct {
	gws.BuiltinEventHandler
	*service
	conn  *gws.Conn
	count int
	held  []byte
}

func (p *peer) OnOpen(conn *gws.Conn) {
	p.conn = conn
	if p.opened != nil {
		p.opened(p)
	}
}

func (p *peer) OnMessage(_ *gws.Conn, message *gws.Message) {
	content := bytes.Clone(message.Bytes())
	_ = message.Close()
	p.received.Add(1)
	p.count++
	p.answer(p, p.count, content)
}

func (p *peer) OnPong(_ *gws.Conn, payload []byte) { p.pong <- payload }

func (p *peer) say(content []byte) { _ = p.conn.WriteMessage(gws.OpcodeText, content) }

func (s *service) url(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		conn, err := gws.NewUpgrader(&peer{service: s}, &gws.ServerOption{}).Upgrade(response, request)
		if err != nil {
			t.Error(err)
			return
		}
		go conn.ReadLoop()
	}))
	t.Cleanup(server.Close)
	return "ws" + strings.TrimPrefix(server.URL, "http")
}

func echo(p *peer, _ int, content []byte) { p.say(content) }

// every answers each so-many-th message of a connection in this way, and the others as it should.
func every(nth int, answer func(p *peer, content []byte)) func(*peer, int, []byte) {
	return func(p *peer, number int, content []byte) {
		if number%nth == 0 {
			answer(p, content)
		} else {
			p.say(content)
		}
	}
}

func mute(*peer, []byte) {}

func twice(p *peer, content []byte) { p.say(content); p.say(content) }

func garbled(p *peer, content []byte) { content[len(content)-1] ^= 1; p.say(content) }

func hangUp(p *peer, _ []byte) { _ = p.conn.NetConn().Close() }

func goodbye(p *peer, _ []byte) { _ = p.conn.WriteClose(1012, nil) }

func TestClosedLoop(t *testing.T) {
	for name, test := range map[string]struct {
		answer   func(*peer, int, []byte)
		expected []string
	}{
		"as it should":         {echo, nil},
		"twice":                {every(1, twice), []string{"doubled"}},
		"never":                {every(3, mute), []string{"timeout"}},
		"too late":             {every(3, func(p *peer, content []byte) { time.Sleep(600 * time.Millisecond); p.say(content) }), []string{"timeout"}},
		"wrong bytes":          {every(3, garbled), []string{"wrong"}},
		"wrong, then right":    {every(3, func(p *peer, content []byte) { garbled(p, bytes.Clone(content)); p.say(content) }), []string{"wrong"}},
		"too short":            {every(3, func(p *peer, content []byte) { p.say(content[:15]) }), []string{"wrong"}},
		"too long":             {every(3, func(p *peer, content []byte) { p.say(bytes.Repeat(content, 1000)) }), []string{"read"}},
		"no number":            {every(3, func(p *peer, content []byte) { content[0] = 'G'; p.say(content) }), []string{"wrong"}},
		"another number":       {every(3, func(p *peer, content []byte) { content[0] = '1'; p.say(content) }), []string{"wrong"}},
		"as binary":            {every(3, func(p *peer, content []byte) { _ = p.conn.WriteMessage(gws.OpcodeBinary, content) }), []string{"wrong"}},
		"closes":               {every(3, goodbye), []string{"read"}},
		"closes without words": {every(3, hangUp), []string{"read"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const connections = 3
			s := &service{answer: test.answer}
			patience := "10s"
			if slices.Contains(test.expected, "timeout") {
				patience = "200ms"
			}
			report := load(t, "websocket", "-connections", fmt.Sprint(connections), "-size", "100", "-timeout", patience,
				"-duration", "700ms", s.url(t))
			expectErrors(t, report, test.expected...)
			if report.Units == 0 || report.Units != times(report, "latency").Count {
				t.Errorf("%d messages, %d latencies", report.Units, times(report, "latency").Count)
			}
			// Each message was answered or is an error, except for one a connection at the end.
			failed := int64(0)
			for _, kind := range []int{timeout, wrong, read} {
				failed += report.Errors[kinds[kind]]
			}
			if sent := s.received.Load(); sent > report.Units+failed+connections || sent < report.Units+failed-connections {
				t.Errorf("%d messages came to the service, of which %d were good and %d failed", sent, report.Units, failed)
			}
		})
	}
}

func TestOpenLoop(t *testing.T) {
	const due = 100
	for name, test := range map[string]struct {
		answer   func(*peer, int, []byte)
		expected map[string]int64
	}{
		"as it should": {echo, nil},
		"twice":        {every(1, twice), map[string]int64{"doubled": due}},
		"never":        {every(10, mute), map[string]int64{"missing": due / 10}},
		"wrong bytes":  {every(10, garbled), map[string]int64{"wrong": due / 10}},
		"other order": {func(p *peer, number int, content []byte) {
			if number%2 == 1 {
				p.held = content
			} else {
				p.say(content)
				p.say(p.held)
			}
		}, map[string]int64{"disorder": due / 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &service{answer: test.answer}
			report := load(t, "websocket", "-connections", "2", "-rate", "200", "-timeout", "1s", "-duration", "500ms", s.url(t))
			if s.received.Load() != due || times(report, "lag").Count != due {
				t.Errorf("%d of %d messages came, and %d lags", s.received.Load(), due, times(report, "lag").Count)
			}
			units := int64(due)
			for kind, count := range report.Errors {
				expected := test.expected[kind]
				if kind == "doubled" {
					// The second answers to the last messages may come too late.
					if count > expected || count < expected-2 {
						t.Errorf("%d doubled messages, expected %d", count, expected)
					}
					continue
				}
				if count != expected {
					t.Errorf("%s: %d, expected %d", kind, count, expected)
				}
				units -= count
			}
			if report.Units != units {
				t.Errorf("%d messages, expected %d", report.Units, units)
			}
		})
	}
}

func TestOpenLoopOpensAgain(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(*peer, []byte){"closes": goodbye, "closes without words": hangUp} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &service{answer: every(20, answer)}
			report := load(t, "websocket", "-rate", "200", "-timeout", "300ms", "-duration", "500ms", s.url(t))
			lost := report.Errors["missing"] + report.Errors["write"]
			if report.Errors["read"] < 2 || report.Errors["missing"] < report.Errors["read"] || report.Units+lost != 100 {
				t.Errorf("%d messages of 100: %v", report.Units, report.Errors)
			}
		})
	}
}

func TestKnownLatencies(t *testing.T) {
	const delay = 100 * time.Millisecond
	for _, loop := range [][]string{{"-connections", "2"}, {"-connections", "2", "-rate", "10"}} {
		t.Run(strings.Join(loop, " "), func(t *testing.T) {
			t.Parallel()
			s := &service{answer: func(p *peer, _ int, content []byte) { time.Sleep(delay); p.say(content) }}
			onQuietMachine(t, func(a *try) {
				report := load(t, append(append([]string{"websocket"}, loop...), "-duration", "1s", s.url(t))...)
				expectErrors(t, report)
				a.expectNear("the median", times(report, "latency").Percentiles["p50"], delay.Seconds())
			})
		})
	}
}

// What is due while the service stalls is sent, and its latency is from when it was due.
func TestStallOfTheService(t *testing.T) {
	const rate, stall = 200, 300 * time.Millisecond
	s := &service{answer: every(50, func(p *peer, content []byte) { time.Sleep(stall); p.say(content) })}
	onQuietMachine(t, func(a *try) {
		report := load(t, "websocket", "-rate", fmt.Sprint(rate), "-duration", "490ms", s.url(t))
		expectErrors(t, report)
		a.expectNear("the longest latency", times(report, "latency").Max, stall.Seconds())
		if slow := longer(t, times(report, "latency"), stall/2); slow < 27 || slow > 33 {
			a.Errorf("%d messages were slower than half of the stall, expected some 30", slow)
		}
		if lag := times(report, "lag").Percentiles["p90"]; lag > 0.01 {
			a.Errorf("messages were sent %v s late", lag)
		}
	})
}

func TestDeflate(t *testing.T) {
	t.Parallel()
	for _, offer := range []bool{false, true} {
		report := load(t, "websocket", fmt.Sprintf("-deflate=%v", offer), "-size", "1024", "-duration", "500ms", echoURL(t))
		expectErrors(t, report)
		for negotiated, count := range report.Negotiated {
			if strings.HasPrefix(negotiated, "permessage-deflate") != offer || count != 1 {
				t.Errorf("offered: %v, negotiated: %v", offer, report.Negotiated)
			}
		}
		if report.Units == 0 || report.Bytes != 1024*report.Units {
			t.Errorf("%d messages of %d bytes in all", report.Units, report.Bytes)
		}
	}
}

// A server that checks whether a connection lives takes no other answer to its ping than its own words.
func TestPong(t *testing.T) {
	t.Parallel()
	s := &service{answer: echo, pong: make(chan []byte, 1), opened: func(p *peer) { _ = p.conn.WritePing([]byte("there?")) }}
	expectErrors(t, load(t, "websocket", "-duration", "500ms", s.url(t)))
	select {
	case pong := <-s.pong:
		if string(pong) != "there?" {
			t.Errorf("the answer to the ping was %q", pong)
		}
	case <-time.After(5 * time.Second):
		t.Error("no answer to a ping")
	}
}

func TestNoConnection(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	refusing := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) {
		response.WriteHeader(http.StatusInternalServerError)
	}))
	defer refusing.Close()
	var all sync.WaitGroup
	for address, expected := range map[string]string{
		silent.Addr().String(): "connect", closed.Addr().String(): "connect", refusing.Listener.Addr().String(): "status",
	} {
		for _, rate := range []string{"0", "100"} {
			all.Add(1)
			go func() {
				defer all.Done()
				report, err := run(t.Context(), []string{
					"websocket", "-rate", rate, "-timeout", "100ms", "-duration", "500ms", "ws://" + address,
				})
				if err != nil {
					t.Error(err)
					return
				}
				// A message that is due is an error of its own.
				if written := report.Errors["write"]; rate != "0" && written != 50 || rate == "0" && written > 0 {
					t.Errorf("%d messages could not be sent", written)
				}
				report.Errors["write"] = 0
				expectErrors(t, report, expected)
				if report.Errors[expected] > 20 || report.Units > 0 {
					t.Errorf("%d messages, %v: it must wait before it tries again", report.Units, report.Errors)
				}
			}()
		}
	}
	all.Wait()
}

func TestMessagesHaveOneSize(t *testing.T) {
	content := []byte(strings.Repeat(filler, 2))
	received := bytes.Clone(content)
	for _, number := range []int64{0, 1, 15, 16, 1 << 40, 1<<63 - 1} {
		putNumber(received, number)
		found, ok := numberOf(received, content)
		if !ok || found != number || len(received) != len(content) {
			t.Errorf("%d is read as %d (%v) in %d bytes", number, found, ok, len(received))
		}
	}
}
