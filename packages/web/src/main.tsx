import "./styles/index.css";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/app.tsx";
import { nonce } from "./app/nonce.ts";

// Radix adds style elements while a dialog is open; the CSP accepts only those with the nonce.
setNonce(nonce);

const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
