import type { OpenApiDocument } from '../../openapi/document.ts';
import { curlSample } from './curl-sample.ts';
import { isObject, type Json, type JsonObject } from './json.ts';
import { pythonSample } from './python-sample.ts';
import { sampleRequest } from './sample-request.ts';
import { typescriptSample } from './typescript-sample.ts';

/** As the renderer of the reference reads it. */
export interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

/** The document, with samples for each operation. `server`: the address of the API in them, with its base path. */
export const withCodeSamples = (document: OpenApiDocument, server: string): OpenApiDocument => {
  // It is JSON: it is served as that.
  const json = document as unknown as JsonObject;
  const paths = Object.entries(document.paths).map(([path, methods]) => [
    path,
    Object.fromEntries(
      Object.entries(methods as Record<string, Json>).map(([method, operation]) => [
        method,
        isObject(operation)
          ? {
              ...operation,
              'x-code-samples': codeSamples({ path, method, operation, document: json, server }),
            }
          : operation,
      ]),
    ),
  ]);
  return { ...document, paths: Object.fromEntries(paths) };
};

const codeSamples = ({
  path,
  method,
  operation,
  document,
  server,
}: {
  readonly path: string;
  readonly method: string;
  readonly operation: JsonObject;
  readonly document: JsonObject;
  readonly server: string;
}): readonly CodeSample[] => {
  const request = sampleRequest(path, method, operation, document);
  return [
    { lang: 'bash', label: 'curl', source: curlSample(request, server) },
    { lang: 'typescript', label: 'TypeScript', source: typescriptSample(request) },
    { lang: 'python', label: 'Python', source: pythonSample(request) },
  ];
};
