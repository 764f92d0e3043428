package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"corewire.example/clients/gutiv1"
)

type grpcClient struct {
	connection *grpc.ClientConn
	stub       gutiv1.GutiServiceClient
}

func connectGRPC(server string, security *tls.Config) (client, error) {
	transport := insecure.NewCredentials()
	if security != nil {
		transport = credentials.NewTLS(security)
	}
	connection, err := grpc.NewClient(server, grpc.WithTransportCredentials(transport))
	if err != nil {
		return nil, err
	}
	return &grpcClient{connection, gutiv1.NewGutiServiceClient(connection)}, nil
}

func (c *grpcClient) Allocate(ctx context.Context, payload []byte) (Guti, error) {
	response, err := c.stub.Allocate(ctx, &gutiv1.AllocateRequest{Payload: payload})
	if err != nil {
		return Guti{}, explained(err)
	}
	if !bytes.Equal(response.GetPayload(), payload) {
		return Guti{}, fmt.Errorf("%q came back as %q", payload, response.GetPayload())
	}
	g := response.GetGuti()
	return Guti{g.GetMcc(), g.GetMnc(), g.GetMncDigits(), g.GetAmfRegion(), g.GetAmfSet(), g.GetAmfPointer(), g.GetTmsi()}, nil
}

func (c *grpcClient) Deallocate(ctx context.Context, g Guti) error {
	_, err := c.stub.Deallocate(ctx, &gutiv1.DeallocateRequest{Guti: &gutiv1.Guti{
		Mcc: g.MCC, Mnc: g.MNC, MncDigits: g.MNCDigits,
		AmfRegion: g.AMFRegion, AmfSet: g.AMFSet, AmfPointer: g.AMFPointer, Tmsi: g.TMSI,
	}})
	return explained(err)
}

// Hang opens a stream and sends nothing on it.
func (c *grpcClient) Hang(ctx context.Context) error {
	stream, err := c.stub.AllocateStream(ctx)
	if err == nil {
		_, err = stream.Recv()
	}
	return explained(err)
}

func (c *grpcClient) Close() error { return c.connection.Close() }

func explained(err error) error {
	if err == nil {
		return nil
	}
	answer := status.Convert(err)
	return &failure{answer.Code().String(), answer.Message()}
}
