import { pathWith } from "@signalbox/contract/client.ts";
import { expect, it } from "vitest";
import { toUrl } from "./client.ts";
import {
  ApiError,
  fieldErrors,
  isOutage,
  readProblem,
  toProblem,
  UnreachableError,
} from "./problem.ts";

it("returns the problem in the body errorWithStatus the response unchanged", async () => {
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
])("returns a problem for an error response with the body %j", async (body, detail) => {
  const problem = await readProblem(new Response(body, { status: 502 }));
  expect(problem).toMatchObject({
    status: 502,
    title: "The hub responded with status 502",
    detail,
    errors: [],
  });
});

it("distinguishes a hub that does not respond from an error in the page", () => {
  const unreachable = new UnreachableError(new TypeError("Failed to fetch"));
  expect(toProblem(unreachable)).toMatchObject({
    title: "The hub does not respond",
    code: "unreachable",
  });
  expect(toProblem(new TypeError("x is undefined"))).toMatchObject({
    title: "The page failed",
    detail: "x is undefined",
  });
});

it("treats only server errors and an unreachable hub as outages", async () => {
  const errorWithStatus = async (status: number) =>
    new ApiError(await readProblem(new Response("", { status })));
  expect(isOutage(await errorWithStatus(503))).toBe(true);
  expect(isOutage(await errorWithStatus(404))).toBe(false);
  expect(isOutage(new UnreachableError(undefined))).toBe(true);
  expect(isOutage(new Error("x"))).toBe(false);
});

it("builds URLs with encoded values, and leaves out empty ones", () => {
  expect(toUrl("/api/x", { a: 1, b: "", c: undefined, d: true, e: "ä b" })).toBe(
    "/api/x?a=1&d=1&e=%C3%A4+b",
  );
  expect(pathWith("/api/flows/:flow/runs", { flow: "a/../b" })).toBe("/api/flows/a%2F..%2Fb/runs");
});
