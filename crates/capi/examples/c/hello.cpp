// A server and a call to it, with corewire.hpp.
#include <iostream>

#include "corewire.hpp"

int main() try {
    corewire::Handlers handlers;
    // Runs on the server's event loop; must not block.
    handlers.on_call("greeter.v1.Greeter/Greet", [](corewire::Call call) {
        // The name is sent from where it was received.
        call.reply({corewire::piece("hello, "), corewire::piece(call.body())});
    });
    const corewire::Server server({"127.0.0.1:0"}, std::move(handlers));

    corewire::Channel channel(("native://" + server.address()).c_str());
    const corewire::Operation greet("greeter.v1.Greeter/Greet");
    const corewire::Response response = channel.call(greet, "AMF");
    response.expect_ok();
    std::cout << corewire::as_text(response.body()) << '\n';
} catch (const corewire::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
