package main

import (
	"net/http"
	"strconv"
	"time"

	"github.com/lxzan/gws"
)

const mostEvents = 100_000

// serveNull serves what the services serve, as quickly as this program can: it shows what the client is able to load.
func serveNull(listen string) {
	upgrader := gws.NewUpgrader(&nullEcho{}, &gws.ServerOption{
		PermessageDeflate: gws.PermessageDeflate{Enabled: true, ServerContextTakeover: true, ClientContextTakeover: true},
	})
	http.HandleFunc("GET /ws/echo", func(response http.ResponseWriter, request *http.Request) {
		if socket, err := upgrader.Upgrade(response, request); err == nil {
			go socket.ReadLoop()
		}
	})
	http.HandleFunc("GET /sse", func(response http.ResponseWriter, request *http.Request) {
		count, err := strconv.Atoi(request.FormValue("count"))
		gap, wrongGap := strconv.Atoi(request.FormValue("gap"))
		if err != nil || wrongGap != nil || count < 1 || count > mostEvents || gap < 0 || gap > 1000 {
			http.Error(response, "count and gap (in ms) are whole numbers", http.StatusBadRequest)
			return
		}
		response.Header().Set("Content-Type", "text/event-stream")
		response.Header().Set("Cache-Control", "no-store")
		flush := http.NewResponseController(response)
		began := time.Now()
		for number := range count {
			if gap > 0 {
				time.Sleep(time.Until(began.Add(time.Duration(number*gap) * time.Millisecond)))
			}
			if _, err := response.Write([]byte(eventOf(number))); err != nil {
				return
			}
			if gap > 0 && flush.Flush() != nil {
				return
			}
		}
	})
	check(http.ListenAndServe(listen, nil))
}

type nullEcho struct{ gws.BuiltinEventHandler }

func (nullEcho) OnMessage(socket *gws.Conn, message *gws.Message) {
	_ = socket.WriteMessage(message.Opcode, message.Bytes())
	_ = message.Close()
}
