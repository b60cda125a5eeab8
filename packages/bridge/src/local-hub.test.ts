import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { findLocalHub } from "./local-hub.ts";

const fallback = { url: "http://127.0.0.1:4747", from: "the default" };

function folderWith(content: string): string {
  const folder = tempFolder();
  writeFileSync(join(folder, "hub.json"), content);
  return folder;
}

describe("findLocalHub", () => {
  it.each(["http://127.0.0.1:5151", "http://localhost:1", "http://[::1]:9"])(
    "reads %s from the file of the running hub",
    (url) => {
      const folder = folderWith(JSON.stringify({ pid: 7, url, token: "sbx_x" }));
      expect(findLocalHub(folder)).toEqual({ url: `${url}/`, from: join(folder, "hub.json") });
    },
  );

  it("uses the default address if there is no file", () => {
    expect(findLocalHub(join(tempFolder(), "nothing here"))).toEqual(fallback);
  });

  it.each(["", "{", "null", "[]", '{"url":7}', '{"url":"hub"}'])(
    "ignores the content %j",
    (text) => {
      expect(findLocalHub(folderWith(text))).toEqual(fallback);
    },
  );

  it.each([
    "http://evil.example",
    "http://127.0.0.1.evil.example",
    "http://127.0.0.1@evil.example",
    "ftp://127.0.0.1",
    "http://10.0.0.1:4747",
  ])("does not send the token to %s, which is not on this machine", (url) => {
    expect(findLocalHub(folderWith(JSON.stringify({ url })))).toEqual(fallback);
  });
});
