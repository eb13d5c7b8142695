#!/bin/sh
# A tool server of two tools: one says how many ships are in a harbour.
answer() {
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"
}
tool() {
    printf '{"name":"%s","description":"%s","inputSchema":{"type":"object",' "$1" "$2"
    printf '"properties":{"port":{"type":"string"}},"required":["port"]}}'
}
while read -r line; do
    id=${line#*\"id\":}
    id=${id%%,*}
    case $line in
    *'"initialize"'*)
        answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"harbour","version":"1"}}' ;;
    *'"tools/list"'*)
        answer "{\"tools\":[$(tool count_ships 'How many ships are in a port'),$(tool list_ships 'Their names')]}" ;;
    *'"tools/call"'*) answer '{"content":[{"type":"text","text":"3 ships"}]}' ;;
    *'"id"'*)
        printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}\n' "$id" ;;
    esac
done
