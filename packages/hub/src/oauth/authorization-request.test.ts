import { describe, expect, it } from "vitest";
import { POLL_GRANT, readAuthorization } from "./authorization-request.ts";

const client = { redirect_uris: [], grant_types: [POLL_GRANT] };
const readPollRequest = (state: string) =>
  readAuthorization({ state }, client, "https://hub.example");

describe("readAuthorization of a client that polls", () => {
  it("accepts a state of 32 to 2000 characters", () => {
    for (const length of [32, 2_000])
      expect(readPollRequest("s".repeat(length))).toMatchObject({ flow: "poll" });
  });

  it.each([31, 2_001])("names both limits if the state has %i characters", (length) => {
    expect(() => readPollRequest("s".repeat(length))).toThrow(
      "state: must have 32 to 2000 characters",
    );
  });
});
