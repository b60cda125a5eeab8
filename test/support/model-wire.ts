/**
 * A fake model provider: it reads requests in the wire formats of the providers, and encodes scripted
 * answers as the providers stream them. Runs in Node and in workerd.
 */

/** A response of the fake model. */
interface ScriptedAnswer {
  text?: string;
  calls?: readonly { tool: string; arguments: unknown }[];
  /** Ends the answer with the stop reason for a reached output limit. */
  isCutOff?: boolean;
  /** Ends the stream after this many events, without an error. */
  endsAfter?: number;
  /** Reports an error in the stream, after `endsAfter` events. */
  streamError?: { type: string; message: string };
  /** Reasoning before the answer. In Anthropic's format, it has a signature. */
  thinking?: string;
  usage?: { input: number; output: number };
}

/** An HTTP error instead of an answer. */
interface ScriptedError {
  status: number;
  message?: string;
  type?: string;
  headers?: Record<string, string>;
}

export type Reply = ScriptedAnswer | ScriptedError;

/** A request in a format that is the same for all providers. */
export interface ModelWireRequest {
  wire: WireName;
  headers: Headers;
  /** The text of the system message. */
  system: string;
  /** The other messages, in order. */
  messages: { role: string; text: string; calls: string[] }[];
  tools: string[];
  /** The names of the tools that have been called so far. */
  calls: string[];
  body: Record<string, unknown>;
}

export type WireName = "anthropic" | "openai";

interface Wire {
  path: string;
  read(body: Body): Pick<ModelWireRequest, "system" | "messages" | "tools">;
  /** Encodes an answer as SSE events. `requestNumber` is the number of the request; ids contain it. */
  events(answer: ScriptedAnswer, requestNumber: number): string[];
  error(reply: ScriptedError): object;
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of requests in a test
type Body = any;

const event = (name: string | undefined, data: object | string): string =>
  `${name ? `event: ${name}\n` : ""}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;

/** Splits text in two, so that the reader of the stream must join several deltas. */
const halves = (text: string): string[] => {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].filter((half) => half !== "");
};

const textOf = (content: Body): string =>
  typeof content === "string"
    ? content
    : (content ?? [])
        .map((part: Body) => part.text ?? (part.content === undefined ? "" : textOf(part.content)))
        .join("");

const anthropic: Wire = {
  path: "/v1/messages",
  read: ({ system, messages, tools = [] }) => ({
    system: textOf(system),
    messages: messages.map(({ role, content }: Body) => ({
      role,
      text: textOf(content),
      calls: Array.isArray(content)
        ? content.filter(({ type }) => type === "tool_use").map(({ name }) => name)
        : [],
    })),
    tools: tools.map(({ name }: Body) => name),
  }),
  events({ text = "", thinking = "", calls = [], isCutOff, usage }, requestNumber) {
    const typedEvent = (data: { type: string; [key: string]: unknown }) => event(data.type, data);
    const blocks = [
      ...(thinking === ""
        ? []
        : [
            {
              start: { type: "thinking", thinking: "", signature: "" },
              deltas: [
                ...halves(thinking).map((half) => ({ type: "thinking_delta", thinking: half })),
                { type: "signature_delta", signature: `signed ${thinking}` },
              ],
            },
          ]),
      ...(text === ""
        ? []
        : [
            {
              start: { type: "text", text: "" },
              deltas: halves(text).map((half) => ({ type: "text_delta", text: half })),
            },
          ]),
      ...calls.map(({ tool, arguments: args }, at) => ({
        start: { type: "tool_use", id: `toolu_${requestNumber}_${at}`, name: tool, input: {} },
        deltas: halves(typeof args === "string" ? args : JSON.stringify(args)).map((half) => ({
          type: "input_json_delta",
          partial_json: half,
        })),
      })),
    ];
    const stop_reason = isCutOff ? "max_tokens" : calls.length > 0 ? "tool_use" : "end_turn";
    return [
      typedEvent({
        type: "message_start",
        message: {
          id: `msg_${requestNumber}`,
          type: "message",
          role: "assistant",
          model: "fake",
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: usage?.input ?? 100, output_tokens: 1 },
        },
      }),
      typedEvent({ type: "ping" }),
      ...blocks.flatMap(({ start, deltas }, index) => [
        typedEvent({ type: "content_block_start", index, content_block: start }),
        ...deltas.map((delta) => typedEvent({ type: "content_block_delta", index, delta })),
        typedEvent({ type: "content_block_stop", index }),
      ]),
      typedEvent({
        type: "message_delta",
        delta: { stop_reason, stop_sequence: null },
        usage: { output_tokens: usage?.output ?? 20 },
      }),
      typedEvent({ type: "message_stop" }),
    ];
  },
  error: ({ type = "invalid_request_error", message = "no" }) => ({
    type: "error",
    error: { type, message },
  }),
};

const openai: Wire = {
  path: "/v1/chat/completions",
  read({ messages, tools = [] }) {
    const isSystem = ({ role }: Body) => role === "system" || role === "developer";
    return {
      system: messages
        .filter(isSystem)
        .map(({ content }: Body) => textOf(content))
        .join("\n"),
      messages: messages
        .filter((message: Body) => !isSystem(message))
        .map(({ role, content, tool_calls = [] }: Body) => ({
          role,
          text: textOf(content),
          calls: tool_calls.map((call: Body) => call.function.name),
        })),
      tools: tools.map((tool: Body) => tool.function.name),
    };
  },
  events({ text = "", calls = [], isCutOff, usage }, requestNumber) {
    const chunk = (delta: object, finish_reason: string | null = null) =>
      event(undefined, {
        id: `chatcmpl-${requestNumber}`,
        object: "chat.completion.chunk",
        created: 1,
        model: "fake",
        choices: [{ index: 0, delta, finish_reason }],
      });
    const { input = 100, output = 20 } = usage ?? {};
    return [
      chunk({ role: "assistant", content: "" }),
      ...halves(text).map((content) => chunk({ content })),
      ...calls.flatMap(({ tool, arguments: args }, index) => [
        chunk({
          tool_calls: [
            {
              index,
              id: `call_${requestNumber}_${index}`,
              type: "function",
              function: { name: tool, arguments: "" },
            },
          ],
        }),
        ...halves(typeof args === "string" ? args : JSON.stringify(args)).map((half) =>
          chunk({ tool_calls: [{ index, function: { arguments: half } }] }),
        ),
      ]),
      chunk({}, isCutOff ? "length" : calls.length > 0 ? "tool_calls" : "stop"),
      event(undefined, {
        id: `chatcmpl-${requestNumber}`,
        object: "chat.completion.chunk",
        created: 1,
        model: "fake",
        choices: [],
        usage: {
          prompt_tokens: input,
          completion_tokens: output,
          total_tokens: input + output,
        },
      }),
      event(undefined, "[DONE]"),
    ];
  },
  error: ({ type = "invalid_request_error", message = "no" }) => ({
    error: { message, type, param: null, code: null },
  }),
};

const WIRES: Record<WireName, Wire> = { anthropic, openai };
export const WIRE_NAMES: readonly WireName[] = ["anthropic", "openai"];

async function readModelRequest(request: Request): Promise<ModelWireRequest> {
  const { pathname } = new URL(request.url);
  const wire = WIRE_NAMES.find((name) => WIRES[name].path === pathname);
  if (!wire) throw new Error(`unexpected path ${pathname}`);
  const body = (await request.json()) as Record<string, unknown>;
  const read = WIRES[wire].read(body);
  const calls = read.messages.flatMap((message) => message.calls);
  return { wire, headers: request.headers, body, ...read, calls };
}

function encodeReply(wire: WireName, reply: Reply, requestNumber: number): Response {
  if ("status" in reply)
    return Response.json(WIRES[wire].error(reply), {
      status: reply.status,
      ...(reply.headers && { headers: reply.headers }),
    });
  const events = WIRES[wire].events(reply, requestNumber).slice(0, reply.endsAfter);
  if (reply.streamError) {
    const error = WIRES[wire].error({ status: 200, ...reply.streamError });
    events.push(event(wire === "anthropic" ? "error" : undefined, error));
  }
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = events.shift();
      if (next === undefined) controller.close();
      else controller.enqueue(encoder.encode(next));
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

export type ModelScript = (
  request: ModelWireRequest,
  requestNumber: number,
) => Reply | Promise<Reply>;

/** Creates a `fetch` that responds like a provider, and records the requests. */
export function createFakeModel(script: ModelScript) {
  const requests: ModelWireRequest[] = [];
  return {
    requests,
    async fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
      const request = await readModelRequest(new Request(input, init));
      requests.push(request);
      const requestNumber = requests.length;
      return encodeReply(request.wire, await script(request, requestNumber), requestNumber);
    },
  };
}
