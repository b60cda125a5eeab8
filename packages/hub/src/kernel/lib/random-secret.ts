import { toBase64Url } from "./bytes.ts";

export const randomSecret = (prefix: string): string =>
  prefix + toBase64Url(crypto.getRandomValues(new Uint8Array(32)));
