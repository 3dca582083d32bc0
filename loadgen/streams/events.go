package main

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
)

const longestLine = 1 << 20

// Events reads the events of a text/event-stream, as the HTML standard says: lines end with LF, CR or CRLF, an event's lines
// of data are joined by LF, an event without data is none, and one that no empty line follows is not complete.
type Events struct {
	lines   *bufio.Scanner
	afterCR bool
	data    []byte
}

func newEvents(body io.Reader) *Events {
	e := &Events{lines: bufio.NewScanner(body)}
	e.lines.Buffer(nil, longestLine)
	e.lines.Split(e.split)
	return e
}

// next reads an event and returns its data, which is valid until the next one is read; false at the end.
func (e *Events) next() ([]byte, bool) {
	e.data = e.data[:0]
	there := false
	for e.lines.Scan() {
		line := e.lines.Bytes()
		if len(line) == 0 {
			if there {
				return e.data, true
			}
			continue
		}
		// Comments keep a connection open; other fields say nothing about the order.
		value, ok := bytes.CutPrefix(line, []byte("data"))
		if !ok || len(value) > 0 && value[0] != ':' {
			continue
		}
		if there {
			e.data = append(e.data, '\n')
		}
		there = true
		value = bytes.TrimPrefix(value, []byte(":"))
		e.data = append(e.data, bytes.TrimPrefix(value, []byte(" "))...)
	}
	return nil, false
}

// err is the error that ended the stream; nil if it ended as a response should.
func (e *Events) err() error { return e.lines.Err() }

// split finds a line. One that ends with CR is complete at once, although an LF may follow: there may be a pause before it.
func (e *Events) split(data []byte, atEOF bool) (int, []byte, error) {
	skipped := 0
	if e.afterCR && len(data) > 0 {
		e.afterCR = false
		if data[0] == '\n' {
			skipped = 1
		}
	}
	line := data[skipped:]
	end := bytes.IndexByte(line, '\n')
	if end >= 0 {
		line = line[:end]
	}
	if cr := bytes.IndexByte(line, '\r'); cr >= 0 {
		e.afterCR = true
		end = cr
	}
	if end >= 0 {
		return skipped + end + 1, data[skipped : skipped+end], nil
	}
	if atEOF {
		return len(data), nil, nil
	}
	return skipped, nil, nil
}

// The data of an event are its number between these two.
const beforeNumber, afterNumber = `{"n":`, `,"token":" benchmark"}`

const mostDigits = 9

// numberOfEvent is the number of the event with these data; false if they are not as agreed.
func numberOfEvent(data []byte) (number int64, ok bool) {
	rest, ok := bytes.CutPrefix(data, []byte(beforeNumber))
	if !ok {
		return 0, false
	}
	rest, ok = bytes.CutSuffix(rest, []byte(afterNumber))
	if !ok || len(rest) == 0 || len(rest) > mostDigits || rest[0] == '0' && len(rest) > 1 {
		return 0, false
	}
	for _, digit := range rest {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		number = number*10 + int64(digit-'0')
	}
	return number, true
}

func appendEvent(to []byte, number int) []byte {
	to = append(to, "data: "+beforeNumber...)
	to = strconv.AppendInt(to, int64(number), 10)
	return append(to, afterNumber+"\n\n"...)
}
