"""The official SDKs of both vendors against a host: BASE KEY SOCKET. Each check is a function named by what it holds."""

import json
import sys
import urllib.error
import urllib.request

import anthropic
import httpx2 as httpx
import openai
import pydantic
from prometheus_client.parser import text_string_to_metric_families

BASE, KEY, SOCKET = sys.argv[1:4]
ONE = openai.OpenAI(base_url=BASE + "/v1", api_key=KEY, max_retries=0)
OTHER = anthropic.Anthropic(base_url=BASE, api_key=KEY, max_retries=0)
AGENT, MODEL = "agent/default", "scripted/tools"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ASKED = [{"role": "user", "content": "weather in Oslo?"}]


def said(text):
    return [{"role": "user", "content": text}]


def models_are_listed_and_retrieved_by_both():
    names = [model.id for model in ONE.models.list()]
    assert AGENT in names and "offline/reader" in names, names
    assert ONE.models.retrieve(AGENT).id == AGENT
    assert AGENT in [model.id for model in OTHER.models.list()]
    paged = OTHER.models.list(limit=2)
    assert len(paged.data) == 2 and [model.id for model in paged] == names, paged
    assert OTHER.models.retrieve(AGENT).type == "model"


def an_agent_answers_a_completion_whole_and_in_a_typed_stream():
    whole = ONE.chat.completions.create(model=AGENT, messages=said("remember: the sdk was here at noon"))
    assert whole.choices[0].message.content and whole.id.startswith("chatcmpl-"), whole
    with ONE.chat.completions.stream(model=AGENT, messages=said("recall sdk")) as stream:
        deltas = "".join(event.delta for event in stream if event.type == "content.delta")
        final = stream.get_final_completion()
    assert "noon" in deltas and final.choices[0].message.content == deltas, (deltas, final)
    assert final.choices[0].finish_reason == "stop"


def an_agent_answers_a_response_and_goes_on_from_it():
    whole = ONE.responses.create(model=AGENT, input="recall sdk")
    assert "noon" in whole.output_text and whole.status == "completed", whole
    with ONE.responses.stream(model=AGENT, input="recall sdk", previous_response_id=whole.id) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert kinds[:2] == ["response.created", "response.in_progress"] and kinds[-1] == "response.completed", kinds
    assert "response.content_part.added" in kinds and "noon" in final.output_text, final


def an_agent_answers_a_message_whole_and_in_a_typed_stream():
    whole = OTHER.messages.create(model=AGENT, max_tokens=200, messages=said("recall sdk"))
    assert "noon" in whole.content[0].text and whole.stop_reason == "end_turn", whole
    with OTHER.messages.stream(model=AGENT, max_tokens=200, messages=said("recall sdk")) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert "noon" in text and final.content[0].text == text and final.stop_reason == "end_turn", final


def tools_go_both_ways_in_completions():
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}]
    first = ONE.chat.completions.create(model=MODEL, messages=ASKED, tools=tools).choices[0]
    call = first.message.tool_calls[0]
    assert first.finish_reason == "tool_calls" and json.loads(call.function.arguments) == {"city": "Oslo"}, first
    answered = [*ASKED, first.message, {"role": "tool", "tool_call_id": call.id, "content": "-3 C"}]
    second = ONE.chat.completions.create(model=MODEL, messages=answered, tools=tools)
    assert second.choices[0].message.content == "It is cold." and second.usage.completion_tokens == 4, second
    usage = {"include_usage": True}
    with ONE.chat.completions.stream(model=MODEL, messages=ASKED, tools=tools, stream_options=usage) as stream:
        done = [event for event in stream if event.type == "tool_calls.function.arguments.done"]
        final = stream.get_final_completion()
    assert [event.name for event in done] == ["get_weather"] and final.usage.prompt_tokens == 12, final
    assert final.choices[0].message.tool_calls[0].function.arguments == '{"city":"Oslo"}', final


def tools_go_both_ways_in_responses():
    tools = [{"type": "function", "name": "get_weather", "parameters": SCHEMA, "strict": False}]
    with ONE.responses.stream(model=MODEL, input="weather in Oslo?", tools=tools) as stream:
        done = [event for event in stream if event.type == "response.function_call_arguments.done"]
        first = stream.get_final_response()
    call = first.output[1]
    assert len(done) == 1 and json.loads(call.arguments) == {"city": "Oslo"} and first.output_text == "I look.", first
    answered = [{"role": "user", "content": "weather in Oslo?"}, *first.output]
    answered.append({"type": "function_call_output", "call_id": call.call_id, "output": "-3 C"})
    second = ONE.responses.create(model=MODEL, input=answered, tools=tools)
    assert second.output_text == "It is cold." and second.usage.total_tokens == 25, second


def tools_go_both_ways_in_messages():
    tools = [{"name": "get_weather", "description": "The weather.", "input_schema": SCHEMA}]
    with OTHER.messages.stream(model=MODEL, max_tokens=99, messages=ASKED, tools=tools) as stream:
        kinds = {event.type for event in stream}
        first = stream.get_final_message()
    used = first.content[1]
    assert {"text", "input_json", "content_block_stop", "message_stop"} <= kinds, kinds
    assert first.stop_reason == "tool_use" and used.input == {"city": "Oslo"}, first
    result = {"type": "tool_result", "tool_use_id": used.id, "content": "-3 C"}
    answered = [*ASKED, {"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    second = OTHER.messages.create(model=MODEL, max_tokens=99, messages=answered, tools=tools)
    assert second.content[0].text == "It is cold." and second.usage.output_tokens == 4, second
    counted = OTHER.messages.count_tokens(model=MODEL, messages=ASKED, tools=tools)
    assert counted.input_tokens > 0, counted


def an_answer_ends_at_a_text_of_the_client_s():
    echo = said("echo: hello there, you")
    whole = OTHER.messages.create(model="offline/reader", max_tokens=99, messages=echo, stop_sequences=["x", "there"])
    assert (whole.stop_reason, whole.stop_sequence) == ("stop_sequence", "there"), whole
    assert whole.content[0].text == "hello ", whole
    with OTHER.messages.stream(model="offline/reader", max_tokens=99, messages=echo, stop_sequences=["there"]) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == "hello " and (final.stop_reason, final.stop_sequence) == ("stop_sequence", "there"), final
    chat = ONE.chat.completions.create(model="offline/reader", messages=echo, stop=["there"]).choices[0]
    assert (chat.message.content, chat.finish_reason) == ("hello ", "stop"), chat


def calls_come_in_parallel_unless_the_client_takes_one():
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}]
    for alone, cities in [(False, ["Oslo", "Rome"]), (True, ["Oslo"])]:
        ask = {"model": "scripted/pair", "messages": ASKED, "tools": tools, "parallel_tool_calls": not alone}
        with ONE.chat.completions.stream(**ask) as stream:
            for _ in stream:
                pass
            final = stream.get_final_completion().choices[0].message
        whole = ONE.chat.completions.create(**ask).choices[0].message
        for message in (final, whole):
            asked = [json.loads(call.function.arguments)["city"] for call in message.tool_calls]
            assert asked == cities, message
        listed = [{"name": "get_weather", "input_schema": SCHEMA}]
        choice = {"type": "auto", "disable_parallel_tool_use": alone}
        ask = {"model": "scripted/pair", "max_tokens": 99, "messages": ASKED, "tools": listed, "tool_choice": choice}
        with OTHER.messages.stream(**ask) as stream:
            used = [block.input["city"] for block in stream.get_final_message().content if block.type == "tool_use"]
        assert used == cities, used


def an_answer_has_the_form_that_was_asked_for():
    class City(pydantic.BaseModel):
        city: str

    model = "scripted/form"
    parsed = ONE.chat.completions.parse(model=model, messages=ASKED, response_format=City).choices[0].message.parsed
    assert parsed == City(city="Oslo"), parsed
    response = ONE.responses.parse(model=model, input="weather in Oslo?", text_format=City)
    assert response.output_parsed == City(city="Oslo") and response.text.format.type == "json_schema", response
    parsed = OTHER.messages.parse(model=model, max_tokens=99, messages=ASKED, output_format=City).parsed_output
    assert parsed == City(city="Oslo"), parsed


def texts_are_embedded():
    found = ONE.embeddings.create(model="offline/hash-384", input=["one", "two"])
    assert [len(item.embedding) for item in found.data] == [384, 384] and found.usage.prompt_tokens > 0, found
    plain = ONE.embeddings.create(model="offline/hash-384", input="one", encoding_format="float")
    pairs = zip(plain.data[0].embedding, found.data[0].embedding, strict=True)
    assert all(abs(a - b) < 1e-6 for a, b in pairs)


def raised(kind, ask):
    try:
        ask()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def faults_are_the_sdks_own_exceptions():
    wrong = openai.OpenAI(base_url=BASE + "/v1", api_key="cdn_wrong", max_retries=0)
    error = raised(openai.AuthenticationError, wrong.models.list)
    assert error.code == "invalid_api_key" and error.request_id.startswith("req_"), error
    unknown = raised(openai.NotFoundError, lambda: ONE.chat.completions.create(model="nope/none", messages=ASKED))
    assert unknown.code == "model_not_found" and "offline/reader" in unknown.message, unknown
    bad = raised(openai.BadRequestError, lambda: ONE.chat.completions.create(model=MODEL, messages=[], n=1))
    assert bad.param == "messages", bad
    picture = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    shown = [{"role": "user", "content": [picture]}]
    raised(openai.BadRequestError, lambda: ONE.chat.completions.create(model=MODEL, messages=shown))
    stray = [*ASKED, {"role": "tool", "tool_call_id": "call_1", "content": "-3 C"}]
    bad = raised(openai.BadRequestError, lambda: ONE.chat.completions.create(model=MODEL, messages=stray))
    assert bad.param == "messages[1]", bad
    bad = raised(
        anthropic.BadRequestError,
        lambda: OTHER.messages.create(model=MODEL, max_tokens=9, messages=ASKED, stop_sequences=[""]),
    )
    assert "stop_sequences" in bad.body["error"]["message"], bad
    wrong = anthropic.Anthropic(base_url=BASE, api_key="cdn_wrong", max_retries=0)
    raised(anthropic.AuthenticationError, lambda: wrong.messages.create(model=MODEL, max_tokens=9, messages=ASKED))
    error = raised(
        anthropic.NotFoundError, lambda: OTHER.messages.create(model="nope/none", max_tokens=9, messages=ASKED)
    )
    assert error.body["error"]["type"] == "not_found_error" and error.request_id.startswith("req_"), error


def rate_limits_and_ids_stand_in_the_headers_of_each():
    raw = ONE.chat.completions.with_raw_response.create(model=MODEL, messages=ASKED)
    assert int(raw.headers["x-ratelimit-remaining-requests"]) < int(raw.headers["x-ratelimit-limit-requests"])
    raw = OTHER.messages.with_raw_response.create(model=MODEL, max_tokens=9, messages=ASKED)
    assert raw.headers["anthropic-ratelimit-requests-reset"].endswith("Z") and raw.headers["request-id"]


def on_the_unix_socket_the_kernel_says_who_asks():
    client = httpx.Client(transport=httpx.HTTPTransport(uds=SOCKET))
    local = openai.OpenAI(base_url="http://localhost/v1", api_key="unused", max_retries=0, http_client=client)
    answer = local.chat.completions.create(model="offline/reader", messages=said("echo: here"))
    assert answer.choices[0].message.content == "here", answer


def pages_of_other_sites_are_refused():
    headers = {"Authorization": f"Bearer {KEY}", "Origin": "http://evil.test", "Host": "evil.test"}
    request = urllib.request.Request(BASE + "/v1/models", headers=headers)
    error = raised(urllib.error.HTTPError, lambda: urllib.request.urlopen(request))
    assert error.code == 421, error


def counters_are_read_by_a_real_parser():
    request = urllib.request.Request(BASE + "/metrics", headers={"Authorization": f"Bearer {KEY}"})
    text = urllib.request.urlopen(request).read().decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert len(families) > 5 and families["cordon_gateway_requests"].type == "counter", sorted(families)
    assert families["cordon_gateway_request_seconds"].type == "histogram"


CHECKS = [
    models_are_listed_and_retrieved_by_both,
    an_agent_answers_a_completion_whole_and_in_a_typed_stream,
    an_agent_answers_a_response_and_goes_on_from_it,
    an_agent_answers_a_message_whole_and_in_a_typed_stream,
    tools_go_both_ways_in_completions,
    tools_go_both_ways_in_responses,
    tools_go_both_ways_in_messages,
    an_answer_ends_at_a_text_of_the_client_s,
    calls_come_in_parallel_unless_the_client_takes_one,
    an_answer_has_the_form_that_was_asked_for,
    texts_are_embedded,
    faults_are_the_sdks_own_exceptions,
    rate_limits_and_ids_stand_in_the_headers_of_each,
    on_the_unix_socket_the_kernel_says_who_asks,
    pages_of_other_sites_are_refused,
    counters_are_read_by_a_real_parser,
]

for check in CHECKS:
    check()
    print("ok", check.__name__.replace("_", " "))
