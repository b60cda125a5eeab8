import { type LayoutInput, layOut } from "./layout.ts";

self.onmessage = ({ data }: MessageEvent<LayoutInput>) => self.postMessage(layOut(data));
