/** A program that unpacks the Chromium of the npm package into the folder for temporary files. */
import chromium from "@sparticuz/chromium";

await chromium.executablePath();
