package main

import (
	"net/http"
	"strconv"
	"time"

	"github.com/lxzan/gws"

	"loadgen/pace"
)

const mostEvents, mostGap = 100_000, 1000

// nullServer serves what services serve, as quickly as this program can: it shows what the client is able to load.
func nullServer() http.Handler {
	server := http.NewServeMux()
	upgrader := gws.NewUpgrader(nullEcho{}, &gws.ServerOption{
		PermessageDeflate: gws.PermessageDeflate{Enabled: true, ServerContextTakeover: true, ClientContextTakeover: true},
	})
	server.HandleFunc("GET /ws/echo", func(response http.ResponseWriter, request *http.Request) {
		if socket, err := upgrader.Upgrade(response, request); err == nil {
			go socket.ReadLoop()
		}
	})
	server.HandleFunc("GET /sse/{count}/{gap}", func(response http.ResponseWriter, request *http.Request) {
		count := min(max(wholeNumber(request.PathValue("count"), 1), 1), mostEvents)
		gap := time.Duration(min(max(wholeNumber(request.PathValue("gap"), 0), 0), mostGap)) * time.Millisecond
		timer, err := pace.NewTimer()
		if err != nil {
			http.Error(response, err.Error(), http.StatusInternalServerError)
			return
		}
		defer timer.Close()
		response.Header().Set("Content-Type", "text/event-stream")
		response.Header().Set("Cache-Control", "no-store")
		flush := http.NewResponseController(response).Flush
		began, event := time.Now(), []byte(nil)
		for number := range count {
			event = appendEvent(event[:0], number)
			if gap > 0 && timer.Until(began.Add(time.Duration(number)*gap)) != nil {
				return
			}
			if _, err := response.Write(event); err != nil || gap > 0 && flush() != nil {
				return
			}
		}
	})
	return server
}

func wholeNumber(text string, otherwise int) int {
	if number, err := strconv.Atoi(text); err == nil {
		return number
	}
	return otherwise
}

type nullEcho struct{ gws.BuiltinEventHandler }

func (nullEcho) OnMessage(socket *gws.Conn, message *gws.Message) {
	_ = socket.WriteMessage(message.Opcode, message.Bytes())
	_ = message.Close()
}
