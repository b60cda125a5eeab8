import { hubInfoApi, type hubInfoView } from "@signalbox/contract/session.ts";
import type { z } from "zod";
import { implement, type Route } from "./route.ts";

type HubInfo = z.input<typeof hubInfoView>;

/** `origin` is that of the request; it is used if the hub has no public URL. */
export type GetHubInfo = (origin: string) => HubInfo;

export const hubInfoRoute = (hubInfo: GetHubInfo): Route =>
  implement(hubInfoApi.get, async ({ origin }) => ({ json: hubInfo(origin) }));
