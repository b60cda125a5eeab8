import { expect, it } from "vitest";
import { conversationOf, readAnswer, readCall, readPrompt, readResult } from "./conversation.ts";
import { step } from "./test-step.ts";

const part = (nth: number, name: string, rest: Parameters<typeof step>[2] = {}) =>
  step(nth, "agent", { item: `#${name}`, ...rest });

it("sorts parts in the order of the conversation, with the failed attempts of each", () => {
  const error = { code: "model_error", message: "overloaded" };
  const entries = conversationOf([
    part(1, "prompt"),
    part(2, "turn-1", { status: "failed", error }),
    part(3, "turn-1", { attempt: 2 }),
    part(4, "tool-1-2"),
    part(5, "tool-1-1"),
    part(6, "turn-10"),
    part(7, "turn-2"),
    part(8, "end-10"),
    part(9, "something-else"),
  ]);
  expect(entries.map(({ kind, turn, step }) => [kind, turn, step.nth])).toEqual([
    ["prompt", 0, 1],
    ["turn", 1, 3],
    ["tool", 1, 5],
    ["tool", 1, 4],
    ["turn", 2, 7],
    ["turn", 10, 6],
    ["end", 10, 8],
  ]);
  expect(entries[1]?.failed.map(({ error }) => error?.message)).toEqual(["overloaded"]);
});

it("reads the recorded prompts, answers, tool calls and results", () => {
  expect(readPrompt({ system: "Be kind.", user: "Hi", tools: [{ name: "add_label" }] })).toEqual({
    system: "Be kind.",
    user: "Hi",
    tools: ["add_label"],
  });
  expect(
    readAnswer({
      text: "Done.",
      reasoning: [{ text: "It is a bug." }],
      calls: [{ id: "1", tool: "add_label", arguments: {} }],
      finish: "stop",
      usage: { input_tokens: 10, output_tokens: 5 },
    }),
  ).toEqual({
    text: "Done.",
    reasoning: "It is a bug.",
    calls: ["add_label"],
    finish: "stop",
    inputTokens: 10,
    outputTokens: 5,
  });
  expect(readCall({ tool: "add_label", arguments: { name: "bug" } })).toEqual({
    tool: "add_label",
    arguments: { name: "bug" },
  });
  const result = (text: string) => ({ result: { text, cut: 3, nonce: "n" }, is_error: true });
  expect(readResult(result('{"ok":true}'))).toEqual({
    value: { ok: true },
    cut: 3,
    isError: true,
  });
  expect(readResult(result("{not json")).value).toBe("{not json");
});

it("returns empty values for records of an unknown shape", () => {
  for (const value of [null, 3, [], { tools: 1, calls: {}, usage: [], result: 1 }]) {
    expect(readPrompt(value).tools).toEqual([]);
    expect(readAnswer(value).calls).toEqual([]);
    expect(readCall(value).tool).toBe("");
    expect(readResult(value).value).toBe("");
  }
});
