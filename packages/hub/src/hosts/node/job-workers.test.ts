import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Evaluation, SerializedResult } from "@signalbox/rules/flows/evaluation.ts";
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { LargeJson } from "@signalbox/rules/large-json.ts";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import type { JobCaller } from "../../kernel/jobs/job.ts";
import { READY } from "../../kernel/jobs/worker-pool.ts";
import { createJobWorkers } from "./job-workers.ts";

const workers = createJobWorkers({ maxWorkers: 2, graceMs: 2000 });
afterAll(() => workers.close());

const acme: JobCaller = { tenant: "acme", signal: new AbortController().signal };
type JavaScript = Extract<Evaluation, { job: "javascript" }>;
const evaluate = (
  code: string,
  overrides: Partial<JavaScript> = {},
  caller: Partial<JobCaller> = {},
) =>
  workers.runJob(
    { job: "javascript", code, data: {}, timeoutMs: 50, memoryMb: 32, ...overrides },
    { ...acme, ...caller },
  );
const data = (input: Json): { data: JsonObject } => ({ data: { input, trigger: null, nodes: {} } });

describe("JavaScript", () => {
  it("reads its data, and returns a value", async () => {
    const names = {
      input: [1, 2],
      trigger: { a: 1 },
      nodes: { fetch: { b: 2 } },
      item: "x",
      index: 3,
    };
    const code = "return [input[1], trigger.a, nodes.fetch.b, item, index, typeof secrets]";
    expect(await evaluate(code, { data: names })).toEqual({
      log: [],
      output: [2, 1, 2, "x", 3, "undefined"],
    });
  });

  it.each<[string, Json]>([
    ["", null],
    ["return", null],
    ["return undefined", null],
    ["return () => 1", null],
    ["return [undefined, NaN, 1/0]", [null, null, null]],
    ["return { a: new Date(0), b: undefined }", { a: "1970-01-01T00:00:00.000Z" }],
    ["return 1 // the last line", 1],
    ["if (input > 1) { return 'large' }\nreturn 'small'", "large"],
    ["return '\\u0000ü\\ud83d\\ude00'", "\u0000ü😀"],
    ["return await Promise.resolve(1)", 1],
    ["const [a, b] = await Promise.all([1, (async () => 2)()])\nreturn a + b", 3],
    ["return Promise.resolve(1)", 1],
    ["return (async () => 1)()", 1],
  ])("%j returns %j", async (code, output) => {
    expect(await evaluate(code, data(2))).toEqual({ log: [], output });
  });

  it("cannot change its data", async () => {
    for (const code of ["input.a = 2", "input.list.push(1)", "delete input.a", "nodes.x = 1"])
      expect(await evaluate(code, data({ a: 1, list: [] }))).toMatchObject({
        error: "code_failed",
        message: expect.stringMatching(/^TypeError: .*\(line 1\)$/),
      });
  });

  it("writes to a log of limited size", async () => {
    const code =
      "console.log('a', { b: 1 }, undefined); console.error(input); console.debug(); return 1";
    expect(await evaluate(code, data([1]))).toEqual({
      log: [
        { level: "log", text: 'a {"b":1} undefined' },
        { level: "error", text: "[1]" },
        { level: "debug", text: "" },
      ],
      output: 1,
    });
    const { log } = await evaluate("for (let i = 0; i < 500; i++) console.log('x'.repeat(5000))");
    expect(log).toHaveLength(101);
    const cut = { level: "log", text: `${"x".repeat(1000)}…` };
    expect(log[0]).toEqual(cut);
    expect(log.at(-1)).toEqual({ level: "log", text: "… and more" });
    const tricky =
      "String.prototype.slice = function () { return this }; console.log('x'.repeat(5000))";
    expect((await evaluate(tricky)).log[0]).toEqual(cut);
  });

  it("logs any value without failing", async () => {
    const code = `
      const circle = {}; circle.self = circle;
      console.log(new TypeError("no"), 1n, Symbol("s"), () => 1);
      console.log({ error: new Error("no"), big: [2n], map: new Map([["a", 1]]), set: new Set([3]) });
      console.log(new Map([["a", 1n]]), "a\\0b\\ud800");
      console.log(circle, { toJSON() { throw 1 } }, Object.create(null), { toJSON() { throw 1 }, toString() { throw 1 } });
      console.log(new Proxy({}, { getPrototypeOf() { throw 1 }, get() { throw 1 } }));
      console.table([1]); console.trace("here"); console.dir({}); console.group("g"); console.groupEnd();
      console.assert(true, "fine"); console.assert(false, "odd");
      return 1`;
    const { log, ...rest } = await evaluate(code);
    expect(rest).toEqual({ output: 1 });
    expect(log.map(({ text }) => text)).toEqual([
      "TypeError: no 1 Symbol(s) () => 1",
      '{"error":"Error: no","big":["2"],"map":[["a",1]],"set":[3]}',
      '[["a","1"]] a\0b\ud800',
      "[object Object] [object Object] {} (cannot be shown)",
      "(cannot be shown)",
      "[1]",
      "here",
      "{}",
      "g",
      "",
      "Assertion failed: odd",
    ]);
    expect(log.map(({ level }) => level)).toEqual([...Array(10).fill("log"), "error"]);
  });

  it.each([
    ["return 1 +", "SyntaxError: "],
    ["\n\nfoo.bar", "ReferenceError: 'foo' is not defined (line 3)"],
    ["throw new Error('no such city')", "Error: no such city (line 1)"],
    ["throw 'text'", "throws text"],
    ["throw null", "throws null"],
    ["throw undefined", "throws undefined"],
    ["throw new Error('before\\0after')", "Error: before\0after (line 1)"],
    ["throw 'before\\0after'", "throws before\0after"],
    ["throw 5n", "throws 5"],
    ["throw { a: 1 }", "throws an object"],
    ["throw { message: {}, name: 5, stack: [] }", "throws an object"],
    ["throw Symbol('x')", "throws "],
    ["throw 'x'.repeat(1e6)", "throws xxx"],
    ["return 1n", "TypeError: "],
    ["const a = {}; a.a = a; return a", "TypeError: circular"],
    ["await new Promise(() => {})", "it waits for a promise that never settles"],
    ["await null\nawait Promise.reject(new Error('no'))", "Error: no (line 2)"],
    ["const f = async () => {\n  throw new Error('no')\n}\nawait f()", "Error: no (line 2)"],
    ["import x from 'y'", "SyntaxError: "],
    ["}), 5, ({", "TypeError: "],
  ])("%j fails with a message", async (code, message) => {
    const evaluated = await evaluate(code);
    expect(evaluated).toMatchObject({
      error: "code_failed",
      message: expect.stringContaining(message),
    });
    expect("message" in evaluated && evaluated.message.length).toBeLessThan(1200);
  });

  describe("is parsed without running it", () => {
    const parse = async (...expressions: string[]) => {
      const program = { job: "javascript-syntax" as const, expressions };
      const result = await workers.runJob({ ...program, data: null, timeoutMs: 5000 }, acme);
      if (!("output" in result)) throw new Error(result.message);
      return (result.output as { problem?: string }[]).map(({ problem }) => problem);
    };

    it("accepts valid code", async () => {
      const valid = ["return 1", "await null", "for (;;);", "throw 1 // the last line", "'\0'"];
      expect(await parse(...valid)).toEqual(valid.map(() => undefined));
    });

    it.each([
      ["const a = 1;\n\nconst b = ;\nreturn a", /^SyntaxError: .* \(line 3\)$/],
      ["const a = 1; const a = 2;", /^SyntaxError: .* \(line 1\)$/],
      ["const a = {\n  b: 1\n\n  c: 2 }", /^SyntaxError: .* \(line 4\)$/],
      ["return `a\n\n${" + "1 +}`", /^SyntaxError: .* \(line 3\)$/],
      ["return 1 +", /^SyntaxError: unexpected end of the code \(line 1\)$/],
      ["if (input) {\n  return 1;\n", /^SyntaxError: unexpected end of the code \(line 3\)$/],
      ["import x from 'y'", /^SyntaxError: .* \(line 1\)$/],
      ["function f() {\n  await 1\n}", /^SyntaxError: .* \(line 2\)$/],
    ])("%j has an error with the line of the author", async (code, problem) => {
      expect(await parse("return 1", code)).toEqual([undefined, expect.stringMatching(problem)]);
      // A run has the same message.
      expect(await evaluate(code)).toMatchObject({ message: expect.stringMatching(problem) });
    });

    it.each(["(".repeat(99_999), "[".repeat(50_000), "`${".repeat(30_000), "a=>".repeat(30_000)])(
      "survives deep nesting",
      async (code) => {
        const [problem, next] = await parse(code, "return 1");
        expect(problem).toMatch(/Error|nested too deeply/);
        expect(next).toBeUndefined();
      },
    );
  });

  it("has no access to the host", async () => {
    const code = `
      const found = [];
      const names = ["process", "require", "module", "global", "Buffer", "fetch", "WebAssembly",
        "setTimeout", "setInterval", "queueMicrotask", "std", "os", "self", "window", "importScripts"];
      const wide = [globalThis, this, (0, eval)("this"), (function () { return this })(), Function("return this")(),
        console, console.log, input].filter((one) => one != null);
      for (const one of wide) for (const name of names)
        try { if (one[name] !== undefined) found.push(name) } catch {}
      for (const name of names)
        for (const make of [Function, console.log.constructor, input.constructor.constructor,
          [].constructor.constructor, (async () => {}).constructor, (function* () {}).constructor])
          try {
            const value = make("return typeof " + name)();
            if (typeof value === "string" && value !== "undefined") found.push(name);
          } catch {}
      return found`;
    expect(await evaluate(code, data({}))).toEqual({ log: [], output: [] });
  });

  it.each([
    "this.constructor.constructor('return process')()",
    "return console.log.constructor('return process')().env",
    "return new Function('return process')().exit()",
    "return input.__proto__.constructor.constructor('return process')().mainModule",
    "return Error.prepareStackTrace = (e, s) => s, new Error().stack[0].getThis()",
    "return import('node:fs').then((fs) => fs.readFileSync('/etc/passwd'))",
    "return import.meta.url",
  ])("%j cannot reach the host", async (code) => {
    expect(await evaluate(code, data({}))).toMatchObject({ error: "code_failed" });
  });

  it("leaves no state for the next evaluation", async () => {
    const code = `
      Object.prototype.polluted = 1; Array.prototype.map = () => "mine"; globalThis.left = 1;
      JSON.stringify = () => '"mine"'; JSON.parse = () => "mine"; String.prototype.slice = () => "mine";
      Object.freeze = (one) => one; console.x = 1; input.__proto__.y = 1`;
    expect(await evaluate(code, data({}))).toMatchObject({ error: "code_failed" }); // console is frozen
    expect(await evaluate(code.replace("console.x = 1;", ""), data({}))).toEqual({
      log: [],
      output: null,
    });
    const readAll =
      "return [({}).polluted, [1].map((n) => n + 1), typeof left, 'abc'.slice(1), ({}).y]";
    expect(await evaluate(readAll)).toEqual({
      log: [],
      output: [null, [2], "undefined", "bc", null],
    });
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect([1].map((n) => n)).toEqual([1]);
  });

  it("returns `__proto__` as an ordinary key, and changes no prototype", async () => {
    const code = `return JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}')`;
    const evaluated = await evaluate(code);
    if (!("output" in evaluated)) throw new Error(evaluated.message);
    const output = evaluated.output as JsonObject;
    expect(Object.keys(output)).toEqual(["__proto__", "constructor"]);
    expect(Object.getPrototypeOf(output)).toBe(Object.prototype);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(await evaluate("return input", data(output))).toEqual(evaluated);
  });

  it.each([
    ["an endless loop", "for (;;);"],
    [
      "an endless loop that catches exceptions",
      "for (;;) try { for (;;); } catch { } finally { for (;;); }",
    ],
    ["a regular expression that backtracks", "return /(a+)+$/.test('a'.repeat(40) + 'b')"],
    ["a getter of the result", "return { get a() { for (;;); } }"],
    ["a toJSON method", "return { toJSON() { for (;;); } }"],
    ["a proxy", "return new Proxy({}, { ownKeys() { for (;;); } })"],
    ["a getter of an error's message", "throw { get message() { for (;;); } }"],
    [
      "an error's stack",
      "const e = new Error(); Object.defineProperty(e, 'stack', { get() { for (;;); } }); throw e",
    ],
    ["a getter of `then`", "return { get then() { for (;;); }, get a() { for (;;); } }"],
    ["an argument of console.log", "console.log({ toJSON() { for (;;); } })"],
    ["a generator", "function* g() { for (;;) yield 1 } for (const _ of g());"],
    ["a sort", "[1, 2].sort(() => { for (;;); })"],
    ["code after an await", "await null; for (;;);"],
    ["endless promises", "const f = () => Promise.resolve().then(f); await f()"],
    ["promises that are not awaited", "const f = async () => { await null; f() }; f()"],
    ["code outside of the function", "}); for (;;); (function () {"],
  ])("ends at the CPU limit: %s", async (_, code) => {
    expect(await evaluate(code)).toMatchObject({
      error: "code_timeout",
      message: "exceeds the time limit of 50 ms",
    });
  });

  it.each([
    ["many objects", "const all = []; for (;;) all.push({ a: [] })"],
    ["large texts", "const all = []; for (;;) all.push('x'.repeat(1e5))"],
    ["one large text", "let a = 'x'.repeat(1000); for (;;) a = (a + a).toUpperCase()"],
    ["large buffers", "const all = []; for (;;) all.push(new Uint8Array(1e6))"],
    ["one large buffer", "return new ArrayBuffer(2 ** 30).byteLength"],
    ["a large array", "return new Array(1e9).fill(1)"],
    [
      "a large array whose allocation error is caught",
      "for (;;) try { new Array(1e9).fill(1) } catch { }",
    ],
    ["a large number", "let n = 3n; for (;;) n = n * n"],
    ["a map", "const m = new Map(); for (let i = 0; ; i++) m.set(i, [i])"],
    ["the log", "for (;;) console.log('x'.repeat(1e6))"],
    ["an error", "throw new Error('x'.repeat(1e9))"],
  ])("ends if it allocates too much memory: %s", async (_, code) => {
    // Which limit it reaches first depends on the engine.
    expect(await evaluate(code, { timeoutMs: 500 })).toMatchObject({
      error: expect.stringMatching(/^code_(out_of_memory|timeout|failed)$/),
    });
    expect(await evaluate("return 1")).toEqual({ log: [], output: 1 });
  });

  it.each([
    "(function f() { f() })()",
    "const f = () => f(); f()",
    "const p = new Proxy({}, { get: (_, n, r) => r[n] }); p.x",
    "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a",
    "return '('.repeat(1e5) && eval('('.repeat(1e5))",
    "new RegExp('('.repeat(1e5) + ')'.repeat(1e5))",
  ])("fails if it recurses or nests too deeply: %s", async (code) => {
    expect(await evaluate(code, { timeoutMs: 500, memoryMb: 128 })).toMatchObject({
      error: expect.stringMatching(/^code_(failed|out_of_memory|timeout)$/),
    });
  });

  it.each([
    ["a returned promise", "return (function f() { return Promise.resolve().then(f) })()"],
    ["an awaited promise", "const f = () => Promise.resolve().then(f); await f()"],
    ["an async function", "const f = async () => { await null; return f() }; await f()"],
    ["a thrown value", "let a = {}; try { for (;;) a = { a } } catch (error) { throw error }"],
  ])("names the limit that it exceeds: the memory, by %s", async (_, code) => {
    expect(await evaluate(code, { timeoutMs: 2_000, memoryMb: 16 })).toEqual({
      log: [],
      error: "code_out_of_memory",
      message: "exceeds the memory limit of 16 MB",
    });
  });

  it.each([
    ["returned", "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a"],
    ["logged", "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; console.log(a)"],
    ["parsed", "return JSON.parse('['.repeat(1e5) + ']'.repeat(1e5))"],
    ["a promise", "const f = async () => { await f() }; return f()"],
    ["a getter", "const a = { get b() { return a.b } }; return a.b"],
  ])("names the limit that it exceeds: the stack, by nesting (%s)", async (_, code) => {
    expect(await evaluate(code, { timeoutMs: 2_000, memoryMb: 64 })).toMatchObject({
      error: "code_failed",
      message: expect.stringContaining("stack overflow"),
    });
  });

  it("fails if its output is too large or nested too deeply", async () => {
    expect(await evaluate("return 'x'.repeat(5e6)", { memoryMb: 128 })).toMatchObject({
      error: "output_too_large",
      message: "returns more than 4000000 characters as JSON",
    });
    expect(
      await evaluate("let a = 1; for (let i = 0; i < 300; i++) a = [a]; return a"),
    ).toMatchObject({
      error: "output_too_large",
      message: "returns JSON nested deeper than 200 levels",
    });
  });

  it("fails if its data is too large", async () => {
    expect(await evaluate("return 1", data("x".repeat(32_000_000)))).toMatchObject({
      error: "code_out_of_memory",
      message: "would read more than 32000000 characters of data as JSON",
    });
  });

  it("fails if its data exceeds its memory limit", async () => {
    const input = Array.from({ length: 300_000 }, (_, at) => ({ at }));
    expect(await evaluate("return 1", { ...data(input), memoryMb: 16 })).toMatchObject({
      error: "code_out_of_memory",
      message: "exceeds the memory limit of 16 MB",
    });
  });
});

describe("JSONata", () => {
  const jsonata = (code: string, input: Json = null) =>
    workers.runJob({ job: "jsonata", expression: code, ...data(input), timeoutMs: 1000 }, acme);

  it.each<[string, Json]>([
    ["input.a", 1],
    ["input.nothing", null],
    ["input.list", [1, 2]],
    ["input.list[$ > 1]", 2],
    ['{ "sum": $sum(input.list) }', { sum: 3 }],
    ["$map(input.list, function($n) { $n * 2 })", [2, 4]],
    ["[input.list.{ 'n': $ }]", [{ n: 1 }, { n: 2 }]],
    ["nodes", {}],
  ])("%s returns %j", async (code, output) => {
    expect(await jsonata(code, { a: 1, list: [1, 2] })).toEqual({ log: [], output });
  });

  it("builds an object with 150 fields", async () => {
    const fields = Array.from({ length: 150 }, (_, at) => `"f${at}": $string(input.list[$ > 1])`);
    const { output } = (await jsonata(`{ ${fields.join(", ")} }`, { list: [1, 2] })) as {
      output: Json;
    };
    expect(Object.values(output ?? {})).toEqual(Array(150).fill("2"));
  });

  it.each([
    ["input.(", "at character"],
    ["function($x) { $x }", "returns a function"],
    ['{ "f": $sum }', "returns a function"],
    ["$error('no such city')", "no such city"],
  ])("%s fails with a message", async (code, message) => {
    expect(await jsonata(code)).toMatchObject({
      error: "code_failed",
      message: expect.stringContaining(message),
    });
  });

  it("cannot change a prototype", async () => {
    await jsonata('{ "__proto__": { "polluted": 1 } }');
    await jsonata('$ ~> |$|{ "__proto__": { "polluted": 1 } }|');
    await jsonata('$merge([{ "__proto__": { "polluted": 1 } }]).constructor');
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(await jsonata("input.polluted", {})).toEqual({ log: [], output: null });
  });
});

describe("the worker processes", () => {
  it("do not block the event loop while code hangs", async () => {
    let ticks = 0;
    const ticking = setInterval(() => {
      ticks += 1;
    }, 1);
    await evaluate("for (;;);", { timeoutMs: 500 });
    clearInterval(ticking);
    expect(ticks).toBeGreaterThan(5);
  });

  it("are replaced when the engine cannot be interrupted", async () => {
    const strict = createJobWorkers({ maxWorkers: 2, graceMs: 1000 });
    const run = (code: string) =>
      strict.runJob({ job: "javascript", code, data: {}, timeoutMs: 1000, memoryMb: 128 }, acme);
    // A native search, which QuickJS does not interrupt.
    const uninterruptible = "return 'a'.repeat(4e6).indexOf('a'.repeat(2e6) + 'b')";
    const [hung, next] = await Promise.all([run(uninterruptible), run("return 1")]);
    expect(hung).toMatchObject({ error: "code_timeout" });
    expect(next).toEqual({ log: [], output: 1 });
    await strict.close();
  });

  it("return each result to its caller", async () => {
    const pool = createJobWorkers({ maxWorkers: 3 });
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        pool.runJob(
          {
            job: "javascript",
            code: "return input",
            ...data(at),
            timeoutMs: 1000,
            memoryMb: 16,
          },
          acme,
        ),
      ),
    );
    expect(results).toEqual(results.map((_, output) => ({ log: [], output })));
    await pool.close();
  });

  it("evaluate expressions in batches, in which only the expression that exceeds its time limit fails", async () => {
    const pool = createJobWorkers({ maxWorkers: 2 });
    const endless = "($f := function($n) { $f($n + 1) }; $f(0))";
    const results = await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        pool.runJob(
          {
            job: "jsonata",
            expression: at === 5 ? endless : "input * 2",
            ...data(at),
            timeoutMs: 300,
          },
          acme,
        ),
      ),
    );
    expect(results).toEqual(
      results.map((_, at) =>
        at === 5
          ? { log: [], error: "code_timeout", message: "exceeds the time limit of 300 ms" }
          : { log: [], output: at * 2 },
      ),
    );
    await pool.close();
  });

  it("return the results so far if a batch takes long, and evaluate the next batch", async () => {
    const child = fork(fileURLToPath(new URL("job-worker.ts", import.meta.url)), {
      execArgv: ["--experimental-strip-types"],
      serialization: "advanced",
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    expect((await once(child, "message"))[0]).toBe(READY);
    const program = { job: "jsonata", data: "{}", timeoutMs: 60_000 };
    const post = async (...expressions: string[]): Promise<SerializedResult[]> => {
      child.send(expressions.map((expression) => ({ ...program, expression })));
      const { results, times } = (await once(child, "message"))[0];
      expect(times.map((ms: number) => ms > 0)).toEqual(results.map(() => true));
      return results;
    };
    const slow = "$count([1..300000].($ * 2))";
    const output = (value: string) => ({ log: [], output: value });
    expect(await post(slow, "1")).toEqual([output("300000")]);
    expect(await post('$pad("", 300000)', "1")).toHaveLength(1);
    const quick = Array.from({ length: 16 }, (_, at) => String(at));
    expect((await post(...quick))[0]).toEqual(output("0"));
  });

  it("reject an aborted evaluation, running or queued, and continue with the next", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const reason = new Error("cancelled");
    const queued = Promise.withResolvers<void>();
    const begun: string[] = [];
    const onQueued = (name: string) => () => {
      if (name === "last") queued.resolve();
      return () => void begun.push(name);
    };
    await evaluate("return 0"); // starts the process
    const working = evaluate(
      "for (;;);",
      { timeoutMs: 300 },
      { signal, onQueued: onQueued("working") },
    );
    const waiting = evaluate("return 1", {}, { signal, onQueued: onQueued("waiting") });
    const other = evaluate("return 2", {}, { onQueued: onQueued("last") });
    await queued.promise;
    controller.abort(reason);
    await expect(working).rejects.toBe(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(evaluate("return 1", {}, { signal })).rejects.toBe(reason);
    expect(begun).toEqual(["working"]);
    expect(await other).toEqual({ log: [], output: 2 });
    expect(begun).toEqual(["working", "last"]);
  });

  it("reject every evaluation after they were closed", async () => {
    const closing = createJobWorkers({ maxWorkers: 2 });
    const work = { job: "javascript", data: {}, timeoutMs: 2000, memoryMb: 16 } as const;
    const running = closing.runJob({ ...work, code: "for (;;);" }, acme);
    const waiting = closing.runJob({ ...work, code: "return 1" }, acme);
    const both = Promise.allSettled([running, waiting]);
    await closing.close();
    expect((await both).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await expect(closing.runJob({ ...work, code: "return 1" }, acme)).rejects.toThrow("stopping");
  });
});

describe("large data", () => {
  const values = Array.from({ length: 100_000 }, (_, id) => ({ id }));
  const text = JSON.stringify(values);
  const paths = [[99_999, "id"], [100_000], []];
  const select = { job: "select", paths, timeoutMs: 5_000, maxBytes: 8_000_000 } as const;

  it.each([
    ["text", new LargeJson(text)],
    ["bytes", new TextEncoder().encode(text)],
  ])("are sent as %s, and a large result is not parsed", async (_, data) => {
    const result = await workers.runJob({ ...select, data }, acme);
    expect(result).toMatchObject({ parts: [99_999, undefined, { text }] });
  });

  it("can be values inside the data of an evaluation", async () => {
    const code = "return [trigger.length, nodes]";
    const data = { input: null, trigger: new LargeJson(text), nodes: { a: new LargeJson(text) } };
    const javascript = { job: "javascript", timeoutMs: 2_000, memoryMb: 128 } as const;
    const result = await workers.runJob({ ...javascript, code, data }, acme);
    expect(result).toEqual({ log: [], output: new LargeJson(`[100000,{"a":${text}}]`) });
  });

  it("must not be nested deeper than small data", async () => {
    const expression = `[${"[".repeat(250)}1${"]".repeat(250)}, $pad("", 300000)]`;
    const jsonata = { job: "jsonata", timeoutMs: 2_000, expression, data: null } as const;
    expect(await workers.runJob(jsonata, acme)).toMatchObject({ error: "output_too_large" });
  });
});
