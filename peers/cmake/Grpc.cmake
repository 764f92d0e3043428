message(STATUS "gRPC later")
