import type { ComponentType } from "react";
import { CallFlowForm } from "./call-flow-form.tsx";
import { CallToolForm } from "./call-tool-form.tsx";
import type { OwnFormProps } from "./own-form.ts";

/** By type of node; all other types have a form drawn from their schema. */
export const OWN_FORMS: Readonly<Record<string, ComponentType<OwnFormProps>>> = {
  CallTool: CallToolForm,
  CallFlow: CallFlowForm,
};
