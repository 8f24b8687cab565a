//! A payments service, and the gateway that it calls.

mod gateway;

use std::io;

#[tokio::main]
async fn main() -> io::Result<()> {
    let gateway = gateway::start(1).await?;
    println!("the gateway listens on http://{}; Ctrl-C ends it", gateway.addr());
    println!("the first call for order-1 goes to http://{}", gateway.resolve("order-1", 1)?);
    tokio::signal::ctrl_c().await?;
    println!("{}", serde_json::to_string(&gateway.book().summary())?);
    gateway.shutdown().await;
    Ok(())
}
