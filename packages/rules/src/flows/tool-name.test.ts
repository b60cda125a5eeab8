import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  checkToolName,
  MAX_NAME_LENGTH,
  TOOL_NAME_RULE,
  toolName,
  uniqueToolName,
} from "./tool-name.ts";

/** Includes unpaired surrogates. */
const anyText = fc
  .array(fc.nat(0xffff), { maxLength: 100 })
  .map((units) => String.fromCharCode(...units));

describe("the tool name of a node", () => {
  it.each([
    ["Get Weather Data", "get_weather_data"],
    ["  Get   Weather -- Data!  ", "get_weather_data"],
    ["Ünïcode", "unicode"],
    ["Müller & Straße", "muller_strasse"],
    ["ŁÓDŹ Ærø œuvre", "lodz_aero_oeuvre"],
    ["İstanbul ışık", "istanbul_isik"],
    ["e\u0301te\u0301", "ete"],
    ["ＡＢＣ ①", "abc_1"],
    ["ẞ", "ss"],
    ["天気を取得", "tool"],
    ["Погода", "tool"],
    ["天気 weather", "weather"],
    ["🚂", "tool"],
    ["", "tool"],
    ["___", "tool"],
    ["123 go", "tool_123_go"],
    ["123", "tool_123"],
    ["_private", "private"],
    ["already_snake", "already_snake"],
    ["camelCase", "camelcase"],
  ])("named %j is %s", (name, expected) => {
    expect(toolName(name)).toBe(expected);
  });

  it("is truncated to the maximum length, and does not end with _", () => {
    expect(toolName("x".repeat(150))).toBe("x".repeat(64));
    expect(toolName(`${"x".repeat(63)} yz`)).toBe("x".repeat(63));
  });

  it("is valid for any input, and the derivation is idempotent", () => {
    fc.assert(
      fc.property(anyText, (name) => {
        const derived = toolName(name);
        expect(checkToolName(derived)).toBeUndefined();
        expect(toolName(derived)).toBe(derived);
      }),
    );
  });
});

describe("uniqueToolName", () => {
  it.each([
    [[], "weather"],
    [["weather"], "weather_2"],
    [["weather", "weather_2"], "weather_3"],
    [["weather", "weather_3"], "weather_2"],
    [["weather_2"], "weather"],
  ])("with %j taken returns %s", (taken, expected) => {
    expect(uniqueToolName("weather", new Set(taken))).toBe(expected);
  });

  it("does not exceed the maximum length with a suffix", () => {
    const base = "x".repeat(64);
    expect(uniqueToolName(base, new Set([base]))).toBe(`${"x".repeat(62)}_2`);
    const gap = `${"x".repeat(61)}_yy`;
    expect(uniqueToolName(gap, new Set([gap]))).toBe(`${"x".repeat(61)}_2`);
  });

  it("returns unique and valid names for many equal names", () => {
    const taken = new Set<string>();
    for (let n = 0; n < 120; n++) taken.add(uniqueToolName(toolName("y".repeat(99)), taken));
    expect(taken.size).toBe(120);
    for (const name of taken) expect(checkToolName(name)).toBeUndefined();
    expect(Math.max(...[...taken].map((name) => name.length))).toBe(MAX_NAME_LENGTH);
  });
});

describe("checkToolName", () => {
  it.each(["a", "get_weather", "get__weather", "a1"])("accepts %s", (name) => {
    expect(checkToolName(name)).toBeUndefined();
  });

  it.each([
    "",
    "123_go",
    "_a",
    "a_",
    "Weather",
    "get-weather",
    "wetter_ü",
    "a b",
    "a\n",
    "x".repeat(65),
  ])("returns the rule for %j", (name) => {
    expect(checkToolName(name)).toBe(TOOL_NAME_RULE);
  });
});
