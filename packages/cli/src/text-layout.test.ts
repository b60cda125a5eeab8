import { expect, it } from "vitest";
import { clip, displayWidth, pad, toPrintable, wrap } from "./text-layout.ts";

it("measures, cuts and pads text by the columns of a terminal", () => {
  expect([displayWidth("lamp"), displayWidth("信号"), displayWidth("🚦 on")]).toEqual([4, 4, 5]);
  expect(clip("signal", 6)).toBe("signal");
  expect(clip("signals", 6)).toBe("signa…");
  expect(clip("信号信号", 5)).toBe("信号…");
  expect(pad("信号", 6)).toBe("信号  ");
});

it("breaks paragraphs between words, and does not break a long word", () => {
  expect(wrap("one two three\nfour", 8)).toEqual(["one two", "three", "four"]);
  expect(wrap("a https://hub.example/x b", 5)).toEqual(["a", "https://hub.example/x", "b"]);
});

it("replaces characters that control a terminal", () => {
  expect(toPrintable("red\u001b[31m lamp\r\nnext\u202e")).toBe("red [31m lamp next ");
});
