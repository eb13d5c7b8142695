// hello.cc - a question to the bundled model, which may call a tool.
#include <confab/confab.h>
#include <iostream>
#include <memory>

int main(int argc, char **argv)
{
    const char *question = argc > 1 ? argv[1] : "How is the weather in Oslo?", *reply = nullptr;
    const char *tool = R"({"name": "get_weather", "description": "Weather at a place.", "parameters":
        {"type": "object", "properties": {"location": {"type": "string"}}}})";
    auto weather = [](void *, const char *, cf_tool_result *result) {
        cf_tool_return(result, R"({"temperature": 21, "unit": "celsius", "condition": "sunny"})");
    };
    cf_error err;
    std::unique_ptr<confab, decltype(&cf_close)> c(cf_open("bundled", &err), cf_close);
    if (c && cf_add_tool(c.get(), tool, weather, nullptr, &err) == CF_OK)
        reply = cf_chat(c.get(), question, &err);
    std::cout << (reply ? reply : err.text) << '\n';
}
