/** CPU time and memory of other processes, from /proc or, on systems without it, from `ps`. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

const hasProc = existsSync("/proc/self/stat");
const ticksPerSecond = hasProc
  ? Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }))
  : 1;

/** CPU time of a process in seconds, all threads. */
export function cpuSeconds(pid: number): number {
  if (!hasProc) return parseTime(ps("time", pid));
  const stat = readStat(pid);
  return stat ? stat.self : Number.NaN;
}

/** As `cpuSeconds`, including running and ended child processes. */
export function cpuSecondsWithChildren(pid: number): number {
  if (!hasProc) {
    const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid=,time="], { encoding: "utf8" });
    return lines
      .trim()
      .split("\n")
      .map((line) => line.trim().split(/\s+/))
      .filter(([id, parent]) => Number(id) === pid || Number(parent) === pid)
      .reduce((sum, [, , time]) => sum + parseTime(time ?? ""), 0);
  }
  let sum = 0;
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readStat(Number(name));
    if (Number(name) === pid) sum += (stat?.self ?? 0) + (stat?.endedChildren ?? 0);
    else if (stat?.parent === pid) sum += stat.self;
  }
  return sum;
}

/** Seconds that the main thread was ready to run but had no CPU; NaN on systems without schedstat. */
export function cpuWaitSeconds(pid: number): number {
  const file = `/proc/${pid}/schedstat`;
  return existsSync(file) ? Number(readFileSync(file, "utf8").split(" ")[1]) / 1e9 : Number.NaN;
}

/** Resident memory of a process in bytes. */
export function residentBytes(pid: number): number {
  if (!hasProc) return Number(ps("rss", pid)) * 1024;
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) * 1024;
}

/** Resident memory of all running child processes in bytes. A shared page counts once per process. */
export function residentBytesOfChildren(pid: number): number {
  const children = execFileSync("ps", ["-A", "-o", "ppid=,rss="], { encoding: "utf8" });
  return children
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .reduce((sum, [parent, kilobytes = 0]) => sum + (parent === pid ? kilobytes * 1024 : 0), 0);
}

function readStat(
  pid: number,
): { parent: number; self: number; endedChildren: number } | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined; // the process has just ended
  }
  // proc_pid_stat(5) numbers the fields. The second one, the process name, can contain spaces and
  // brackets, so the fields are counted from the third one, after the last closing bracket.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const seconds = (field: number) => Number(fields[field - 3]) / ticksPerSecond;
  return {
    parent: Number(fields[1]),
    self: seconds(14) + seconds(15),
    endedChildren: seconds(16) + seconds(17),
  };
}

const ps = (column: string, pid: number): string =>
  execFileSync("ps", ["-o", `${column}=`, "-p", String(pid)], { encoding: "utf8" }).trim();

/** Parses `[[days-]hours:]minutes:seconds`, as `ps` prints it; returns seconds. */
function parseTime(time: string): number {
  const [clock = "", days = "0"] = time.split("-").reverse();
  const seconds = clock.split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
  return Number(days) * 86_400 + seconds;
}
