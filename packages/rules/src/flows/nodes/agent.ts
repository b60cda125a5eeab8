/** Runs a model with instructions and tools until it has an answer. */
import { z } from "zod";
import { MODEL_PROVIDERS } from "../agent/model.ts";
import { runAgent } from "../agent/run-agent.ts";
import { mixedValue } from "../json-value.ts";
import { defineNode } from "../node-type.ts";
import { schemaProblem } from "../schema-problem.ts";
import { embedSchema } from "../subschemas.ts";
import { parseTemplate } from "../template.ts";
import { textSchema } from "../text-schema.ts";

const MAX_TEXT = 50_000;

/** The author's text for the model. Templates are rejected, because they would insert data of events. */
const authorText = (message: string) =>
  textSchema(message)
    .max(MAX_TEXT)
    .refine(
      (value) => parseTemplate(value).parts.every(({ kind }) => kind === "text"),
      "must not contain {{ … }}: values of events are untrusted, so write them in `data`",
    );

const config = z.strictObject({
  model: z
    .strictObject({
      provider: z
        .enum(MODEL_PROVIDERS)
        .describe("The API: `anthropic` (Messages) or `openai` (compatible chat completions)."),
      name: textSchema("must be the name of a model")
        .min(1, "must not be empty")
        .max(200)
        .describe("The name of the model."),
      baseUrl: z
        .url({ protocol: /^https?$/, error: "must be a URL such as https://api.example.com/v1" })
        .max(2000)
        .optional()
        .describe("The base URL of the API. If omitted, the public API of the provider."),
      apiKey: textSchema("must be a reference to a secret, such as {{ secrets.API_KEY }}")
        .min(1, "must not be empty")
        .max(4000)
        .optional()
        .describe(
          "A reference to the secret with the API key: {{ secrets.NAME }}. A key itself is rejected. Omit it for a server without keys.",
        ),
      maxOutputTokens: z
        .int()
        .min(1)
        .max(1_000_000)
        .optional()
        .describe("The maximum number of tokens of one answer."),
    })
    .describe("The model and how to reach it."),
  instructions: authorText("must be the instructions for the model")
    .regex(/\S/, "must not be empty")
    .describe("What the agent does, and how. Sent as the system message, without templates."),
  prompt: authorText("must be text for the model")
    .optional()
    .describe("The task, before the data in the user message. Without templates."),
  data: mixedValue()
    .optional()
    .describe(
      "The data of the task. If omitted, the node's input. The model gets it as untrusted data.",
    ),
  tools: z
    .array(
      z.strictObject({
        connection: textSchema("must be a connection's id")
          .min(1, "must not be empty")
          .max(100)
          .describe("The id of a connection."),
        tools: z
          .array(z.string().min(1).max(200))
          .max(128)
          .optional()
          .describe("The tools that the agent may call. If omitted, all tools of the connection."),
      }),
    )
    .max(20)
    .default([])
    .describe("The tools that the agent may call."),
  inboxTools: z
    .boolean()
    .default(false)
    .describe("Whether the agent may list, read, claim and mark the events of the inbox."),
  limits: z
    .strictObject({
      turns: z.int().min(1).max(200).default(10).describe("The maximum number of answers."),
      tokens: z
        .int()
        .min(1)
        .max(100_000_000)
        .default(100_000)
        .describe("The maximum number of tokens of all requests and answers."),
      seconds: z
        .int()
        .min(1)
        .max(86_400)
        .default(300)
        .describe("The maximum time in seconds, without waits between attempts."),
    })
    .prefault({})
    .describe("When a limit is reached, the step fails."),
  outputSchema: z
    .record(z.string(), z.json())
    .superRefine((schema, context) => {
      const problem =
        schemaProblem(schema) ??
        (schema.type === "object" ? undefined : 'type: must be "object": describe an object');
      if (problem) context.addIssue({ code: "custom", message: problem });
    })
    .optional()
    .describe("JSON Schema of the result, an object. If omitted, the result is text only."),
});

export const agent = defineNode({
  type: "Agent",
  title: "Agent",
  description: "Runs a model with instructions and tools on the data.",
  icon: "Bot",
  kind: "action",
  acceptsLarge: true,
  config,
  ports: { in: ["in"], out: ["out"] },
  secretFields: ["model.apiKey"],
  secretOnlyFields: ["model.apiKey"],
  rawFields: ["instructions", "prompt", "outputSchema", "model.baseUrl"],
  hasOwnDeadline: true,
  retries: { attempts: 8, backoffMs: 2000 },
  usesTools: ({ tools }) =>
    tools.flatMap(({ connection, tools: names }, index) => {
      const use = { connection, at: ["tools", index, "connection"] };
      if (!names) return [use];
      return names.map((name, nameIndex) => ({
        ...use,
        tool: { name, at: ["tools", index, "tools", nameIndex] },
      }));
    }),
  outputSchema: ({ outputSchema }) => ({
    type: "object",
    properties: {
      text: { type: "string" },
      result: outputSchema ? embedSchema(outputSchema, "/properties/result") : { type: "null" },
      turns: { type: "integer" },
      usage: {
        type: "object",
        properties: { input_tokens: { type: "integer" }, output_tokens: { type: "integer" } },
        required: ["input_tokens", "output_tokens"],
      },
    },
    required: ["text", "result", "turns", "usage"],
  }),
  sample: {
    config: {
      model: {
        provider: "anthropic",
        name: "claude-sonnet-4-5",
        apiKey: "{{ secrets.ANTHROPIC_API_KEY }}",
      },
      instructions: "Decide how urgent the issue is.",
      data: { title: "{{ trigger.data.issue.title }}" },
      tools: [{ connection: "tracker-7kq2xv", tools: ["add_label"] }],
      limits: { turns: 5 },
      outputSchema: {
        type: "object",
        properties: { urgency: { enum: ["low", "high"] } },
        required: ["urgency"],
      },
    },
    rejects: {
      config: {
        model: { provider: "anthropic", name: "m" },
        instructions: "Label {{ trigger.data.issue.title }}",
      },
      path: "instructions",
    },
  },
  run: async (context) => ({ output: await runAgent(context) }),
});
