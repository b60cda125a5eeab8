import { expect, it, onTestFinished, vi } from "vitest";
import { createOpenStreams } from "./sessions-streams.ts";

const access = { token: "ada", name: "Ada", scopes: ["inbox:read" as const], tenants: ["acme"] };

it("looks at each token once at a time, and sends away whose is no longer good", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const answers: ((good: boolean) => void)[] = [];
  const streams = createOpenStreams({
    isStillGood: () => new Promise((resolve) => answers.push(resolve)),
    onError: () => {},
  });
  onTestFinished(streams.close);
  const end = vi.fn();
  streams.hold(new Response(new ReadableStream()), {
    request: new Request("http://hub/mcp"),
    access,
    end,
    onRoom: () => {},
    onEnd: () => {},
  });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(answers).toHaveLength(1);
  answers[0]?.(true);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(answers).toHaveLength(2);
  expect(end).not.toHaveBeenCalled();
  answers[1]?.(false);
  await vi.advanceTimersByTimeAsync(0);
  expect(end).toHaveBeenCalledTimes(1);
});
