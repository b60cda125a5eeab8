/** Large outputs are loaded for the nodes that read them: in the same process, and after a crash. */
import { expect } from "vitest";
import type { It } from "../contract.ts";
import { edges, gate, HOUR, node, probe, start } from "./fixture.ts";

/** Outputs a list of about 100 kB whose items are `text`. */
const large = (slug: string, text: string) =>
  probe(slug, { value: text.padEnd(1_000, "."), times: 100 });

export function largeOutputsContract(it: It): void {
  it("reads large outputs by templates, inputs, loops and its result", async (f) => {
    const make = await f.publish(
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

    const crashable = f.openCrashable();
    const crashed = await crashable.start(make());
    await expect.poll(() => f.calls.at(-1)).toBe("hold begins");
    crashable.crash();
    f.open("hold");
    const runner = f.openRunner({ now: () => Date.now() + HOUR / 2 });
    const { ended } = await runner.start(make());
    expect((await ended).output).toEqual(expected);
    await expect.poll(() => f.status(crashed.id)).toBe("succeeded");
    expect((await f.run(crashed.id)).output).toEqual(expected);
    expect(f.calls.filter((call) => call.startsWith("a "))).toHaveLength(2);
  });

  it("has the whole output of its last node, and passes it to a node as its input", async (f) => {
    const make = await f.publish(
      [start, large("a", "of a"), gate("hold"), node("all", "Merge", {})],
      edges("start > a > all", "start > hold > all"),
    );
    const expected = { a: Array(100).fill("of a".padEnd(1_000, ".")), hold: null };
    const runner = f.openRunner();
    const { id, ended } = await runner.start(make());
    await expect.poll(() => f.calls).toContain("hold begins");
    await expect.poll(async () => (await f.steps(id)).includes("a done")).toBe(true);
    f.open("hold");
    expect((await ended).output).toEqual(expected);
  });
}
