package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// stream is one response of a service; its writes are flushed.
type stream struct {
	http.ResponseWriter
	request *http.Request
}

func (s *stream) say(text string) {
	_, _ = io.WriteString(s.ResponseWriter, text)
	_ = http.NewResponseController(s.ResponseWriter).Flush()
}

func (s *stream) events(from, to int) {
	for number := from; number < to; number++ {
		s.say(event(number))
	}
}

func event(number int) string { return string(appendEvent(nil, number)) }

func streamsURL(t *testing.T, answer func(*stream)) string {
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		response.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		answer(&stream{response, request})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// expectAllStreams checks that none is lost.
func expectAllStreams(t *testing.T, report *Report) {
	t.Helper()
	s := report.Streams
	if refused := report.Errors["connect"] + report.Errors["status"]; s.Due != s.Complete+s.Cut+s.Open+refused {
		t.Errorf("streams are lost: %+v, and %d refused", *s, refused)
	}
}

func TestStreams(t *testing.T) {
	const events = 5
	for name, test := range map[string]struct {
		answer   func(*stream)
		units    int64 // of a stream
		expected []string
	}{
		"as it should": {func(s *stream) { s.events(0, events) }, events, nil},
		"in one write": {func(s *stream) { s.say(event(0) + event(1)); s.say(event(2) + event(3) + event(4)) }, events, nil},
		"in three writes": {func(s *stream) {
			s.say("data: {\"n\":0,")
			s.say(event(0)[13:] + "da")
			s.say(event(1)[2:])
			s.events(2, events)
		}, events, nil},
		"fields, comments, CRLF": {func(s *stream) {
			for number := range events {
				s.say(strings.ReplaceAll(fmt.Sprintf("id: %d\nevent: token\nretry: 1\n: ping\n%s: pong\n\n", number, event(number)), "\n", "\r\n"))
			}
		}, events, nil},
		"another content":   {func(s *stream) { s.events(0, 4); s.say("data: {\"n\": 4, \"token\": \" benchmark\"}\n\n") }, 4, []string{"wrong"}},
		"data of two lines": {func(s *stream) { s.events(0, 4); s.say("data: {\"n\":4,\ndata: \"token\":\" benchmark\"}\n\n") }, 4, []string{"wrong"}},
		"one too many":      {func(s *stream) { s.events(0, events+1) }, events, []string{"wrong"}},
		"doubled":           {func(s *stream) { s.events(0, 2); s.events(1, events) }, events, []string{"doubled"}},
		"other order":       {func(s *stream) { s.say(event(0) + event(2) + event(1)); s.events(3, events) }, 4, []string{"disorder"}},
		"one is missing":    {func(s *stream) { s.events(0, 2); s.events(3, events) }, 4, []string{"missing"}},
		"ends early":        {func(s *stream) { s.events(0, 3) }, 3, []string{"missing"}},
		"not to its end":    {func(s *stream) { s.events(0, 4); s.say(strings.TrimSuffix(event(4), "\n")) }, 4, []string{"missing"}},
		"breaks off":        {func(s *stream) { s.events(0, 3); panic(http.ErrAbortHandler) }, 3, []string{"read"}},
		"stalls":            {func(s *stream) { s.events(0, 3); <-s.request.Context().Done() }, 3, []string{"timeout"}},
		"has no end":        {func(s *stream) { s.events(0, events); <-s.request.Context().Done() }, events, []string{"timeout"}},
		"only comments": {func(s *stream) {
			for s.request.Context().Err() == nil {
				s.say(": there\n\n")
				time.Sleep(5 * time.Millisecond)
			}
		}, 0, []string{"timeout"}},
		"no response":         {func(s *stream) { <-s.request.Context().Done() }, 0, []string{"timeout"}},
		"no response, closes": {func(*stream) { panic(http.ErrAbortHandler) }, 0, []string{"connect"}},
		"status 500":          {func(s *stream) { s.WriteHeader(http.StatusInternalServerError); s.events(0, events) }, 0, []string{"status"}},
		"redirect":            {func(s *stream) { http.Redirect(s, s.request, "/", http.StatusFound) }, 0, []string{"status"}},
		"content type":        {func(s *stream) { s.Header().Set("Content-Type", "text/plain"); s.events(0, events) }, 0, []string{"status"}},
		"encoding":            {func(s *stream) { s.Header().Set("Content-Encoding", "br"); s.events(0, events) }, 0, []string{"status"}},
		"not gzip":            {func(s *stream) { s.Header().Set("Content-Encoding", "gzip"); s.events(0, events) }, 0, []string{"read"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			patience := "10s"
			if slices.Contains(test.expected, "timeout") {
				patience = "200ms"
			}
			report := load(t, "sse", "-open", "2", "-events", fmt.Sprint(events), "-timeout", patience, "-duration", "1s",
				streamsURL(t, test.answer))
			expectErrors(t, report, test.expected...)
			expectAllStreams(t, report)
			ended := report.Streams.Complete + report.Streams.Cut
			if least, most := test.units*ended, test.units*(ended+report.Streams.Open); report.Units < least || report.Units > most {
				t.Errorf("%d events in %+v, %d in a stream", report.Units, *report.Streams, test.units)
			}
			if report.Streams.Due < 2 || (test.expected == nil) != (report.Streams.Cut == 0 && report.Streams.Complete > 0 && len(errorsOf(report)) == 0) {
				t.Errorf("%+v", *report.Streams)
			}
		})
	}
}

func TestCompressedStream(t *testing.T) {
	t.Parallel()
	url := streamsURL(t, func(s *stream) {
		if s.request.Header.Get("Accept-Encoding") != "gzip" {
			s.events(0, 50)
			return
		}
		s.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(s)
		for number := range 50 {
			_, _ = packed.Write(appendEvent(nil, number))
			_ = packed.Flush()
			_ = http.NewResponseController(s.ResponseWriter).Flush()
			time.Sleep(2 * time.Millisecond)
		}
		_ = packed.Close()
	})
	plain := load(t, "sse", "-events", "50", "-duration", "500ms", url)
	packed := load(t, "sse", "-events", "50", "-gap", "2ms", "-header", "Accept-Encoding: gzip", "-duration", "1s", url)
	for encoding, report := range map[string]*Report{"": plain, "gzip": packed} {
		expectErrors(t, report)
		expectAllStreams(t, report)
		if report.Streams.Complete == 0 || report.Negotiated[encoding] != report.Streams.Begun {
			t.Errorf("%q: %+v, negotiated %v", encoding, *report.Streams, report.Negotiated)
		}
	}
	// Its events come one by one, and not once a buffer is full.
	if gap := times(packed, "longest_gap").Percentiles["p50"]; gap > 0.03 {
		t.Errorf("events of a compressed stream come %v s apart", gap)
	}
	if packed.Bytes*plain.Units >= plain.Bytes*packed.Units {
		t.Errorf("%d bytes for %d packed events, %d for %d plain ones", packed.Bytes, packed.Units, plain.Bytes, plain.Units)
	}
}

// A stream's first event comes after 100 ms, and event 5 of 10 comes 60 ms late, which does not move the next ones.
func TestKnownTimesOfStreams(t *testing.T) {
	const first, gap, late = 100 * time.Millisecond, 40 * time.Millisecond, 60 * time.Millisecond
	url := streamsURL(t, func(s *stream) {
		began := time.Now().Add(first)
		for number := range 10 {
			due := began.Add(time.Duration(number) * gap)
			if number == 5 {
				due = due.Add(late)
			}
			time.Sleep(time.Until(due))
			s.say(event(number))
		}
	})
	onQuietMachine(t, func(a *try) {
		report := load(t, "sse", "-rate", "20", "-events", "10", "-gap", gap.String(), "-duration", "500ms", url)
		expectErrors(t, report)
		if s := report.Streams; s.Due != 10 || s.Complete != 10 || report.Units != 100 || times(report, "lag").Count != 10 {
			t.Errorf("%+v, %d events", *s, report.Units)
		}
		median := func(name string) float64 { return times(report, name).Percentiles["p50"] }
		a.expectNear("time to the first event", median("latency"), first.Seconds())
		a.expectNear("the longest gap", median("longest_gap"), (gap + late).Seconds())
		a.expectNear("a stream", median("stream"), (first + 9*gap).Seconds())
		// Only event 5 of each stream, which is a ninth of the times: event 6 follows it at once, 20 ms late.
		lateness := times(report, "late")
		a.expectNear("lateness", lateness.Percentiles["p99"], late.Seconds())
		if count := longer(t, lateness, late/2); lateness.Count != 90 || count < 10 || count > 15 {
			a.Errorf("%d of %d events are late", count, lateness.Count)
		}
	})
}

func TestStreamsBeginOnSchedule(t *testing.T) {
	t.Parallel()
	url := streamsURL(t, func(s *stream) { s.events(0, 1); <-s.request.Context().Done() })
	report := load(t, "sse", "-rate", "100", "-events", "2", "-timeout", "300ms", "-duration", "300ms", url)
	expectErrors(t, report, "timeout")
	expectAllStreams(t, report)
	if s := report.Streams; s.Due != 30 || s.Begun != 30 || s.Cut+s.Open != 30 || times(report, "latency").Count != 30 {
		t.Errorf("%+v, %v first events", *s, report.Times["latency"])
	}
}

func TestStreamsThatAreOpenAtTheEnd(t *testing.T) {
	t.Parallel()
	report := load(t, "sse", "-open", "7", "-events", "1000", "-gap", "10ms", "-duration", "1s", nullURL(t)+"/sse/1000/10")
	expectErrors(t, report)
	if s := report.Streams; s.Due != 7 || s.Begun != 7 || s.Open != 7 || report.Units < 7*20 {
		t.Errorf("%+v, %d events", *s, report.Units)
	}
}

func TestNullServer(t *testing.T) {
	t.Parallel()
	url := nullURL(t)
	for path, events := range map[string]string{
		"/sse/3/0": "3", "/sse/0/0": "1", "/sse/x/y": "1", "/sse/3/5": "3", "/sse/2000000/0": "100000",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			report := load(t, "sse", "-events", events, "-duration", "500ms", url+path)
			expectErrors(t, report)
			expectAllStreams(t, report)
			if report.Units == 0 {
				t.Error("no event")
			}
		})
	}
}

func TestEvents(t *testing.T) {
	for text, expected := range map[string][]string{
		"data: a\n\ndata: b\n\n":                   {"a", "b"},
		"data: a\r\n\r\ndata: b\r\n\r\n":           {"a", "b"},
		"data: a\r\rdata: b\r\r":                   {"a", "b"},
		"data: a\ndata: b\n\n":                     {"a\nb"},
		"data:a\ndata\ndata:  b\n\n":               {"a\n\n b"},
		"data\n\n":                                 {""},
		": ping\n\nid: 1\nevent: x\n\ndata: a\n\n": {"a"},
		"database: x\n\ndata : x\n\n":              nil,
		"data: a\n":                                nil,
		"data: a\n\ndata: b":                       {"a"},
		"\n\n\n":                                   nil,
		"":                                         nil,
	} {
		for name, reader := range map[string]io.Reader{
			"at once": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text)),
		} {
			var found []string
			events := newEvents(reader)
			for data, ok := events.next(); ok; data, ok = events.next() {
				found = append(found, string(data))
			}
			if events.err() != nil || fmt.Sprintf("%q", found) != fmt.Sprintf("%q", expected) {
				t.Errorf("%q %s: %q (%v)", text, name, found, events.err())
			}
		}
	}
	endless := newEvents(io.LimitReader(zeros{}, 10*longestLine))
	if _, ok := endless.next(); ok || endless.err() == nil {
		t.Error("a line without end")
	}
}

type zeros struct{}

func (zeros) Read(into []byte) (int, error) { clear(into); return len(into), nil }

// An event is there once its last byte has come, also if that may be the first half of CRLF.
func TestEventIsNotHeldBack(t *testing.T) {
	for _, text := range []string{"data: a\n\n", "data: a\r\n\r\n", "data: a\r\r"} {
		reader, writer := io.Pipe()
		events := newEvents(reader)
		go func() { _, _ = io.WriteString(writer, text) }()
		done := make(chan struct{})
		go func() { events.next(); close(done) }()
		select {
		case <-done:
		case <-time.After(time.Second):
			t.Errorf("%q is held back", text)
		}
		reader.Close()
	}
}

func TestNumberOfEvent(t *testing.T) {
	for data, expected := range map[string]int64{
		`{"n":0,"token":" benchmark"}`: 0, `{"n":99999,"token":" benchmark"}`: 99999, `{"n":,"token":" benchmark"}`: -1,
		`{"n":1.5,"token":" benchmark"}`: -1, `{"n":-1,"token":" benchmark"}`: -1, `{"n":01,"token":" benchmark"}`: -1,
		`{"n":1,"token":"benchmark"}`: -1, `{"n":99999999999999999999,"token":" benchmark"}`: -1, "": -1,
		`{"n":1,"token":" benchmark"} `: -1, `{"n":`: -1,
	} {
		number, ok := numberOfEvent([]byte(data))
		if ok != (expected >= 0) || ok && number != expected {
			t.Errorf("%q is %d (%v)", data, number, ok)
		}
	}
}
