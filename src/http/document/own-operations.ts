import { Type } from "@sinclair/typebox";
import type { AnyOperation } from "./refusals.ts";

/** The document and the page that shows it, which are served from what all other operations say and so can't be said among them. */
export const ownOperations: readonly { path: string; of: AnyOperation }[] = [
  {
    path: "/openapi.json",
    of: {
      summary: "Get OpenAPI document",
      description: "This document: every operation, field, refusal and event of this version.",
      open: true,
      answers: {
        200: Type.Object(
          { openapi: Type.String({ description: "Version of OpenAPI", examples: ["3.1.0"] }) },
          { description: "The document, as OpenAPI 3.1", additionalProperties: true },
        ),
      },
    },
  },
  {
    path: "/docs",
    of: {
      summary: "Read documentation",
      description: "A page for browsers that shows this document. It loads nothing from elsewhere.",
      open: true,
      headers: {
        "If-None-Match": { description: "Entity tag of the page that you have", example: '"9f2c01a4e7b8d360"' },
      },
      answers: {
        200: Type.String({
          description: "The page",
          contentMediaType: "text/html",
          examples: ["<!doctype html>"],
        }),
        304: Type.Void({ description: "You have it already" }),
      },
    },
  },
];
