package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/net/http2"
)

type restClient struct {
	url  string
	http *http.Client
}

func connectREST(server string, security *tls.Config) (client, error) {
	transport, scheme := &http2.Transport{TLSClientConfig: security}, "https"
	if security == nil {
		// HTTP/2 with prior knowledge: http2 dials what it takes for TLS, and gets TCP.
		scheme = "http"
		transport.AllowHTTP = true
		transport.DialTLSContext = func(ctx context.Context, network, address string, _ *tls.Config) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		}
	}
	return &restClient{scheme + "://" + server + "/guti.v1.GutiService/", &http.Client{Transport: transport}}, nil
}

type payloadMessage struct {
	// encoding/json writes octets in base64, as the service does.
	Payload []byte `json:"payload"`
}

type gutiMessage struct {
	Guti Guti `json:"guti"`
}

func (c *restClient) Allocate(ctx context.Context, payload []byte) (Guti, error) {
	var answer struct {
		payloadMessage
		gutiMessage
	}
	if err := c.call(ctx, "Allocate", payloadMessage{payload}, &answer); err != nil {
		return Guti{}, err
	}
	if !bytes.Equal(answer.Payload, payload) {
		return Guti{}, fmt.Errorf("%q came back as %q", payload, answer.Payload)
	}
	return answer.Guti, nil
}

func (c *restClient) Deallocate(ctx context.Context, guti Guti) error {
	return c.call(ctx, "Deallocate", gutiMessage{guti}, &struct{}{})
}

func (c *restClient) call(ctx context.Context, method string, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	return c.post(ctx, method, bytes.NewReader(body), answer)
}

// Hang begins a request and does not end it. The server is told the deadline and answers 504 by its
// own clock; ours lets it have the word.
func (c *restClient) Hang(ctx context.Context) error {
	body, end := io.Pipe()
	defer end.Close()
	return c.post(ctx, "Allocate", body, &struct{}{})
}

// post calls, tells the server how long it may take (TS 29.500 clause 6.11.2), and reads JSON: an
// answer, or a problem (RFC 9457).
func (c *restClient) post(ctx context.Context, method string, body io.Reader, answer any) error {
	patient, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	request, err := http.NewRequestWithContext(patient, http.MethodPost, c.url+method, body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		request.Header.Set("3gpp-Sbi-Max-Rsp-Time", strconv.FormatInt(max(left.Milliseconds(), 1), 10))
		defer time.AfterFunc(left+time.Second, cancel).Stop()
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		var problem struct{ Detail, Cause string }
		if err := json.NewDecoder(response.Body).Decode(&problem); err != nil {
			return fmt.Errorf("%s without a problem document: %w", response.Status, err)
		}
		return &failure{names[problem.Cause], problem.Detail}
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

// names are gRPC's for the causes of problem documents.
var names = map[string]string{"NOT_FOUND": "NotFound", "TIMED_OUT_REQUEST": "DeadlineExceeded"}

func (c *restClient) Close() error {
	c.http.CloseIdleConnections()
	return nil
}
