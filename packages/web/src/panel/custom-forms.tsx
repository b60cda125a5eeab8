import type { ComponentType } from "react";
import { CallFlowForm } from "./call-flow-form.tsx";
import { CallToolForm } from "./call-tool-form.tsx";
import type { CustomFormProps } from "./custom-form.ts";

/** Custom forms by node type. The forms of all other types are generated from their schemas. */
export const CUSTOM_FORMS: Readonly<Record<string, ComponentType<CustomFormProps>>> = {
  CallTool: CallToolForm,
  CallFlow: CallFlowForm,
};
