/** Tests that large outputs are loaded for the nodes that read them, even after a crash. */
import { parseIfLarge } from "@signalbox/rules/large-json.ts";
import { expect } from "vitest";
import type { It } from "../contract.ts";
import type { WrittenStep } from "../model.ts";
import { edges, gate, HOUR, node, probe, start } from "./fixture.ts";

/** Outputs a list of about 100 kB whose items are `text`. */
const large = (slug: string, text: string) =>
  probe(slug, { value: text.padEnd(1_000, "."), times: 100 });

export function largeOutputsContract(it: It): void {
  it("reads large outputs in templates, inputs, loops and its result", async (fixture) => {
    const createRun = await fixture.publish(
      [
        start,
        large("a", "of a"),
        large("b", "of b"),
        gate("hold"),
        node("each", "ForEach", { items: [0, 1] }),
        probe("inner", { value: "{{ a[0] }}" }),
        node("merge", "Merge", {}),
        node("end", "Return", { value: ["{{ a[1] }}", "{{ b[2] }}", "{{ each }}"] }),
      ],
      edges("start > a > b > hold > each.item > inner", "each.done > merge", "merge > end"),
    );
    const result = (text: string) => text.padEnd(1_000, ".");
    const expected = [result("of a"), result("of b"), [result("of a"), result("of a")]];

    const crashable = fixture.openCrashable();
    const crashed = await crashable.start(createRun());
    await expect.poll(() => fixture.calls.at(-1)).toBe("hold begins");
    crashable.crash();
    fixture.open("hold");
    const runner = fixture.openRunner({ now: () => Date.now() + HOUR / 2 });
    const { ended } = await runner.start(createRun());
    expect((await ended).output).toEqual(expected);
    await expect.poll(() => fixture.status(crashed.id)).toBe("succeeded");
    expect((await fixture.run(crashed.id)).output).toEqual(expected);
    expect(fixture.calls.filter((call) => call.startsWith("a "))).toHaveLength(2);
  });

  it("continues loops whose results together exceed what a claim loads", async (fixture) => {
    const text = "x".repeat(12_000);
    const items = Array.from({ length: 110 }, (_, index) => index);
    const loops = [1, 2, 3, 4];
    const createRun = await fixture.publish(
      [
        start,
        ...loops.flatMap((loop) => [
          node(`each${loop}`, "ForEach", { items, atOnce: 10 }),
          probe(`inner${loop}`, { value: `{{ item }} ${text}` }),
        ]),
        node("end", "Return", { value: loops.map((loop) => `{{ each${loop}[109] }}`) }),
      ],
      edges(
        "start > each1",
        ...loops.map((loop) => `each${loop}.item > inner${loop}`),
        "each1.done > each2",
        "each2.done > each3",
        "each3.done > each4",
        "each4.done > end",
      ),
    );
    const isLate = ({ item, status }: WrittenStep) => item === "each4:100" && status === "done";
    const { id } = await fixture.openCrashable({}, isLate).start(createRun());
    await expect
      .poll(async () => (await fixture.steps(id)).includes("inner4@each4:100 done"))
      .toBe(true);
    fixture.openRunner({ now: () => Date.now() + HOUR / 2 });
    await expect.poll(() => fixture.status(id)).toBe("succeeded");
    const { output } = await fixture.run(id);
    expect(parseIfLarge(output)).toEqual(loops.map(() => `109 ${text}`));
    expect(fixture.calls.length).toBeLessThan(480);
  });

  it("passes the whole large output to a node as its input, and returns it", async (fixture) => {
    const createRun = await fixture.publish(
      [start, large("a", "of a"), gate("hold"), node("all", "Merge", {})],
      edges("start > a > all", "start > hold > all"),
    );
    const expected = { a: Array(100).fill("of a".padEnd(1_000, ".")), hold: null };
    const runner = fixture.openRunner();
    const { id, ended } = await runner.start(createRun());
    await expect.poll(() => fixture.calls).toContain("hold begins");
    await expect.poll(async () => (await fixture.steps(id)).includes("a done")).toBe(true);
    fixture.open("hold");
    expect((await ended).output).toEqual(expected);
  });
}
