# A server of the Model Context Protocol that answers at once, and one resource of which is a line of 4 GiB.
import json, sys

TOOL = {"name": "tick", "description": "Counts.", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}}


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}, "resources": {}},
                "serverInfo": {"name": "bench", "version": "1"}}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": "counted"}]}
    if method == "resources/read" and params["uri"] == "memo://flood":
        sys.stdout.write('{"jsonrpc":"2.0","id":0,"result":{"contents":[{"uri":"memo://flood","text":"')
        for _ in range(4096):
            sys.stdout.write("x" * 1048576)
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": "a memo"}]}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        unknown = {"error": {"code": -32601, "message": "no such method"}}
        said = {"result": result} if result is not None else unknown
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}), flush=True)
