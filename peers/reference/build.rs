//! Generates the messages and the two ends of gRPC from the IDL of the mesh experiment.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    tonic_prost_build::configure().compile_protos(&["../idl/sm_contexts.proto"], &["../idl"])?;
    Ok(())
}
