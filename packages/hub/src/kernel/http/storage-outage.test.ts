import { expect, it } from "vitest";
import { createHttpApp } from "../../operations/http-app.ts";
import { StorageUnavailable } from "../store/availability.ts";

const createFailingApp = (error: Error) => {
  const errors: unknown[] = [];
  const app = createHttpApp({
    checkReady: () => Promise.reject(error),
    metrics: { contentType: "text/plain", text: () => Promise.reject(error) },
    home: () => Promise.reject(error),
    isStopping: () => false,
    checkHost: () => undefined,
    onError: (thrown) => errors.push(thrown),
  });
  app.get("/api/anything", () => Promise.reject(error));
  return { app, errors };
};

it.each(["/", "/readyz", "/metrics", "/api/anything"])(
  "%s responds with 503 and Retry-After while the database is unavailable",
  async (path) => {
    const { app, errors } = createFailingApp(new StorageUnavailable("connection refused"));
    const response = await app.request(path);
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("5");
    expect(await response.json()).toMatchObject({ code: "storage_unavailable" });
    expect(errors).toEqual([]);
  },
);

it("responds with 500 to any other error, and reports it to `onError`", async () => {
  const bug = new Error("a bug");
  const { app, errors } = createFailingApp(bug);
  expect((await app.request("/api/anything")).status).toBe(500);
  expect(errors).toEqual([bug]);
});
