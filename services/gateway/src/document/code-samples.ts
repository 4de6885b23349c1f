import type { OpenApiDocument } from './document.ts';
import { isObject, sampleRequest, type Json, type JsonObject, type SampleRequest } from './sample-request.ts';
import { pythonSample } from './python-sample.ts';
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

/** The request for a shell. `server`: the address of the API with its base path. The key comes from the environment. */
const curlSample = (request: SampleRequest, server: string): string => {
  const { method, body, headers, answer } = request;
  const given = Object.entries(headers).map(
    ([name, value]) => `--header ${quoted(`${name}: ${String(value)}`)}`,
  );
  return [
    `curl ${quoted(`${server}${addressOf(request)}`)}`,
    ...(method === 'GET' ? [] : [`--request ${method}`]),
    '--header "Authorization: Bearer $RUNLEDGER_API_KEY"',
    ...given,
    ...(body === undefined ? [] : 'json' in body ? jsonBody(body.json) : fileBody(body.file)),
    ...(answer === 'bytes' ? ['--no-buffer'] : []),
  ].join(' \\\n  ');
};

const jsonBody = (value: unknown): string[] => [
  "--header 'Content-Type: application/json'",
  `--data ${quoted(JSON.stringify(value, null, 2))}`,
];

const fileBody = (file: string): string[] => [
  "--header 'Content-Type: application/octet-stream'",
  `--data-binary @${file}`,
];

const addressOf = ({ path, params, query }: SampleRequest): string => {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const asked = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  return asked === '' ? filled : `${filled}?${asked}`;
};

/** One word of a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
