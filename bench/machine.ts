/** Describes the machine, because figures are comparable only on the same machine. */
import { execFileSync } from "node:child_process";
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { makeFolder, removeFolder } from "./cleanup.ts";
import { median } from "./statistics.ts";

export interface Machine {
  date: string;
  commit: string;
  node: string;
  platform: string;
  cores: number;
  cpu: string;
  memoryGB: number;
  /** Time to append 10 KB to a file and fsync it: the lower limit for a durable response. */
  fsyncMs: number;
}

export function describeMachine(): Machine {
  const processors = cpus();
  return {
    date: new Date().toISOString(),
    commit: commit(),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    cores: processors.length,
    cpu: processors[0]?.model.trim() ?? "unknown",
    memoryGB: Math.round(totalmem() / 2 ** 30),
    fsyncMs: measureFsync(),
  };
}

function commit(): string {
  const git = (...args: string[]) =>
    execFileSync("git", args, {
      cwd: import.meta.dirname,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  try {
    return (
      git("rev-parse", "--short", "HEAD") +
      (git("status", "--porcelain") ? " with local changes" : "")
    );
  } catch {
    return "none";
  }
}

function measureFsync(): number {
  const folder = makeFolder();
  const file = openSync(join(folder, "probe"), "w");
  const page = Buffer.alloc(10_240, 1);
  const times: number[] = [];
  for (let at = 0; at < 100; at += 1) {
    const start = performance.now();
    writeSync(file, page);
    fdatasyncSync(file);
    times.push(performance.now() - start);
  }
  closeSync(file);
  removeFolder(folder);
  return median(times);
}
