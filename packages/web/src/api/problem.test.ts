import { expect, it } from "vitest";
import { path, toUrl } from "./client.ts";
import { ApiError, fieldErrors, readProblem, toProblem } from "./problem.ts";

it("shows the server's own words", async () => {
  const body = {
    title: "Invalid request",
    detail: "name: must not be empty",
    code: "invalid",
    errors: [{ path: "name", message: "must not be empty" }],
  };
  const problem = await readProblem(Response.json(body, { status: 400 }));
  expect(problem).toEqual({ ...body, status: 400 });
  expect(toProblem(new ApiError(problem))).toBe(problem);
  expect(fieldErrors(new ApiError(problem)).get("name")).toBe("must not be empty");
  expect(fieldErrors(null).size).toBe(0);
});

it.each([
  ["<html>Bad gateway</html>", "<html>Bad gateway</html>"],
  ["", ""],
  ["null", "null"],
  ["[1]", ""],
])("makes a problem of the body %j", async (body, detail) => {
  const problem = await readProblem(new Response(body, { status: 502 }));
  expect(problem).toMatchObject({ status: 502, title: "The hub answered 502", detail, errors: [] });
});

it("names a hub that does not respond", () => {
  expect(toProblem(new TypeError("Failed to fetch")).title).toBe("The hub does not respond");
});

it("writes addresses", () => {
  expect(toUrl("/api/x", { a: 1, b: "", c: undefined, d: true, e: "ä b" })).toBe(
    "/api/x?a=1&d=1&e=%C3%A4+b",
  );
  expect(path`/api/flows/${"a/../b"}/runs`).toBe("/api/flows/a%2F..%2Fb/runs");
});
