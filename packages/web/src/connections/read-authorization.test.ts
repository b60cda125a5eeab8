import { expect, it } from "vitest";
import { readAuthorization } from "./read-authorization.ts";

it("reads the connection from the state, and returns only the parameters of OAuth", () => {
  expect(readAuthorization("?state=weather-abc.s3cret&code=c%2B1&iss=https://a&x=1")).toEqual({
    id: "weather-abc",
    response: { state: "weather-abc.s3cret", code: "c+1", iss: "https://a" },
  });
  expect(readAuthorization("?error=access_denied")).toEqual({
    id: "unknown",
    response: { state: "", error: "access_denied" },
  });
});
