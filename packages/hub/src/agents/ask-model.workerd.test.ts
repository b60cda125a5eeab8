import { modelContract } from "./contract.ts";

modelContract();
