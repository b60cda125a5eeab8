/** Large outputs are loaded for the nodes that read them: in the same process, and after a crash. */
import { parseIfLarge } from "@signalbox/rules/large-json.ts";
import { expect } from "vitest";
import type { WrittenStep } from "../../store/run-store.ts";
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

  it("continues loops whose results are together too large for a claim", async (f) => {
    const text = "x".repeat(12_000);
    const items = Array.from({ length: 110 }, (_, at) => at);
    const loops = [1, 2, 3, 4];
    const make = await f.publish(
      [
        start,
        ...loops.flatMap((nth) => [
          node(`each${nth}`, "ForEach", { items, atOnce: 10 }),
          probe(`inner${nth}`, { value: `{{ item }} ${text}` }),
        ]),
        node("end", "Return", { value: loops.map((nth) => `{{ each${nth}[109] }}`) }),
      ],
      edges(
        "start > each1",
        ...loops.map((nth) => `each${nth}.item > inner${nth}`),
        "each1.done > each2",
        "each2.done > each3",
        "each3.done > each4",
        "each4.done > end",
      ),
    );
    const isLate = ({ item, status }: WrittenStep) => item === "each4:100" && status === "done";
    const { id } = await f.openCrashable({}, isLate).start(make());
    await expect.poll(async () => (await f.steps(id)).includes("inner4@each4:100 done")).toBe(true);
    f.openRunner({ now: () => Date.now() + HOUR / 2 });
    await expect.poll(() => f.status(id)).toBe("succeeded");
    const { output } = await f.run(id);
    expect(parseIfLarge(output)).toEqual(loops.map(() => `109 ${text}`));
    expect(f.calls.length).toBeLessThan(480);
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
