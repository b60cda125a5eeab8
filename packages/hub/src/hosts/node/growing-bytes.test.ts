import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { GrowingBytes } from "./growing-bytes.ts";

it.each([10, 100_000, 262_144, 262_145, 3_000_000])(
  "joins chunks of %i bytes in total",
  (total) => {
    const given = Buffer.from(Array.from({ length: total }, (_, at) => at % 251));
    for (const step of [1 + Math.floor(total / 7), 70_001, total]) {
      const bytes = new GrowingBytes(total);
      for (let at = 0; at < total; at += step) bytes.append(given.subarray(at, at + step));
      expect(bytes.size).toBe(total);
      expect(given.equals(bytes.end())).toBe(true);
      bytes.free();
    }
  },
);

const residentMegabytes = () => {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  return Number(kilobytes) / 1024;
};

it.runIf(process.platform === "linux")(
  "takes memory for the bytes that have arrived, and returns it when they are freed",
  () => {
    const chunk = Buffer.alloc(1_000_000, 1);
    const before = residentMegabytes();
    const all = Array.from({ length: 20 }, () => new GrowingBytes(25_000_000));
    for (const bytes of all) for (let at = 0; at < 10; at += 1) bytes.append(chunk);
    const held = residentMegabytes() - before;
    expect(held).toBeGreaterThan(150);
    expect(held).toBeLessThan(300);
    for (const bytes of all) bytes.free();
    expect(residentMegabytes() - before).toBeLessThan(50);
  },
);
