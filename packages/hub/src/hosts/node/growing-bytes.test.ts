import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { GrowingBytes } from "./receive.ts";

it.each([10, 100_000, 262_144, 262_145, 3_000_000])(
  "joins chunks of %i bytes in total",
  (total) => {
    const content = Buffer.from(Array.from({ length: total }, (_, at) => at % 251));
    for (const step of [1 + Math.floor(total / 7), 70_001, total]) {
      const bytes = new GrowingBytes(total);
      for (let at = 0; at < total; at += step) bytes.append(content.subarray(at, at + step));
      expect(bytes.size).toBe(total);
      expect(content.equals(bytes.end())).toBe(true);
      bytes.free();
    }
  },
);

// Runs in a separate process: here, the garbage collection of other tests' memory would change the result.
const measure = `
  import { readFileSync } from "node:fs";
  import { GrowingBytes } from ${JSON.stringify(new URL("./receive.ts", import.meta.url).href)};
  const megabytes = () => {
    const status = readFileSync("/proc/self/status", "utf8");
    const kilobytes = (field) => Number(new RegExp(field + ":[^0-9]*([0-9]+) kB").exec(status)[1]);
    return (kilobytes("RssAnon") + kilobytes("VmSwap")) / 1024;
  };
  const chunk = Buffer.alloc(1_000_000, 1);
  const before = megabytes();
  const all = Array.from({ length: 20 }, () => new GrowingBytes(25_000_000));
  for (const bytes of all) for (let at = 0; at < 10; at += 1) bytes.append(chunk);
  const used = megabytes() - before;
  for (const bytes of all) bytes.free();
  console.log(JSON.stringify({ used, remaining: megabytes() - before }));
`;

it.runIf(process.platform === "linux")(
  "takes memory for the bytes that have arrived, and returns it when they are freed",
  () => {
    const printed = execFileSync(process.execPath, ["--input-type=module", "-e", measure]);
    const { used, remaining } = JSON.parse(printed.toString());
    expect(used).toBeGreaterThan(150);
    expect(used).toBeLessThan(300);
    expect(remaining).toBeLessThan(50);
  },
);
